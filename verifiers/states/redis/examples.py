"""Example Redis snapshots for the predicate catalogue's examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifiers.formats.snapshot import written
from verifiers.tree import JudgeInput


def redis_keys(
    keys: Mapping[str, tuple[str, Any]], *, left: Mapping[str, int] | None = None, passed: int | None = None
) -> JudgeInput:
    """Return the views of a world whose Redis server holds these keys.

    Args:
        keys: key to its type and its value, as Redis's reader writes them (`verifiers.states.redis.keys`).
        left: the milliseconds that are left to those keys that run out.
        passed: the milliseconds since the world's start, if they were written down.
    """
    made = {
        name: {"type": kind, "value": value, "left": (left or {}).get(name)} for name, (kind, value) in keys.items()
    }
    return JudgeInput({"redis": written({"keys": made, **({} if passed is None else {"passed": passed})})})
