"""A clean process that gateways are forked from: `python -I -m sandbox.gateway.nursery`, started by `process`.

It is executed and not forked from the runner, with an environment of two words, so nothing of the runner's memory
(keys, passphrases, other tasks) is in it. It loads what a gateway needs, rehearses a session once, and then
gives birth at a few milliseconds each. It never hears an agent, reads no specification, and ends with the runner.

Protocol, on the SOCK_SEQPACKET pair that is its standard input: a message with descriptors (specification, world
channel, report, birth, maybe a listener, maybe a link to the model process). The child's pidfd goes back over `birth`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket

from sandbox.gateway import child
from sandbox.gateway.rehearsal import rehearse

MAX_DESCRIPTORS = 6
FIXED = 4


def main(control: socket.socket) -> None:
    """Serve births until the runner is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a child; its pidfd tells
    logging.disable()  # a library's log line may quote what it was given
    asyncio.run(rehearse())
    gc.collect()
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, MAX_DESCRIPTORS)
        if not message:
            return
        _bear(control, descriptors)


def _bear(control: socket.socket, descriptors: list[int]) -> None:
    specification, channel, report, birth, *others = descriptors
    pid = os.fork()
    if pid == 0:
        try:
            control.close()
            os.close(birth)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            child.main(specification, channel, report, others)
        finally:
            os._exit(1)  # never back into the nursery's loop
    try:
        pidfd = os.pidfd_open(pid)
        with socket.socket(fileno=os.dup(birth)) as reply:
            socket.send_fds(reply, [b"!"], [pidfd])
        os.close(pidfd)
    except OSError:
        pass  # it is gone already, or the runner is
    for descriptor in descriptors:
        os.close(descriptor)


if __name__ == "__main__":
    main(socket.socket(fileno=os.dup(0)))
