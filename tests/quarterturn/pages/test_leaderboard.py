"""Tests of the leaderboard page: every figure drawn, ranks as given, and no markup out of a name."""

import html
import json
import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from quarterturn.pages import leaderboard
from quarterturn.pages.drawing.figures import NAMES
from quarterturn.pages.leaderboard_choice import ORDERS

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "</title><style>*{display:none}</style>",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "&lt;b&gt;",
]
ROTATIONS = {
    "benchmark": {"origin": "bench.example/log", "first_month": "2026-12"},
    "live": "2027-01",
    "next": {"turn": "2027-01", "due": "2027-02-01T00:00:00Z"},
    "cohorts": [
        {"entered": "2026-12", "retires": "2026-12", "tasks": 7},
        {"entered": "2026-12", "retires": "2027-01", "tasks": 4},
        {"entered": "2027-01", "retires": "2027-04", "tasks": 3},
        {"entered": "2027-02", "retires": "2027-05", "tasks": 9},
    ],
}


def figure(value=0.5, low=0.4, high=0.6, n=18):
    return {"value": value, "low": low, "high": high, "n": n}


def score(value=0.5, attempted=18):
    return {name: figure(value) for name in NAMES} | {"attempted": attempted, "unknown": 0, "spec": "1.0.0"}


def line(name, rank=1, track="docker", **more):
    sunset = None if track == "endpoint" else score(0.3, 6)
    return {
        "submitter": "lab", "name": name, "display_name": None, "track": track, "run": 1, "rank": rank, "note": "",
        "runs": 1,
        "rank_range": rank and [rank, rank + 1], "ranked_on": "whole" if track == "endpoint" else "sealed",
        "whole": score(0.45, 24), "sealed": score(), "sunset": sunset,
    } | more  # fmt: skip


def document(*lines, changes=(), public=()):
    return {
        "month": "2027-01", "sunset": "cohort-2027-01", "public_grammar": list(public), "lines": list(lines),
        "changes": list(changes),
    }  # fmt: skip


def drawn(*lines, query=leaderboard.EVERYTHING, **more):
    return leaderboard.page(document(*lines, **more), ["2026-12", "2027-01"], ROTATIONS, query)


def rows(page):
    return [row for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if "/agents/" in row]


def names(page):
    return [re.sub("<.*?>", " ", row).split()[1:3] for row in rows(page)]


def test_a_line_has_one_picture_and_every_figure_with_its_interval():
    (row,) = rows(drawn(line("ada")))
    assert row.count("<svg") == 1
    assert row.count("<circle") == 2, "success on the sealed cohorts, and on the sunset one"
    assert row.count('class="between"') == 1
    assert re.findall(r"<td>([\d.]+) <i>", row) == ["50.0", "30.0", "45.0", "45.0", "45.0"]
    assert row.count("<i>40.0\u201360.0</i>") == 5


def test_the_front_page_has_the_benchmarks_own_sentences_or_what_is_always_so():
    own = ROTATIONS["benchmark"] | {"operator": "The <b>lab</b> runs it.", "measures": "It measures patience."}
    bare = ROTATIONS["benchmark"]
    for benchmark, said in ((own, "The &lt;b&gt;lab&lt;/b&gt; runs it."), (bare, "has given no name")):
        rotations = ROTATIONS | {"benchmark": benchmark}
        page = leaderboard.page(document(), ["2027-01"], rotations, front=True)
        assert said in page
        assert ("It measures patience." in page) == (benchmark is own)
        assert 'href="/mine"' in page
        assert said not in leaderboard.page(document(), ["2027-01"], rotations)


def test_a_month_without_runs_counts_its_live_tasks_and_shows_the_standing_before_it():
    before = document(line("ada")) | {"month": "2026-12"}
    page = leaderboard.page(document(), ["2026-12", "2027-01"], ROTATIONS, before=before)
    assert "<dt>Tasks</dt><dd>7</dd>" in page, "4 and 3; one cohort has retired, and one is to come"
    assert "No run of 2027-01 is finished. This is the standing of" in page
    assert 'href="/leaderboard/2026-12?sort=agent"' in page
    assert len(rows(page)) == 1


