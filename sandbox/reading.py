"""Reads back the state of a backend that only its own program can read: in a fresh world, from a copy.

1. Only the frozen folder of that one server goes in, into a fresh world of the same box, and nothing else runs there
   but the server's reader: our program, which starts the backend with our configuration and looks as a role that owns
   nothing. Whatever the folder does to it, it does behind the same walls as the world that it came from.
2. What the reader writes takes the place of the whole folder: no file of the folder can pass itself off as that.
3. A reader that gives no document is asked once more. If it still gives none, it is asked about an empty state: if it
   reads that, the folder is wreckage, which counts against whoever left it; if not, it is our machinery (`Lost`).

Nothing is decided by what a reader says about itself; only by whether it says anything, for this state and for a sound
one.
"""

from __future__ import annotations

import json
import select
import socket
import time
from contextlib import suppress
from dataclasses import replace

from sandbox import frames
from sandbox.box import Box, Limits
from sandbox.errors import Lost, Malformed
from sandbox.servers.server import Server
from sandbox.world import servers_of
from vault.task import Task
from verifiers.language import predicate as predicates
from verifiers.states.snapshot import FILE, written
from verifiers.views import DIRECTORY, Node, Tree

SECONDS = 90.0
MAX_BYTES = 64 * 1024 * 1024
ROOM = 3  # a reader has the copy, and what its backend writes beside it
WRECKAGE = {"wreckage": "its reader gives no account of it, and does of a sound one"}


def read_back(box: Box, task: Task, tree: Tree, limits: Limits) -> Tree:
    """Put what the readers say into a world's frozen data, for those servers that the task's predicate looks at.

    Raises:
        Lost: a reader cannot be had, or reads no state at all.
        Unavailable: the box cannot be had.
    """
    looked_at = predicates.namespaces(predicates.parse(task.success_predicate))
    for server in servers_of(task.document):
        if server.reader and server.name in looked_at:
            said = snapshot(box, server, tree.below(server.root), limits).under(server.root)
            prefix = f"{server.root}/"
            tree = Tree({path: node for path, node in tree.items() if not path.startswith(prefix)} | dict(said))
    return tree


def snapshot(box: Box, server: Server, folder: Tree, limits: Limits, seconds: float = SECONDS) -> Tree:
    """Give the tree that stands for what is in one server's folder.

    Raises:
        Lost, Unavailable: see `read_back`.
    """
    for _ in range(2):
        document = _read(box, server, folder, limits, seconds)
        if document is not None:
            return Tree({FILE: Node("file", document)})
    if _read(box, server, server.seed({}), limits, seconds) is None:
        raise Lost(f"the reader of {server.name} cannot read even an empty state: look at the world's programs")
    return written(WRECKAGE)


def _read(box: Box, server: Server, folder: Tree, limits: Limits, seconds: float) -> bytes | None:
    """Ask the reader once, and give its document, or None where it gave none in time."""
    reader = replace(server, command=server.reader, backend=None, on_demand=False)
    room = replace(limits, tmpfs=limits.tmpfs * ROOM, memory=limits.memory + limits.tmpfs * ROOM, wall=seconds)
    world = box.world([reader], Tree({server.root: DIRECTORY, **folder.under(server.root)}), room)
    try:
        with world.channel() as channel, suppress(Malformed, OSError, ValueError, RecursionError):
            said = _heard(channel, seconds)
            return said if isinstance(json.loads(said), dict) else None
    finally:
        world.close()
    return None


def _heard(channel: socket.socket, seconds: float) -> bytes:
    """Give what the first server wrote until its end.

    Raises:
        Malformed: it did not end in time or said too much, or the world went away.
    """
    reader, said, deadline = frames.Reader(), bytearray(), time.monotonic() + seconds
    channel.settimeout(0)
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or len(said) > MAX_BYTES:
            raise Malformed("a reader did not end in time, or said more than anybody looks at")
        if not select.select([channel], [], [], left)[0]:
            continue
        data = channel.recv(1 << 16)
        if not data:
            raise Malformed("a reader's world went away")
        for number, payload in reader.feed(data):
            if number == frames.FIRST_SERVER and not payload:
                return bytes(said)
            said += payload
