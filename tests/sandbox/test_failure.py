"""The table of "ours or theirs?", walked row by row and in every combination of facts."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import typing
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import box, failure
from sandbox.failure import AGAIN, CODES, IDLE, TABLE, TO_REPLAY, Facts, Ruling, Stage, classify
from sandbox.failure_reference import IDLES, MEANINGS, REPLAYS, page
from sandbox.transcript import Ended, UpstreamFact
from verifiers.language.verdict import Verdict

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "failures.md"
RUNS, DIED = box.Facts(running=True), box.Facts(running=False, exit_code=3)
STARVED = box.Facts(running=False, exit_code=137, out_of_memory=True)
KILLED = box.Facts(running=False, exit_code=137)
LOST = box.Facts(running=False, lost=True)
ENDED, CUT_OFF = box.Facts(running=False, exit_code=0), box.Facts(running=False, relay_died=True)
DONE = Facts(Stage.VERDICT, ended="answered", calls=3, agent=ENDED, world=RUNS, verdict=Verdict.FALSE)
HELD = Facts(Stage.VERDICT, ended="agent-exited", calls=3, world=RUNS)

# One line a row of the table, in its order: the facts of a run that this row and no earlier one is about.
CASES = [
    ("the engine could not be asked", replace(DONE, world=LOST), "ours", "engine-lost"),
    ("the world never started", Facts(Stage.NOTHING), "ours", "world-not-started"),
    ("the gateway never became ready", Facts(Stage.WORLD), "ours", "gateway-not-ready"),
    ("the agent could not be started", Facts(Stage.GATEWAY), "ours", "agent-not-started"),
    ("the gateway is gone", replace(DONE, stage=Stage.AGENT, ended=None), "unclear", "gateway-lost"),
    ("the world was killed from outside", replace(DONE, world=KILLED), "ours", "world-killed"),
    ("the world died before any call", replace(DONE, calls=0, world=DIED), "uncalled", "world-died"),
    ("the world died after a call", replace(DONE, world=STARVED), "replay", "world-died"),
    ("an untouched world did not freeze", replace(DONE, stage=Stage.SESSION, calls=0), "uncalled", "not-frozen"),
    ("a world that was called holds too much", replace(DONE, too_large=True), "replay", "state-too-large"),
    (
        "a world that was called did not freeze in time",
        replace(DONE, stage=Stage.SESSION, freeze_late=True),
        "late",
        "not-frozen",
    ),
    ("a world that was called did not freeze", replace(DONE, stage=Stage.SESSION), "replay", "not-frozen"),
    ("a server was lost before any call", replace(DONE, servers_lost=1, calls=0), "uncalled", "server-lost"),
    ("a server was lost after a call", replace(DONE, servers_lost=1), "replay", "server-lost"),
    ("a server did not answer in time", replace(DONE, servers_late=1), "late", "server-lost"),
    ("the relay is gone", replace(DONE, agent=CUT_OFF), "unclear", "relay-lost"),
    ("the model's upstream was down", replace(DONE, upstream="down"), "ours", "upstream-down"),
    ("the model's upstream broke on a request, once", replace(DONE, upstream="broke"), "unclear", "upstream-broke"),
    ("our clock jumped over its time", replace(DONE, ended="time-exceeded", stalled=True), "unclear", "clock-jumped"),
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
    ("the session came to its end", DONE, None, "finished"),
]


def every_fact():
    """Give every combination of facts: each field with every value that can make a difference."""
    worlds = [None, RUNS, DIED, STARVED, KILLED, LOST, replace(RUNS, out_of_memory=True)]
    values = {
        "stage": list(Stage),
        "ended": [None, *typing.get_args(Ended)],
        "calls": [0, 4],
        "agent": [None, ENDED, CUT_OFF, LOST],
        "world": worlds,
        "too_large": [False, True],
        "unjudged": [False, True],
        "stalled": [False, True],
        "servers_lost": [0, 1],
        "servers_late": [0, 1],
        "freeze_late": [False, True],
        "upstream": [None, *typing.get_args(UpstreamFact)],
        "verdict": [None, *Verdict],
    }
    assert values.keys() == Facts.__dataclass_fields__.keys()
    for combination in itertools.product(*values.values()):
        facts = Facts(*combination)
        unfrozen = facts.stage in (Stage.AGENT, Stage.SESSION)
        if (unfrozen or not facts.freeze_late) and (facts.stage == Stage.FROZEN or not facts.unjudged):
            yield facts


@pytest.mark.parametrize(("says", "facts", "blame", "code"), CASES, ids=[case[0] for case in CASES])
def test_every_row_decides_its_case(says, facts, blame, code):
    assert next(row.says for row in TABLE if row.holds(facts)) == says
    assert classify(facts) == Ruling(blame, code)


def test_no_row_is_left_out():
    assert [case[0] for case in CASES] == [row.says for row in TABLE]
    assert {case[3] for case in CASES} == CODES


@pytest.mark.slow
def test_whatever_the_facts_a_row_holds_and_keeps_what_the_table_promises():
    """All of them at once, because each promise is about all of them."""
    met = set()
    for facts in every_fact():
        row = next(row for row in TABLE if row.holds(facts))
        met.add(row.says)
        blame = row.ruling.blame
        own_budget = facts.ended in ("steps-exceeded", "time-exceeded")
        assert blame != "theirs" or own_budget, "without a replay a fail comes from a budget and from nothing else"
        assert blame not in ("replay", "late") or facts.calls, "what no call touched is replayed without any"
        assert blame != "uncalled" or not facts.calls
        assert blame != "late" or facts.servers_late or facts.freeze_late, "what died is not called late"
        assert blame != "late" or not facts.servers_lost
        assert blame is not None or facts.stage == Stage.VERDICT
        assert blame is not None or facts.verdict is not Verdict.UNKNOWN, "an unknown verdict never counts"
        assert blame != "ours" or not agents_doing(facts), row.says
    assert met == {row.says for row in TABLE}


def agents_doing(facts: Facts) -> bool:
    """Say whether an agent's own bytes may have brought it all about: they may have taken the gateway over."""
    gone = any(one and one.lost for one in (facts.agent, facts.world))
    return facts.stage > Stage.GATEWAY and not gone and facts.world != KILLED and facts.upstream != "down"


