"""The table of "ours or theirs?", walked row by row."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace

import pytest

from sandbox import box, failure
from sandbox.failure import CODES, TABLE, Facts, Stage, classify
from verifiers.verdict import Verdict

RUNS, DIED = box.Facts(running=True), box.Facts(running=False, exit_code=-9, out_of_memory=True)
LOST = box.Facts(running=False, lost=True)
ENDED = box.Facts(running=False, exit_code=0)
DONE = Facts(Stage.VERDICT, ended="answered", calls=3, agent=ENDED, world=RUNS, verdict=Verdict.FALSE)

# One line a row of the table, in its order: the facts of a run that this row and no earlier one is about.
CASES = [
    ("the engine could not be asked", replace(DONE, world=LOST), "ours", "engine-lost"),
    ("the world never started", Facts(Stage.NOTHING), "ours", "world-not-started"),
    ("the gateway never became ready", Facts(Stage.WORLD), "ours", "gateway-not-ready"),
    ("the agent could not be started", Facts(Stage.GATEWAY), "ours", "agent-not-started"),
    ("the gateway is gone", replace(DONE, stage=Stage.AGENT, ended=None), "ours", "gateway-lost"),
    ("it made a call too many", replace(DONE, ended="steps-exceeded"), "theirs", "steps-exceeded"),
    ("the world died before any call", replace(DONE, calls=0, world=DIED), "ours", "world-died"),
    ("the world died after a call", replace(DONE, world=DIED), "replay", "world-died"),
    ("an untouched world did not freeze", replace(DONE, stage=Stage.SESSION, calls=0), "ours", "not-frozen"),
    ("a world that was called holds too much", replace(DONE, too_large=True), "replay", "state-too-large"),
    ("a world that was called did not freeze", replace(DONE, stage=Stage.SESSION), "replay", "not-frozen"),
    ("a server was lost before any call", replace(DONE, servers_lost=1, calls=0), "ours", "server-lost"),
    ("a server was lost after a call", replace(DONE, servers_lost=1), "replay", "server-lost"),
    ("its time ran out", replace(DONE, ended="time-exceeded"), "theirs", "time-exceeded"),
    ("the predicate could not be evaluated", replace(DONE, stage=Stage.FROZEN), "ours", "not-evaluated"),
    ("a probe of the predicate could not be made", replace(DONE, verdict=Verdict.UNKNOWN), "ours", "verdict-unknown"),
    ("the session came to its end", DONE, None, "finished"),
]


@pytest.mark.parametrize(("says", "facts", "blame", "code"), CASES, ids=[case[0] for case in CASES])
def test_every_row_decides_its_case(says, facts, blame, code):
    assert next(row.says for row in TABLE if row.holds(facts)) == says
    assert classify(facts) == failure.Ruling(blame, code)


def test_no_row_is_left_out():
    assert [case[0] for case in CASES] == [row.says for row in TABLE]
    assert {case[3] for case in CASES} == CODES


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("ended", ["answered", "agent-exited", "steps-exceeded", "time-exceeded", "gateway-lost", None])
@pytest.mark.parametrize("world", [None, RUNS, DIED, LOST])
@pytest.mark.parametrize("calls", [0, 4])
def test_whatever_the_facts_there_is_a_ruling(stage, ended, world, calls):
    for too_large in (False, True):
        ruling = classify(Facts(stage, ended=ended, calls=calls, world=world, too_large=too_large))
        assert ruling.blame is not None or stage == Stage.VERDICT


def test_what_breaks_again_without_the_agent_is_theirs():
    facts = replace(DONE, world=DIED)
    assert classify(replace(facts, recurred=True)) == failure.Ruling("theirs", "world-died")
    assert classify(replace(facts, recurred=False)) == failure.Ruling("ours", "world-died")


@pytest.mark.parametrize("code", [0, 1, 137, -9, -11])
def test_how_the_agent_itself_ended_never_decides(code):
    facts = replace(DONE, agent=box.Facts(running=False, exit_code=code, out_of_memory=code == 137))
    assert classify(facts).blame is None


def test_a_lost_server_stands_in_nobodys_way_where_the_task_is_done():
    assert classify(replace(DONE, servers_lost=1, verdict=Verdict.TRUE)).blame is None


def test_an_agent_that_breaks_its_gateway_wins_no_verdict_and_no_endless_retries():
    assert classify(replace(DONE, ended="gateway-lost")).blame == "ours"
    assert failure.RETRIES == 2


def test_no_text_of_anybody_is_among_the_facts():
    """A string could have been written by a model: `ended` is one of a fixed list of our own."""
    kinds = {name: field.type for name, field in Facts.__dataclass_fields__.items()}
    assert not [name for name, kind in kinds.items() if "str" in str(kind)]
    assert "str" not in {str(field.type) for field in box.Facts.__dataclass_fields__.values()}


def test_the_classifier_is_pure():
    tree = ast.parse(inspect.getsource(failure))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    pure = {"__future__", "collections.abc", "dataclasses", "enum", "typing"}
    assert imported == pure | {"sandbox", "sandbox.transcript", "verifiers.verdict"}
