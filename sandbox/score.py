"""Scoring a run on the four axes, each figure with its n and a 95 % interval. Pure.

- **success rate**: tasks passed / attempted, where attempted is every task of the set. The primary axis.
- **efficiency**: the mean of calls / max_steps over passed tasks; lower is better.
- **hallucinated-tool rate**: calls to unlisted tools / all calls, over the whole submission.
- **recovery rate**: of the recovery tasks where the agent saw an error, those that it still passed.

Tasks of one skeleton are draws of one thing and no independent evidence, so every interval takes the skeleton as its
cluster. A figure of nothing (n = 0) has no value and no interval. Unknown verdicts are no passes; they widen the
interval of the success rate to what it would be had they all passed, and such a score is not ranked.

Sources. Proportions: E. B. Wilson's score interval (*J. Amer. Statist. Assoc.* 22, 1927, 209-212) on the effective
sample size of E. L. Korn and B. I. Graubard (*Survey Methodology* 24, 1998, 193-201), a form that C. Franco, R. Little,
T. Louis and E. Slud recommend in their comparison (*J. Survey Statist. Methodol.* 7, 2019, 334-364). Design effect and
ratio estimator: W. G. Cochran, *Sampling Techniques*, 3rd ed., 1977, chapters 6 and 9A. Student's t: M. Abramowitz
and I. A. Stegun, *Handbook of Mathematical Functions*, 1964, 26.7.3 and 26.7.4.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from sandbox.errors import Malformed
from verifiers.verdict import Verdict

LEVEL = 0.95
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
ENOUGH = 2  # clusters: from one alone no variance can be told


@dataclass(frozen=True, slots=True)
class Result:
    """What one task of a run came to.

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
        errors_seen: errors on listed tools that the agent was shown.
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

    def __post_init__(self) -> None:
        if self.max_steps < 1 or not 0 <= self.unlisted <= self.calls or self.errors_seen < 0:
            raise Malformed(f"the result of {self.task} in run {self.run} has counts that cannot be")
        if self.passed and (self.verdict is not Verdict.TRUE or self.calls > self.max_steps):
            raise Malformed(
                f"the result of {self.task} in run {self.run} is no pass: its verdict or its budget says so"
            )

    @property
    def ratio(self) -> Fraction:
        """Give calls / max_steps."""
        return Fraction(self.calls, self.max_steps)

    @property
    def recovers(self) -> bool:
        """Say whether the result counts for the recovery rate."""
        return self.category == "recovery" and self.errors_seen > 0

    def document(self) -> dict[str, Any]:
        """Give the result as the ledger commits to it."""
        kept = ("run", "task", "cohort", "category", "passed", "calls", "max_steps", "unlisted", "skeleton")
        row = {name: getattr(self, name) for name in kept}
        return row | {"verdict": self.verdict.value, "saw_error": self.errors_seen > 0}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its interval; all None where n = 0.

    Attributes:
        value: between 0 and 1.
        n: what it is a mean over: tasks, or calls.
        low: the interval's lower bound.
        high: its upper bound.
    """

    value: float | None
    n: int
    low: float | None
    high: float | None


NOTHING = Figure(None, 0, None, None)


@dataclass(frozen=True, slots=True)
class Score:
    """The four axes of one run, and whether the run may be ranked."""

    success_rate: Figure
    efficiency: Figure
    hallucinated_tool_rate: Figure
    recovery_rate: Figure
    attempted: int
    passed: int
    unknown: int
    ranked: bool

    def as_json(self) -> dict[str, Any]:
        """Give the score as plain JSON values."""
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
        success_rate=_success_rate(rows),
        efficiency=mean(_clusters(passed, lambda row: float(row.ratio))),
        hallucinated_tool_rate=proportion(_pairs(rows, lambda row: row.unlisted, lambda row: row.calls)),
        recovery_rate=proportion(_pairs([row for row in rows if row.recovers], lambda row: row.passed)),
        attempted=len(rows),
        passed=len(passed),
        unknown=unknown,
        ranked=bool(rows) and not unknown,
    )


def rank(scores: Sequence[Score]) -> list[int | None]:
    """Give each score's rank: 1 + the number of ranked ones with a lower bound above its upper one; None: unranked."""
    lows = [entry.success_rate.low for entry in scores if entry.ranked]
    return [
        1 + sum(low > entry.success_rate.high for low in lows if low is not None)
        if entry.ranked and entry.success_rate.high is not None
        else None
        for entry in scores
    ]


def totals(results: Iterable[Result]) -> dict[str, dict[str, Any]]:
    """Add a run up by cohort, in whole numbers and one exact fraction (`"37/12"`), as the ledger commits to it.

    Raises:
        Malformed: a task is there twice, or the results are of several runs.
    """
    cohorts: dict[str, list[Result]] = defaultdict(list)
    for row in _of_one_run(results):
        cohorts[row.cohort].append(row)
    return {cohort: _total(cohort, cohorts[cohort]) for cohort in sorted(cohorts)}