@pytest.mark.parametrize(
    ("again", "blame"),
    [
        (replace(HELD, world=STARVED), "theirs"),
        (replace(HELD, servers_lost=1), "theirs"),
        (replace(HELD, stage=Stage.SESSION), "theirs"),
        (replace(HELD, too_large=True), "theirs"),
        (HELD, "unclear"),
        (replace(HELD, ended="time-exceeded"), "unclear"),
        (replace(HELD, ended="gateway-lost"), "unclear"),
        (Facts(Stage.NOTHING), "ours"),
        (Facts(Stage.WORLD), "ours"),
        (replace(HELD, calls=0, servers_lost=1), "ours"),
        (replace(HELD, calls=0, servers_late=1), "ours"),
        (replace(HELD, servers_lost=1, servers_late=1), "theirs"),
        (replace(HELD, stage=Stage.SESSION, freeze_late=True), "late"),
        (replace(HELD, servers_late=1), "late"),
        (replace(HELD, world=LOST), "ours"),
        (replace(HELD, world=KILLED), "ours"),
    ],
)
def test_a_replay_decides_by_how_it_ended_itself(again, blame):
    for facts in (replace(DONE, world=STARVED), replace(DONE, servers_lost=1), replace(DONE, too_large=True)):
        assert classify(facts, again) == Ruling(blame, classify(facts).code)


@pytest.mark.parametrize(
    "first", [{"world": DIED}, {"servers_lost": 1}, {"servers_late": 1}, {"stage": Stage.SESSION}], ids=str
)
def test_what_broke_uncalled_is_ours_only_where_it_breaks_without_anybody(first):
    """Who has taken the gateway over may call what he likes and tell of nothing."""
    facts, alone = replace(DONE, calls=0, **first), replace(HELD, calls=0)
    assert classify(facts).failure == "unclear"
    assert classify(facts, alone).blame == "unclear"
    assert classify(facts, replace(alone, **first)).blame == "ours"
    assert classify(facts, Facts(Stage.WORLD)).blame == "ours"


