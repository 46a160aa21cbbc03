"""Scores a run on the four axes, each figure with its n and a 95 % interval. Pure.

- **success rate**: tasks passed / attempted, where attempted is every task of the set. The primary axis.
- **efficiency**: the mean of calls / max_steps over passed tasks; lower is better.
- **hallucinated-tool rate**: calls to unlisted tools / all calls, over the whole submission.
- **recovery rate**: of the recovery tasks where the agent saw the scheduled error, those that it still passed.

Tasks of one skeleton are draws of one thing and no independent evidence, so every interval takes the skeleton as its
cluster. That of the success rate, by which runs are ranked, takes the tasks of a skeleton for one observation: it
depends on how many tasks passed and not on which, so that one pass more never makes a rank worse. A figure of nothing
(n = 0) has no value and no interval. Unknown verdicts count as failed, and such a score is not ranked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from sandbox.errors import Malformed
from sandbox.results.interval import Figure, mean, proportion, share
from sandbox.results.outcome import TaskRun
from vault.task.document import SPEC_VERSION
from verifiers.language.verdict import Verdict

__all__ = ["Figure", "Result", "Score", "rank", "score"]


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one task of a run.

    Attributes:
        run: the run's number.
        task: the task's id.
        cohort: the cohort that the task belongs to.
        server: the task's main server.
        category: `single-tool`, `composition` or `recovery`.
        verdict: what the predicate came to.
        passed: the verdict is true and no budget was exceeded.
        calls: all tool calls, unlisted ones included.
        max_steps: the task's budget of calls.
        unlisted: calls to tools that the task does not list.
        errors_seen: scheduled errors that the agent was shown.
        skeleton: the skeleton's opaque tag.
    """

    run: int
    task: str
    cohort: str
    server: str
    category: str
    verdict: Verdict
    passed: bool
    calls: int
    max_steps: int
    unlisted: int
    errors_seen: int
    skeleton: str

    @classmethod
    def of(cls, outcome: TaskRun, *, run: int, cohort: str, server: str, skeleton: str) -> Self:
        """Return what counts of a task's run."""
        return cls(
            run=run,
            task=outcome.task_id,
            cohort=cohort,
            server=server,
            category=outcome.category,
            verdict=outcome.verdict,
            passed=outcome.passed,
            calls=outcome.calls,
            max_steps=outcome.max_steps,
            unlisted=outcome.transcript.unlisted,
            errors_seen=outcome.transcript.injected,
            skeleton=skeleton,
        )

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> Self:
        """Read back what `document` gave, which is all that a score needs; the server is not in it."""
        fields = {name: value for name, value in document.items() if name not in ("saw_error", "transcript")}
        verdict, errors = Verdict(fields.pop("verdict")), int(document["saw_error"])
        return cls(**fields, verdict=verdict, server="", errors_seen=errors)

    def __post_init__(self) -> None:
        if self.max_steps < 1 or not 0 <= self.unlisted <= self.calls or self.errors_seen < 0:
            raise Malformed(f"the result of {self.task} in run {self.run} has impossible counts")
        if self.passed and (self.verdict is not Verdict.TRUE or self.calls > self.max_steps):
            raise Malformed(
                f"the result of {self.task} in run {self.run} is no pass: its verdict or its budget says so"
            )

    @property
    def ratio(self) -> Fraction:
        """Return calls / max_steps."""
        return Fraction(self.calls, self.max_steps)

    @property
    def recovers(self) -> bool:
        """Say whether the result counts for the recovery rate."""
        return self.category == "recovery" and self.errors_seen > 0

    def document(self, transcript: str | None) -> dict[str, Any]:
        """Return the result as the ledger commits to it.

        Args:
            transcript: the commitment to its transcript, in hex; None if the run left none.
        """
        names = ("run", "task", "cohort", "category", "passed", "calls", "max_steps", "unlisted", "skeleton")
        row = {name: getattr(self, name) for name in names}
        return row | {"verdict": self.verdict.value, "saw_error": self.errors_seen > 0, "transcript": transcript}


@dataclass(frozen=True, slots=True)
class Score:
    """The four axes of one run, whether the run may be ranked, and the version of the rules that it was made under."""

    success_rate: Figure
    efficiency: Figure
    hallucinated_tool_rate: Figure
    recovery_rate: Figure
    attempted: int
    passed: int
    unknown: int
    ranked: bool
    spec: str = SPEC_VERSION

    def as_json(self) -> dict[str, Any]:
        """Return the score as plain JSON values."""
        return asdict(self)


def score(results: Iterable[Result]) -> Score:
    """Score the results of one run: one for every task of its set.

    Raises:
        Malformed: a task is there twice, or the results are of several runs.
    """
    rows = _of_one_run(results)
    unknown = sum(row.verdict is Verdict.UNKNOWN for row in rows)
    passed = [row for row in rows if row.passed]
    return Score(
        success_rate=share(len(passed), list(Counter(row.skeleton for row in rows).values())),
        efficiency=mean(_clusters(passed, lambda row: float(row.ratio))),
        hallucinated_tool_rate=proportion(_pairs(rows, lambda row: row.unlisted, lambda row: row.calls)),
        recovery_rate=proportion(_pairs([row for row in rows if row.recovers], lambda row: row.passed)),
        attempted=len(rows),
        passed=len(passed),
        unknown=unknown,
        ranked=bool(rows) and not unknown,
    )


def rank(scores: Sequence[Score]) -> list[int | None]:
    """Return each score's rank: 1 + the number of ranked ones with a lower bound above its upper; None: unranked."""
    lows = [entry.success_rate.low for entry in scores if entry.ranked]
    return [
        1 + sum(low > entry.success_rate.high for low in lows if low is not None)
        if entry.ranked and entry.success_rate.high is not None
        else None
        for entry in scores
    ]


def _of_one_run(results: Iterable[Result]) -> list[Result]:
    rows = list(results)
    if len({row.run for row in rows}) > 1:
        raise Malformed("the results are of several runs; score each by itself")
    if len({row.task for row in rows}) < len(rows):
        raise Malformed("a task occurs twice among the results of a run")
    return rows


def _clusters(rows: Iterable[Result], value: Callable[[Result], float]) -> list[list[float]]:
    clusters: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        clusters[row.skeleton].append(value(row))
    return list(clusters.values())


def _pairs(
    rows: Iterable[Result], hits: Callable[[Result], int], trials: Callable[[Result], int] = lambda _: 1
) -> list[tuple[int, int]]:
    clusters: Mapping[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        clusters[row.skeleton][0] += hits(row)
        clusters[row.skeleton][1] += trials(row)
    return [(hit, trial) for hit, trial in clusters.values()]


def roughly(count: int) -> int:
    """Round a count to its first digit: 7, 20, 300. What is shown of private tasks says how many, and no more."""
    step = int("1" + "0" * (len(str(count)) - 1))
    return round(count / step) * step
