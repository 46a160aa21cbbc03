"""Process of a local runner: it is told all that it knows through its standard input, and ends where that is closed."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

from quarterturn.client.runner import RunnerClient
from quarterturn.runners.programs import STOP_WORD, digests_of_servers
from sandbox.errors import SandboxError
from sandbox.servers.added_servers import register_added
from sandbox.servings.relayed_model import ServiceAddress
from sandbox.servings.runner import Runner
from sandbox.servings.spool import Spool
from sandbox.servings.supervisor import Supervisors

MAX_DOCUMENT_BYTES = 16384


def main() -> None:
    """Play servings until the other end of standard input is closed."""
    control = socket.socket(fileno=os.dup(0))
    document, (lock,), _, _ = socket.recv_fds(control, MAX_DOCUMENT_BYTES, 1)
    try:
        play(json.loads(document), lock, control)
    except SandboxError as error:
        control.send(str(error).encode()[:4096])


def play(document: dict[str, Any], lock: int, control: socket.socket) -> None:
    """Play servings, as `quarterturn runner start` does elsewhere.

    Args:
        document: what the service told: see `LocalRunner`.
        lock: the descriptor of the machine's lock.
        control: where `STOP_WORD` comes if the service stops in order; it is closed then, or where the service is gone.
    """
    stopping, in_order = threading.Event(), threading.Event()
    servers = Path(document["servers"]) if document["servers"] else None
    if servers:
        register_added(servers)
    about = {"box": document["box"], "run_class": document["run_class"], "places": document["places"]}
    about["servers"] = digests_of_servers()
    service = ServiceAddress(document["url"])
    with RunnerClient(document["url"], document["token"]) as client:

        def wait_for_end() -> None:
            if control.recv(len(STOP_WORD)) == STOP_WORD:
                in_order.set()
            stopping.set()
            client.end()

        threading.Thread(target=wait_for_end, name="end", daemon=True).start()
        supervisors = Supervisors(
            document["box"],
            document["run_class"],
            machine_lock=lock,
            servers=servers,
            service=service,
            runtime=document["runtime"],
        )
        spool = Spool(Path(document["spool"]))
        Runner(client, spool, about, supervisors, places=document["places"]).run(stopping)
        if in_order.is_set():
            spool.note_stop()
        supervisors.close()


if __name__ == "__main__":
    main()
