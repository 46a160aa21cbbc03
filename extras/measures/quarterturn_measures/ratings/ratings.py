"""Ratings in plain files: who rated what how. CSV with a line of names.

    subject,rater,rating[,skeleton]                 one line for each rating; an empty rating is missing

Subjects (tasks) of one skeleton are no independent evidence, so intervals take it as their cluster; without it each
subject is one of its own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed
from quarterturn_measures.claim_scores import SKELETON, csv_rows
from quarterturn_measures.ratings.agreement import MIN_RATINGS, cohen_kappa, fleiss_kappa, jackknife, krippendorff_alpha
from sandbox.results.interval import Figure

RATINGS = ("subject", "rater", "rating")
_NUMBER = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of subjects.

    Attributes:
        raters: who rated.
        by_subject: each subject's ratings by rater, without those that are missing.
        skeletons: the skeleton of each subject.
    """

    raters: Sequence[str]
    by_subject: Mapping[str, Mapping[str, str]] = field(repr=False)
    skeletons: Mapping[str, str] = field(repr=False)

    @property
    def categories(self) -> Counter[str]:
        """How often each rating was given."""
        return Counter(rating for given in self.by_subject.values() for rating in given.values())

    def clusters(self, raters: Sequence[str], fewest: int) -> list[Counter[tuple[str, ...]]]:
        """Return the combinations of these raters' ratings by skeleton, of subjects with at least so many of them."""
        found: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for subject, given in self.by_subject.items():
            ratings = tuple(given[rater] for rater in raters if rater in given)
            if len(ratings) >= fewest:
                found[self.skeletons[subject]][ratings] += 1
        return list(found.values())


def ratings(files: Iterable[Path]) -> Ratings:
    """Read ratings from files, each of one rater or of several.

    Raises:
        NotFound: there is no such file.
        Malformed: a file is no CSV with these columns, or a rater rated a subject twice.
    """
    raters: dict[str, None] = {}
    given: dict[str, dict[str, str]] = {}
    skeletons: dict[str, str] = {}
    for file in files:
        for line, row in csv_rows(file, RATINGS):
            subject, rater, rating = (row[name] for name in RATINGS)
            if rater in given.setdefault(subject, {}):
                raise Malformed(
                    f"{file}, line {line}: {rater} has rated {subject} already; keep one of the two ratings"
                )
            raters[rater] = None
            skeletons.setdefault(subject, row.get(SKELETON) or subject)
            if rating:
                given[subject][rater] = rating
    return Ratings(list(raters), given, skeletons)


def agreement(given: Ratings, order: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the agreement of raters: Cohen's kappa of two, Fleiss' of more, Krippendorff's alpha of any.

    Args:
        given: the ratings.
        order: the ratings' order; numbers have theirs without it.

    Raises:
        Malformed: there are fewer than two raters, or a rating has no place in the order.
    """
    if len(given.raters) < MIN_RATINGS:
        raise Malformed(f"agreement is of two raters and more; there are {len(given.raters)}: name each rater's file")
    order = order or _numeric(given.categories)
    whole = given.clusters(given.raters, len(given.raters))
    two = len(given.raters) == MIN_RATINGS
    try:
        alpha = jackknife(given.clusters(given.raters, MIN_RATINGS), partial(krippendorff_alpha, order=order))
    except ValueError as error:
        raise Malformed(f"{error}; name every rating with --order, the lowest first") from None
    unmeasured = Figure(None, 0, None, None)
    figures = {
        "cohen_kappa": jackknife(whole, cohen_kappa) if two else unmeasured,
        "fleiss_kappa": unmeasured if two else jackknife(whole, fleiss_kappa),
        "krippendorff_alpha": alpha,
    }
    return {
        "raters": list(given.raters),
        "subjects": len(given.by_subject),
        "categories": dict(given.categories.most_common()),
        "order": list(order) if order else None,
        "measures": {name: asdict(figure) for name, figure in figures.items()},
    }


def _numeric(categories: Iterable[str]) -> list[str] | None:
    """Return numbers in their order; None where a rating is no number."""
    found = list(categories)
    return sorted(found, key=Fraction) if all(map(_NUMBER.fullmatch, found)) else None
