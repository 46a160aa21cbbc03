#!/usr/bin/env python3
"""A key service for trying out the `command` lock: it wraps under a key in a file, and keeps to the hook's two verbs.

    local.py [--key FILE] wrap|unwrap

For a cloud, put its two calls in the place of `wrap` and `unwrap`, and give it the context as what it calls associated
data or an encryption context. The exit codes are the hook's: 0 done, 1 refused, 2 does not unwrap, 6 unreachable.
"""

import argparse
import base64
import json
import os
import sys
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

REFUSED, DOES_NOT_UNWRAP, UNREACHABLE = 1, 2, 6


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--key", type=Path, default=Path.home() / ".kms.key", help="the file; made if it is not there")
    parser.add_argument("verb", choices=("wrap", "unwrap"))
    asked = parser.parse_args()
    try:
        service = AESGCM(kept(asked.key))
    except PermissionError:
        return REFUSED
    except OSError:
        return UNREACHABLE
    given = {name: base64.b64decode(text) for name, text in json.loads(sys.stdin.read()).items()}
    try:
        answer = {"wrap": wrap, "unwrap": unwrap}[asked.verb](service, given)
    except InvalidTag:
        return DOES_NOT_UNWRAP
    print(json.dumps({name: base64.b64encode(raw).decode() for name, raw in answer.items()}))
    return 0


def wrap(service: AESGCM, given: dict[str, bytes]) -> dict[str, bytes]:
    nonce = os.urandom(12)
    return {"wrapped": nonce + service.encrypt(nonce, given["key"], given["context"])}


def unwrap(service: AESGCM, given: dict[str, bytes]) -> dict[str, bytes]:
    nonce, sealed = given["wrapped"][:12], given["wrapped"][12:]
    return {"key": service.decrypt(nonce, sealed, given["context"])}


def kept(path: Path) -> bytes:
    """Return the key in a file; who loses the file loses the lock."""
    if not path.exists():
        path.touch(0o600, exist_ok=False)
        path.write_bytes(os.urandom(32))
    return path.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
