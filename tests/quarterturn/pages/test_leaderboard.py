"""Tests of the leaderboard page: every figure drawn, ranks as given, and no markup out of a name."""

from __future__ import annotations

import json
import re

import pytest

from quarterturn.pages import leaderboard
from quarterturn.pages.drawing.figures import NAMES

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "</title><style>*{display:none}</style>",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "&lt;b&gt;",
]
ROTATIONS = {"live": "2027-01", "next": {"turn": "2027-01", "due": "2027-02-01T00:00:00Z"}}


def figure(value=0.5, low=0.4, high=0.6, n=18):
    return {"value": value, "low": low, "high": high, "n": n}


def score(value=0.5, attempted=18):
    return {name: figure(value) for name in NAMES} | {"attempted": attempted, "unknown": 0, "spec": "1.0.0"}


def line(name, rank=1, track="docker", **more):
    sunset = None if track == "endpoint" else score(0.3, 6)
    return {
        "name": name, "track": track, "run": 1, "rank": rank, "note": "", "runs": 1, "whole": score(0.45, 24),
        "sealed": score(), "sunset": sunset,
    } | more  # fmt: skip


def document(*lines, changes=(), public=()):
    return {
        "month": "2027-01", "sunset": "cohort-2027-01", "public_grammar": list(public), "lines": list(lines),
        "changes": list(changes),
    }  # fmt: skip


def drawn(*lines, **more):
    return leaderboard.page(document(*lines, **more), ["2026-12", "2027-01"], ROTATIONS)


def rows(page):
    return re.findall(r'<tr role="row"><td class="rank".*?</tr>', page, re.DOTALL)


def test_every_figure_has_a_dot_and_a_whisker_and_says_both():
    (row,) = rows(drawn(line("ada")))
    assert row.count("<circle") == row.count('class="value"') == 5, "four figures, and success on the sunset cohort"
    assert row.count('class="strong"') == 15
    assert "50.0" in row
    assert "40.0 to 60.0" in row


def test_a_figure_over_nothing_is_a_dash_and_one_without_an_interval_has_no_whisker():
    lonely = line("ada")
    lonely["whole"] |= {"efficiency": figure(None, None, None), "recovery_rate": figure(1, None, None)}
    (row,) = rows(drawn(lonely))
    assert row.count("<circle") == 4
    assert row.count('class="strong"') == 9


def test_the_best_rank_comes_first_and_those_that_share_one_say_so():
    page = drawn(line("c", 3), line("z", None, note="a verdict is unknown"), line("b"), line("a", sealed=score(0.6)))
    found = [re.sub("<.*?>", " ", row).split()[:2] for row in rows(page)]
    assert found == [["1=", "a"], ["1=", "b"], ["3", "c"], ["\u2013", "z"]]


def test_tracks_stand_apart_and_the_one_that_reads_its_tasks_has_no_figure_beside():
    page = drawn(line("ada"), line("host", track="endpoint", sealed=score(0.1, 0)), line("far", None, "beyond"))
    assert re.findall(r'<section aria-labelledby="([\w-]+)"', page) == [
        "docker", "endpoint", "beyond", "changes", "reading",
    ]  # fmt: skip
    hosted = next(row for row in rows(page) if ">host<" in row)
    assert hosted.count("<circle") == 4
    assert "45.0" in hosted, "it is ranked on all that it was given"


def test_months_are_links_and_the_one_that_is_shown_says_so():
    page = drawn(line("ada"))
    assert '<a href="/leaderboard/2026-12">' in page
    assert '<a href="/leaderboard/2027-01" aria-current="page">' in page


def test_every_change_names_its_leaf_and_its_reason():
    changes = [
        {"leaf": 99, "kind": "withdraw", "subject": "t-" + "a" * 16, "tasks": 1, "why": "its <goal> was wrong"},
        {"leaf": 44, "kind": "set", "subject": "set/2027-01", "tasks": 24, "why": "turn"},
    ]
    page = drawn(line("ada"), changes=changes)
    assert "A task was withdrawn" in page
    assert "its &lt;goal&gt; was wrong" in page
    assert 'href="/log/proof/inclusion?index=99"' in page
    assert json.loads(leaderboard.grids(document(changes=changes))["changes"].as_json())["changes"] == changes


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_is_more_than_a_name(name):
    plain, odd = drawn(line("ada", note="n", track="docker")), drawn(line(name, note=name, track="docker"))
    tags = re.compile(r"<[^>]*>")
    assert tags.findall(plain) == tags.findall(odd)
    assert "\u202e" not in odd
    assert leaderboard.grids(document(line(name)))["docker"].as_csv()


def test_an_empty_leaderboard_and_a_benchmark_without_a_month_say_so():
    assert "No runs yet" in drawn()
    assert "No month yet" in leaderboard.empty(None)
    assert "2027-02-01" in leaderboard.empty(ROTATIONS)
    assert "Public grammar" in drawn(public=["cohort-2027-01"])


def test_its_tables_hold_every_figure_with_its_interval_and_n():
    table = json.loads(leaderboard.grids(document(line("ada")))["docker"].as_json())["docker"]
    assert {
        f"{part}_{name}{bound}" for part in leaderboard.PARTS for name in NAMES for bound in ("", "_low", "_high", "_n")
    } < set(table[0])
    assert table[0]["sunset_success_rate"] == 0.3
