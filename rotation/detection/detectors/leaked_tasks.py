"""Leak detector: tests whether a submitter does better on tasks that could have leaked than on fresh ones. Pure.

A submitter who knows a share of the exposed tasks passes those, however hard, and with fewer calls than peers and than
their own earlier runs needed. The statistic is the log-likelihood ratio of that mixture, summed over the exposed tasks
of up to three months. The effect of a better or more call-efficient model, which is the same on every task, is
projected out, up to what the submitter's earlier runs predict (`submitter_prior`); that prediction only binds a run
close to it. With ten submitters or more a second test, of the gap between all exposed and all fresh tasks
(`exposed_gap`), takes its null from the field; both p-values are combined, or that of the gap stands alone where calls
are all alike. Earlier runs count as far as habits last
(`continuity`). The distribution under honesty is computed, not simulated: each task's outcomes (a failure, or a pass
with so many calls) are enumerated, and everything uncertain about the task is integrated out.

Not detected: a leak that more than a third of the submitters share (the tasks then look easy), a leak of all exposed
tasks at once to a submitter with too few fresh tasks, one that only keeps a strong submitter strong, or one whose runs
imitate an honest run's.

Sources. Signed likelihood ratios for pre-knowledge: S. Sinharay, *J. Educ. Behav. Statist.* 42, 2017, 46-68; mixture
over persons and items: Y. Chen, Y. Lu and I. Moustaki, arXiv:1911.09408; projection of nuisance scores: the
C(alpha) tests of J. Neyman, 1959. Windows over months are combined as in `tails.combined`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, ndtr, ndtri

from rotation.detection.detectors import expected_calls
from rotation.detection.detectors.continuity import Residuals, continuity, earlier_runs
from rotation.detection.detectors.detector_result import MIN_SUBMITTERS, DetectorResult
from rotation.detection.detectors.exposed_gap import Gaps, agents_since, gaps, nulls_of, onsets, p_value
from rotation.detection.detectors.field_null import MIN_SUBMITTERS_FOR_NULL, FieldNull
from rotation.detection.detectors.leanings import Leanings, leanings
from rotation.detection.detectors.submitter_prior import submitter_prior
from rotation.detection.statistics import ability
from rotation.detection.statistics.lookback import LOOKBACK
from rotation.detection.statistics.projection import Effects, joint, projected
from rotation.detection.statistics.table import Bools, Floats, Ints, ResultTable
from rotation.detection.statistics.tails import combined, upper

MIN_SUBMITTERS_FOR_WINDOWS = 10  # few peers misjudge a cohort in every month, which would add up over a window
SHARE = 0.25  # the share of known exposed tasks for which the statistic is optimised
KNOWN = 0.95  # the chance that a known task is passed
SHORTCUTS = ((1.0, 0.4), (0.75, 0.4), (0.6, 0.2))  # calls on a known task beside usual ones, and how likely
BINS = {1: 12, 2: 6, 3: 4}  # of calls, by the months of a window
MONTHS = len(BINS)
WINDOW_WEIGHTS = (0.7, 0.2, 0.1)  # of 1, 2, 3 months: most leaks are recent when first tested for
ROUNDS = 3  # of estimates of what lasts, and of which runs it lasts over
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
ALPHA = 0.01
Z = 1.959964  # of a 95 % interval
USUAL_STEP, USUAL_CALL_EFFICIENCY = 0.25, 0.08  # between a submitter's months, in logits and log calls
FRESH_SD = 0.1  # how much better or worse the honest do on a fresh cohort than peers do, in logits
FRESH_CALL_EFFICIENCY_SD = 0.03  # likewise, in log calls
BIAS_PRIOR_VARIANCE, BIAS_PRIOR_WEIGHT, MAX_BIAS_VARIANCE = 0.1, 200.0, 1.5  # of biases on a task
OWN_PRIOR_WEIGHT = 15.0  # of everybody's bias variance, in the estimate of one submitter's


@dataclass(frozen=True)
class Contrast:
    """The leak test of one submitter in one rotation.

    Attributes:
        submitter: the submitter's name.
        p_value: combined over the windows and both tests, corrected for the number of their runs.
        month: the window of this month alone, of their most suspicious run.
    """

    submitter: str
    p_value: float
    month: Window


def leak(table: ResultTable, rotation: int) -> tuple[DetectorResult, ...]:
    """Test every submitter of a rotation, in the order of their names; no test if fewer than five are present.

    The effect is the estimated share of the exposed tasks that the submitter knew, with its 95 % interval.
    """
    month_contrasts = contrasts(table, rotation)
    if len(month_contrasts) < MIN_SUBMITTERS:
        return ()
    return tuple(
        DetectorResult("leak", contrast.submitter, contrast.p_value, contrast.month.z, *contrast.month.share)
        for contrast in month_contrasts
    )


def smallest(table: ResultTable, rotation: int) -> dict[str, float | None]:
    """Give, by submitter, the smallest known share detected in one case of two; None if not even all would be."""
    month_contrasts = contrasts(table, rotation)
    return {
        contrast.submitter: contrast.month.smallest(ALPHA / max(len(month_contrasts), MIN_SUBMITTERS))
        for contrast in month_contrasts
    }


def contrasts(table: ResultTable, rotation: int) -> tuple[Contrast, ...]:
    """Make the leak test of every submitter of a rotation, however few; of other rotations the five before it count."""
    study = Study(table.recent(rotation))
    present = study.present(rotation)
    field = GapTests(study, rotation, present)
    return tuple(_contrast(study, submitter, rotation, field) for submitter in present)


class GapTests:
    """The gap tests of a rotation, one for each cut of `exposed_gap`, with nulls learned from submitters' first runs.

    No test is made with fewer than ten submitters.
    """

    def __init__(self, study: Study, rotation: int, field: Sequence[int]) -> None:
        runs = np.flatnonzero(study.table.rotation == rotation)
        self._place = {int(run): place for place, run in enumerate(runs)}
        self._of = {study.table.submitters[submitter]: place for place, submitter in enumerate(field)}
        first = [self._place[int(study.runs(submitter, rotation)[0])] for submitter in field]
        self._tests = list[tuple[FieldNull, Gaps, float]]()
        for back in range(min(LOOKBACK, rotation - 1) if len(field) >= MIN_SUBMITTERS_FOR_NULL else 0):
            parts = study.gaps(runs, back)
            nulls = nulls_of([[part.of([place]) for place in first] for part in parts], FRESH_SD)
            tested = [(null, part) for null, part in zip(nulls, parts, strict=True) if null]
            self._tests += [(null, part, (1 + back) / len(tested)) for null, part in tested]

    def p_value(self, runs: Sequence[int], submitter: str = "") -> float | None:
        """Return the combined p-value of the gaps that runs of one month have in common; None without a field.

        Each test weighs as much as the share of the rest of the field that seems guilty there.
        """
        places, who = [self._place[run] for run in runs], self._of.get(submitter, -1)
        p_values = [p_value(null, gaps.of(places)) for null, gaps, _ in self._tests]
        weights = [weight * float(null.guilty[who]) for null, _, weight in self._tests]
        return combined(p_values, weights) if p_values else None


def _contrast(study: Study, submitter: int, rotation: int, field: GapTests) -> Contrast:
    runs = study.runs(submitter, rotation)
    months = MONTHS if len(study.present(rotation)) >= MIN_SUBMITTERS_FOR_WINDOWS else 1
    windows = [[window(study, chain) for chain in study.chains(int(run), months)] for run in runs]
    by_months = list(zip(*windows, strict=True))
    p_values = [
        min(1.0, len(windows) * float(ndtr(-max(candidate.z for candidate in candidates)))) for candidates in by_months
    ]
    name = study.table.submitters[submitter]
    of_gaps = [p for run in runs if (p := field.p_value([int(run)], name)) is not None]
    tests = [min(1.0, len(runs) * min(of_gaps))] if of_gaps else []
    tests += [combined(p_values, WINDOW_WEIGHTS[: len(p_values)])] if study.calls_differ or not of_gaps else []
    month = max(by_months[0], key=lambda candidate: candidate.z)
    return Contrast(name, combined(tests, [1.0] * len(tests)), month)


class Study:
    """The fitted abilities, difficulties and efforts of a table, which all its leak tests share."""

    def __init__(self, table: ResultTable) -> None:
        self.table = table
        together = ability.fit(table)
        apart = ability.leave_one_out(table, together)
        chance = expit(apart.theta[:, None] - apart.difficulty)
        self.left, self.weight = (table.passed - chance) * table.taken, chance * (1 - chance) * table.taken
        bias_variance = _bias_variance(table, self.left, self.weight, apart.unknown)
        widening = np.sqrt(1 + ability.LOGISTIC * bias_variance)
        self.leaning = leanings(table, self.left, self.weight)
        peers = expected_calls.of_peers(table, together.weight)
        passes = Residuals(self.left, self.weight, bias_variance, apart.unknown)
        self.counts = earlier_runs(table)
        for _ in range(ROUNDS):
            habits = peers.residuals(peers.lasting(table, self.counts))
            self.counts = continuity(table, passes, habits)
        self.effort = expected_calls.with_the_past(table, peers, self.counts)
        own = np.maximum(bias_variance[:, None] - self.leaning.variance, 0)
        self.easiness = (apart.theta[:, None] - apart.difficulty) * widening[:, None]
        self.unknown = own + apart.unknown * widening[:, None] ** 2
        self.information = 1 / apart.unknown - 1 / ability.DIFFICULTY_SD**2  # (P, T) information from others
        self.widening = widening
        self.calls_differ = len(np.unique(table.calls[table.taken])) > 1
        self.apart, self.onset, self.since = apart, onsets(table), agents_since(table)
        self.able = submitter_prior(
            table, apart.theta, ability.informed(apart, table.taken), USUAL_STEP, ability.ABILITY_SD
        )
        self.call_efficiency = submitter_prior(
            table, self.effort.run, self.effort.information, USUAL_CALL_EFFICIENCY, expected_calls.RUN_SD
        )

    def runs(self, submitter: int, rotation: int) -> Ints:
        """Return the runs of a submitter in a rotation, the first one first."""
        return np.flatnonzero((self.table.submitter == submitter) & (self.table.rotation == rotation))

    def present(self, rotation: int) -> list[int]:
        """Return the submitters of a rotation."""
        return [int(submitter) for submitter in np.unique(self.table.submitter[self.table.rotation == rotation])]

    def chains(self, run: int, months: int = MONTHS) -> list[Ints]:
        """Return the run alone, and chains of it with its submitter's earlier months, up to so many months."""
        chain = np.array([run])
        chains = [chain]
        for earlier in range(int(self.table.rotation[run]) - 1, max(int(self.table.rotation[run]) - months, 1), -1):
            before = self.runs(int(self.table.submitter[run]), earlier)
            if len(before):
                chain = np.concatenate([before[:1], chain])
                chains.append(chain)
        return chains

    def gaps(self, runs: Ints, back: int) -> list[Gaps]:
        """Return the gaps of runs at a cut so many rotations back, over all results and over each server's.

        A run stands for the months since the cut in which its submitter's agent did as well.
        """
        table = self.table
        share, taken = np.zeros((2, len(runs), len(table.tasks)))
        cut = table.rotation[runs] - back
        exposed = self.onset[runs] <= cut[:, None]
        for place, run in enumerate(map(int, runs)):
            months = range(max(cut[place], int(self.since[run])), int(table.rotation[run]))
            before = [int(own[0]) for month in months if len(own := self.runs(int(table.submitter[run]), month))]
            history = np.array([*before, run])
            cells = table.taken[history] & (table.exposed[history] | ~exposed[place])
            taken[place] = cells.any(axis=0)
            share[place] = (table.share[history] * cells).sum(axis=0) / np.maximum(cells.sum(axis=0), 1)
        servers = np.unique(table.server)
        parts = [taken, *(taken * (table.server == server) for server in servers if len(servers) > 1)]
        difficulty, unknown = self.apart.difficulty[runs], self.apart.unknown[runs]
        return [gaps(exposed, share, part, difficulty, unknown) for part in parts]

    def leanings(self, chain: Ints) -> Leanings:
        """Return what is known of the submitter's leanings before the first run of a chain."""
        before = self.before(chain)
        information = before @ self.weight
        plain = 1 + self.unknown[chain[0]] * information
        return self.leaning.after(before @ self.left / plain, information / plain)

    def before(self, chain: Ints) -> Floats:
        """Return how much each run counts (P,) for a chain, as one that was made before it."""
        counts: Floats = self.counts[chain[-1]] * (self.table.rotation < self.table.rotation[chain[0]])
        return counts

    def usual(self, run: int, tasks: Ints, leaning: Leanings) -> Floats:
        """Return the log odds (I,) of a pass without bias on the task; leanings leave a run's mean as it is."""
        shift, weight = leaning.shift[tasks], self.weight[run, tasks]
        easiness: Floats = self.easiness[run, tasks] + shift - (shift @ weight) / max(weight.sum(), 1e-9)
        return easiness

    def past(self, chain: Ints, tasks: Ints, leaning: Leanings) -> Floats:
        """Return the posterior weights (I, N) of this submitter's bias on each task, from results before a chain."""
        table, run, counts = self.table, int(chain[0]), self.before(chain)
        logs = np.tile(np.log(WEIGHTS), (len(tasks), 1))
        for before in map(int, np.flatnonzero(counts)):
            biased = self.usual(before, tasks, leaning)[:, None] + self.bias_nodes(run, tasks, leaning)
            passed = table.passed[before, tasks][:, None]
            counted = counts[before] * table.taken[before, tasks][:, None]
            logs += counted * -np.logaddexp(0, np.where(passed, -biased, biased))
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances: Floats = weights / weights.sum(axis=1, keepdims=True)
        return chances

    def bias_nodes(self, run: int, tasks: Ints, leaning: Leanings) -> Floats:
        """Return the quadrature nodes of a submitter's unknown bias on each task, (I, N) logits."""
        nodes: Floats = NODES * np.sqrt(self.unknown[run, tasks] + leaning.variance[tasks])[:, None]
        return nodes


