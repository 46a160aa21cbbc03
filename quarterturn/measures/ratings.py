"""Ratings in plain files: who rated what how, and which claims of which task a judge found. CSV with a line of names.

    subject,rater,rating[,skeleton]                 one line for each rating; an empty rating is missing
    submission,task,claim,score[,skeleton]          0 to 1; an empty score is of a claim that no judge decided

Subjects (tasks) of one skeleton are no independent evidence, so intervals take it as their cluster; without it each
subject is one of its own.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed, require_file
from quarterturn.public_records.records import PublicRecords
from sandbox.measures.agreement import FEWEST, cohen_kappa, fleiss_kappa, krippendorff_alpha
from sandbox.measures.thresholds import AtThreshold, JudgedTask
from sandbox.results.interval import Figure, jackknife

RATINGS = ("subject", "rater", "rating")
CLAIMS = ("submission", "task", "claim", "score")
SKELETON = "skeleton"
LARGEST = 1 << 26
"""Bytes of a file."""

_SCORE = re.compile(r"[01](?:\.[0-9]{1,6})?")
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
        """Give the combinations of these raters' ratings by skeleton, of subjects with at least so many of them."""
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
        for line, row in rows(file, RATINGS):
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
    """Give the agreement of raters: Cohen's kappa of two, Fleiss' of more, Krippendorff's alpha of any.

    Args:
        given: the ratings.
        order: the ratings' order; numbers have theirs without it.

    Raises:
        Malformed: there are fewer than two raters, or a rating has no place in the order.
    """
    if len(given.raters) < FEWEST:
        raise Malformed(f"agreement is of two raters and more; there are {len(given.raters)}: name each rater's file")
    order = order or _numeric(given.categories)
    whole = given.clusters(given.raters, len(given.raters))
    two = len(given.raters) == FEWEST
    try:
        alpha = jackknife(given.clusters(given.raters, FEWEST), partial(krippendorff_alpha, order=order))
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


def claim_scores(file: Path) -> dict[str, dict[str, JudgedTask]]:
    """Read the scores of claims: submission -> task -> its claims.

    Raises:
        NotFound: there is no such file.
        Malformed: it is no CSV with these columns, a score is none, or a claim has two.
    """
    scores: dict[tuple[str, str], dict[str, Fraction | None]] = {}
    skeletons: dict[str, str] = {}
    for line, row in rows(file, CLAIMS):
        submission, task, claim, score = (row[name] for name in CLAIMS)
        if score and (not _SCORE.fullmatch(score) or Fraction(score) > 1):
            raise Malformed(
                f"{file}, line {line}: {score!r} is no score; a score is from 0 to 1, or empty where unknown"
            )
        claims = scores.setdefault((submission, task), {})
        if claim in claims:
            raise Malformed(f"{file}, line {line}: claim {claim} of {task} has a score already; keep one of the two")
        claims[claim] = Fraction(score) if score else None
        skeletons.setdefault(task, row.get(SKELETON) or task)
    found: dict[str, dict[str, JudgedTask]] = {}
    for (submission, task), claims in scores.items():
        found.setdefault(submission, {})[task] = JudgedTask(skeletons[task], list(claims.values()))
    return found


def coverages(file: Path, records: PublicRecords) -> dict[tuple[int, str], Fraction]:
    """Read the coverage of claims of a source's runs, of tasks of which every claim was decided, by run and task.

    Raises:
        NotFound: there is no such file.
        Malformed: it is no file of claims' scores, or names a run or a task that the source has not.
    """
    known = {(str(run.number), result.task): run.number for run in records.runs for result in run.results}
    found: dict[tuple[int, str], Fraction] = {}
    for submission, tasks in claim_scores(file).items():
        for task, judged in tasks.items():
            if (submission, task) not in known:
                raise Malformed(f"{file} scores {task} of {submission}, and no run of this number has that task")
            if judged.coverage is not None:
                found[known[submission, task], task] = judged.coverage
    return found


def require_same_tasks(submissions: Mapping[str, Mapping[str, JudgedTask]]) -> None:
    """Require that all submissions have the same tasks; else their pass rates give no ranks.

    Raises:
        Malformed: they have not.
    """
    every = {task for tasks in submissions.values() for task in tasks}
    for name, tasks in submissions.items():
        if missing := sorted(every - set(tasks)):
            raise Malformed(f"{name} has no score of {missing[0]}, which another has; ranks compare the same tasks")


def sensitivity_json(found: Sequence[AtThreshold]) -> list[dict[str, Any]]:
    """Give threshold sensitivity as plain JSON values."""
    return [
        {
            "threshold": float(at.threshold),
            "pass_rates": {name: asdict(figure) for name, figure in at.pass_rates.items()},
            "open": dict(at.open),
            "ranks": dict(at.ranks),
            "kendall_tau_b": at.tau_b,
        }
        for at in found
    ]


def rows(file: Path, names: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Give the number and the stripped fields of each line of a file that has at least these columns.

    Raises:
        NotFound: there is no such file.
        Malformed: it is none, or a line has not a field for each name.
    """
    require_file(file)
    if file.stat().st_size > LARGEST:
        raise Malformed(f"{file} is larger than {LARGEST >> 20} MiB")
    try:
        reader = csv.DictReader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline=""), strict=True)
        if missing := [name for name in names if name not in (reader.fieldnames or ())]:
            raise Malformed(f"{file} has no column {missing[0]}; its first line has to name {', '.join(names)}")
        for row in reader:
            if None in row or None in row.values():
                raise Malformed(f"{file}, line {reader.line_num}: it has not one field for each column")
            fields = {name: text.strip() for name, text in row.items()}
            if empty := [name for name in names[:-1] if not fields[name]]:
                raise Malformed(f"{file}, line {reader.line_num}: {empty[0]} is empty")
            yield reader.line_num, fields
    except UnicodeDecodeError:
        raise Malformed(f"{file} is no CSV file: it is not UTF-8") from None
    except csv.Error as error:
        raise Malformed(f"{file} is no CSV file: {error}") from None


def _numeric(categories: Iterable[str]) -> list[str] | None:
    """Give numbers in their order; None where a rating is no number."""
    found = list(categories)
    return sorted(found, key=Fraction) if all(map(_NUMBER.fullmatch, found)) else None
