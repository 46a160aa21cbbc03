"""Key `freeze` of a manifest: a wall clock that stands still, and random values that are the same in every world.

The programs that do it are in `sandbox/kinds/common/frozen`; a server is started through one of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any

from sandbox.errors import Malformed
from sandbox.kinds.common.state_kind import OUR_KINDS

VARIABLE = "QUARTERTURN_FREEZE"
PYTHON, NODE = f"{OUR_KINDS}/common/frozen/frozen.py", f"{OUR_KINDS}/common/frozen/frozen.cjs"
_WITH_VALUE = ("-X", "-W")  # options of the interpreter whose value is the next word
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "description": "What stands still in its world, for a server that writes times or random ids. Its command then "
    "begins with `{python}` or `{node}`.",
    "properties": {
        "clock": {
            "type": "string",
            "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$(?!\n)",
            "description": "What every wall clock of it shows, in UTC, such as `2026-03-02T09:00:00Z` in quotes. "
            "Timeouts and sleeps go on. In Python also what SQLite takes for now.",
        },
        "ids": {
            "const": True,
            "description": "The n-th random value that it asks for is the same in every world: UUIDs, random bytes and "
            "numbers. Not for a `stateless` server.",
        },
    },
}


def frozen(words: Sequence[str], document: Mapping[str, Any], what: str) -> list[str]:
    """Return the command that starts a server through the program that freezes it.

    Args:
        words: the words of the manifest's command, with places in them.
        document: the manifest.
        what: what it is called in messages.

    Raises:
        Malformed: the day is none, the command begins with no interpreter, or the server is declared stateless.
    """
    freeze, place = document["freeze"], f"{what} at $.freeze"
    if "clock" in freeze:
        try:
            datetime.fromisoformat(freeze["clock"])
        except ValueError as error:
            raise Malformed(f"{place}.clock is no moment: {error}") from None
    if "ids" in freeze and document.get("stateless"):
        raise Malformed(f"{place}.ids: a stateless server is used for several tasks, which get other ids; remove a key")
    interpreter = document["command"][0]
    if interpreter not in {"{node}", "{python}"} or len(words) == 1:
        raise Malformed(f"{place}: only a command that begins with {{python}} or {{node}} can be frozen")
    if interpreter == "{node}":
        return [words[0], "--require", NODE, *words[1:]]
    options = _options(words[1:])
    return [*words[: 1 + options], PYTHON, *words[1 + options :]]


def variables(freeze: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment variable that tells the program what to freeze."""
    return {VARIABLE: json.dumps(freeze, sort_keys=True)}


def _options(words: Sequence[str]) -> int:
    """Count the words before `-c`, `-m` or the script."""
    values = {place + 1 for place, word in enumerate(words) if word in _WITH_VALUE}
    plain = takewhile(
        lambda item: item[0] in values or (item[1].startswith("-") and item[1][:2] not in {"-c", "-m"}),
        enumerate(words),
    )
    return len(list(plain))