def _bias_variance(table: ResultTable, left: Floats, weight: Floats, unknown: Floats) -> Floats:
    """Estimate, for each run, the variance of its submitter's lasting biases on tasks, (P,), in logits squared.

    It is estimated from their repeated results and from everybody's: an unusual submitter has larger biases than most.

    Args:
        left: (P, T) residuals of passes.
        weight: (P, T) their variances.
        unknown: (P, T) the variances of difficulties.
    """
    sums = np.zeros((3, len(table.submitters)))
    for submitter in range(len(table.submitters)):
        own = table.submitter == submitter
        mistaken = (unknown[own] * weight[own]).sum() / max(weight[own].sum(), 1e-9)
        sums[:, submitter] = _repeated(left[own]), _repeated(weight[own]), mistaken
    products, weights, mistaken = sums
    usual = BIAS_PRIOR_VARIANCE + float(np.average(mistaken, weights=weights + 1e-9))
    everybody = (products.sum() + usual * BIAS_PRIOR_WEIGHT) / (weights.sum() + BIAS_PRIOR_WEIGHT)
    estimate = (products + everybody * OWN_PRIOR_WEIGHT) / (weights + OWN_PRIOR_WEIGHT) - mistaken
    biases: Floats = np.clip(estimate, 0, MAX_BIAS_VARIANCE)[table.submitter]
    return biases


