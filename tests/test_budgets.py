"""Tests of the rooms' budgets: what exceeds them, how they are set, and that their sum only falls."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from . import workload
from .accounting import COLLECTION, MACHINERY, Costs, room_of
from .budgets import PLACE, Budgets, whole_rooms, with_measured
from .places import extras

ROOT = PLACE.parents[1]
TEXT = """\
# Said once.
sum = { small = 70, all = 150 }

[sandbox]
small = { units = 40, boxes = 3 }
all = { units = 90, boxes = 9 }

[vault]
small = { units = 30 }
all = { units = 60 }
"""


def test_a_room_is_held_to_its_units_and_its_starts() -> None:
    budgets = Budgets.read("small", TEXT)
    assert budgets.excess("sandbox", {"units": 50.4, "boxes": 3}) == [
        "sandbox took 50 units, and its budget in tests/budgets.toml is 40"
    ]
    assert budgets.excess("sandbox", {"units": 50, "boxes": 3}) == [], "what another room's browser used may be in it"
    assert len(budgets.excess("sandbox", {"units": 99, "boxes": 4, "processes": 1})) == 3
    assert budgets.excess("attic", {"units": 0.1}) == ["attic took 0 units, and its budget in tests/budgets.toml is 0"]
    assert budgets.excess("attic", {}) == []


def test_all_rooms_together_are_held_to_the_sum_without_slack() -> None:
    budgets = Budgets.read("small", TEXT)
    most = budgets.sum_of_units
    assert budgets.excess_of_all({"vault": {"units": most}}) == []
    (said,) = budgets.excess_of_all({"vault": {"units": most - 1}, "sandbox": {"units": 2}})
    assert said == f"all rooms took {most + 1} units, and the sum in tests/budgets.toml is {most}"


def test_a_unit_is_what_the_workload_took_in_the_same_run() -> None:
    costs = Costs()
    costs.add("tests/vault/test_a.py::test_a", {"processor": 30.0, "boxes": 2})
    costs.add("tests/vault/test_a.py::test_b", {"processor": 10.0})
    costs.add("tests/test_a.py::test_c", {"processor": 1.0})
    assert "units" not in costs.measured()["vault"], "a short run plays no workload"
    costs.plays = [0.01, 0.1, 0.3, 9.0]
    measured = costs.measured()
    assert (measured["vault"]["units"], measured["vault"]["tests"], measured[MACHINERY]["units"]) == (20, 2, 0.5)
    assert costs.table(Budgets.read("small", TEXT))[1].split() == ["vault", "2", "0", "40", "20", "30", "2", *"0000"]
    assert costs.dearest("vault")[0].endswith("30.0 s  tests/vault/test_a.py::test_a")
    assert len(costs.dearest()) == 3
    assert [room_of(f"tests/{path}::test_x") for path in ("a/b/test_c.py", "test_c.py")] == ["a", MACHINERY]
    assert room_of("extras/export/tests/test_c.py::test_x") == "export"


def test_the_workload_is_measured_by_the_processor_and_not_by_the_clock() -> None:
    times = iter([1.0, 3.5])
    assert workload.play(lambda: next(times)) == 2.5


def test_budgets_are_set_to_what_was_measured_and_a_margin() -> None:
    text = with_measured(TEXT, "all", {"vault": {"units": 20, "boxes": 10, "databases": 0, "tests": 7}})
    assert text == TEXT.replace("all = 150", "all = 113").replace(
        "all = { units = 60 }", "all = { units = 23, boxes = 20 }"
    )
    assert with_measured(text, "all", {}) == text
    with pytest.raises(ValueError, match="would have 205 units in the size all, and the sum is 150"):
        with_measured(TEXT, "all", {"vault": {"units": 100}})


@pytest.mark.parametrize(
    ("named", "whole"),
    [
        (["/t"], {"vault", "sandbox"}),
        (["/"], {"vault", "sandbox", "export"}),
        (["/t/vault"], {"vault"}),
        (["/t/vault/test_a.py", "/t/sandbox"], {"sandbox"}),
        (["/e/export"], {"export"}),
    ],
)
def test_a_room_of_which_a_part_is_named_is_not_held_to_its_budget(named: list[str], whole: set[str]) -> None:
    rooms = {"vault", "sandbox", "export"}
    assert whole_rooms(rooms, map(Path, named), Path("/t"), {"export": Path("/e/export/tests")}) == whole


def test_the_sum_of_the_rooms_is_the_line_that_only_falls() -> None:
    document = tomllib.loads(PLACE.read_text(encoding="utf-8"))
    limits: dict[str, int] = document.pop("sum")
    for size, limit in limits.items():
        assert sum(sizes.get(size, {}).get("units", 0) for sizes in document.values()) <= limit
        assert limit <= before().get(size, limit), "a new capability pays by making something cheaper"
    rooms = {path.name for path in PLACE.parent.iterdir() if any(path.rglob("test_*.py"))} | set(extras())
    assert set(document) == rooms | {MACHINERY, COLLECTION}


def before() -> dict[str, int]:
    """Return the sums where this branch left `main`, or of the commit before; none where git knows neither."""
    base = git("merge-base", "main", "HEAD") or "HEAD"
    earlier = f"{base}^" if base == git("rev-parse", "HEAD") else base
    document: dict[str, Any] = tomllib.loads(git("show", f"{earlier}:tests/budgets.toml") or "")
    sums: dict[str, int] = document.get("sum", {})
    return sums


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
