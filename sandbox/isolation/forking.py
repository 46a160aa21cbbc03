"""Fork server loop: a process that has loaded all its children need, and forks one for each request.

It runs in a process that `sandbox.isolation.forkserver` executed, with an environment of two words, so nothing of the
runner's memory (keys, passphrases, other tasks) is in it. It reads no task, gets no input from an agent, and ends with
its runner.

Protocol, on the SOCK_SEQPACKET pair that is its standard input: one message a child, with descriptors. The first is
where the child's pidfd goes back; the others are the child's own.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
from collections.abc import Callable, Sequence

from sandbox.isolation.confine import own_processes

MAX_DESCRIPTORS = 8


def serve(prepare: Callable[[], object], child: Callable[[Sequence[int]], object]) -> None:
    """Isolate from the machine's processes, prepare once, then fork a child for each message until the runner is gone.

    Args:
        prepare: loads what a child needs, and gives up for all children what can be given up once.
        child: what a child does with its descriptors; it never comes back from it.
    """
    own_processes()
    control = socket.socket(fileno=os.dup(0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a child; its pidfd tells
    logging.disable()  # a library's log line may quote what it was given
    prepare()
    gc.collect()
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, MAX_DESCRIPTORS)
        if not message:
            return
        _fork(control, nowhere, descriptors, child)


def _fork(
    control: socket.socket, nowhere: int, descriptors: Sequence[int], child: Callable[[Sequence[int]], object]
) -> None:
    birth, *its_own = descriptors
    pid = os.fork()
    if pid == 0:
        try:
            control.close()
            os.close(birth)
            os.dup2(nowhere, 0)
            os.close(nowhere)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            child(its_own)
        finally:
            os._exit(1)  # never back into the server's loop
    try:
        pidfd = os.pidfd_open(pid)
        with socket.socket(fileno=os.dup(birth)) as reply:
            socket.send_fds(reply, [b"!"], [pidfd])
        os.close(pidfd)
    except OSError:
        pass  # it is gone already, or the runner is
    for descriptor in descriptors:
        os.close(descriptor)
