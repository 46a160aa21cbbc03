"""Tests of the failure tables: each row, every combination of facts, and nothing better than a fail."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import typing
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.boxes import box
from sandbox.results import failure
from sandbox.results.failure import CODES, STOPS, TABLE, UNSERVED, AttemptFacts, Ruling, Stage, classify
from sandbox.results.failure_reference import MEANINGS, page
from sandbox.transcript import Ended, UpstreamFact
from verifiers.language.verdict import Verdict

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "failures.md"
RUNS, DIED = box.ExitFacts(running=True), box.ExitFacts(running=False, exit_code=3)
KILLED = box.ExitFacts(running=False, exit_code=137)
LOST = box.ExitFacts(running=False, lost=True)
ENDED, CUT_OFF = box.ExitFacts(running=False, exit_code=0), box.ExitFacts(running=False, relay_died=True)
DONE = AttemptFacts(Stage.VERDICT, ended="answered", agent=ENDED, world=RUNS, verdict=Verdict.FALSE)
HELD = AttemptFacts(Stage.VERDICT, ended="agent-exited", world=RUNS)

# One line a row of the table, in its order: the facts of a run that this row and no earlier one is about.
CASES = [
    ("the world never started", AttemptFacts(Stage.NOTHING), "ours", "world-not-started"),
    ("the gateway never became ready", AttemptFacts(Stage.WORLD), "ours", "gateway-not-ready"),
    ("the agent's place could not be made", AttemptFacts(Stage.GATEWAY), "ours", "place-not-ready"),
    ("the engine could not be asked", replace(DONE, world=LOST), "ours", "engine-lost"),
    ("its runner is gone", AttemptFacts(Stage.SERVED, runner_lost=True), "unclear", "runner-lost"),
    ("the agent could not be started", AttemptFacts(Stage.SERVED), "unclear", "agent-not-started"),
    ("the gateway is gone", replace(DONE, stage=Stage.AGENT, ended=None), "unclear", "gateway-lost"),
    ("the world died", replace(DONE, world=KILLED), "check", "world-died"),
    ("the world's state is too large, or none", replace(DONE, too_large=True), "check", "state-too-large"),
    ("the world did not give its state", replace(DONE, stage=Stage.SESSION), "check", "not-frozen"),
    ("a server was lost, or did not answer in time", replace(DONE, servers_missed=1), "check", "server-lost"),
    ("the relay is gone", replace(DONE, agent=CUT_OFF), "unclear", "relay-lost"),
    ("the model's upstream was down", replace(DONE, upstream="down"), "unclear", "upstream-down"),
    ("the model's upstream broke on a request, once", replace(DONE, upstream="broke"), "unclear", "upstream-broke"),
    ("it made a call too many", replace(DONE, ended="steps-exceeded"), "theirs", "steps-exceeded"),
    ("its time ran out", replace(DONE, ended="time-exceeded"), "theirs", "time-exceeded"),
    (
        "a reader or a judge failed, twice, the second time alone",
        replace(DONE, stage=Stage.FROZEN, unjudged=True),
        "unclear",
        "judge-lost",
    ),
    ("the predicate could not be evaluated", replace(DONE, stage=Stage.FROZEN), "unclear", "not-evaluated"),
    (
        "a probe of the predicate could not be made",
        replace(DONE, verdict=Verdict.UNKNOWN),
        "unclear",
        "verdict-unknown",
    ),
    (
        "the agent's program ended with an error, without an answer, and the task is not done",
        replace(DONE, ended="agent-exited", agent=DIED),
        None,
        "agent-crashed",
    ),
    ("the session came to its end", DONE, None, "finished"),
]
CLOSED_LIST = {"world-not-started", "gateway-not-ready", "place-not-ready", "engine-lost"}
"""What is ours without a check: an addition needs the reason why no agent can cause it."""


def every_fact():
    """Yield every combination of facts: each field with every value that can make a difference."""
    worlds = [None, RUNS, DIED, KILLED, LOST, replace(RUNS, out_of_memory=True)]
    values = {
        "stage": list(Stage),
        "ended": [None, *typing.get_args(Ended)],
        "agent": [None, ENDED, DIED, CUT_OFF, LOST],
        "world": worlds,
        "too_large": [False, True],
        "unjudged": [False, True],
        "servers_missed": [0, 1],
        "upstream": [None, *typing.get_args(UpstreamFact)],
        "verdict": [None, *Verdict],
        "runner_lost": [False, True],
    }
    assert values.keys() == AttemptFacts.__dataclass_fields__.keys()
    for combination in itertools.product(*values.values()):
        facts = AttemptFacts(*combination)
        if facts.stage == Stage.FROZEN or not facts.unjudged:
            yield facts


@pytest.mark.parametrize(("says", "facts", "blame", "code"), CASES)
def test_every_row_decides_its_case(says, facts, blame, code):
    assert next(row.says for row in TABLE if row.holds(facts)) == says
    assert classify(facts) == Ruling(blame, code)


def test_no_row_is_left_out():
    assert [row.says for row in TABLE] == [says for says, *_ in CASES]
    assert {row.ruling.code for row in TABLE} | STOPS.keys() == CODES
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+){0,2}", code) for code in CODES)
    assert {row.ruling.code for row in TABLE if row.ruling.blame == "ours"} == CLOSED_LIST
    assert {code for code, stop in STOPS.items() if stop.closed_list} == {"worker-stopped", "machine"}


def test_no_combination_of_facts_is_better_than_a_fail():
    """No failure that an agent could cause is ours, and what counts was judged in time and within the budget."""
    for facts in every_fact():
        ruling = classify(facts)
        assert ruling.code in CODES
        if ruling.code in UNSERVED:
            assert facts.stage < Stage.SERVED
        if ruling.blame == "ours" and facts.stage >= Stage.SERVED:
            assert ruling.code in CLOSED_LIST - UNSERVED
        if ruling.blame is None:
            assert facts.stage == Stage.VERDICT
            assert facts.verdict is not Verdict.UNKNOWN
            assert facts.ended in ("answered", "agent-exited")


@pytest.mark.parametrize("facts", [facts for _, facts, blame, _ in CASES if blame == "check"])
@pytest.mark.parametrize(
    ("check", "blame"),
    [
        (HELD, "unclear"),
        (replace(HELD, stage=Stage.NOTHING, ended=None), "ours"),
        (replace(HELD, stage=Stage.SESSION), "ours"),
        (replace(HELD, world=DIED), "ours"),
        (replace(HELD, servers_missed=1), "ours"),
        (replace(HELD, too_large=True), "ours"),
        (replace(HELD, ended="gateway-lost"), "ours"),
        (replace(HELD, ended="time-exceeded"), "ours"),
    ],
)
def test_only_machinery_that_breaks_without_any_agent_is_ours(facts, check, blame):
    assert classify(facts, check) == replace(classify(facts), blame=blame)


def test_without_a_check_it_is_a_fail():
    assert {classify(facts).failure for _, facts, blame, _ in CASES if blame == "check"} == {"unclear"}


def test_a_check_changes_no_other_ruling():
    for _, facts, blame, _ in CASES:
        if blame != "check":
            assert classify(facts, HELD) == classify(facts, AttemptFacts(Stage.NOTHING)) == classify(facts)


@pytest.mark.parametrize("code", [0, 1, 3, 125, 137, -9, -11, None])
def test_how_the_agent_itself_ended_never_decides(code):
    agent = box.ExitFacts(running=False, exit_code=code)
    starved = replace(agent, out_of_memory=True)
    assert classify(replace(DONE, agent=agent)) == classify(replace(DONE, agent=starved)) == Ruling(None, "finished")
    unanswered = classify(replace(DONE, ended="agent-exited", agent=agent))
    assert unanswered == Ruling(None, "agent-crashed" if code else "finished"), "only the code tells, and no blame"
    done = replace(DONE, ended="agent-exited", agent=agent, verdict=Verdict.TRUE)
    assert classify(done) == Ruling(None, "finished")


@pytest.mark.parametrize(
    "lost", [{"servers_missed": 1}, {"agent": CUT_OFF}, {"upstream": "down"}, {"upstream": "broke"}]
)
def test_a_loss_after_the_task_is_done_changes_nothing(lost):
    assert classify(replace(DONE, verdict=Verdict.TRUE, **lost)) == Ruling(None, "finished")


def test_a_model_request_that_is_refused_leaves_the_attempt_an_ordinary_one():
    assert classify(replace(DONE, upstream="refused")) == Ruling(None, "finished")


def test_a_budget_that_ran_out_over_a_fault_of_ours_is_not_held_against_anybody():
    for ended in ("steps-exceeded", "time-exceeded"):
        assert classify(replace(DONE, ended=ended, world=LOST)).blame == "ours"


def test_the_reference_page_is_written_from_the_tables():
    assert PAGE.read_text() == page(), (
        "write it anew: python -m sandbox.results.failure_reference >docs/reference/failures.md"
    )
    assert MEANINGS.keys() == {row.ruling.blame for row in TABLE}


def test_no_text_of_anybody_is_among_the_facts():
    """A model could have written a string: `ended` and `upstream` take values of our own fixed lists."""
    kinds = [
        str(field.type) for facts in (AttemptFacts, box.ExitFacts) for field in facts.__dataclass_fields__.values()
    ]
    assert not [kind for kind in kinds if re.search(r"\bstr\b|Any|object", kind)]


def test_the_classifier_is_pure():
    tree = ast.parse(inspect.getsource(failure))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    pure = {"__future__", "collections.abc", "dataclasses", "enum", "typing"}
    assert imported == pure | {"sandbox.boxes", "sandbox.transcript", "verifiers.language.verdict"}
