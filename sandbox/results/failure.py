"""Failure classification: whose failure it is, and whether the task is served again (`RETRIES`). Pure.

The facts are the engine's events and exit codes, our own timers, and how far our own numbered steps came. No text that
an agent, a model or a server wrote is among them. The question is only ever whether the *machinery* broke: a program
that crashed, ran in circles or answered nonsense has simply not done the task, and the predicate says so.

No outcome is better than a fail. So whatever an agent could have caused is a fail, and a served task is served again
only for a cause of a closed list that no agent can produce:

    ours     on the closed list: the task is served again; a run has RETRIES of these, all its tasks together
    theirs   a fail
    unclear  the cause cannot be settled: a fail too, and counted for a person to look at
    check    each server that was called is started in a fresh world of its own without any call, while no agent of the
             run is at work. Where that breaks too the machinery is broken, which is ours; else it is unclear
    nobody   no failure: the predicate's verdict counts

A failure of ours beyond the retries has an unknown verdict: the task counts as failed, and its run is not ranked.
`TABLE` is the whole decision about an attempt, the first row whose condition holds; `STOPS` is what follows where a
whole run stops (docs/adr/0058).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

from sandbox.boxes import box
from sandbox.transcript import Ended, UpstreamFact
from verifiers.language.verdict import Verdict

RETRIES = 4
"""How many times a whole run is served a task again, all its tasks together, by however many workers it is played."""
PREPARATIONS = 3
"""How often a worker tries to make a task's world, gateway and place ready; nothing is served by it."""

AGENT_CRASHED = "agent-crashed"
"""The code of an attempt, or of all in a run, whose program ended with an error; the predicate's word counts."""

Failure = Literal["ours", "theirs", "unclear"]
Blame = Failure | Literal["check"]


class Stage(IntEnum):
    """How far the numbered steps of an attempt came; each name is the last step that was finished."""

    NOTHING = 0
    WORLD = 1
    GATEWAY = 2
    SERVED = 3
    AGENT = 4
    SESSION = 5
    FROZEN = 6
    VERDICT = 7


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """Known facts about an attempt that ended, or about its check.

    Attributes:
        stage: how far it came.
        ended: how the gateway says that the session ended, or None if it never reported.
        agent: the agent's end, as the engine has it; None if it never started.
        world: how the world stood when the session was over, before it was told to freeze.
        too_large: whether the frozen state was over our caps or no tar stream at all.
        unjudged: whether readers or judges failed on it, and for a reason of ours.
        servers_missed: how many servers died, never came up, or did not come up or answer in time.
        upstream: the worst that the model gateway met: its upstream did not answer a fixed request of ours either
            (`down`), failed a request and then the same one not again, or was crowded (`broke`), or failed the same one
            again or said no to it (`refused`).
        verdict: what the predicate came to, or None where it was not evaluated.
        runner_lost: whether the runner that played it handed nothing in, and is gone.
    """

    stage: Stage
    ended: Ended | None = None
    agent: box.ExitFacts | None = None
    world: box.ExitFacts | None = None
    too_large: bool = False
    unjudged: bool = False
    servers_missed: int = 0
    upstream: UpstreamFact | None = None
    verdict: Verdict | None = None
    runner_lost: bool = False


@dataclass(frozen=True, slots=True)
class Ruling:
    """Decision about an attempt: who is to blame (None: nobody, the verdict counts) and the code that may be shown."""

    blame: Blame | None
    code: str

    @property
    def failure(self) -> Failure | None:
        """Return what is left of it when nothing more is checked."""
        return "unclear" if self.blame == "check" else self.blame


@dataclass(frozen=True, slots=True)
class FailureRule:
    """One row of the table: a sentence for the reader, a condition, and what follows."""

    says: str
    holds: Callable[[AttemptFacts], bool]
    ruling: Ruling


def _lost(facts: AttemptFacts) -> bool:
    return any(exit_facts is not None and exit_facts.lost for exit_facts in (facts.agent, facts.world))


def _world_died(facts: AttemptFacts) -> bool:
    return facts.world is not None and not facts.world.running


def _unreadable(facts: AttemptFacts) -> bool:
    return facts.stage in (Stage.AGENT, Stage.SESSION) or facts.too_large


def _undone(facts: AttemptFacts) -> bool:
    """What is lost on the way to a task that is done after all has stood in nobody's way."""
    return facts.verdict is not Verdict.TRUE


def _relay_died(facts: AttemptFacts) -> bool:
    return facts.agent is not None and facts.agent.relay_died and _undone(facts)


def _agent_crashed(facts: AttemptFacts) -> bool:
    exit_code = facts.agent.exit_code if facts.agent else None
    return facts.ended == "agent-exited" and exit_code not in (None, 0) and facts.verdict is Verdict.FALSE


def _server_missed(facts: AttemptFacts) -> bool:
    return facts.servers_missed > 0 and _undone(facts)