def proportion(clusters: Sequence[tuple[int, int]]) -> Figure:
    """Give the share of hits among trials, from one (hits, trials) a cluster, with Wilson's interval.

    The effective sample size is n / design effect, made smaller for few clusters by the ratio of the quantiles of
    Student's t with n - 1 and with k - 1 degrees of freedom, and it is at least 1: one independent observation.
    """
    pairs = [(hits, trials) for hits, trials in clusters if trials]
    n = sum(trials for _, trials in pairs)
    if n == 0:
        return NOTHING
    share = sum(hits for hits, _ in pairs) / n
    return Figure(share, n, *wilson(share, _effective_size(pairs, n)))


def mean(clusters: Sequence[Sequence[float]]) -> Figure:
    """Give the mean of values between 0 and 1, with a t interval whose variance is between clusters.

    From one cluster alone no variance can be told: its interval is all of 0 to 1.
    """
    n, k = sum(map(len, clusters)), len(clusters)
    if n == 0:
        return NOTHING
    value = math.fsum(map(math.fsum, clusters)) / n
    if k < ENOUGH:
        return Figure(value, n, 0.0, 1.0)
    spread = math.fsum((math.fsum(cluster) - len(cluster) * value) ** 2 for cluster in clusters)
    half = student(k - 1) * math.sqrt(k / (k - 1) * spread) / n
    return Figure(value, n, max(0.0, value - half), min(1.0, value + half))


def wilson(share: float, n: float) -> tuple[float, float]:
    """Give Wilson's interval for a share among n observations (n need not be whole)."""
    centre = share + Z * Z / (2 * n)
    half = Z * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    whole = 1 + Z * Z / n
    return max(0.0, (centre - half) / whole), min(1.0, (centre + half) / whole)


@lru_cache(maxsize=1024)
def student(degrees: int) -> float:
    """Give the two-sided 95 % quantile of Student's t, by bisection of its closed form for whole degrees of freedom."""
    low, high = Z, 13.0  # the quantile for one degree is 12.7
    while high - low > 1e-12:  # noqa: PLR2004
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < LEVEL else (low, middle)
    return low


def _within(t: float, degrees: int) -> float:
    """Give the probability that |T| is at most t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term, total = (cosine if odd else 1.0), 0.0
    for factor in range(2 + odd, degrees + 1 + odd, 2):  # none at all for one degree
        total += term
        term *= cosine * cosine * (factor - 1) / factor
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _effective_size(pairs: Sequence[tuple[int, int]], n: int) -> float:
    """Give the number of independent observations that the clusters are worth.

    Where all tasks pass, or none, the data say nothing about how alike the tasks of a skeleton are, and a design effect
    taken from them alone would jump. So it is taken with two made-up skeletons of the average size, one all passed and
    one all failed: the pseudo-observations of A. Agresti and B. A. Coull (*Amer. Statist.* 52, 1998, 119-126), as
    clusters. They weigh most where the data say least, and nothing where every skeleton has one task. Less than 1 is
    taken for 1, because chance makes small samples look more alike than they are.
    """
    k = len(pairs)
    if k < ENOUGH:
        return 1.0
    padded = [*pairs, (n / k, n / k), (0, n / k)]
    size = n + 2 * n / k
    share = sum(hits for hits, _ in padded) / size
    between = (k + 2) / (k + 1) * math.fsum((hits - trials * share) ** 2 for hits, trials in padded) / size**2
    effect = max(1.0, between / (share * (1 - share) / (size - 1)))
    return max(1.0, n / effect * (student(n - 1) / student(k - 1)) ** 2)


def _success_rate(rows: Sequence[Result]) -> Figure:
    sure = proportion(_pairs(rows, lambda row: row.passed))
    hoped = proportion(_pairs(rows, lambda row: row.passed or row.verdict is Verdict.UNKNOWN))
    return Figure(sure.value, sure.n, sure.low, hoped.high)


def _of_one_run(results: Iterable[Result]) -> list[Result]:
    rows = list(results)
    if len({row.run for row in rows}) > 1:
        raise Malformed("the results are of several runs; score each by itself")
    if len({row.task for row in rows}) < len(rows):
        raise Malformed("a task is there twice among the results of a run")
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


def _total(cohort: str, rows: Sequence[Result]) -> dict[str, Any]:
    efficiency = sum((row.ratio for row in rows if row.passed), Fraction(0))
    recovering = [row for row in rows if row.recovers]
    return {
        "run": rows[0].run,
        "cohort": cohort,
        "attempted": len(rows),
        "passed": sum(row.passed for row in rows),
        "unknown": sum(row.verdict is Verdict.UNKNOWN for row in rows),
        "calls": sum(row.calls for row in rows),
        "unlisted": sum(row.unlisted for row in rows),
        "efficiency_sum": f"{efficiency.numerator}/{efficiency.denominator}",
        "recovery_seen": len(recovering),
        "recovery_passed": sum(row.passed for row in recovering),
    }
