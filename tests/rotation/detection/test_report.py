"""Tests of the document behind a maintainer's report: whole, causal, and plain JSON."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rotation.detection.detectors.leaked_tasks import smallest
from rotation.detection.detectors.scan import judged
from rotation.detection.report.report import report as report_on
from rotation.detection.report.report import visible

from .worlds import World, Wrong, play, stored

pytestmark = pytest.mark.slow

SMALL = World(submitters=8, rotations=3, cohort=20, families=16, absence=0, again=0.3)
NAMES = [f"who{number:03}" for number in range(8)]


def report(table, rotation):
    """Make the report with the findings that a scan stores."""
    return report_on(table, rotation, stored(table, rotation) if rotation > 1 else [])


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """Return the report on a third month in which the first submitter knows half of the tasks that stayed."""
    return report(play(SMALL, 3, Wrong(start=3, known=0.5, shortcut=0.6)), 3)


def test_everybody_who_was_there_is_in_every_part(document):
    views = document["views"]
    parts = (document["jumps"], document["expected"]["points"], document["residuals"]["rows"], views["fit"])
    for part in parts:
        assert [row["submitter"] for row in part] == NAMES
    assert list(document["smallest"]) == NAMES
    assert (document["submitters"], document["tasks"], document["exposed"]) == (8, 80, 60)


def test_it_holds_every_test_that_the_scan_makes(document):
    table = play(SMALL, 3, Wrong(start=3, known=0.5, shortcut=0.6))
    made = [(one.tested.kind, one.tested.subject, one.p_value, one.holm) for one in judged(table, 3)]
    assert [(one["kind"], one["subject"], one["p_value"], one["p_adj"]) for one in document["tests"]] == made
    assert report_on(table, 3, [])["tests"] == [], "no test is made for a report"
    leak = next(one for one in document["tests"] if one["kind"] == "leak")
    assert 0 <= leak["low"] <= leak["effect"] <= leak["high"] <= 1
    assert {kind: len(rows) for kind, rows in document["quantiles"].items()} == {
        kind: sum(one["kind"] == kind for one in document["tests"])
        for kind in {one["kind"] for one in document["tests"]}
    }


def test_ordered_z_of_honest_tests_lie_mostly_in_their_band():
    rows = report(play(World(submitters=12, rotations=2, cohort=30, families=30), 8), 2)["quantiles"]["leak"]
    assert [row["z"] for row in rows] == sorted(row["z"] for row in rows)
    assert sum(row["low"] <= row["z"] <= row["high"] for row in rows) >= len(rows) - 2


def test_later_months_change_no_byte_of_a_months_report(document):
    table = play(SMALL, 3)
    assert json.dumps(report(table, 2)) == json.dumps(report(table.until(2), 2))


def test_below_five_submitters_the_smallest_leak_is_all_that_is_said_of_leaks():
    few = report(play(replace(SMALL, submitters=3), 4), 3)
    assert few["too_few_peers"]
    assert few["tests"]
    assert "leak" not in {one["kind"] for one in few["tests"]}
    assert all(share is None or 0 < share <= 1 for share in few["smallest"].values())
    assert set(few["smallest"]) == {"who000", "who001", "who002"}


def test_in_the_first_month_nothing_is_compared():
    first = report(play(SMALL, 5), 1)
    assert (first["tests"], first["jumps"], first["smallest"], first["quantiles"]) == ([], [], {}, {})
    assert first["first"]
    assert len(first["scores"]) >= 8


def test_the_visible_leak_is_the_detectors_own_figure():
    table = play(SMALL, 6)
    assert visible(table, 3) == pytest.approx(smallest(table, 3), abs=1e-6)


def test_several_runs_of_a_submitter_are_shown_with_the_luck_of_the_best(document):
    assert document["views"]["best"], "some of this world submit twice"
    for row in document["views"]["best"]:
        assert row["k"] == 2
        assert row["best"] >= row["mean"]
        assert 0 < row["luck"] < 0.06
    luck = [row["points"] for row in document["views"]["luck"]]
    assert luck == sorted(luck)


@pytest.mark.slow
def test_honest_runs_fit_on_the_whole():
    fits = [row["lz"] for row in report(play(World(submitters=20, rotations=2), 7), 2)["views"]["fit"]]
    assert abs(float(np.mean(fits))) < 1.2


def test_it_is_plain_json_and_the_same_twice(document):
    again = report(play(SMALL, 3, Wrong(start=3, known=0.5, shortcut=0.6)), 3)
    assert json.dumps(document, allow_nan=False) == json.dumps(again)