TABLE: tuple[FailureRule, ...] = (
    # So far no agent was let go: nothing was served.
    FailureRule("the world never started", lambda f: f.stage == Stage.NOTHING, Ruling("ours", "world-not-started")),
    FailureRule(
        "the gateway never became ready", lambda f: f.stage == Stage.WORLD, Ruling("ours", "gateway-not-ready")
    ),
    FailureRule(
        "the agent's place could not be made", lambda f: f.stage == Stage.GATEWAY, Ruling("ours", "place-not-ready")
    ),
    # From here on everything may be hostile.
    FailureRule("the engine could not be asked", _lost, Ruling("ours", "engine-lost")),
    # Nobody can tell what happened there, and an agent may have brought it about: a second draw could be provoked.
    FailureRule("its runner is gone", lambda f: f.runner_lost, Ruling("unclear", "runner-lost")),
    FailureRule(
        "the agent could not be started", lambda f: f.stage == Stage.SERVED, Ruling("unclear", "agent-not-started")
    ),
    # An agent talks to the gateway and the relay, so it may have killed them; and what it said cannot be checked.
    FailureRule("the gateway is gone", lambda f: f.ended in (None, "gateway-lost"), Ruling("unclear", "gateway-lost")),
    FailureRule("the world died", _world_died, Ruling("check", "world-died")),
    FailureRule("the world's state is too large, or none", lambda f: f.too_large, Ruling("check", "state-too-large")),
    FailureRule("the world did not give its state", _unreadable, Ruling("check", "not-frozen")),
    FailureRule("a server was lost, or did not answer in time", _server_missed, Ruling("check", "server-lost")),
    FailureRule("the relay is gone", _relay_died, Ruling("unclear", "relay-lost")),
    # Requests may crash an upstream, or use its quota up.
    FailureRule(
        "the model's upstream was down",
        lambda f: f.upstream == "down" and _undone(f),
        Ruling("unclear", "upstream-down"),
    ),
    FailureRule(
        "the model's upstream broke on a request, once",
        lambda f: f.upstream == "broke" and _undone(f),
        Ruling("unclear", "upstream-broke"),
    ),
    FailureRule("it made a call too many", lambda f: f.ended == "steps-exceeded", Ruling("theirs", "steps-exceeded")),
    FailureRule("its time ran out", lambda f: f.ended == "time-exceeded", Ruling("theirs", "time-exceeded")),
    # What is read may be made to take long, or to be unreadable.
    FailureRule(
        "a reader or a judge failed, twice, the second time alone",
        lambda f: f.unjudged,
        Ruling("unclear", "judge-lost"),
    ),
    FailureRule(
        "the predicate could not be evaluated", lambda f: f.stage == Stage.FROZEN, Ruling("unclear", "not-evaluated")
    ),
    FailureRule(
        "a probe of the predicate could not be made",
        lambda f: f.verdict is Verdict.UNKNOWN,
        Ruling("unclear", "verdict-unknown"),
    ),
    FailureRule(
        "the agent's program ended with an error, without an answer, and the task is not done",
        _agent_crashed,
        Ruling(None, AGENT_CRASHED),
    ),
    FailureRule("the session came to its end", lambda f: f.stage == Stage.VERDICT, Ruling(None, "finished")),
)

UNSERVED: frozenset[str] = frozenset({"world-not-started", "gateway-not-ready", "place-not-ready"})
"""The codes of attempts that ended before any agent was let go."""


@dataclass(frozen=True, slots=True)
class RunStop:
    """One way in which a whole run stops before each of its tasks has a result.

    Attributes:
        says: a sentence for the reader.
        closed_list: whether no agent can bring it about. Then what was being played may be served again, within
            RETRIES, and what is still unserved when the month turns is unknown; else both are failed.
        goes_on: whether somebody plays what was not served yet; else the run is closed at once.
    """

    says: str
    closed_list: bool
    goes_on: bool = True


STOPS: Mapping[str, RunStop] = {
    "worker-lost": RunStop("its worker died, or was silent for longer than its lease", closed_list=False),
    "mistake": RunStop("a mistake of ours ended it", closed_list=False),
    "cancelled": RunStop("its owner took it back", closed_list=False, goes_on=False),
    "worker-stopped": RunStop("the operator stopped the worker, or the command", closed_list=True),
    "machine": RunStop("the box, the database or the disk of the log could not be had", closed_list=True),
    "upstream-down": RunStop("the upstream of its model answered nobody", closed_list=False),
    "turn": RunStop("the month turned", closed_list=False, goes_on=False),
}
"""What stops a run, by its code."""

CODES: frozenset[str] = frozenset(row.ruling.code for row in TABLE) | STOPS.keys()
"""The fixed list: all that a failed private run ever tells its owner."""


def classify(facts: AttemptFacts, check: AttemptFacts | None = None) -> Ruling:
    """Say whose failure it is; with the facts of its check nothing is left to check."""
    ruling = _first(facts)
    if ruling.blame != "check" or check is None:
        return ruling
    return replace(ruling, blame="unclear" if _first(check).blame is None else "ours")


def _first(facts: AttemptFacts) -> Ruling:
    return next(row.ruling for row in TABLE if row.holds(facts))
