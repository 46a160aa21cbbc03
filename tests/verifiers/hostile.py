"""States that hostile agents leave, as small files: `tests/vectors/hostile/<kind>/<what is wrong>.<ext>`.

A text is its own source; `freezing/hostile_states.py` wrote the others. A `.tar` is a whole state; any other file lies
in it where its server keeps one of that ending (`PLACES`).
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

from verifiers.formats.archive import tree_from_tar
from verifiers.states.calendar.entries import HOME
from verifiers.states.forge.examples import forge
from verifiers.tree import FileTree, Node

FOLDER = Path(__file__).parents[1] / "vectors" / "hostile"
PLACES = {
    ("filesystem", "json"): "a.json",
    ("filesystem", "txt"): "a",
    ("sqlite", "db"): "main.db",
    ("postgres", "json"): "snapshot.json",
    ("redis", "json"): "snapshot.json",
    ("spreadsheet", "xlsx"): "a.xlsx",
    ("calendar", "ics"): f"{HOME}/team/e1.ics",
    ("email", "eml"): "outbox/new/1",
    ("json_document", "json"): "state.json",
    ("memory", "jsonl"): "memory.jsonl",
    ("github", "json"): "state.json",
}


def _header(kind: bytes, size: bytes, name: bytes = b"a") -> bytes:
    """Return the header of an entry of a tar."""
    head = name.ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + size + b"00000000000\0" + b" " * 8 + kind
    head = head.ljust(257, b"\0") + b"ustar\x0000"
    head = head.ljust(512, b"\0")
    return head[:148] + b"%06o\0 " % sum(head) + head[156:]


def _tar(*headers: tuple[bytes, bytes]) -> bytes:
    """Return a tar of these entries, each with its kind and content."""
    parts = [
        _header(kind, b"%011o\0" % len(data)) + data.ljust(-len(data) % 512 + len(data), b"\0")
        for kind, data in headers
    ]
    return b"".join(parts) + bytes(1024)


ARCHIVES: Mapping[str, Callable[[], bytes]] = {
    "file-of-a-negative-size": lambda: _header(b"0", b"\xff" * 12) + bytes(1024),
    "long-names-of-long-names": lambda: _tar(*[(b"L", b"a\0")] * 90, (b"0", b"x")),
    "extended-header-of-digits": lambda: _tar((b"x", b"1" * 60_000), (b"0", b"x")),
    "sparse-map-without-end": lambda: _tar(
        (b"x", b"22 GNU.sparse.minor=0\n22 GNU.sparse.major=1\n"), (b"0", b"1" * 60_000)
    ),
}
"""Tars that are refused before anybody reads what is in them; no files, because no server keeps them."""


def state(kind: str, name: str, data: bytes) -> FileTree:
    """Return the state in which a file of the corpus stands."""
    ending = name.rpartition(".")[2]
    if ending == "tar":
        return tree_from_tar(io.BytesIO(data))
    sound = dict(forge().states["github"]) if kind == "github" else {}
    return FileTree({**sound, PLACES[kind, ending]: Node("file", data)})
