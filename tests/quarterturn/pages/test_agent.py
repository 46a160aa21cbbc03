"""Tests of an agent's page: its lines of all months, each with a permalink, and a chart with its intervals."""

import json
import re

from quarterturn.pages import agent
from quarterturn.pages.drawing.figures import NAMES


def score(value):
    return {name: {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 18} for name in NAMES}


def line(name="mine", submitter="ada", track="docker", value=0.5, run=1):
    return {
        "submitter": submitter, "name": name, "display_name": None, "track": track, "run": run, "rank": 1,
        "rank_range": [1, 3], "note": "", "runs": 2, "ranked_on": "sealed", "whole": score(0.4),
        "sealed": score(value), "sunset": score(0.3),
    }  # fmt: skip


def boards(**months):
    return [{"month": month[1:].replace("_", "-"), "lines": lines} for month, lines in months.items()]


BOARDS = boards(
    m2026_12=[line(value=0.5), line(submitter="bob", run=2)],
    m2027_01=[line("other", run=3)],
    m2027_02=[line(value=0.6, run=4), line(track="unofficial", value=0.7, run=5)],
    m2027_03=[line(value=0.7, run=6)],
)


def test_an_agent_has_the_lines_of_its_submitter_and_name_and_no_others():
    found = agent.lines(BOARDS, "ada", "mine")
    assert [(row["month"], row["run"]) for row in found] == [
        ("2027-03", 6), ("2027-02", 4), ("2027-02", 5), ("2026-12", 1),
    ]  # fmt: skip
    assert agent.lines(BOARDS, "bob", "other") == []


def test_each_month_leads_to_the_agents_line_of_its_leaderboard():
    page = agent.page("ada", "mine", agent.lines(BOARDS, "ada", "mine"), [])
    assert '<a href="/leaderboard/2027-02?track=unofficial&amp;agent=ada%2Fmine">2027-02</a>' in page
    assert "<dd>1\u20133</dd>" in page


def test_a_chart_has_a_dot_and_an_interval_a_month_and_a_band_between_months_that_follow():
    found = agent.lines(BOARDS, "ada", "mine")
    charts = re.findall("<svg.*?</figure>", agent.page("ada", "mine", found, []), re.DOTALL)
    official = next(chart for chart in charts if "2026-12 50.0; 2027-02 60.0; 2027-03 70.0" in chart)
    assert len(charts) == 2
    assert official.count("<circle") == official.count('class="between"') == 3
    assert official.count("<polygon") == 1, "January is missing"


def test_a_run_without_a_figure_is_in_the_table_alone():
    nothing = line() | {"sealed": {name: {"value": None, "low": None, "high": None, "n": 0} for name in NAMES}}
    found = agent.lines(boards(m2027_01=[nothing | {"rank": None, "rank_range": None}]), "ada", "mine")
    assert "No ranked success rate" in agent.page("ada", "mine", found, [])


def test_the_table_holds_numbers_for_programs():
    (row, *_) = json.loads(agent.grids("ada", "mine", agent.lines(BOARDS, "ada", "mine"), [])["runs"].as_json())["runs"]
    assert (row["rank_low"], row["rank_high"], row["success_rate"], row["sunset"], row["run"]) == (1, 3, 0.7, 0.3, 6)


def test_no_name_is_more_than_a_name():
    name = '"><script>alert(1)</script>'
    page = agent.page(name, name, agent.lines(boards(m2027_01=[line(name, name)]), name, name), [])
    assert "<script" not in page
    assert 'href="/agents/%22%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E/' in page


def test_retired_tasks_are_counted_by_server_and_category_over_the_agents_runs():
    counts = [
        {"run": run, "by": by, "name": kind, "attempted": 3, "passed": passed}
        for run, by, kind, passed in (
            (1, "server", "git", 1), (4, "server", "git", 2), (4, "category", "recovery", 2), (4, "server", "email", 0),
            (2, "server", "git", 3), (99, "server", "git", 3),
        )
    ]  # fmt: skip
    found = agent.lines(BOARDS, "ada", "mine")
    rows = json.loads(agent.grids("ada", "mine", found, counts)["retired"].as_json())["retired"]
    assert [(row["name"], row["attempted"], row["passed"], row["success"]) for row in rows] == [
        ("email", 3, 0, 0), ("git", 6, 3, 0.5), ("recovery", 3, 2, 2 / 3),
    ]  # fmt: skip
    by_language = [
        {"run": 1, "by": "language", "name": name, "attempted": 3, "passed": passed}
        for name, passed in (("en", 2), ("de", 1))
    ]
    for languages in (by_language[:1], by_language):
        grid = agent.grids("ada", "mine", found, [*counts, *languages])["retired"]
        shown = [
            (row["name"], row["passed"]) for row in json.loads(grid.as_json())["retired"] if row["by"] == "language"
        ]
        assert shown == ([("de", 1), ("en", 2)] if len(languages) > 1 else []), "one language tells nothing apart"
    assert "follow then" in agent.page("ada", "mine", found, [])
    assert 'href="/agents/ada/mine/retired.csv"' in agent.page("ada", "mine", found, counts)
