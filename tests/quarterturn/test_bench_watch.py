"""Tests of `./run bench watch` on one case: what it plays is the same everywhere, and fills every table."""

import importlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.full]  # tests/rotation/detection has a sample of every detector

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def watch() -> Iterator[ModuleType]:
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        yield importlib.import_module("watch")
    for name in ("watch", "oracle", "report", "measure", "made_up_worlds"):
        if name not in before:
            sys.modules.pop(name, None)


def test_an_interval_is_wilsons(watch: ModuleType) -> None:
    assert watch.interval(0, 100) == pytest.approx((0, 0.0370), abs=1e-4)
    assert watch.interval(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)
    assert watch.interval(0, 0) == (0, 1)


@cache
def played(watch: ModuleType, name: str, number: int) -> Any:
    return watch.play_one(name, number)


def test_a_case_is_the_same_wherever_it_is_played(watch: ModuleType) -> None:
    assert played(watch, "copy 50 %", 0) == watch.play_one("copy 50 %", 0)


def test_every_table_can_be_filled_from_what_was_seen(watch: ModuleType) -> None:
    seen = {"honest, 20 submitters": [], "copy 50 %": [played(watch, "copy 50 %", 0)]}
    (row,) = watch._true({"copy 50 %": seen["copy 50 %"]})
    assert (row["cases"], row["month 1"], row["month 2"]) == (1, "100.0 (20.7 to 100.0)", "")
    assert watch._mix(seen)["right"].startswith("100.0")
    assert [row["rotations"] for row in watch._false({"honest, 20 submitters": []})] == [0] * (2 + len(watch.HONEST))


def test_an_oracle_finds_what_can_be_found_and_is_seldom_wrong(watch: ModuleType) -> None:
    often, seldom = (watch.limits(watch.PLAIN, known, 0.75, 4) for known in (0.6, 0.001))
    assert min(often) == 1.0
    assert max(seldom) <= 0.25
