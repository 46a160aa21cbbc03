"""CalDAV server of one world: Radicale on the world's loopback, over the current folder.

Radicale keeps everything in files and writes each change at once, so nothing has to be flushed at the end. Clients
are not authenticated and see only their own calendars; only the MCP server can reach it.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from types import FrameType
from typing import NoReturn

HOST, PORT = "127.0.0.1", 5232
START_SECONDS, STOP_SECONDS = 30.0, 10.0
OPTIONS = {
    "config": "",
    "server-hosts": f"{HOST}:{PORT}",
    "auth-type": "none",
    "rights-type": "owner_only",
    "storage-filesystem-folder": ".",
    "web-type": "none",
    "logging-level": "critical",
}


def is_up() -> bool:
    """Say whether it takes connections."""
    with socket.socket() as connection:
        connection.settimeout(1)
        return connection.connect_ex((HOST, PORT)) == 0


def ended(_number: int, _frame: FrameType | None) -> NoReturn:
    """Turn SIGTERM into the end of whatever is being done."""
    sys.exit(0)


def main() -> int:
    """Keep Radicale up until somebody ends us."""
    signal.signal(signal.SIGTERM, ended)
    options = [word for name, value in OPTIONS.items() for word in (f"--{name}", value)]
    process = subprocess.Popen([sys.executable, "-I", "-m", "radicale", *options], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not is_up():
            if process.poll() is not None or time.monotonic() > deadline:
                return 1
            time.sleep(0.02)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        return process.wait()
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
