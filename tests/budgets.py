"""Budgets of the rooms (`budgets.toml`): units of processor time, and starts, for each size.

A unit is a multiple of a fixed workload that the same run times (`workload.py`). `--set-budgets` writes what whole
rooms took, and a margin; it never raises the sum.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

PLACE = Path(__file__).with_name("budgets.toml")
STARTS = ("boxes", "containers", "databases", "processes", "derivations")
MARGIN = 1.15
"""Of units: the spread of the ratio between an idle machine and a busy one (see `docs/adr/0102`)."""
ROOM_SLACK = 1.25
"""What children that tests share used is booked on the room in which they end; all rooms together have no slack."""
MARGIN_OF_STARTS = 1.15
SPARE_STARTS = 8
"""A fixture that tests share is made once by each worker, and workers share the tests anew in each run."""
_SUM = re.compile(r"^sum = .*$", re.MULTILINE)


@dataclass(frozen=True)
class Budgets:
    """The budgets of one size; a room that has none may use and start nothing."""

    sum_of_units: int
    rooms: Mapping[str, Mapping[str, int]]

    @classmethod
    def read(cls, size: str, text: str | None = None) -> Budgets:
        """Read the budgets of a size."""
        document = tomllib.loads(PLACE.read_text(encoding="utf-8") if text is None else text)
        limits: dict[str, int] = document.pop("sum")
        return cls(limits[size], {room: sizes.get(size, {}) for room, sizes in document.items()})

    def of(self, room: str) -> Mapping[str, int]:
        """Return the budget of a room by kind."""
        return self.rooms.get(room, {})

    def excess(self, room: str, costs: Mapping[str, float]) -> list[str]:
        """Say what a room that was played as a whole has exceeded."""
        return [
            f"{room} took {costs.get(kind, 0):.0f} {kind}, and its budget in tests/budgets.toml is {most}"
            for kind in ("units", *STARTS)
            if costs.get(kind, 0) > (most := self.of(room).get(kind, 0)) * (ROOM_SLACK if kind == "units" else 1)
        ]

    def excess_of_all(self, measured: Mapping[str, Mapping[str, float]]) -> list[str]:
        """Say by how much a run of all rooms has exceeded the sum of their units."""
        total = sum(costs.get("units", 0) for costs in measured.values())
        said = f"all rooms took {total:.0f} units, and the sum in tests/budgets.toml is {self.sum_of_units}"
        return [said] if total > self.sum_of_units else []


def with_measured(text: str, size: str, measured: Mapping[str, Mapping[str, float]]) -> str:
    """Return the text of `budgets.toml` with the budgets of a size set to what rooms took, and the margin.

    Raises:
        ValueError: the units add up to more than the sum that the file permits.
    """
    document = tomllib.loads(text)
    limits = document.pop("sum")
    for room, costs in measured.items():
        document.setdefault(room, {})[size] = _budget(costs)
    total = sum(sizes.get(size, {}).get("units", 0) for sizes in document.values())
    if total > limits[size]:
        raise ValueError(f"the rooms would have {total} units in the size {size}, and the sum is {limits[size]}")
    limits[size] = total
    head = _SUM.sub(lambda _: f"sum = {_inline(limits)}", text.partition("\n[")[0])
    return "\n\n".join((head.rstrip(), *(_table(room, document[room]) for room in sorted(document)))) + "\n"


def _budget(costs: Mapping[str, float]) -> dict[str, int]:
    starts = {kind: ceil(costs[kind] * MARGIN_OF_STARTS) + SPARE_STARTS for kind in STARTS if costs.get(kind)}
    return {"units": ceil(costs["units"] * MARGIN), **starts}


def _table(room: str, sizes: Mapping[str, Any]) -> str:
    name = room if room.isidentifier() else f'"{room}"'
    return "\n".join((f"[{name}]", *(f"{size} = {_inline(sizes[size])}" for size in ("small", "all") if size in sizes)))


def _inline(values: Mapping[str, int]) -> str:
    return "{ " + ", ".join(f"{name} = {value}" for name, value in values.items()) + " }"


def whole_rooms(rooms: Iterable[str], named: Iterable[Path], tests: Path, extras: Mapping[str, Path]) -> set[str]:
    """Return the rooms of which every test is played when these paths are named; an extra has a folder of its own."""
    folders, paths = {room: extras.get(room, tests / room) for room in rooms}, list(named)
    return {room for room, folder in folders.items() if any(folder.is_relative_to(path) for path in paths)}
