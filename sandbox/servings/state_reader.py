"""Reads back the state of a backend that only its own program can read: in a fresh world, from a copy.

1. Only the frozen folder of that one server goes in, into a fresh world of the same box, and nothing else runs there
   but the server's reader: our program, which starts the backend with our configuration and looks as a role that owns
   nothing. Whatever the folder does to it, it does behind the same walls as the world that it came from.
2. What the reader writes takes the place of the whole folder: no file of the folder can pass itself off as that.
3. A reader that gives no document is asked once more. If it still gives none, it is asked about an empty state: if it
   reads that, the folder is corrupted, which counts against the agent; if not, our machinery broke (`Lost`).

Nothing is decided by what a reader says about itself; only by whether it gives a document, for this state and for an
empty one. Neither the folder nor what was read of it is parsed here: a reader process (`sandbox.judge`) cuts the folder
out, and says whether what was written is a document.
"""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sandbox.boxes.box import ResourceLimits, WorldLauncher
from sandbox.errors import Lost, Malformed
from sandbox.judge import StateJudge
from sandbox.servers.server import Server
from sandbox.world import frames
from sandbox.world.frozen import FrozenState, Seed
from verifiers.tree import DIRECTORY, FileTree

SECONDS = 90.0
MAX_DUMP = 64 * 1024 * 1024
ROOM = 3  # a reader has the copy, and what its backend writes beside it
WRECKAGE = json.dumps({"wreckage": "its reader gives no account of it, and does of a sound one"}).encode()


def read_back(
    box: WorldLauncher, servers: Sequence[Server], state: FrozenState, limits: ResourceLimits, judging: StateJudge
) -> FrozenState:
    """Put what the readers of these servers say beside a world's frozen data; those without a reader are passed over.

    Raises:
        Lost: a reader cannot be had, or reads no state at all.
        Unavailable: the box cannot be had.
        Malformed, JudgeFailed: the frozen data is no state, or kills the processes that cut it (`StateJudge.extract`).
    """
    for server in servers:
        if server.reader:
            folder = judging.extract(state, server.root)
            state = state.with_dump(server.name, snapshot(box, server, folder, judging, limits=limits))
    return state


def snapshot(
    box: WorldLauncher,
    server: Server,
    folder: Seed,
    judging: StateJudge,
    *,
    limits: ResourceLimits,
    seconds: float = SECONDS,
) -> bytes:
    """Return the document that stands for what is in one server's folder.

    Args:
        folder: a data folder that holds that folder and no other.

    Raises:
        Lost, Unavailable: see `read_back`.
    """
    for _ in range(2):
        document = _read(box, server, folder, limits, seconds)
        if document is not None and judging.is_document(document):
            return document
    sound = _read(box, server, in_data(server, server.seed({})), limits, seconds)
    if sound is None or not judging.is_document(sound):
        raise Lost(f"the reader of {server.name} cannot read even an empty state: look at the world's programs")
    return WRECKAGE


def in_data(server: Server, folder: FileTree) -> FileTree:
    """Put a server's folder where it lies in the data folder."""
    return FileTree({server.root: DIRECTORY, **folder.under(server.root)})


def _read(box: WorldLauncher, server: Server, folder: Seed, limits: ResourceLimits, seconds: float) -> bytes | None:
    """Ask the reader once, and give what it wrote, or None where it did not end in time."""
    reader = replace(server, command=server.reader, backend=None, on_demand=False)
    room = replace(limits, tmpfs=limits.tmpfs * ROOM, memory=limits.memory + limits.tmpfs * ROOM, wall=seconds)
    world = box.world([reader], folder, room)
    try:
        with world.channel() as channel, suppress(Malformed, OSError):
            return _heard(channel, seconds)
    finally:
        world.close()
    return None


def _heard(channel: socket.socket, seconds: float) -> bytes:
    """Return what the first server wrote until its end.

    Raises:
        Malformed: it did not end in time or said too much, or the world went away.
    """
    reader, received, deadline = frames.FrameReader(), bytearray(), time.monotonic() + seconds
    channel.settimeout(0)
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise Malformed("a reader did not end in time")
        if not select.select([channel], [], [], left)[0]:
            continue
        data = channel.recv(1 << 16)
        if not data:
            raise Malformed("a reader's world went away")
        for number, payload in reader.feed(data):
            received += payload
            if len(received) > MAX_DUMP:
                raise Malformed("a reader said more than anybody looks at")
            if number == frames.FIRST_SERVER and not payload:
                return bytes(received)
