"""Does a submitter do better on what could have leaked to them than on what could not? Pure.

A submitter who knows a share of the exposed tasks passes those, however hard, and with fewer calls than peers and than
their own earlier runs needed. The statistic is the log-likelihood ratio of that mixture, summed over the exposed tasks
of up to three months; what a better model or a thriftier one would do alike on every task is projected out of it,
up to what their earlier runs promise (`habit`): only a run near its promise is held to it.
What an honest submitter would reach is computed, not drawn: each task's outcomes (a failure, or a pass with so many
calls) are enumerated, with everything that is uncertain about the task integrated over.

It cannot see: a leak that most submitters share (the tasks look easy then), a leak of every exposed task at once to one
whose fresh tasks are too few to tell, one that only keeps a strong submitter strong, or one whose runs are made to look
like an honest run's.

Sources. Signed likelihood ratios for pre-knowledge: S. Sinharay, *J. Educ. Behav. Statist.* 42, 2017, 46-68; mixture
over persons and items: Y. Chen, Y. Lu and I. Moustaki, arXiv:1911.09408; projection of nuisance scores: the
C(alpha) tests of J. Neyman, 1959. Windows over months are combined as in `tails.combined`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, ndtr, ndtri

from rotation.detection.detectors import expected_calls
from rotation.detection.detectors.submitter_prior import habit
from rotation.detection.detectors.tested import Tested
from rotation.detection.statistics import ability
from rotation.detection.statistics.projection import joint, projected
from rotation.detection.statistics.table import Bools, Floats, Ints, Table
from rotation.detection.statistics.tails import combined, upper

FEWEST = 5  # submitters in the rotation; below, no verdict
MANY = 10  # below, months are not added up: what few peers mistake of a cohort lasts, and would add up as well
SHARE = 0.25  # of the exposed tasks, for which the statistic is made
KNOWN = 0.95  # the chance that a known task is passed
SHORTCUTS = ((1.0, 0.4), (0.75, 0.4), (0.6, 0.2))  # calls on a known task beside usual ones, and how likely
BINS = {1: 12, 2: 6, 3: 4}  # of calls, by the months of a window
MONTHS = len(BINS)
TRUST = (0.7, 0.2, 0.1)  # in windows of so many months: a leak is young when it is looked for first
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
ALPHA = 0.01
Z = 1.959964  # of a 95 % interval
USUAL_STEP, USUAL_THRIFT = 0.25, 0.08  # between a submitter's months, in logits and log calls
FRESH_SD = 0.1  # how much better or worse the honest do on a fresh cohort than peers do, in logits
FRESH_THRIFT_SD = 0.03  # likewise, in log calls
USUAL_LEAN, BELIEF, MOST_LEAN = 0.1, 200.0, 1.5  # the variance of leans that is believed before it is seen, and how far
OWN_BELIEF = 15.0  # likewise how far everybody's is believed of one submitter


@dataclass(frozen=True)
class Contrast:
    """A submitter's contrast in one rotation.

    Attributes:
        submitter: whose.
        p_value: over the windows, corrected for how many runs they made.
        month: this month's alone, of their most suspicious run.
    """

    submitter: str
    p_value: float
    month: Window


def leak(table: Table, rotation: int) -> tuple[Tested, ...]:
    """Test every submitter of a rotation, in the order of their names; nobody below five submitters present.

    The effect is the share of the exposed tasks that they knew, with its 95 % interval.
    """
    found = contrasts(table, rotation)
    if len(found) < FEWEST:
        return ()
    return tuple(Tested("leak", one.submitter, one.p_value, one.month.z, *one.month.share) for one in found)


def smallest(table: Table, rotation: int) -> dict[str, float | None]:
    """Give, by submitter, the share known that would be found as often as not; None where not even all would be."""
    found = contrasts(table, rotation)
    return {one.submitter: one.month.smallest(ALPHA / max(len(found), FEWEST)) for one in found}


def contrasts(table: Table, rotation: int) -> tuple[Contrast, ...]:
    """Contrast every submitter of a rotation, however few there are; nothing later than it is looked at."""
    study = Study(table.until(rotation))
    present = np.unique(study.table.submitter[study.table.rotation == rotation])
    months = MONTHS if len(present) >= MANY else 1
    return tuple(_contrast(study, int(submitter), rotation, months) for submitter in present)


def _contrast(study: Study, submitter: int, rotation: int, months: int) -> Contrast:
    runs = study.runs(submitter, rotation)
    windows = [[window(study, chain) for chain in study.chains(int(run), months)] for run in runs]
    by_months = list(zip(*windows, strict=True))
    p_values = [min(1.0, len(windows) * float(ndtr(-max(one.z for one in same)))) for same in by_months]
    month = max(by_months[0], key=lambda one: one.z)
    return Contrast(study.table.submitters[submitter], combined(p_values, TRUST[: len(p_values)]), month)


class Study:
    """What is known of abilities, difficulties and efforts by the table's end."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.effort = expected_calls.fit(table)
        apart = ability.apart(table, ability.fit(table))
        lean = _lean(table, apart)
        widening = np.sqrt(1 + ability.LOGISTIC * lean)
        self.easiness = (apart.theta[:, None] - apart.difficulty) * widening[:, None]
        self.unknown = lean[:, None] + apart.unknown * widening[:, None] ** 2
        self.told = 1 / apart.unknown - 1 / ability.DIFFICULTY_SD**2  # (P, T) information from others
        self.widening = widening
        self.able = habit(table, apart.theta, ability.informed(apart, table.taken), USUAL_STEP, ability.ABILITY_SD)
        self.thrift = habit(table, self.effort.run, self.effort.information, USUAL_THRIFT, expected_calls.RUN_SD)

    def runs(self, submitter: int, rotation: int) -> Ints:
        """Give the runs of a submitter in a rotation, the first one first."""
        return np.flatnonzero((self.table.submitter == submitter) & (self.table.rotation == rotation))

    def chains(self, run: int, months: int = MONTHS) -> list[Ints]:
        """Give the run alone, and with the months of its submitter's before it: windows of up to so many months."""
        chain = np.array([run])
        chains = [chain]
        for earlier in range(int(self.table.rotation[run]) - 1, max(int(self.table.rotation[run]) - months, 1), -1):
            before = self.runs(int(self.table.submitter[run]), earlier)
            if len(before):
                chain = np.concatenate([before[:1], chain])
                chains.append(chain)
        return chains

    def past(self, run: int, tasks: Ints) -> Floats:
        """Weigh how this submitter leans to each task by their results before a run, (I, N)."""
        table = self.table
        logs = np.tile(np.log(WEIGHTS), (len(tasks), 1))
        for before in np.flatnonzero(
            (table.submitter == table.submitter[run]) & (table.rotation < table.rotation[run])
        ):
            leaning = self.easiness[before, tasks][:, None] + self.leanings(run, tasks)
            passed = table.passed[before, tasks][:, None]
            logs += table.taken[before, tasks][:, None] * -np.logaddexp(0, np.where(passed, -leaning, leaning))
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances: Floats = weights / weights.sum(axis=1, keepdims=True)
        return chances

    def leanings(self, run: int, tasks: Ints) -> Floats:
        """Give the nodes over what is unknown of a submitter on each task, (I, N) logits."""
        leanings: Floats = NODES * np.sqrt(self.unknown[run, tasks])[:, None]
        return leanings