def test_a_figure_over_nothing_is_a_dash_and_one_without_an_interval_has_no_bar():
    lonely = line("ada", sealed=score() | {"success_rate": figure(1, None, None)}, sunset=None)
    lonely["whole"] |= {"efficiency": figure(None, None, None)}
    (row,) = rows(drawn(lonely))
    assert (row.count("<circle"), row.count('class="between"')) == (1, 0)
    shown = re.findall(r"<td>([^<]*?)(?: <i>|</td>)", row)
    assert shown == ["1\u20132", "100.0", "\u2013", "\u2013", "45.0", "45.0", "1"]


def test_the_best_rank_comes_first_and_a_rank_is_a_range():
    page = drawn(
        line("c", 3, rank_range=[3, 3]), line("z", None, note="a verdict is unknown"), line("b"),
        line("a", sealed=score(0.6)),
    )  # fmt: skip
    found = [re.sub("<.*?>", " ", row).split()[:3] for row in rows(page)]
    assert found == [
        ["1\u20132", "lab/", "a"], ["1\u20132", "lab/", "b"], ["3", "lab/", "c"], ["\u2013", "lab/", "z"],
    ]  # fmt: skip


def test_two_agents_of_one_name_are_told_apart_by_their_submitters():
    page = drawn(line("mine", submitter="bob"), line("mine", submitter="ada"))
    assert names(page) == [["ada/", "mine"], ["bob/", "mine"]]
    assert {'href="/agents/ada/mine"', 'href="/agents/bob/mine"'} < set(re.findall('href="[^"]*"', page))
    assert "<dd>2</dd>" in page, "two agents"


def test_a_display_name_stands_first_and_submitter_and_agent_beside_it():
    page = drawn(line("mine", submitter="ada", display_name="Falcon 7B"), line("mine", submitter="bob"))
    texts = [" ".join(re.sub("<.*?>", " ", row).split()[1:4]) for row in rows(page)]
    assert 'href="/agents/ada/mine"><b>Falcon 7B</b></a> <small>ada/mine</small>' in page
    assert texts[0] == "Falcon 7B ada/mine"


def test_tracks_stand_apart_and_the_one_that_reads_its_tasks_has_no_figure_beside():
    page = drawn(line("ada"), line("host", track="endpoint", sealed=score(0.1, 0)), line("far", None, "beyond"))
    assert re.findall(r'<section[^>]* aria-labelledby="([\w-]+)"', page) == [
        "docker", "endpoint", "beyond", "changes", "reading",
    ]  # fmt: skip
    hosted = next(row for row in rows(page) if ">host<" in row)
    assert hosted.count("<circle") == 1
    assert "45.0" in hosted, "it is ranked on all that it was given"


