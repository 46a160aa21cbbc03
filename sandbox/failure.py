"""Ours or theirs? A pure decision from facts that no model could have written.

The facts are the engine's events and exit codes, our own timers, and how far our own numbered steps came. No text that
an agent, a model or a server wrote is among them. The question is only ever whether the *machinery* broke: a program
that crashed, ran in circles or answered nonsense has simply not done the task, and the predicate says so.

    ours     what no agent can bring about: the task is played again, at most RETRIES times
    theirs   a fail
    replay   what calls can bring about: the logged calls are played in a fresh world without the agent (`Facts` of
             that come in as `again`), and where it breaks again the calls broke it
    uncalled what broke before any call, as the gateway says, which hostile bytes may have taken over: the same servers
             are woken in a fresh world without any call. Where it breaks again it is ours, and else unclear
    late     as replay, but nothing is known to be broken: it only did not come in our time. Where the replay is only
             late too, the same world is woken and frozen without any call (`idle`): was it in time, the calls made it
             late; else this machine is slow, and that is unclear
    unclear  it did not break again, or cannot be replayed. That is no proof that it was ours, for a call may ask the
             clock or throw dice: a run has DOUBTS retries for such failures, whatever its size
    nobody   the predicate's word counts

Each retry is an exposure. What is left ours or unclear has an unknown verdict, and its run is not ranked. `TABLE` is
the whole decision, the first row whose condition holds; `AGAIN` is what a replay makes of it (docs/adr/0018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

from sandbox import box
from sandbox.transcript import Ended, UpstreamFact
from verifiers.language.verdict import Verdict

RETRIES = 2
"""How often a task is played again at most, whatever the reasons."""
DOUBTS = 2
"""How many retries one run has for failures that stayed unclear, all its tasks together."""

Failure = Literal["ours", "theirs", "unclear"]
Blame = Failure | Literal["replay", "uncalled", "late"]
TO_REPLAY: frozenset[Blame | None] = frozenset({"replay", "uncalled", "late"})
"""What is not decided yet."""

_KILLED = frozenset({137, -9})


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
    """What is known about a run that ended, or about its replay.

    Attributes:
        stage: how far it came.
        ended: how the gateway says that the session ended, or None if it never reported.
        calls: how many calls were passed on to a server, as the gateway says.
        agent: the agent's end, as the engine has it; None if it never started.
        world: how the world stood when the session was over, before it was told to freeze.
        too_large: whether the frozen state was over our caps or no tar stream at all.
        unjudged: whether readers or judges failed on it, and for a reason of ours.
        stalled: whether our own looks at the agent came far apart: the machine stood still, or its clock jumped.
        servers_lost: how many servers died or never came up.
        servers_late: how many did not come up or answer in time, dead or not.
        freeze_late: whether the world did not give its state in time, and was not seen to be cut off.
        upstream: the worst that the model gateway met: its upstream did not answer a fixed request of ours either
            (`down`), failed a request and then the same one not again, or was crowded (`broke`), or failed the same one
            again or said no to it (`refused`).
        verdict: what the predicate came to, or None where it was not evaluated.
    """

    stage: Stage
    ended: Ended | None = None
    calls: int = 0
    agent: box.Facts | None = None
    world: box.Facts | None = None
    too_large: bool = False
    unjudged: bool = False
    stalled: bool = False
    servers_lost: int = 0
    servers_late: int = 0
    freeze_late: bool = False
    upstream: UpstreamFact | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """Who is to blame (None: nobody, the verdict counts) and the code that may be shown."""

    blame: Blame | None
    code: str

    @property
    def failure(self) -> Failure | None:
        """Give what is left of it when nothing more is replayed."""
        blame = self.blame
        return blame if blame == "ours" or blame == "theirs" or blame is None else "unclear"  # noqa: PLR1714  mypy narrows by this form alone


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: a sentence for the reader, a condition, and what follows."""

    says: str
    holds: Callable[[Facts], bool]
    ruling: Ruling


def _lost(facts: Facts) -> bool:
    return any(one is not None and one.lost for one in (facts.agent, facts.world))


def _killed_from_outside(facts: Facts) -> bool:
    """The world's first process cannot be killed from inside, but by the kernel for its memory, which notes that."""
    world = facts.world
    return world is not None and not world.running and world.exit_code in _KILLED and not world.out_of_memory


def _world_died(facts: Facts) -> bool:
    return facts.world is not None and not facts.world.running


def _unreadable(facts: Facts) -> bool:
    return facts.stage in (Stage.AGENT, Stage.SESSION) or facts.too_large


def _undone(facts: Facts) -> bool:
    """What is lost on the way to a task that is done after all has stood in nobody's way."""
    return facts.verdict is not Verdict.TRUE


def _relay_died(facts: Facts) -> bool:
    return facts.agent is not None and facts.agent.relay_died and _undone(facts)


def _server_lost(facts: Facts) -> bool:
    return facts.servers_lost > 0 and _undone(facts)


def _server_missed(facts: Facts) -> bool:
    return facts.servers_lost + facts.servers_late > 0 and _undone(facts)