def _repeated(results: Floats) -> float:
    """Sum the products of any two different runs' results on the same task."""
    return float((results.sum(axis=0) ** 2 - (results**2).sum(axis=0)).sum())


@dataclass(frozen=True)
class Window:
    """The test statistic of a submitter's runs, one per month, over I tasks with O joint outcomes each.

    Attributes:
        values: (I, O) what an outcome adds to the statistic.
        chances: (I, O) its probability for an honest submitter.
        known: (I, O) its probability for one who knows the task; the honest one where the task is not exposed.
        seen: (I,) the observed outcome.
        extra: variance of the statistic from the nuisance parameters (differences between honest submitters).
        pull: the part of the statistic that comes from the run's difference from earlier ones.
    """

    values: Floats
    chances: Floats
    known: Floats
    seen: Ints
    extra: float
    pull: float

    @cached_property
    def z(self) -> float:
        """The z-score of the statistic."""
        return upper(self.values, self.chances, self._sum, self.extra)

    @cached_property
    def share(self) -> tuple[float, tuple[float, float]]:
        """Estimate the share of exposed tasks that were known, with its 95 % interval, by the method of moments."""
        if self._gain <= 0:
            return 0.0, (0.0, 1.0)
        estimate = min(max((self._sum - float((self.chances * self.values).sum())) / self._gain, 0.0), 1.0)
        spread = Z * self._sd((1 - estimate) * self.chances + estimate * self.known) / self._gain
        return estimate, (max(estimate - spread, 0.0), min(estimate + spread, 1.0))

    def smallest(self, level: float) -> float | None:
        """Return the smallest known share detected at this level in one case of two; None if not even all would be."""
        share = -float(ndtri(level)) * self._sd(self.chances) / self._gain if self._gain > 0 else math.inf
        return share if share <= 1 else None

    @property
    def _sum(self) -> float:
        return float(self.values[np.arange(len(self.seen)), self.seen].sum()) + self.pull

    @property
    def _gain(self) -> float:
        """The increase of the statistic's mean if all exposed tasks are known."""
        return float(((self.known - self.chances) * self.values).sum())

    def _sd(self, chances: Floats) -> float:
        mean = (chances * self.values).sum(axis=1, keepdims=True)
        return math.sqrt(float((chances * (self.values - mean) ** 2).sum()) + self.extra)


