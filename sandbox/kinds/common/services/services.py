"""Helper programs of one server, such as an HTTP API: `services.py SERVICES`. Standard library only.

SERVICES is a JSON list of `{"name", "command", "environment", "port", "ready", "line"}`. Each is started once the one
before it is ready: it accepts connections on its loopback port, or answers the path `ready` with less than 400, or, as
the backend of a state kind, has written the line `ready`. Then this says `ready`, and keeps all of them up until
SIGTERM, when they end in reverse order. One that ends by itself ends all, with a sentence on standard error.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))  # in a world it has no package around it

from sandbox.kinds.common.backend.program import START_SECONDS, BackendFailed, run, stop

HOST = "127.0.0.1"


class Service:
    """One helper program that was started."""

    def __init__(self, about: Mapping[str, Any]) -> None:
        self.name, self._about = about["name"], about
        self._has_said_ready = threading.Event()
        output = subprocess.PIPE if about.get("line") else subprocess.DEVNULL
        try:
            self.process = subprocess.Popen(
                about["command"], env={**os.environ, **about["environment"]}, stdin=subprocess.DEVNULL, stdout=output
            )
        except OSError as error:
            raise failed(self.name, f"cannot be started ({os.strerror(error.errno or 0)})") from None
        if self.process.stdout is not None:
            threading.Thread(target=self._listen, daemon=True).start()

    def await_ready(self, seconds: float) -> None:
        """Wait until it is ready.

        Raises:
            BackendFailed: it ended, or it took longer than that.
        """
        deadline = time.monotonic() + seconds
        while not self._is_ready():
            if (code := self.process.poll()) is not None:
                raise failed(self.name, f"ended with code {code} before it was ready")
            if time.monotonic() > deadline:
                where = f"did not answer on {HOST}:{self._about['port']}{self._about.get('ready') or ''}"
                raise failed(self.name, f"{where} within {seconds:.0f} s, and still runs")
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        if self._about.get("line"):
            return self._has_said_ready.is_set()
        port, path = self._about["port"], self._about.get("ready")
        try:
            if path is None:
                socket.create_connection((HOST, port), 1).close()
                return True
            connection = http.client.HTTPConnection(HOST, port, timeout=1)
            connection.request("GET", path)
            return connection.getresponse().status < http.client.BAD_REQUEST
        except (OSError, http.client.HTTPException):
            return False

    def _listen(self) -> None:
        """Wait for its line, and read on, so that it never waits for a reader."""
        for line in self.process.stdout or ():
            if line == b"ready\n":
                self._has_said_ready.set()


def failed(name: str, what: str) -> BackendFailed:
    """Say on standard error what a service did, and return the exception."""
    sys.stderr.write(f"the service {name} {what}\n")
    return BackendFailed(name)


def keep(document: str, seconds: str = str(START_SECONDS)) -> None:
    """Start the services, and keep them up until somebody ends us or one of them ends."""
    services: list[Service] = []
    try:
        for about in json.loads(document):
            services.append(Service(about))
            services[-1].await_ready(float(seconds))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            pid, status = os.waitpid(-1, 0)
            for service in services:
                if service.process.pid == pid:
                    service.process.returncode = code = os.waitstatus_to_exitcode(status)
                    raise failed(service.name, f"ended by itself with code {code}")
    finally:
        for service in reversed(services):
            if service.process.poll() is None:
                stop(service.process)


if __name__ == "__main__":
    sys.exit(run({"keep": keep}, sys.argv[1:]))
