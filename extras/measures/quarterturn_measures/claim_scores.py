"""Scores that a judge gave claims, read from a plain file. CSV with a line of names.

    submission,task,claim,score[,skeleton]          0 to 1; an empty score is of a claim that no judge decided

Tasks of one skeleton are no independent evidence, so intervals take it as their cluster; without it each task is one
of its own.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from quarterturn.errors import Malformed, require_file
from quarterturn.public_records.records import PublicRecords

CLAIMS = ("submission", "task", "claim", "score")
SKELETON = "skeleton"
MAX_FILE_BYTES = 1 << 26

_SCORE = re.compile(r"[01](?:\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class JudgedTask:
    """Claims of one task of one submission: each score from 0 to 1, or None where no judge decided."""

    skeleton: str
    scores: Sequence[Fraction | None]

    @property
    def low(self) -> Fraction:
        """The coverage with unknown claims at 0."""
        return Fraction(sum(score or 0 for score in self.scores), len(self.scores))

    @property
    def high(self) -> Fraction:
        """The coverage with unknown claims at 1."""
        return Fraction(sum(1 if score is None else score for score in self.scores), len(self.scores))

    @property
    def coverage(self) -> Fraction | None:
        """The coverage; None where a claim is unknown."""
        return None if None in self.scores else self.low


def claim_scores(file: Path) -> dict[str, dict[str, JudgedTask]]:
    """Read the scores of claims: submission -> task -> its claims.

    Raises:
        NotFound: there is no such file.
        Malformed: it is no CSV with these columns, a score is none, or a claim has two.
    """
    scores: dict[tuple[str, str], dict[str, Fraction | None]] = {}
    skeletons: dict[str, str] = {}
    for line, row in csv_rows(file, CLAIMS):
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


def csv_rows(file: Path, names: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number and the stripped fields of each line of a file that has at least these columns.

    Raises:
        NotFound: there is no such file.
        Malformed: it is none, or a line has not a field for each name.
    """
    require_file(file)
    if file.stat().st_size > MAX_FILE_BYTES:
        raise Malformed(f"{file} is larger than {MAX_FILE_BYTES >> 20} MiB")
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
