"""Tests of the figures behind the detection report."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from rotation.detection.report import figures
from rotation.detection.statistics.linking import LinkedRuns, link

from .worlds import table_of

KNOWING, SUBMITTERS, MONTHS, COHORT = 1, 10, 3, 40


@pytest.fixture(scope="module")
def line() -> LinkedRuns:
    """Return three months; in the last, one submitter knows half of the tasks that stayed."""
    dice = np.random.default_rng(4)
    first = np.repeat(np.arange(-2, MONTHS + 1), COHORT)
    difficulty, ability = dice.normal(0, 1.2, len(first)), dice.normal(0, 0.8, SUBMITTERS)
    rotation = np.repeat(np.arange(1, MONTHS + 1), SUBMITTERS)
    who = np.tile(np.arange(SUBMITTERS), MONTHS)
    taken = (first <= rotation[:, None]) & (first > rotation[:, None] - 4)
    exposed = taken & (first < rotation[:, None]) & (rotation[:, None] > 1)
    passed = taken & (dice.random(taken.shape) < expit(ability[who, None] - difficulty))
    known = exposed & ((rotation == MONTHS) & (who == KNOWING))[:, None] & (dice.random(len(first)) < 0.5)
    table = table_of(
        taken,
        passed | known,
        runs=tuple(f"run-{r}-{s}" for r, s in zip(rotation, who, strict=True)),
        submitter=who,
        rotation=rotation,
        submitters=tuple(f"s{number}" for number in range(SUBMITTERS)),
        family=np.arange(len(first)) % 30,
        families=tuple(f"f{number:02}" for number in range(30)),
        first=first,
        exposed=exposed,
    )
    return link(table)


def test_the_parts_of_a_jump_add_up_to_it(line):
    rows = figures.jumps(line, MONTHS)
    assert len(rows) == SUBMITTERS
    for row in rows:
        parts = sum(row[name]["value"] for name in ("ability", "difficulty", "excess"))
        assert parts == pytest.approx(row["change"]["value"], abs=1e-5)
        assert all(row[name]["low"] < row[name]["value"] < row[name]["high"] for name in ("change", "excess"))


def test_a_submitter_who_knows_tasks_jumps_by_excess(line):
    rows = figures.jumps(line, MONTHS)
    excess = {row["submitter"]: row["excess"]["value"] for row in rows}
    assert excess.pop(f"s{KNOWING}") > max(0.1, *excess.values())


def test_a_submitter_who_knows_tasks_is_above_the_peers_band(line):
    shown = figures.expected(line, MONTHS)
    band = shown["band"]
    above = [
        point["submitter"]
        for point in shown["points"]
        if point["observed"] > np.interp(point["expected"], [b["expected"] for b in band], [b["high"] for b in band])
    ]
    assert above == [f"s{KNOWING}"]
    assert all((point["exposed"], point["fresh"]) == (3 * COHORT, COHORT) for point in shown["points"])


def test_the_excess_is_what_was_passed_beyond_peers_and_chance_is_its_interval(line):
    points = figures.expected(line, MONTHS)["points"]
    knowing = next(point for point in points if point["submitter"] == f"s{KNOWING}")
    assert knowing["excess"]["low"] > 0.1
    assert np.median([point["excess"]["value"] for point in points]) == pytest.approx(0, abs=0.03)
    covered = [point["excess"]["low"] < 0 < point["excess"]["high"] for point in points if point is not knowing]
    assert sum(covered) >= len(covered) - 1
    fresh = ~line.table.exposed[figures.firsts(line.table, MONTHS)[0]]
    assert all(abs(point["excess"]["value"]) < 0.1 for point in figures.expected(line, MONTHS, fresh)["points"])


def test_shares_of_samples_make_the_interval_narrower(line):
    table = line.table
    chance = expit(line.scale.unaided[:, None] - np.nan_to_num(line.scale.difficulty))
    shares = replace(table, rates=np.where(table.passed, 0.7 * chance + 0.3, 0.7 * chance))
    narrow, wide = (figures.expected(replace(line, table=one), MONTHS)["points"] for one in (shares, table))
    for few, one in zip(narrow, wide, strict=True):
        assert few["excess"]["high"] - few["excess"]["low"] < 0.7 * (one["excess"]["high"] - one["excess"]["low"])


def test_a_groups_excess_is_its_members_mean_and_what_they_have_in_common_counts_once(line):
    alone = {row["submitter"]: row["excess"] for row in figures.expected(line, MONTHS)["points"]}
    seen = figures.expected(line, MONTHS, groups={"pair": {"s2", "s3"}, "one": {"s2"}, "nobody": set()})["groups"]
    pair, one = seen
    assert (pair["submitter"], pair["members"], one["submitter"]) == ("pair", 2, "one")
    assert pair["excess"]["value"] == pytest.approx((alone["s2"]["value"] + alone["s3"]["value"]) / 2, abs=1e-5)
    copied = replace(line.table, passed=line.table.passed.copy())
    now = np.flatnonzero(copied.rotation == MONTHS)
    copied.passed[now[3]] = copied.passed[now[2]]
    twins, one = figures.expected(link(copied), MONTHS, groups={"pair": {"s2", "s3"}, "one": {"s2"}})["groups"]
    widths = [row["excess"]["high"] - row["excess"]["low"] for row in (pair, twins, one)]
    assert widths[0] < 0.85 * widths[1]
    assert widths[1] == pytest.approx(widths[2], rel=0.05)


def test_the_first_month_has_nothing_exposed_to_compare(line):
    assert figures.expected(line, 1) == {"points": [], "band": []}


def test_residuals_stand_exposed_first_and_hard_to_easy(line):
    shown = figures.residuals(line, MONTHS)
    order = [(not task["exposed"], -task["difficulty"]) for task in shown["tasks"]]
    assert order == sorted(order)
    assert len(order) == 4 * COHORT
    assert {len(row["residuals"]) for row in shown["rows"]} == {4 * COHORT}
    assert [row["submitter"] for row in shown["rows"]] == [f"s{number}" for number in range(SUBMITTERS)]


def test_a_residual_is_above_nothing_where_the_task_was_passed(line):
    shown, table = figures.residuals(line, MONTHS), line.table
    run = figures.firsts(table, MONTHS)[3]
    for task, residual in zip(shown["tasks"], shown["rows"][3]["residuals"], strict=True):
        assert (residual > 0) == table.passed[run, table.tasks.index(task["task"])]


def test_drift_follows_each_live_task_through_its_months(line):
    rows = figures.drift(line, MONTHS)
    assert [len(row["rotations"]) for row in rows] == [3] * 2 * COHORT + [2] * COHORT + [1] * COHORT
    point = rows[0]["rotations"][0]
    task = line.table.tasks.index(rows[0]["task"])
    first = line.table.rotation == 1
    assert point["observed"] == pytest.approx(line.table.passed[first, task].mean(), abs=1e-6)
    assert point["runs"] == SUBMITTERS


def test_every_run_has_a_raw_score_beside_the_linked_one(line):
    rows = figures.scores(line)
    assert [row["run"] for row in rows] == list(line.table.runs)
    for row, raw in zip(rows, (line.table.passed & line.table.taken).sum(1) / (4 * COHORT), strict=True):
        assert row["raw"]["value"] == pytest.approx(raw, abs=1e-6)
        assert row["linked"]["low"] < row["linked"]["value"] < row["linked"]["high"]