@dataclass(frozen=True)
class _Month:
    """One run of a window: K bins of calls for each of I tasks.

    Attributes:
        taken, exposed: (I,).
        information: that of others' results about the fresh tasks as a whole, in 1/logits^2.
        precision, pull: (2,) of the priors of ability and call efficiency from earlier runs (`SubmitterPrior`).
        passing: (I, N) the chance of a pass at each node.
        bins: (I, K) the chance of a pass's calls to fall into a bin.
        known: (I, K) that chance for who knows the task.
        score: (I, K) how the chance grows with the run's mean effort, relatively.
        seen: (I,) 0 for a failure and where nothing was taken, else 1 + the bin.
    """

    taken: Bools
    exposed: Bools
    information: float
    precision: Floats
    pull: Floats
    passing: Floats
    bins: Floats
    known: Floats
    score: Floats
    seen: Ints


def window(study: Study, chain: Ints) -> Window:
    """Compute the window of a chain of one submitter's runs, the earliest first."""
    table = study.table
    tasks = np.flatnonzero(table.taken[chain].any(axis=0))
    leaning = study.leanings(chain)
    nodes = study.past(chain, tasks, leaning)
    months = [_month(study, chain, number, tasks, leaning) for number in range(len(chain))]
    outcomes = [_outcomes(month, nodes) for month in months]
    chances = joint([usual for usual, _ in outcomes], nodes)
    known = joint([knowing for _, knowing in outcomes], nodes)
    exposed = np.any([month.exposed for month in months], axis=0)
    ratio = np.log1p(SHARE * (known / np.maximum(chances, 1e-300) - 1)) * exposed[:, None]
    scores, precision, pull = _nuisances(months, nodes)
    kinds = scores.shape[1]
    effects = [Effects(leaning.groups[tasks], leaning.covariance, np.arange(0, len(chain) * kinds, kinds))]
    for number, run in enumerate(chain):
        in_calls = study.effort.leaning[run]
        effects.append(Effects(in_calls.groups[tasks], in_calls.covariance, np.array([number * kinds + 1])))
    values, weights, extra = projected(ratio, chances, scores, precision, effects)
    seen = np.ravel_multi_index(tuple(month.seen for month in months), (BINS[len(chain)] + 1,) * len(chain))
    return Window(values, chances, known, seen, extra, float((weights * pull).sum()))


