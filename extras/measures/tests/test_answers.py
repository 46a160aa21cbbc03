"""Tests of measures of answers: grounding, partition, fairness and adoption, tokens by kind."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from quarterturn_measures.measures.cited_files import cited_files
from quarterturn_measures.measures.fairness import ADOPTION, FAIRNESS, adoption, efficiency, fairness, fluency
from quarterturn_measures.measures.grounding import Grounding, citations, ground
from quarterturn_measures.measures.partition import answer_text, keyword_coverage
from quarterturn_measures.measures.played_task import Reference, measure_task
from quarterturn_measures.measures.table import measured
from quarterturn_measures.measures.token_kinds import token_kinds
from sandbox.results.interval import NOTHING
from sandbox.results.score import Result
from sandbox.transcript import CallRecord, ModelCall, ToolCall, Transcript

from .failures import FILES, LOOKED, MAKE_OUT, READ_TODO, STOCK, WRITE_OPEN, Case, busy, err, ok, unlisted

CODE = "\n".join(
    ["import os", "", *(f"# {line}" for line in range(3, 12)), "def settle(account):", "    return account\n"]
)
KINDS = {
    "filesystem": ("files", "files"),
    "git": ("git", "repos"),
    "github": ("forge", "forge"),
    "redis": ("redis", "r"),
}
STATE = {
    "filesystem": {
        "files": {"plan/todo.md": "one\ntwo\n", "LAMP": "40", "logo.png": {"base64": "AAAA"}, "empty.txt": ""}
    },
    "git": {
        "repositories": {
            "lantern": {
                "commits": [
                    {"branch": "main", "message": "Start", "files": {"src/ledger.py": "import os\n", "old.py": "x\n"}},
                    {"branch": "main", "message": "More", "files": {"src/ledger.py": CODE, "old.py": None}},
                ],
                "worktree": {"draft.md": "a\nb\nc"},
            }
        }
    },
    "github": {"repositories": {"atlas/compass": {"commits": [{"files": {"README.md": "# compass\n"}}]}}},
    "redis": {"strings": {"order": "17"}},
}
CITED = cited_files(STATE, KINDS)
PUT = ("filesystem.write_file", {"path": "/data/files/plan/todo.md", "content": "x"})


def grounded(answer: str, *calls: CallRecord) -> Grounding:
    return ground(answer, CITED, calls)


@pytest.mark.parametrize(
    "place",
    [
        "plan/todo.md:2",
        "/data/files/plan/todo.md:1",
        "./plan/todo.md:2",
        "LAMP:1",
        "src/ledger.py:13",
        "/data/repos/lantern/src/ledger.py:12:settle",
        "lantern/src/ledger.py:12:Ledger.settle",
        "src/ledger.py:7:settle",  # five lines above
        "src/ledger.py:13:5",  # a line and a column
        "old.py:1",  # in an earlier commit
        "draft.md:3",
        "atlas/compass/README.md:1:compass",
    ],
)
def test_what_is_there_is_grounded(place):
    assert grounded(f"It stands in `{place}`, see there.") == Grounding(grounded=1)


@pytest.mark.parametrize("place", ["plan/done.md:1", "src/ledger.txt:3", "/etc/passwd:1", "other/src/ledger.py:3"])
def test_a_path_that_is_not_there_is_unresolved(place):
    assert grounded(f"({place})") == Grounding(unresolved=1)


@pytest.mark.parametrize(
    "place",
    [
        "plan/todo.md:0",
        "plan/todo.md:3",  # the newline at the end begins no line
        "plan/todo.md:" + "9" * 5000,
        "src/ledger.py:6:settle",  # six lines above
        "src/ledger.py:12:settl",
        "src/ledger.py:12:absent",
        "empty.txt:1",
        "logo.png:1",
    ],
)
def test_a_line_or_a_symbol_that_is_not_there_is_hallucinated(place):
    assert grounded(f"{place}.") == Grounding(hallucinated=1)


def test_times_ports_keys_and_addresses_are_no_citations():
    text = (
        "At 12:30 on 2025-03-04T09:00:00Z example.org:8080 gave order:3310 a ratio of 3:1; "
        "see https://example.org/docs/a.md:3 and 10/Oct/2000:13:55:36 and http://[::1]:80/x."
    )
    assert list(citations(text, CITED)) == []
    assert grounded(text).share is None
    assert ground(None, CITED, ()).share is None


def test_a_place_counts_once_and_shares_are_of_what_could_be_looked_up():
    counted = grounded("plan/todo.md:1, plan/todo.md:1, plan/todo.md:9 and nowhere/x.md:1")
    assert counted == Grounding(1, 1, 1)
    assert counted.share == Fraction(1, 3)


def test_of_a_flood_of_citations_the_first_thousand_are_looked_up():
    assert grounded(" ".join(f"nowhere/x.md:{line}" for line in range(1, 3000))).unresolved == 1000


def test_what_the_run_may_have_written_itself_is_left_out():
    written = grounded("plan/todo.md:9 and LAMP:1", ok(PUT))
    assert written == Grounding(grounded=1, left_out=1)
    assert grounded("out/new.md:1", ok(("filesystem.create_directory", {"path": "/data/files/out"}))).left_out == 1
    assert grounded("plan/todo.md:9", ok(READ_TODO), busy(PUT)).left_out == 0


def test_a_long_answer_without_a_citation_has_none():
    assert grounded("a/" * 200_000 + " " + "x" * 400_000 + ":" + " a:" * 100_000) == Grounding()


def test_a_keyword_that_stands_only_in_a_call_scores_nothing():
    goal = "Which code has the fewest pieces?"
    calls = (ok(("sqlite.read_query", {"query": "SELECT 'QF-3310'"}), "QF-3310 from Okafor"),)
    silent = Transcript(calls, "I could not find out.", "answered")
    assert keyword_coverage(answer_text(silent), ["QF-3310, Okafor"], goal) == 0
    half = Transcript(calls, "qf-3310.", "answered")
    assert keyword_coverage(answer_text(half), ["QF-3310, Okafor"], goal) == Fraction(1, 2)
    reply = ModelCall(
        "chat", "m", 0, {}, (("content", "It is QF-3310"), ("tool", "q"), ("arguments", '{"a": "Okafor"}'))
    )
    said = Transcript(calls, None, "agent-exited", model_calls=(reply,))
    assert keyword_coverage(answer_text(said), ["QF-3310, Okafor"], goal) == Fraction(1, 2)
    assert keyword_coverage("QF-3310", ["Okafor", "QF-3310"], goal) == 1  # the best of two solutions


@pytest.mark.parametrize("answers", [[], [None], [""], ["fewest pieces"]])
def test_without_a_keyword_there_is_no_coverage(answers):
    assert keyword_coverage("fewest pieces", answers, "Which code has the fewest pieces?") is None


def test_the_weights_of_both_scores_add_up_and_no_missing_part_counts_as_nothing():
    assert (sum(FAIRNESS), sum(ADOPTION)) == (1, 1)
    half, one = Fraction(1, 2), Fraction(1)
    assert fairness(one, half, Fraction(1, 3), Fraction(1, 4)) == Fraction("0.1") + Fraction("0.275") + Fraction("0.1")
    parts = [one, one, one, one]
    assert fairness(*parts) == 1
    for place in range(4):
        assert fairness(*parts[:place], None, *parts[place + 1 :]) is None


def test_a_failed_task_has_saved_no_calls():
    assert efficiency(3, 12, passed=True) == Fraction(3, 4)
    assert efficiency(0, 12, passed=False) == 0


def test_adoption_is_nothing_without_a_call_and_null_where_a_part_is_unknown():
    solutions = [[ToolCall("a.read"), ToolCall("a.write")], [ToolCall("a.write"), ToolCall("a.read")]]
    read, write = ("a.read", {}), ("a.write", {})
    assert adoption([], solutions) == 0
    assert adoption([ok(read), ok(write)], solutions) == 1
    assert adoption([ok(read), err(read, "no")], solutions) == Fraction("0.6") / 2 + Fraction("0.4") / 2
    assert fluency([ok(read), unlisted("a.guess"), busy(write)]) == Fraction(1, 2)
    assert adoption([busy(read)], solutions) is None
    assert adoption([ok(read)], [[ToolCall("a.read")], [ToolCall("b.other")]]) is None


def reply(written: int, *pieces: tuple[str, str], **more: object) -> ModelCall:
    return ModelCall("chat", "m", 0, {}, pieces, read=100, written=written, outcome="ok", **more)


def test_tokens_are_tagged_by_what_was_written():
    look = ("arguments", json.dumps({"path": "/out/a.txt"}))
    change = ("arguments", json.dumps({"path": "/out/a.txt", "content": "x" * 10}))
    kinds = token_kinds(
        [
            reply(10, ("reasoning", "r" * 30), ("text", "t" * 20)),
            reply(40, ("tool", "filesystem__read_text_file"), look),  # nothing was changed yet
            reply(60, ("tool", "filesystem__write_file"), change),
            reply(50, ("tool", "filesystem__read_text_file"), look),
            reply(7, estimated=True),
        ]
    )
    assert (kinds.reasoning, kinds.tool, kinds.verification, kinds.untagged) == (10, 100, 50, 7)
    assert (kinds.read, kinds.estimated) == (500, True)
    assert sum(kinds.share(kind) for kind in ("reasoning", "tool", "verification")) == 1
    mixed = token_kinds([reply(10, ("content", "x" * 30), ("tool", "a__b"), ("arguments", "not json {"))])
    assert mixed.reasoning + mixed.tool == 10
    assert mixed.tool == 10 * 14 // 44
    assert token_kinds([]) is None
    assert token_kinds([reply(3)]).share("tool") is None


def test_a_task_has_fairness_only_where_all_four_parts_are_known():
    calls = [*LOOKED, ok(MAKE_OUT), ok(WRITE_OPEN)]
    case = Case(FILES, calls, [], "Open are KT-4471 and RV-9023, see plan/todo.md:1.")
    run = case.run()
    result = Result.of(run, run=1, cohort="dev", server="filesystem", skeleton="s")
    solutions = [list(solution) for solution in case.solutions]
    reference = Reference(solutions, ["KT-4471 RV-9023"], cited_files(STATE, KINDS))
    whole = measure_task(result, run, reference, Fraction(1, 2))
    assert whole.fairness == Fraction("0.1") + Fraction("0.275") + Fraction("0.15") + Fraction("0.2") * Fraction(1, 2)
    assert whole.adoption == 1
    figures = measured([whole])
    assert (figures["fairness"].n, figures["grounding"].n, figures["claim_coverage"].value) == (1, 1, 0.5)
    for missing in (
        measure_task(result, run, reference),
        measure_task(result, run, replace(reference, answers=()), Fraction(1, 2)),
        measure_task(
            result, replace(run, transcript=replace(run.transcript, answer="KT-4471")), reference, Fraction(1)
        ),
    ):
        assert missing.fairness is None
        assert measured([missing])["fairness"] == NOTHING
        assert measured([missing])["adoption"].value == 1


def test_a_run_that_our_machinery_lost_has_no_adoption():
    run = replace(Case(STOCK, [], ["row"]).run(), failure="ours")
    result = Result.of(run, run=1, cohort="dev", server="sqlite", skeleton="s")
    assert measure_task(result, run, Reference(())).adoption is None