def _lean(table: Table, apart: ability.Apart) -> Floats:
    """Estimate the variance of each run's submitter's lasting leans to tasks, (P,), in logits squared.

    From their repeated results, and from everybody's: who has no like among the peers leans more than most.
    """
    chance = expit(apart.theta[:, None] - apart.difficulty)
    left = (table.passed - chance) * table.taken
    weight = chance * (1 - chance) * table.taken
    sums = np.zeros((3, len(table.submitters)))
    for submitter in range(len(table.submitters)):
        own = table.submitter == submitter
        mistaken = (apart.unknown[own] * weight[own]).sum() / max(weight[own].sum(), 1e-9)
        sums[:, submitter] = _repeated(left[own]), _repeated(weight[own]), mistaken
    products, weights, mistaken = sums
    usual = USUAL_LEAN + float(np.average(mistaken, weights=weights + 1e-9))
    everybody = (products.sum() + usual * BELIEF) / (weights.sum() + BELIEF)
    each = (products + everybody * OWN_BELIEF) / (weights + OWN_BELIEF) - mistaken
    leans: Floats = np.clip(each, 0, MOST_LEAN)[table.submitter]
    return leans


def _repeated(results: Floats) -> float:
    """Sum the products of any two different runs' results on the same task."""
    return float((results.sum(axis=0) ** 2 - (results**2).sum(axis=0)).sum())