MIXED = (
    line("alpha", 1, submitter="ada", sealed=score(0.9), runs=1),
    line("beta", 2, submitter="bob", sealed=score(0.7), runs=3, whole=score(0.2)),
    line("gamma", None, submitter="ada", sealed=score(0.8), runs=2, whole=score(0.3)),
    line("hosted", 1, "endpoint", submitter="bob"),
)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({}, ["alpha", "beta", "gamma", "hosted"]),
        ({"sort": "success"}, ["alpha", "gamma", "beta", "hosted"]),
        ({"sort": "calls"}, ["beta", "gamma", "alpha", "hosted"]),
        ({"sort": "runs"}, ["beta", "gamma", "alpha", "hosted"]),
        ({"sort": "agent"}, ["alpha", "gamma", "beta", "hosted"]),
        ({"track": "endpoint"}, ["hosted"]),
        ({"agent": " ADA/ "}, ["alpha", "gamma"]),
        ({"agent": "et", "track": "docker"}, ["beta"]),
        ({"track": "<b>", "sort": "<b>"}, ["alpha", "beta", "gamma", "hosted"]),
        ({"agent": "nobody<"}, []),
    ],
)
def test_a_reader_chooses_lines_and_their_order_by_the_address(query, shown):
    page = drawn(*MIXED, query=query)
    assert [name for _, name in names(page)] == shown
    assert ("nobody&lt;" in page) is ("nobody<" in query.values())
    track = query["track"] if query.get("track") in ("docker", "endpoint") else ""
    for address in re.findall(r'<a href="(/leaderboard/2027-01\?[^"]*)"', page):
        kept = dict(parse_qsl(urlsplit(html.unescape(address)).query))
        assert (kept.get("agent", ""), kept.get("track", "")) == (query.get("agent", "").strip(), track)


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_has_its_head_and_puts_what_has_no_value_last(order):
    nothing = line("nothing", None, sealed=score(None), whole=score(None), sunset=None)
    page = drawn(nothing, line("some"), line("other", 2), query={"sort": order})
    assert page.count("aria-sort=") == 1
    assert len(rows(page)) == 3
    if order not in ("agent", "runs"):
        assert names(page)[-1] == ["lab/", "nothing"]


def test_two_hundred_lines_are_a_lean_page():
    lines = [line(f"an-agent-with-a-name-{place}", submitter=f"laboratory-{place}") for place in range(200)]
    assert len(drawn(*lines).encode()) < 150 << 10


def test_months_are_links_and_the_one_that_is_shown_says_so():
    page = drawn(line("ada"))
    assert '<a href="/leaderboard/2026-12">' in page
    assert '<a href="/leaderboard/2027-01" aria-current="page">' in page


def test_every_change_names_its_leaf_and_its_reason():
    broken = {"cause": "broken", "why": "its <goal> was wrong"}
    changes = [
        {"leaf": 99, "kind": "withdraw", "subject": "t-" + "a" * 16, "tasks": 1} | broken,
        {"leaf": 44, "kind": "set", "subject": "set/2027-01", "tasks": 24, "cause": None, "why": "turn"},
    ]
    page = drawn(line("ada"), changes=changes)
    assert "A task was withdrawn" in page
    assert "it is broken: it counts in no run" in page
    assert "its &lt;goal&gt; was wrong" in page
    assert '<a href="/log/proof/inclusion?index=99">99 (JSON)</a>' in page
    assert json.loads(leaderboard.grids(document(changes=changes))["changes"].as_json())["changes"] == changes


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_is_more_than_a_name(name):
    plain, odd = (drawn(line(one, note=one, display_name=one)) for one in ("ada", name))
    tags, agents = re.compile(r"<[^>]*>"), re.compile(r'"/agents/lab/[\w.%-]+"')
    shown = [[agents.sub('""', tag) for tag in tags.findall(page)] for page in (plain, odd)]
    assert shown[0] == shown[1]
    assert "\u202e" not in odd
    assert leaderboard.grids(document(line(name)))["docker"].as_csv()


def test_an_empty_leaderboard_and_a_benchmark_without_a_month_say_so():
    assert "No runs yet" in drawn()
    assert "No month yet" in leaderboard.empty(None)
    assert "2027-02-01" in leaderboard.empty(ROTATIONS)
    assert "Public grammar" in drawn(public=["cohort-2027-01"])


def test_its_tables_hold_every_figure_with_its_interval_and_n():
    table = json.loads(leaderboard.grids(document(line("ada")))["docker"].as_json())["docker"]
    figures = [f"{part}_{name}" for part in leaderboard.PARTS for name in NAMES]
    assert {f"{name}{bound}" for name in figures for bound in ("", "_low", "_high", "_n")} < set(table[0])
    assert table[0]["sunset_success_rate"] == 0.3
    assert [table[0][name] for name in ("submitter", "name", "rank_low", "rank_high")] == ["lab", "ada", 1, 2]
