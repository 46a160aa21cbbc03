"""Process of a local runner: it is told all that it knows through its standard input, and ends where that is closed."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

from quarterturn.client.runner import RunnerClient
from quarterturn.runners.programs import digests_of_servers
from sandbox.errors import SandboxError
from sandbox.servers.added_servers import register_added
from sandbox.servings.relayed_model import ServiceAddress
from sandbox.servings.runner import Runner
from sandbox.servings.spool import Spool
from sandbox.servings.supervisor import Supervisors

MAX_DOCUMENT_BYTES = 16384
STOP = b"stop"


def main() -> None:
    """Play servings until the other end of standard input is closed."""
    control = socket.socket(fileno=os.dup(0))
    document, (lock,), _, _ = socket.recv_fds(control, MAX_DOCUMENT_BYTES, 1)
    try:
        play(json.loads(document), lock, control)
    except SandboxError as error:
        control.send(str(error).encode()[:4096])


def play(told: dict[str, Any], lock: int, control: socket.socket) -> None:
    """Play servings, as `quarterturn runner start` does elsewhere.

    Args:
        told: what the service told: see `LocalRunner`.
        lock: the descriptor of the machine's lock.
        control: where `STOP` comes if the service stops in order; it is closed then, or where the service is gone.
    """
    stopping, in_order = threading.Event(), threading.Event()
    servers = Path(told["servers"]) if told["servers"] else None
    if servers:
        register_added(servers)
    about = {"box": told["box"], "run_class": told["run_class"], "places": told["places"]}
    about["servers"] = digests_of_servers()
    service = ServiceAddress(told["url"])
    with RunnerClient(told["url"], told["token"]) as client:

        def wait_for_end() -> None:
            if control.recv(len(STOP)) == STOP:
                in_order.set()
            stopping.set()
            client.end()

        threading.Thread(target=wait_for_end, name="end", daemon=True).start()
        supervisors = Supervisors(
            told["box"],
            told["run_class"],
            machine_lock=lock,
            servers=servers,
            service=service,
            runtime=told["runtime"],
        )
        spool = Spool(Path(told["spool"]))
        Runner(client, spool, about, supervisors, places=told["places"]).run(stopping)
        if in_order.is_set():
            spool.note_stop()
        supervisors.close()


if __name__ == "__main__":
    main()