@dataclass(frozen=True)
class Window:
    """The contrast of a submitter's runs, one a month, over I tasks with O outcomes each.

    Attributes:
        values: (I, O) what an outcome adds to the statistic.
        chances: (I, O) how likely it is for the honest.
        known: (I, O) how likely for who knows the task; as for the honest where it is not exposed.
        seen: (I,) which outcome was seen.
        extra: variance that the statistic has from what the honest differ in.
        pull: what their being unlike their earlier runs adds to the statistic.
    """

    values: Floats
    chances: Floats
    known: Floats
    seen: Ints
    extra: float
    pull: float

    @cached_property
    def z(self) -> float:
        """How far out the statistic lies, as a standard normal would."""
        return upper(self.values, self.chances, self._sum, self.extra)

    @cached_property
    def share(self) -> tuple[float, tuple[float, float]]:
        """Estimate the share of exposed tasks that were known, with its 95 % interval: by the statistic's mean."""
        if self._gain <= 0:
            return 0.0, (0.0, 1.0)
        estimate = min(max((self._sum - float((self.chances * self.values).sum())) / self._gain, 0.0), 1.0)
        spread = Z * self._sd((1 - estimate) * self.chances + estimate * self.known) / self._gain
        return estimate, (max(estimate - spread, 0.0), min(estimate + spread, 1.0))

    def smallest(self, level: float) -> float | None:
        """Give the smallest share known that would be found at this level as often as not; None where not even all."""
        share = -float(ndtri(level)) * self._sd(self.chances) / self._gain if self._gain > 0 else math.inf
        return share if share <= 1 else None

    @property
    def _sum(self) -> float:
        return float(self.values[np.arange(len(self.seen)), self.seen].sum()) + self.pull

    @property
    def _gain(self) -> float:
        """What the statistic's mean grows by where all exposed tasks are known."""
        return float(((self.known - self.chances) * self.values).sum())

    def _sd(self, chances: Floats) -> float:
        mean = (chances * self.values).sum(axis=1, keepdims=True)
        return math.sqrt(float((chances * (self.values - mean) ** 2).sum()) + self.extra)


@dataclass(frozen=True)
class _Month:
    """One run of a window: K bins of calls for each of I tasks.

    Attributes:
        taken, exposed: (I,).
        told: what others' results say of the fresh tasks as a whole, in 1/logits^2.
        precision, pull: (2,) of what earlier runs promise of ability and of thrift; as in `habit.Habit`.
        passing: (I, N) the chance of a pass at each node.
        bins: (I, K) the chance of a pass's calls to fall into a bin.
        known: (I, K) that chance for who knows the task.
        score: (I, K) how the chance grows with the run's mean effort, relatively.
        seen: (I,) 0 for a failure and where nothing was taken, else 1 + the bin.
    """

    taken: Bools
    exposed: Bools
    told: float
    precision: Floats
    pull: Floats
    passing: Floats
    bins: Floats
    known: Floats
    score: Floats
    seen: Ints