def _only_late(facts: Facts) -> bool:
    return facts.freeze_late and not facts.servers_lost and _unreadable(facts)


def _jumped_over(facts: Facts) -> bool:
    return facts.ended == "time-exceeded" and facts.stalled


TABLE: tuple[Row, ...] = (
    Row("the engine could not be asked", _lost, Ruling("ours", "engine-lost")),
    Row("the world never started", lambda f: f.stage == Stage.NOTHING, Ruling("ours", "world-not-started")),
    Row("the gateway never became ready", lambda f: f.stage == Stage.WORLD, Ruling("ours", "gateway-not-ready")),
    Row("the agent could not be started", lambda f: f.stage == Stage.GATEWAY, Ruling("ours", "agent-not-started")),
    # An agent talks to the gateway and the relay, so it may have killed them; and what it said cannot be replayed.
    Row("the gateway is gone", lambda f: f.ended in (None, "gateway-lost"), Ruling("unclear", "gateway-lost")),
    Row("the world was killed from outside", _killed_from_outside, Ruling("ours", "world-killed")),
    Row("the world died before any call", lambda f: _world_died(f) and not f.calls, Ruling("uncalled", "world-died")),
    Row("the world died after a call", _world_died, Ruling("replay", "world-died")),
    Row(
        "an untouched world did not freeze", lambda f: _unreadable(f) and not f.calls, Ruling("uncalled", "not-frozen")
    ),
    Row("a world that was called holds too much", lambda f: f.too_large, Ruling("replay", "state-too-large")),
    Row("a world that was called did not freeze in time", _only_late, Ruling("late", "not-frozen")),
    Row("a world that was called did not freeze", _unreadable, Ruling("replay", "not-frozen")),
    Row(
        "a server was lost before any call",
        lambda f: _server_missed(f) and not f.calls,
        Ruling("uncalled", "server-lost"),
    ),
    Row("a server was lost after a call", _server_lost, Ruling("replay", "server-lost")),
    Row("a server did not answer in time", _server_missed, Ruling("late", "server-lost")),
    Row("the relay is gone", _relay_died, Ruling("unclear", "relay-lost")),
    Row(
        "the model's upstream was down", lambda f: f.upstream == "down" and _undone(f), Ruling("ours", "upstream-down")
    ),
    Row(
        "the model's upstream broke on a request, once",
        lambda f: f.upstream == "broke" and _undone(f),
        Ruling("unclear", "upstream-broke"),
    ),
    Row("our clock jumped over its time", _jumped_over, Ruling("unclear", "clock-jumped")),
    Row("it made a call too many", lambda f: f.ended == "steps-exceeded", Ruling("theirs", "steps-exceeded")),
    Row("its time ran out", lambda f: f.ended == "time-exceeded", Ruling("theirs", "time-exceeded")),
    # What is read may be made to take long, so that it is not played again as often as if it were surely ours.
    Row(
        "a reader or a judge failed, twice, the second time alone",
        lambda f: f.unjudged,
        Ruling("unclear", "judge-lost"),
    ),
    # A state or an answer may have been made to be unreadable; and if it was, an honest one may be so by chance.
    Row("the predicate could not be evaluated", lambda f: f.stage == Stage.FROZEN, Ruling("unclear", "not-evaluated")),
    Row(
        "a probe of the predicate could not be made",
        lambda f: f.verdict is Verdict.UNKNOWN,
        Ruling("unclear", "verdict-unknown"),
    ),
    Row("the session came to its end", lambda f: f.stage == Stage.VERDICT, Ruling(None, "finished")),
)

AGAIN: Mapping[Blame | None, Blame] = {
    "replay": "theirs",
    "late": "late",
    "uncalled": "ours",
    "ours": "ours",
    "unclear": "unclear",
    "theirs": "unclear",
    None: "unclear",
}
"""What a replay says about the failure that it was made for, by the blame of the replay's own row.

It broke after a call of its own: the calls broke it. It broke before any, or could not be made: the machinery is broken
without any agent. It held: nobody can say. It was only late: a world without calls has to tell (`IDLE`).
"""

IDLE: Mapping[bool, Blame] = {True: "theirs", False: "unclear"}
"""What a world without calls says where the replay was only late, by whether it held."""

CODES: frozenset[str] = frozenset(row.ruling.code for row in TABLE)
"""The fixed list: all that a failed private run ever tells its owner."""


def classify(facts: Facts, again: Facts | None = None, idle: Facts | None = None) -> Ruling:
    """Say whose failure it is; with the facts of a replay, and of one without calls, nothing is left to replay."""
    ruling = _first(facts)
    if ruling.blame not in TO_REPLAY or again is None:
        return ruling
    blame = AGAIN[_first(again).blame]
    if blame == "late" and idle is not None:
        blame = IDLE[_first(idle).blame is None]
    return replace(ruling, blame=blame)


def _first(facts: Facts) -> Ruling:
    return next(row.ruling for row in TABLE if row.holds(facts))
