"""Dev sets of the shipped grammars, kept on this machine: to draw them takes seconds, in every process.

They are public and the same for everybody. What is kept is named after all that it was drawn by, so that a changed
grammar, or changed code, is drawn anew. It lies beside the installed packages, or else where this user keeps what can
be remade; where neither can be written, it is drawn every time.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from grammars.errors import Exhausted
from grammars.language.grammar import Draft
from rotation.errors import NotFound
from rotation.month.sets import SETS, SetSpec
from vault.files import write_atomically
from vault.task.document import Task

FOLDER = "dev-sets"
OURS = Path(__file__).resolve().parents[2]
DRAWN_BY = ("grammars", "rotation/generation", "rotation/month", "vault/task")
"""The folders whose code and grammars say what is drawn."""

_DRAWN: dict[str, list[Draft]] = {}


def drafts(spec: SetSpec) -> list[Draft]:
    """Return a set's dev tasks, each of a skeleton of its own; the same ones every time.

    Raises:
        NotFound: there is no shipped grammar for one of its servers.
        Exhausted: a grammar has too few skeletons.
    """
    key = _key(spec)
    if key not in _DRAWN:
        _DRAWN[key] = _read(key) or _keep(key, _draw(spec))
    return _DRAWN[key]


def tasks(spec: SetSpec, *, first: int | None = None) -> list[Task]:
    """Return a set's dev tasks, or only so many of them.

    Raises:
        NotFound, Exhausted: as for `drafts`.
    """
    return [Task.parse(draft.task) for draft in drafts(spec)[:first]]


def public(*own: SetSpec) -> list[Draft]:
    """Return the tasks of every dev set that can be drawn, shipped or `own`: what everybody can know."""
    drawn: dict[str, Draft] = {}
    for spec in (*SETS.values(), *own):
        with suppress(NotFound, Exhausted):  # of what cannot be drawn, nobody knows anything
            drawn |= {draft.id: draft for draft in drafts(spec)}
    return list(drawn.values())


@cache
def version() -> str:
    """Return a digest of all that dev sets are drawn by; to read it takes milliseconds."""
    state = hashlib.sha256()
    for name in DRAWN_BY:
        for path in sorted(path for path in (OURS / name).rglob("*") if path.suffix in {".py", ".yaml"}):
            state.update(hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()


def _draw(spec: SetSpec) -> list[Draft]:
    from rotation.generation import dev_sets  # noqa: PLC0415 - the language of grammars, for nothing where they are kept
    from rotation.generation.grammars import shipped_among  # noqa: PLC0415

    return dev_sets.draw(shipped_among(spec.dev_servers), spec)


def _key(spec: SetSpec) -> str:
    wanted = repr((sorted(spec.dev.items()), spec.trait_quotas))
    return f"{version()[:16]}-{hashlib.sha256(wanted.encode()).hexdigest()[:16]}"


def _read(key: str) -> list[Draft]:
    for folder in _folders():
        with suppress(OSError, ValueError, TypeError):
            return [Draft(task, provenance) for task, provenance in json.loads((folder / f"{key}.json").read_bytes())]
    return []


def _keep(key: str, drawn: list[Draft]) -> list[Draft]:
    """Keep what was drawn, and remove what other versions have kept."""
    text = json.dumps([[draft.task, draft.provenance] for draft in drawn])
    for folder in _folders():
        with suppress(OSError):
            write_atomically(folder / f"{key}.json", text.encode(), folder / f"{key}.{os.getpid()}.part")
            for old in folder.iterdir():
                if not old.name.startswith(version()[:16]):
                    old.unlink(missing_ok=True)
            break
    return [Draft(task, provenance) for task, provenance in json.loads(text)]


def _folders() -> Iterator[Path]:
    yield Path(sys.prefix) / FOLDER
    with suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quarterturn" / FOLDER
