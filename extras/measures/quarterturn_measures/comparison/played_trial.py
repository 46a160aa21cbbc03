"""Measures of one trial of one task with one server: scores from 0 to 1, costs, and citations. Pure.

*How do you benchmark an MCP server you built?* weighs keywords, a judge's score and citations with .80 and efficiency
with .20 (`measures.fairness`). A task that is judged by its state or answer has no judge's score: whether it passed
says all that those three estimate, so here it has their .80. Citations are reported apart.

The article has no formula for discoverability. Here it is 1 where any call of the trial succeeded, else 0: a reference
solution names the tools of one server, so nobody can say which tools of another are needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Self

from quarterturn_measures.measures.cited_files import Versions, cited_files
from quarterturn_measures.measures.fairness import ADOPTION, efficiency, fairness_by_verdict, fluency
from quarterturn_measures.measures.grounding import Grounding, ground
from sandbox.gateway import listing
from sandbox.results.outcome import TaskRun
from sandbox.servers.server import Server
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

SCORES = ("quality", "calls_saved", "fairness", "adoption")
COSTS = ("calls", "bytes_shown", "turns", "tokens")


@dataclass(frozen=True, slots=True)
class PlayedTrial:
    """One trial of one task.

    Attributes:
        task: the task's id.
        skeleton: its skeleton, which is a cluster of the intervals.
        trial: its number, from 1.
        passed: whether it passed; None where a failure of ours leaves that unknown.
        scores: SCORES from 0 to 1, each None where it cannot be measured.
        costs: COSTS, of which turns and tokens are None where no model was asked.
        grounding: the citations of its answer.
    """

    task: str
    skeleton: str
    trial: int
    passed: bool | None
    scores: Mapping[str, float | None]
    costs: Mapping[str, int | None]
    grounding: Grounding = field(default_factory=Grounding)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "task": self.task,
            "skeleton": self.skeleton,
            "trial": self.trial,
            "passed": self.passed,
            **self.scores,
            **self.costs,
            "citations": asdict(self.grounding),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read back what `as_json` gave."""
        scores, costs = ({name: value[name] for name in names} for names in (SCORES, COSTS))
        grounding = Grounding(**value["citations"])
        return cls(value["task"], value["skeleton"], value["trial"], value["passed"], scores, costs, grounding)


@dataclass(frozen=True, slots=True)
class ServedTask:
    """What a trial is measured by, all of it public.

    Attributes:
        task: the task as it was served, with the tools of one server alone.
        skeleton: its skeleton.
        files: the files that an answer can cite.
        listing_bytes: the bytes of its listed tools, as an agent is shown them.
        is_baseline: whether the server is the baseline, which has no adoption: nobody asks whether it is adopted.
    """

    task: Mapping[str, Any] = field(repr=False)
    skeleton: str
    files: Versions = field(repr=False)
    listing_bytes: int
    is_baseline: bool

    @classmethod
    def of(cls, task: Task, server: Server, skeleton: str, *, is_baseline: bool) -> Self:
        """Return what trials of a task with a server are measured by."""
        listed_tools = json.dumps(listing(task.available_tools), ensure_ascii=False)
        files = cited_files(task.initial_state, {server.name: (server.kind, server.root)})
        return cls(task.document, skeleton, files, len(listed_tools.encode()), is_baseline)


def measure_trial(run: TaskRun, served: ServedTask, trial: int) -> PlayedTrial:
    """Measure the trial of this number."""
    transcript = run.transcript
    costs = {
        "calls": run.calls,
        "bytes_shown": len(run.goal.encode())
        + served.listing_bytes
        + sum(len(call.result.encode()) for call in transcript.calls),
        "turns": len(transcript.model_calls) or None,
        "tokens": sum(call.read + call.written for call in transcript.model_calls) or None,
    }
    if run.verdict is Verdict.UNKNOWN or run.failure == "ours":
        return PlayedTrial(run.task_id, served.skeleton, trial, None, dict.fromkeys(SCORES), costs)
    saved = efficiency(run.calls, run.max_steps, passed=run.passed)
    scores = {
        "quality": Fraction(run.passed),
        "calls_saved": saved,
        "fairness": fairness_by_verdict(saved, passed=run.passed),
        "adoption": None if served.is_baseline else _adoption(run),
    }
    plain = {name: None if score is None else float(score) for name, score in scores.items()}
    calls = () if _left_all_unchanged(run.evidence) else transcript.calls
    grounding = ground(transcript.answer, served.files, calls)
    return PlayedTrial(run.task_id, served.skeleton, trial, run.passed, plain, costs, grounding)


def _adoption(run: TaskRun) -> Fraction | None:
    """Return the adoption of a trial: 0 without a call, None where all its calls were beyond the caps."""
    if not run.transcript.calls:
        return Fraction(0)
    share = fluency(run.transcript.calls)
    return None if share is None else ADOPTION[0] * share + ADOPTION[1] * (share > 0)


def _left_all_unchanged(evidence: Evidence) -> bool:
    """Say whether a frame without exceptions held: then no call wrote a file, whatever its tool is called."""
    frame = evidence.op.endswith(".unchanged") and not evidence.looked_at.get("except")
    return (frame and evidence.verdict is Verdict.TRUE) or any(map(_left_all_unchanged, evidence.children))