def _month(study: Study, chain: Ints, number: int, tasks: Ints, leaning: Leanings) -> _Month:
    """Describe a run of a chain; the prior from runs before the chain applies to its first run only."""
    table, run, last, bins = study.table, int(chain[number]), int(chain[-1]), BINS[len(chain)]
    able, call_efficiency = ((held if number == 0 else held.nothing()) for held in (study.able, study.call_efficiency))
    easiness = study.usual(run, tasks, leaning) + able.shift[run] * study.widening[run]
    passing = expit(easiness[:, None] + study.bias_nodes(last, tasks, leaning))
    mean = study.effort.mean[run, tasks] + call_efficiency.shift[run]
    chances, known, score, bin_of = _bins(mean, study.effort.sd[run, tasks], table.cap[tasks], bins)
    calls = np.clip(table.calls[run, tasks], 1, table.cap[tasks])
    taken = table.taken[run, tasks]
    seen = np.where(taken & table.passed[run, tasks], 1 + bin_of[np.arange(len(tasks)), calls - 1], 0)
    exposed = taken & table.exposed[run, tasks]
    information = float(study.information[run, tasks][taken & ~exposed].sum())
    precision = np.array([able.precision[run], call_efficiency.precision[run]])
    pull = np.array([able.pull[run], call_efficiency.pull[run]])
    return _Month(taken, exposed, information, precision, pull, passing, chances, known, score, seen)


