"""CalDAV server of one world: Radicale on the world's loopback, over the current folder.

Radicale keeps everything in files and writes each change at once, so nothing has to be flushed at the end. Clients
are not authenticated and see only their own calendars; only the MCP server can reach it.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))  # in a world it has no package around it

from sandbox.kinds.common.backend.program import await_up, run, serve, stop

HOST, PORT = "127.0.0.1", 5232
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


def keep() -> None:
    """Keep Radicale up until somebody ends us."""
    options = [word for name, value in OPTIONS.items() for word in (f"--{name}", value)]
    process = subprocess.Popen([sys.executable, "-I", "-m", "radicale", *options], stdout=subprocess.DEVNULL)
    try:
        await_up(process, is_up)
        serve(process)
    finally:
        stop(process)


if __name__ == "__main__":
    sys.exit(run({"keep": keep}, sys.argv[1:]))
