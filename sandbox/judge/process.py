"""The runner's side of one reader or judge: hand it a request, take its reply, and see that it is gone."""

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import ExitStack

from sandbox.errors import Malformed, SandboxError, Unavailable
from sandbox.forkserver import ForkServer
from sandbox.judge import message

READER, JUDGE = ForkServer("-m", "sandbox.judge.reader"), ForkServer("-m", "sandbox.judge.judge")
START_SECONDS = 60.0
"""How long a fork server may take to load and fork; none of it is the child's time."""
CHUNK = 1 << 18


class Broke(SandboxError):
    """A reader or judge died, or answered nonsense."""


class Spent(SandboxError):
    """A reader or judge came to the end of its time or memory, which says nothing about what it was given."""


def ask(server: ForkServer, request: bytes, cap: int, seconds: float) -> tuple[str, str, bytes]:
    """Have one child of a fork server carry out one request, and give its reply (`message.reply`).

    Args:
        server: whose child it is.
        request: as `message.pack` writes it.
        cap: bytes that a reply may have.
        seconds: by the wall clock, from its birth on.

    Raises:
        Broke: it died, or what it says is no reply.
        Spent: it did not end in time, or had too little memory.
        Unavailable: none could be forked.
    """
    with ExitStack() as stack:
        ours, theirs = socket.socketpair()
        stack.enter_context(ours)
        with theirs, os.fdopen(os.memfd_create("request"), "w+b") as file:
            file.write(request)
            file.flush()
            child = server.spawn([file.fileno(), theirs.fileno()])
        stack.callback(child.close)
        stack.callback(child.kill)
        if not child.wait_born(START_SECONDS):
            raise Unavailable(f"no reader or judge was forked within {START_SECONDS:g} s: this machine is too slow")
        said = _heard(ours, cap, seconds)
    try:
        outcome, says, part = message.reply(said)
    except Malformed as error:
        raise Broke(str(error)) from None
    if outcome == "memory":
        raise Spent("it had too little memory")
    return outcome, says, part


def _heard(stream: socket.socket, cap: int, seconds: float) -> bytes:
    """Give all that a child says until its end."""
    said, deadline = bytearray(), time.monotonic() + seconds
    stream.settimeout(0)
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Spent(f"it did not end within {seconds:g} s")
        if not poll.poll(left * 1000):
            continue
        try:
            data = stream.recv(CHUNK)
        except OSError:
            data = b""
        if not data:
            return bytes(said)
        said += data
        if len(said) > cap:
            raise Broke(f"it says more than {cap} bytes")