LATE = [{"servers_late": 1}, {"stage": Stage.SESSION, "freeze_late": True}]
BROKEN = [
    {"stage": Stage.NOTHING},
    {"stage": Stage.WORLD},
    {"world": LOST},
    {"world": DIED},
    {"servers_lost": 1},
    {"stage": Stage.SESSION},
    {"ended": "time-exceeded"},
    {"ended": "gateway-lost"},
]


@pytest.mark.parametrize("first", [*LATE, {"servers_lost": 1}, {"stage": Stage.SESSION}], ids=str)
@pytest.mark.parametrize("again", LATE, ids=str)
def test_a_machine_that_is_too_slow_even_without_calls_convicts_nobody(first, again):
    facts, again = replace(DONE, **first), replace(HELD, **again)
    assert classify(facts, again).blame == "late", "it takes a world without calls to tell"
    assert classify(facts, again, replace(HELD, calls=0)).blame == "theirs", "it was the calls that took too long"
    for broken in (*LATE, *BROKEN):
        assert classify(facts, again, replace(HELD, calls=0, **broken)).blame == "unclear"


def test_a_world_without_calls_settles_nothing_but_lateness():
    for again in (HELD, replace(HELD, servers_lost=1), replace(HELD, calls=0, servers_late=1)):
        for idle in (replace(HELD, calls=0), replace(HELD, calls=0, freeze_late=True, stage=Stage.SESSION)):
            facts = replace(DONE, servers_late=1)
            assert classify(facts, again, idle) == classify(facts, again)


def test_a_replay_leaves_nothing_to_replay_and_changes_no_other_ruling():
    blames = {name for part in typing.get_args(failure.Blame) for name in typing.get_args(part) or (part,)}
    assert AGAIN.keys() == {*blames, None}
    assert not {"replay", "uncalled"} & set(AGAIN.values())
    for _, facts, blame, code in CASES:
        if blame not in TO_REPLAY:
            assert classify(facts, replace(HELD, too_large=True)) == Ruling(blame, code)


@pytest.mark.parametrize("code", [0, 1, 137, -9, -11])
def test_how_the_agent_itself_ended_never_decides(code):
    facts = replace(DONE, agent=box.Facts(running=False, exit_code=code, out_of_memory=code == 137))
    assert classify(facts).blame is None


@pytest.mark.parametrize(
    "lost",
    [{"servers_lost": 1}, {"servers_late": 1}, {"agent": CUT_OFF}, {"upstream": "down"}, {"upstream": "broke"}],
    ids=str,
)
def test_what_is_lost_stands_in_nobodys_way_where_the_task_is_done(lost):
    assert classify(replace(DONE, **lost, verdict=Verdict.TRUE)).blame is None
    assert classify(replace(DONE, **lost)).blame is not None


def test_an_upstream_that_says_no_to_a_request_is_the_requests_own_affair():
    assert classify(replace(DONE, upstream="refused")) == Ruling(None, "finished")


def test_a_budget_that_ran_out_over_a_fault_of_ours_is_not_held_against_anybody():
    """An agent that meets a dead server may well ask again until its steps are gone."""
    for ended in ("steps-exceeded", "time-exceeded"):
        assert classify(replace(DONE, ended=ended, servers_lost=1)).blame == "replay"
        assert classify(replace(DONE, ended=ended, servers_lost=1), HELD).blame == "unclear"
        assert classify(replace(DONE, ended=ended, upstream="down")).blame == "ours"


def test_the_reference_page_is_written_from_the_table():
    assert PAGE.read_text() == page(), "write it anew: python -m sandbox.failure_reference >docs/reference/failures.md"
    assert IDLES.keys() == IDLE.keys()
    assert MEANINGS.keys() == REPLAYS.keys() == AGAIN.keys()


def test_no_text_of_anybody_is_among_the_facts():
    """A string could have been written by a model: `ended` and `upstream` are ones of fixed lists of our own."""
    kinds = [str(field.type) for facts in (Facts, box.Facts) for field in facts.__dataclass_fields__.values()]
    assert not [kind for kind in kinds if re.search(r"\bstr\b|Any|object", kind)]


def test_the_classifier_is_pure():
    tree = ast.parse(inspect.getsource(failure))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    pure = {"__future__", "collections.abc", "dataclasses", "enum", "typing"}
    assert imported == pure | {"sandbox", "sandbox.transcript", "verifiers.language.verdict"}
