"""Ours or theirs? A pure decision from facts that no model could have written.

The facts are the engine's events and exit codes, our own timers, and how far our own numbered steps came. No text that
an agent, a model or a server wrote is among them. The question is only ever whether the *machinery* broke: a program
that crashed, ran in circles or answered nonsense has simply not done the task, and the predicate says so.

What an agent could have provoked (a world that dies, hangs or fills up after its first call) is not decided here but
*replayed*: the logged calls are played again in a fresh world with no agent. If it breaks again, the calls break it and
the failure is theirs; if not, it was ours.

    ours    the run is played again, at most RETRIES times, each an exposure; then its verdict is unknown
    theirs  a fail
    nobody  the predicate's word counts

`TABLE` is the whole decision: the first row whose condition holds decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

from sandbox import box
from sandbox.transcript import Ended
from verifiers.verdict import Verdict

RETRIES = 2
"""How often a run that broke through our fault is played again."""

Blame = Literal["ours", "theirs", "replay"]


class Stage(IntEnum):
    """How far the numbered steps of a run came; each name is the last step that was finished."""

    NOTHING = 0
    WORLD = 1
    GATEWAY = 2
    AGENT = 3
    SESSION = 4
    FROZEN = 5
    VERDICT = 6


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about a run that ended.

    Attributes:
        stage: how far it came.
        ended: how the gateway says that the session ended, or None if it never reported.
        calls: how many calls were passed on to a server.
        agent: the agent's end, as the engine has it; None if it never started.
        world: how the world stood when the session was over, before it was told to freeze.
        too_large: whether the frozen state was over our caps or no tar stream at all.
        servers_lost: how many servers died, never came up or did not answer in time.
        verdict: what the predicate came to, or None where it was not evaluated.
        recurred: after a replay, whether it broke again; None before one.
    """

    stage: Stage
    ended: Ended | None = None
    calls: int = 0
    agent: box.Facts | None = None
    world: box.Facts | None = None
    too_large: bool = False
    servers_lost: int = 0
    verdict: Verdict | None = None
    recurred: bool | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """Who is to blame (None: nobody, the verdict counts) and the code that may be shown."""

    blame: Blame | None
    code: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: a sentence for the reader, a condition, and what follows."""

    says: str
    holds: Callable[[Facts], bool]
    ruling: Ruling


def _lost(facts: Facts) -> bool:
    return any(one is not None and one.lost for one in (facts.agent, facts.world))


def _world_died(facts: Facts) -> bool:
    return facts.world is not None and not facts.world.running


def _server_lost(facts: Facts) -> bool:
    """A server that is lost on the way to a task that is done after all has stood in nobody's way."""
    return facts.servers_lost > 0 and facts.verdict is not Verdict.TRUE


def _unreadable(facts: Facts) -> bool:
    return facts.stage in (Stage.AGENT, Stage.SESSION) or facts.too_large


TABLE: tuple[Row, ...] = (
    Row("the engine could not be asked", _lost, Ruling("ours", "engine-lost")),
    Row("the world never started", lambda f: f.stage == Stage.NOTHING, Ruling("ours", "world-not-started")),
    Row("the gateway never became ready", lambda f: f.stage == Stage.WORLD, Ruling("ours", "gateway-not-ready")),
    Row("the agent could not be started", lambda f: f.stage == Stage.GATEWAY, Ruling("ours", "agent-not-started")),
    # A gateway that is gone has taken its log with it, so there is nothing to replay: after the retries the verdict
    # stays unknown, the run is not ranked, and nothing is won by killing it.
    Row("the gateway is gone", lambda f: f.ended in (None, "gateway-lost"), Ruling("ours", "gateway-lost")),
    Row("it made a call too many", lambda f: f.ended == "steps-exceeded", Ruling("theirs", "steps-exceeded")),
    Row("the world died before any call", lambda f: _world_died(f) and not f.calls, Ruling("ours", "world-died")),
    Row("the world died after a call", _world_died, Ruling("replay", "world-died")),
    Row("an untouched world did not freeze", lambda f: _unreadable(f) and not f.calls, Ruling("ours", "not-frozen")),
    Row("a world that was called holds too much", lambda f: f.too_large, Ruling("replay", "state-too-large")),
    Row("a world that was called did not freeze", _unreadable, Ruling("replay", "not-frozen")),
    Row("a server was lost before any call", lambda f: _server_lost(f) and not f.calls, Ruling("ours", "server-lost")),
    Row("a server was lost after a call", _server_lost, Ruling("replay", "server-lost")),
    Row("its time ran out", lambda f: f.ended == "time-exceeded", Ruling("theirs", "time-exceeded")),
    Row("the predicate could not be evaluated", lambda f: f.stage == Stage.FROZEN, Ruling("ours", "not-evaluated")),
    Row(
        "a probe of the predicate could not be made",
        lambda f: f.verdict is Verdict.UNKNOWN,
        Ruling("ours", "verdict-unknown"),
    ),
    Row("the session came to its end", lambda f: f.stage == Stage.VERDICT, Ruling(None, "finished")),
)

CODES: frozenset[str] = frozenset(row.ruling.code for row in TABLE)
"""The fixed list: all that a failed private run ever tells its owner."""


def classify(facts: Facts) -> Ruling:
    """Say whose failure it is; after a replay, nothing is left open."""
    ruling = next(row for row in TABLE if row.holds(facts)).ruling
    if ruling.blame != "replay" or facts.recurred is None:
        return ruling
    return replace(ruling, blame="theirs" if facts.recurred else "ours")
