"""A hosted endpoint: believes who signed a task, and runs an agent on it. `server.py KEY.pem URL PORT COMMAND...`"""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_public_key

KEY, URL, PORT, *COMMAND = sys.argv[1:]
COVERED = r'\("@method" "@target-uri" "content-digest" "content-type"\)'
PARAMETERS = COVERED + r';created=(\d+);nonce="([\w-]+)";keyid="\w+";alg="ed25519";tag="quarterturn-task"'
heard: set[str] = set()  # nonces: what is sent a second time is not believed


def verify(headers: Mapping[str, str], body: bytes) -> None:
    """Raise unless this very request was signed for URL, just now, by whoever holds the key (RFC 9421, RFC 9530)."""
    parameters, signature = headers["Signature-Input"].removeprefix("sig1="), headers["Signature"][len("sig1=:") : -1]
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    base = (
        f'"@method": POST\n"@target-uri": {URL}\n"content-digest": sha-256=:{digest}:\n'
        f'"content-type": application/json\n"@signature-params": {parameters}'
    )
    load_pem_public_key(Path(KEY).read_bytes()).verify(base64.b64decode(signature), base.encode())
    stated = re.fullmatch(PARAMETERS, parameters)
    if not stated or abs(time.time() - int(stated[1])) > 300 or stated[2] in heard:  # noqa: PLR2004 five minutes
        raise ValueError("signed for something else, too long ago, or heard before")
    heard.add(stated[2])


class Endpoint(BaseHTTPRequestHandler):
    """Answers 200 once the agent has ended, and with it the task; 401 to strangers."""

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1 << 20))
        try:
            verify(self.headers, body)
        except (InvalidSignature, ValueError, TypeError, AttributeError):
            self.send_error(401)
            return
        subprocess.run(COMMAND, env=os.environ | {"QUARTERTURN_URL": json.loads(body)["url"]}, check=False)
        self.send_response(200)
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(PORT)), Endpoint).serve_forever()
