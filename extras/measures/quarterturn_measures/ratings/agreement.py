"""Agreement of raters beyond chance: Cohen's and Fleiss' kappa, and Krippendorff's alpha. Pure.

Cohen: J. Cohen, *Educational and Psychological Measurement* 20, 1960, 37-46. Fleiss: J. L. Fleiss, *Psychological
Bulletin* 76, 1971, 378-382. Alpha: K. Krippendorff, *Content Analysis*, 2nd ed., 2004, chapter 11: ratings may be
missing, and the difference of two ratings is 1, or grows with the ratings between them where they have an order.

All take how often each combination of ratings of one subject occurs, so what a group of subjects adds to a coefficient
can be taken away again (`jackknife`). Each is None where only one category occurs: agreement
that could not have failed says nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from sandbox.results.interval import MIN_CLUSTERS, Figure, student

Observation = TypeVar("Observation", bound=Hashable)

Combinations = Mapping[tuple[str, ...], int]
"""Ratings of one subject, each rater's, and how many subjects have them."""
MIN_RATINGS = 2
"""Of a subject; one rating agrees with nothing."""


def cohen_kappa(combinations: Combinations) -> Fraction | None:
    """Return the agreement of two raters, the first and the second of each combination; None also for no subject.

    Raises:
        ValueError: a combination has not two ratings.
    """
    if any(len(ratings) != MIN_RATINGS for ratings in combinations):
        raise ValueError("Cohen's kappa is of two raters")
    n = sum(combinations.values())
    first, second = (_marginal(combinations, rater) for rater in range(MIN_RATINGS))
    observed = Fraction(sum(count for (one, other), count in combinations.items() if one == other), n or 1)
    expected = Fraction(sum(count * second[category] for category, count in first.items()), n * n or 1)
    return _beyond_chance(observed, expected) if n else None


def fleiss_kappa(combinations: Combinations) -> Fraction | None:
    """Return the agreement of raters who all have rated each subject; None also for no subject.

    Raises:
        ValueError: subjects have different numbers of ratings, or fewer than two.
    """
    raters = {len(ratings) for ratings in combinations}
    if not raters:
        return None
    if len(raters) > 1 or (m := min(raters)) < MIN_RATINGS:
        raise ValueError("Fleiss' kappa is of subjects that all raters have rated")
    n = sum(combinations.values())
    agreeing = sum(
        count * sum(same * (same - 1) for same in Counter(ratings).values()) for ratings, count in combinations.items()
    )
    totals = _totals(combinations)
    expected = Fraction(sum(total * total for total in totals.values()), (n * m) ** 2)
    return _beyond_chance(Fraction(agreeing, n * m * (m - 1)), expected)


def krippendorff_alpha(combinations: Combinations, order: Sequence[str] | None = None) -> Fraction | None:
    """Return 1 - observed / expected disagreement, over subjects with at least two ratings.

    Args:
        combinations: the ratings; what is missing is left out of a combination.
        order: every rating that occurs, in its order; without it all differences are the same.

    Raises:
        ValueError: a rating has no place in the order.
    """
    paired = {ratings: count for ratings, count in combinations.items() if len(ratings) >= MIN_RATINGS}
    totals = _totals(paired)
    if order is not None and (strange := sorted(set(totals) - set(order))):
        raise ValueError(f"{strange[0]!r} has no place in the order {', '.join(order)}")
    differences = dict(_differences(totals, order))
    observed = sum(
        (
            Fraction(count * 2 * held[one] * held[other], len(ratings) - 1) * difference
            for ratings, count in paired.items()
            for held in (Counter(ratings),)
            for (one, other), difference in differences.items()
            if one in held and other in held
        ),
        Fraction(0),
    )
    expected = sum(2 * totals[one] * totals[other] * by for (one, other), by in differences.items())
    return 1 - (totals.total() - 1) * observed / expected if expected else None


def jackknife(
    clusters: Sequence[Counter[Observation]], statistic: Callable[[Counter[Observation]], Fraction | None]
) -> Figure:
    """Return a coefficient between -1 and 1 of counts, with the interval of the delete-one-cluster jackknife.

    The variance is (k - 1) / k times the sum of squares of the k values without one cluster each, about their mean
    (B. Efron and C. Stein, *Ann. Statist.* 9, 1981, 586-596). Where all of them are the same, as for raters who always
    agree, it tells nothing, and there is no bound. Where one of them is undefined the interval is all of -1 to 1.

    Args:
        clusters: how often each observation occurs in each cluster.
        statistic: computes the coefficient from the counts of all; None where it is undefined.
    """
    total: Counter[Observation] = sum(clusters, Counter())
    value, n, k = statistic(total), total.total(), len(clusters)
    if value is None:
        return Figure(None, n, None, None)
    without = [statistic(total - cluster) for cluster in clusters] if k >= MIN_CLUSTERS else [None]
    known = [float(part) for part in without if part is not None]
    if len(known) < len(without):
        return Figure(float(value), n, -1.0, 1.0)
    about = math.fsum(known) / k
    half = student(k - 1) * math.sqrt((k - 1) / k * math.fsum((part - about) ** 2 for part in known))
    if half == 0:
        return Figure(float(value), n, None, None)
    return Figure(float(value), n, max(-1.0, float(value) - half), min(1.0, float(value) + half))


def _differences(totals: Counter[str], order: Sequence[str] | None) -> Iterator[tuple[tuple[str, str], Fraction]]:
    """Yield the squared difference of each two categories, from their numbers of ratings."""
    categories = [category for category in order or sorted(totals) if totals[category]]
    for place, one in enumerate(categories):
        for end, other in enumerate(categories[place + 1 :], place + 1):
            between = sum(totals[category] for category in categories[place : end + 1])
            distance = between - Fraction(totals[one] + totals[other], 2)
            yield (one, other), distance**2 if order is not None else Fraction(1)


def _beyond_chance(observed: Fraction, expected: Fraction) -> Fraction | None:
    return None if expected == 1 else (observed - expected) / (1 - expected)


def _marginal(combinations: Combinations, rater: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for ratings, count in combinations.items():
        counts[ratings[rater]] += count
    return counts


def _totals(combinations: Combinations) -> Counter[str]:
    counts: Counter[str] = Counter()
    for ratings, count in combinations.items():
        for rating in ratings:
            counts[rating] += count
    return counts
