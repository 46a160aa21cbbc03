"""Result of one run of one task: immutable, and readable back from the sealed JSON.

All of it is as secret as the task while the task lives: which calls were made, what was found, how long it took. The
repr shows the task's id and the verdict alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.claim_judge.exchange import ClaimExchange
from sandbox.results.failure import Failure
from sandbox.results.said import SaidChoices
from sandbox.transcript import CallRecord, ModelCall, Transcript
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

RUN = "run"
"""What stands for a predicate in the evidence where a failure counts and no predicate's word."""
THE_SERVICE = "the service"
"""Who played an attempt that no runner played; no runner can have this name (`sandbox.pseudonyms`)."""
_PLAIN = (
    *("task_id", "category", "max_steps", "failure", "code", "attempts"),
    *("output", "exit_code", "judged_by", "goal", "served"),
)
BUDGETS = {"steps-exceeded": "it made more calls than the task allows", "time-exceeded": "its time ran out"}
"""How a session ends whose budget was exceeded, and what is said of it."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One submission's run of one task.

    Attributes:
        task_id: the task.
        category: its category.
        max_steps: how many calls it allows.
        verdict: what the predicate came to; UNKNOWN only where a failure that is surely ours stood in the way.
        evidence: why. Where no state could be looked at, one node that says so.
        transcript: what the gateway saw.
        failure: whose fault it is that the predicate's word does not count, or None where it counts.
        code: one of the fixed codes of `sandbox.results.failure`; nothing else of a failure is ever shown.
        attempts: how many times the task was served, retries among them (each one is an exposure).
        phases: seconds by phase of the last attempt.
        output: what the program printed, escaped and cut.
        exit_code: the status with which the program ended (128 + n where a signal n ended it); None if it had not
            ended when the session did, or nobody knows.
        earlier: the attempts before this one, which count for nothing and are kept with it.
        played_by: the name of the runner that played this attempt, or `THE_SERVICE`; empty where nobody handed anything
            in, or an earlier version sealed it. It is sealed with the result, and `as_json` leaves it out.
        judged_by: who had this attempt's state read and judged (`sandbox.judge.WORKER`); empty where there was none.
        goal: the goal as the agent was told it, in the variant of its submitter; empty where no transcript was left.
        served: the SHA-256 (hex) of the canonical task as it was served, in that variant; empty likewise.
        said: the choices of free parameters that the agent said and was not shown, of each that it said any of.
        claims: what a language model was asked about the claims in the predicate, and what it replied.
    """

    task_id: str
    category: str = field(repr=False)
    max_steps: int = field(repr=False)
    verdict: Verdict
    evidence: Evidence = field(repr=False)
    transcript: Transcript = field(repr=False)
    failure: Failure | None = None
    code: str = "finished"
    attempts: int = 1
    phases: Mapping[str, float] = field(default_factory=dict, repr=False)
    output: str = field(default="", repr=False)
    exit_code: int | None = field(default=None, repr=False)
    earlier: tuple[TaskRun, ...] = field(default=(), repr=False)
    played_by: str = ""
    judged_by: str = field(default="", repr=False)
    goal: str = field(default="", repr=False)
    served: str = field(default="", repr=False)
    said: tuple[SaidChoices, ...] = field(default=(), repr=False)
    claims: tuple[ClaimExchange, ...] = field(default=(), repr=False)

    @property
    def judged(self) -> Verdict | None:
        """What the predicate came to on what was left, whatever that counts for; None where it came to nothing."""
        if self.evidence.op != RUN:
            return self.evidence.verdict
        return self.evidence.children[0].verdict if self.evidence.children else None

    @property
    def budget_exceeded(self) -> bool:
        """Whether a call too many was made, or the time ran out."""
        return self.transcript.ended in BUDGETS

    @property
    def passed(self) -> bool:
        """Whether the predicate is true, no budget was exceeded and no failure stands in the way."""
        return self.verdict is Verdict.TRUE and not self.budget_exceeded and self.failure is None

    @property
    def never_asked(self) -> bool:
        """Whether the agent was let go and could not be started, or never asked for its task."""
        return self.failure != "ours" and (not self.transcript.asked or self.code == "agent-not-started")

    @property
    def failed_without_a_call(self) -> bool:
        """Whether the agent ended with an error, and had neither called a tool nor answered."""
        unused = not self.transcript.calls and self.transcript.answer is None
        return self.failure != "ours" and bool(self.exit_code) and unused

    @property
    def calls(self) -> int:
        """Count all tool calls, unlisted ones too."""
        return len(self.transcript.calls)

    def as_json(self) -> dict[str, Any]:
        """Return the run as plain JSON values."""
        return {name: getattr(self, name) for name in _PLAIN} | {
            "passed": self.passed,
            "verdict": self.verdict.value,
            "evidence": self.evidence.as_json(),
            "transcript": self.transcript.as_json(),
            "phases": dict(self.phases),
            "earlier": [earlier.as_json() for earlier in self.earlier],
            **({"said": [said.as_json() for said in self.said]} if self.said else {}),
            **({"claims": [exchange.as_json() for exchange in self.claims]} if self.claims else {}),
        }

    def to_sealed_json(self) -> dict[str, Any]:
        """Return the run as plain JSON values to be sealed: `as_json`, and who played each attempt."""
        earlier = [attempt.to_sealed_json() for attempt in self.earlier]
        return self.as_json() | {"played_by": self.played_by, "earlier": earlier}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TaskRun:
        """Read back what `as_json` or `to_sealed_json` gave."""
        read = {
            "verdict": Verdict(value["verdict"]),
            "evidence": _evidence(value["evidence"]),
            "transcript": transcript_from_json(value["transcript"]),
            "earlier": tuple(cls.from_json(earlier) for earlier in value["earlier"]),
            "said": tuple(map(SaidChoices.from_json, value.get("said", ()))),
            "claims": tuple(map(ClaimExchange.from_json, value.get("claims", ()))),
        }
        given = {name: part for name, part in value.items() if name != "passed"}  # which follows from the others
        return cls(**{**given, **read})


def unplayed(task: Task, failure: Failure, code: str) -> TaskRun:
    """Return the result of a task whose attempts all failed to complete: unknown where that is ours, else a fail."""
    verdict = Verdict.UNKNOWN if failure == "ours" else Verdict.FALSE
    return TaskRun(
        task_id=task.id,
        category=task.category,
        max_steps=task.max_steps,
        verdict=verdict,
        evidence=Evidence(RUN, verdict, found=code),
        transcript=Transcript((), None, "gateway-lost"),
        failure=failure,
        code=code,
        attempts=0,
    )


def _evidence(value: Mapping[str, Any]) -> Evidence:
    return Evidence(
        op=value["op"],
        verdict=Verdict(value["verdict"]),
        looked_at=value.get("looked_at", {}),
        found=value.get("found", ""),
        children=tuple(_evidence(child) for child in value.get("children", ())),
        broken=value.get("broken", False),
    )


def transcript_from_json(value: Mapping[str, Any]) -> Transcript:
    """Read back what a transcript's `as_json` gave."""
    calls = tuple(CallRecord(**call) for call in value["calls"])
    models = tuple(ModelCall.from_json(call) for call in value.get("model_calls", ()))
    return Transcript(
        calls=calls,
        answer=value["answer"],
        ended=value["ended"],
        model_calls=models,
        asked=value["asked"],
        shortlist=None if value.get("shortlist") is None else tuple(value["shortlist"]),
    )