def _bins(mean: Floats, sd: Floats, cap: Ints, bins: int) -> tuple[Floats, Floats, Floats, Ints]:
    """Divide the calls of a pass into about equally likely bins: (I, K) thrice, and (I, calls) the bin of a count."""
    calls = np.arange(1, int(cap.max(initial=1)) + 1)
    last = calls >= cap[:, None]
    edges = np.log(calls + 0.5)

    def up_to(shift: float) -> Floats:
        return np.where(last, 1.0, ndtr((edges - mean[:, None] - shift) / sd[:, None]))

    below = up_to(0)
    chance = np.diff(below, axis=1, prepend=0)
    known = sum(
        (weight * np.diff(up_to(math.log(factor)), axis=1, prepend=0) for factor, weight in SHORTCUTS),
        start=np.zeros_like(chance),
    )
    slope = np.where(last, 0, np.exp(-0.5 * ((edges - mean[:, None]) / sd[:, None]) ** 2)) / sd[:, None]
    score = -np.diff(slope / math.sqrt(2 * math.pi), axis=1, prepend=0)
    bin_of = np.minimum((bins * (below - chance / 2)).astype(np.int64), bins - 1)
    sums = np.zeros((3, len(mean), bins))
    for total, part in zip(sums, (chance, known, score), strict=True):
        np.add.at(total, (np.arange(len(mean))[:, None], bin_of), part)
    in_bins = np.maximum(sums[0], 1e-12)
    knowing = in_bins * np.clip(np.maximum(sums[1], 1e-12) / in_bins, 0.05, 20)
    return in_bins, knowing / knowing.sum(axis=1, keepdims=True), sums[2] / in_bins, bin_of


def _outcomes(month: _Month, nodes: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of each outcome of a month, (I, 1 + K, N): for the honest, and for those who know."""

    def of(passing: Floats, bins: Floats) -> Floats:
        return np.concatenate([1 - passing[:, None], bins[..., None] * passing[:, None]], axis=1)

    nobody = (np.arange(1 + month.bins.shape[1]) == 0).astype(float)[:, None]
    usual = np.where(month.taken[:, None, None], of(month.passing, month.bins), nobody)
    mean = np.maximum(KNOWN, (month.passing * nodes).sum(axis=1, keepdims=True))
    knowing = of(np.broadcast_to(mean, month.passing.shape), month.known)
    return usual, np.where(month.exposed[:, None, None], knowing, usual)


def _nuisances(months: list[_Month], nodes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the score functions of the nuisance parameters, their prior precisions, and their prior scores.

    The score functions are by month, of shape (M, 4, I, K); those of a joint outcome are those of its months.
    """
    scores, precision, pull = [], [], []
    for month in months:
        mean = (month.passing * nodes).sum(axis=1)[:, None]
        passes = np.arange(1 + month.score.shape[1]) > 0
        ability = month.taken[:, None] * (passes - mean)
        call_efficiency = month.taken[:, None] * np.pad(month.score, ((0, 0), (1, 0)))
        fresh = ~month.exposed[:, None]
        scores.append([ability, call_efficiency, ability * fresh, call_efficiency * fresh])
        fresh_variance = FRESH_SD**2 + 1 / max(month.information, 1)
        precision += [*month.precision, 1 / fresh_variance, FRESH_CALL_EFFICIENCY_SD**-2]
        pull += [*month.pull, 0, 0]
    return np.array(scores), np.array(precision), np.array(pull)
