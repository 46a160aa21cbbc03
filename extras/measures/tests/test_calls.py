"""Tests of measures of calls: accuracy, call graph, tool-call success, root causes, Pass@K."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import isclose

import pytest

from quarterturn_measures.measures.call_accuracy import call_accuracy
from quarterturn_measures.measures.call_graph import edges_of, graph_difference
from quarterturn_measures.measures.pass_at_k import pass_at_k, spread
from quarterturn_measures.measures.root_causes import CAUSES, root_cause
from quarterturn_measures.measures.tool_choice import tool_recall, wrong_tool_calls
from quarterturn_measures.measures.tool_success import ToolCount, tool_success
from sandbox.transcript import CallRecord, ToolCall

MARKETS = ("NASDAQ", "NYSE", "DOW", "LSE")


def made(tool, arguments=None, result="ok", **more):
    flags = {"listed": True, "error": False, "injected": False} | more
    return CallRecord(tool, arguments or {}, result=result, seconds=0.1, **flags)


def wanted(tool, **arguments):
    return ToolCall(tool, arguments)


SOLUTION = [wanted("a.read", path="x.txt"), wanted("a.write", path="y.txt", lines=3)]


@pytest.mark.parametrize(
    ("calls", "share"),
    [
        ([made("a.read", {"path": "x.txt"}), made("a.write", {"path": "y.txt", "lines": 3})], 1),
        ([made("a.write", {"lines": 3.0, "path": "y.txt"}), made("b.other")], Fraction(1, 2)),
        ([made("a.write", {"path": "y.txt", "lines": "3"})], 0),  # another type
        ([made("a.write", {"path": "y.txt", "lines": 3, "mode": "x"})], 0),  # an unknown argument
        ([made("a.write", {"path": "y.txt", "lines": 3, "flush": False})], Fraction(1, 2)),  # the default
        ([made("a.read", {"path": "x.txt"}, injected=True, error=True)], 0),
        ([], 0),
    ],
)
def test_a_call_counts_where_tool_and_arguments_are_equal(calls, share):
    schemas = {"a.write": {"properties": {"flush": {"default": False}}}}
    assert call_accuracy(calls, [SOLUTION], schemas) == share


def test_the_best_solution_counts_and_none_without_a_call():
    calls = [made("b.query", {"sql": "SELECT 1"})]
    assert call_accuracy(calls, [SOLUTION, [wanted("b.query", sql="SELECT 1")]], {}) == 1
    assert call_accuracy(calls, [[]], {}) is None
    assert call_accuracy(calls, [], {}) is None
    again = [wanted("a.read", path="x.txt"), wanted("a.read", path="x.txt")]  # a retry of a scheduled error
    assert call_accuracy([made("a.read", {"path": "x.txt"})], [again], {}) == 1


def test_recall_counts_the_needed_tools_of_the_best_solution_among_the_first_k():
    shortlist = ["c.other", "a.write", "a.read"]
    assert [tool_recall(shortlist, [SOLUTION], k) for k in (1, 2, 3, 9)] == [0, Fraction(1, 2), 1, 1]
    assert tool_recall(shortlist, [SOLUTION, [wanted("c.other")]], 1) == 1
    assert tool_recall([], [SOLUTION], 5) == 0
    assert tool_recall(None, [SOLUTION], 5) is None
    assert tool_recall(shortlist, [[]], 5) is None


def test_a_wrong_tool_is_offered_and_in_no_solution():
    calls = [made("a.read"), made("b.other"), made("b.other"), made("no.such", listed=False)]
    assert wrong_tool_calls(calls, [SOLUTION]) == 2
    assert wrong_tool_calls(calls, [SOLUTION, [wanted("b.other")]]) == 0
    assert wrong_tool_calls([], [SOLUTION]) == 0
    assert wrong_tool_calls(calls, [[]]) is None


def stocks(*markets, chart=("AAPL 4.1", "IBM 2.2", "DOW 1.9", "BP 3.3")):
    """Calls of the example in MCPToolBench++, section 4.1.1: four lists, then a chart of what they gave."""
    results = dict(zip(MARKETS, ("AAPL 4.1", "IBM 2.2", "DOW 1.9", "BP 3.3"), strict=True))
    looks = [made("finance.get_top_change_stocks", {"market": name}, results[name]) for name in markets]
    return [*looks, made("plot.plot_chart", {"series": list(chart)}, "chart.png")]


GOAL = "Plot the ten stocks with the highest increase from NASDAQ, NYSE, DOW and LSE."
CHART = [wanted(call.tool, **call.arguments) for call in stocks(*MARKETS)]


def test_four_looks_lead_to_one_chart():
    calls = stocks(*MARKETS)
    assert edges_of(calls, GOAL) == [(0, 4), (1, 4), (2, 4), (3, 4)]
    same = graph_difference(stocks(*reversed(MARKETS)), [CHART], {}, GOAL)
    assert (same.label, same.node_f1, same.edge_f1) == (True, 1, 1)


def test_the_label_is_about_the_leaves_alone():
    one_left_out = graph_difference(stocks(*MARKETS[:3]), [CHART], {}, GOAL)
    assert one_left_out.label
    assert (one_left_out.node_f1, one_left_out.edge_f1) == (Fraction(8, 9), Fraction(6, 7))
    assert (one_left_out.made_as, one_left_out.missing_edges) == ([0, 1, 2, None, 3], [(3, 4)])
    no_chart = graph_difference(stocks(*MARKETS)[:4], [CHART], {}, GOAL)
    assert not no_chart.label
    assert no_chart.extra == []
    nothing_handed_on = graph_difference(stocks(*MARKETS, chart=("some",)), [CHART], {}, GOAL)
    assert not nothing_handed_on.label


def test_another_way_is_right_only_where_it_is_a_solution():
    goal = "Plan a route from Baker Street to Hyde Park."
    direct = [wanted("maps.plan_route", origin="Baker Street", destination="Hyde Park")]
    places = ("Baker Street", "Hyde Park")
    codes = ("51.52,-0.15", "51.50,-0.16")
    looks = [made("maps.geocode", {"address": place}, code) for place, code in zip(places, codes, strict=True)]
    split = [*looks, made("maps.plan_route", {"origin": codes[0], "destination": codes[1]}, "left, right")]
    calls = [made("maps.plan_route", dict(direct[0].arguments), "left, right")]
    in_three = [wanted(call.tool, **call.arguments) for call in split]
    assert not graph_difference(calls, [in_three], {}, goal).label
    both = graph_difference(calls, [in_three, direct], {}, goal)
    assert (both.label, both.solution) == (True, 1)
    assert graph_difference(split, [in_three, direct], {}, goal).label
    assert graph_difference(calls, [[]], {}, goal) is None


def test_the_retry_of_a_scheduled_error_is_one_call():
    read, write = {"path": "x.txt"}, {"path": "y.txt", "lines": 3}
    calls = [made("a.read", read, "busy", injected=True, error=True), made("a.read", read), made("a.write", write)]
    assert graph_difference(calls, [SOLUTION], {}, "").node_f1 == 1


def test_tool_success_counts_what_reached_a_server():
    calls = [
        made("a.read"),
        made("a.read", error=True),
        made("a.read", result='{"success": false, "data": null}'),
        made("a.read", result='{"error": "Geocoding failed"}'),
        made("a.read", result='{"success": true, "error": null}'),
        made("a.read", injected=True, error=True),
        made("a.gone", listed=False, error=True, refused=True),
        made("b.write", result='{"not json'),
    ]
    assert tool_success(calls) == {"a.read": ToolCount(2, 5), "b.write": ToolCount(1, 1)}


@pytest.mark.parametrize(
    ("log", "cause"),
    [  # MCPToolBench++, Table 4
        ("Failed to end codegen session: Session sessionXYZ not found", "session or runtime"),
        ("Failed to initialize browser: browserType.launch: Executable doesn't exist at ./x", "session or runtime"),
        ("all values empty, missing values", "parameter"),
        ("Error: Could not find exact match for edit: Project Overview", "edit without a match"),
        ("Error: ENOENT: no such file or directory, open './test_project_root/data/x.txt'", "not found"),
        ("read() called while another coroutine is already waiting for incoming data", "session or runtime"),
        ("Error during query to tavily-mcp: Separator is not found, and chunk exceed the limit", "parameter"),
        ("Internal error: Error calling tool 'tavily_crawl': 400", "API"),
        ("Input validation error: 'url' is a required property", "parameter"),
        ('""', "empty result"),
        ("origin or destination is invalid", "parameter"),
        ("The range of input latitude and longitude is invalid", "parameter"),
        ("Client network socket disconnected before secure TLS connection was established", "HTTP"),
        ("PayPal API error (400): [object Object]", "API"),
        ("The specified resource does not exist", "not found"),
        ("Connection Timeout", "HTTP"),
        ('{"success": false, "data": []}', "empty result"),
        ("Tavily API error: Request failed with status code 432", "API"),
        ("MCP error -32602: Invalid arguments for tool read_file", "parameter"),
        ("it fell over", "other"),
    ],
)
def test_the_root_cause_of_each_log_of_the_table(log, cause):
    assert cause in CAUSES
    assert root_cause(made("a.read", result=log, error=not log.startswith(('"', "{")))) == cause


def test_only_what_failed_or_came_back_empty_has_a_cause():
    assert root_cause(made("a.read", result="ENOENT is what the file says")) is None
    assert root_cause(made("a.read", result="[ ]")) == "empty result"
    assert root_cause(made("a.read", result="busy", error=True, injected=True)) is None
    assert root_cause(made("a.gone", listed=False, error=True)) is None


def test_pass_at_k_is_the_share_of_the_draws_of_k_trials_with_a_pass():
    for n in range(1, 7):
        for c in range(n + 1):
            for k in range(1, n + 1):
                draws = list(combinations(range(n), k))
                passed = sum(any(trial < c for trial in draw) for draw in draws)
                assert pass_at_k(n, c, k) == Fraction(passed, len(draws))
    assert pass_at_k(5, 2, 1) == Fraction(2, 5)
    assert pass_at_k(4, 2, 5) is None
    assert pass_at_k(0, 0, 1) is None
    with pytest.raises(ValueError, match="6 passes of 5 trials"):
        pass_at_k(5, 6, 1)


def test_one_trial_has_no_spread():
    assert spread([0.5]) is None
    assert isclose(spread([0.4, 0.6]), 0.1 * 2**0.5)