def window(study: Study, chain: Ints) -> Window:
    """Make the contrast of runs of one submitter, the earliest first."""
    table = study.table
    tasks = np.flatnonzero(table.taken[chain].any(axis=0))
    nodes = study.past(int(chain[0]), tasks)
    months = [_month(study, chain, number, tasks) for number in range(len(chain))]
    outcomes = [_outcomes(month, nodes) for month in months]
    chances = joint([usual for usual, _ in outcomes], nodes)
    known = joint([knowing for _, knowing in outcomes], nodes)
    exposed = np.any([month.exposed for month in months], axis=0)
    ratio = np.log1p(SHARE * (known / np.maximum(chances, 1e-300) - 1)) * exposed[:, None]
    scores, precision, pull = _nuisances(months, nodes)
    values, weights, extra = projected(ratio, chances, scores, precision)
    seen = np.ravel_multi_index(tuple(month.seen for month in months), (BINS[len(chain)] + 1,) * len(chain))
    return Window(values, chances, known, seen, extra, float((weights * pull).sum()))


def _month(study: Study, chain: Ints, number: int, tasks: Ints) -> _Month:
    """Describe a run of a chain; what was before the chain promises something of its first run only."""
    table, run, last, bins = study.table, int(chain[number]), int(chain[-1]), BINS[len(chain)]
    able, thrift = ((held if number == 0 else held.nothing()) for held in (study.able, study.thrift))
    easiness = study.easiness[run, tasks] + able.shift[run] * study.widening[run]
    passing = expit(easiness[:, None] + study.leanings(last, tasks))
    mean = study.effort.mean[run, tasks] + thrift.shift[run]
    chances, known, score, bin_of = _bins(mean, study.effort.sd[run, tasks], table.cap[tasks], bins)
    calls = np.clip(table.calls[run, tasks], 1, table.cap[tasks])
    taken = table.taken[run, tasks]
    seen = np.where(taken & table.passed[run, tasks], 1 + bin_of[np.arange(len(tasks)), calls - 1], 0)
    exposed = taken & table.exposed[run, tasks]
    told = float(study.told[run, tasks][taken & ~exposed].sum())
    precision = np.array([able.precision[run], thrift.precision[run]])
    pull = np.array([able.pull[run], thrift.pull[run]])
    return _Month(taken, exposed, told, precision, pull, passing, chances, known, score, seen)


def _bins(mean: Floats, sd: Floats, cap: Ints, bins: int) -> tuple[Floats, Floats, Floats, Ints]:
    """Part the calls of a pass into bins of like chance: (I, K) thrice, and (I, calls) which bin a count is in."""
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
    """Give the chances of each outcome of a month, (I, 1 + K, N) each: for the honest, and for who knows."""

    def of(passing: Floats, bins: Floats) -> Floats:
        return np.concatenate([1 - passing[:, None], bins[..., None] * passing[:, None]], axis=1)

    nobody = (np.arange(1 + month.bins.shape[1]) == 0).astype(float)[:, None]
    usual = np.where(month.taken[:, None, None], of(month.passing, month.bins), nobody)
    mean = np.maximum(KNOWN, (month.passing * nodes).sum(axis=1, keepdims=True))
    knowing = of(np.broadcast_to(mean, month.passing.shape), month.known)
    return usual, np.where(month.exposed[:, None, None], knowing, usual)


def _nuisances(months: list[_Month], nodes: Floats) -> tuple[Floats, Floats, Floats]:
    """Give the scores of what the honest differ in, how precisely each is known, and how far off it is.

    The scores are by month and of shape (M, 4, I, K): an outcome's are those of its months.
    """
    scores, precision, pull = [], [], []
    for month in months:
        mean = (month.passing * nodes).sum(axis=1)[:, None]
        passes = np.arange(1 + month.score.shape[1]) > 0
        ability = month.taken[:, None] * (passes - mean)
        thrift = month.taken[:, None] * np.pad(month.score, ((0, 0), (1, 0)))
        fresh = ~month.exposed[:, None]
        scores.append([ability, thrift, ability * fresh, thrift * fresh])
        fresh_variance = FRESH_SD**2 + 1 / max(month.told, 1)
        precision += [*month.precision, 1 / fresh_variance, FRESH_THRIFT_SD**-2]
        pull += [*month.pull, 0, 0]
    return np.array(scores), np.array(precision), np.array(pull)
