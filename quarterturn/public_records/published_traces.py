"""Published traces beside a release: calls of a private run, compared with what the log bound of them.

The owner of a run can publish its trace once its tasks have retired (`GET /runs/{id}`). Each transcript has to open the
commitment in one of the release's results, with the salt that the trace gives; so goal, calls, results and answer are
what was bound when the run ended, before anybody knew that they would be published. The task has to be the one that was
served, in the submitter's variant. What a commitment does not cover is the operator's word: evidence, times, tokens,
and which errors were scheduled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed, NotFound, Refused
from quarterturn.public_records.records import PublicRecords, PublicResult, PublicRun, PublicTask
from quarterturn.public_records.sources import outcome_of
from rotation.calendar import Month
from sandbox.results.bound_transcript import transcript_bytes
from sandbox.results.outcome import TaskRun
from vault.canonical import digest
from vault.commitment import commitment
from vault.errors import VaultError
from vault.task import variant

LONGEST_LIFE = 144
"""Months from a run to the retirement of the tasks that it was served: twelve cohorts, each a year apart."""
_NOT_SERVED = ("free", "variant_key")


def with_trace(records: PublicRecords, file: Path) -> PublicRecords:
    """Add the calls of a published run to the records of a release.

    Args:
        records: the release's records.
        file: the run as the service gives it.

    Raises:
        NotFound: there is no such file.
        Malformed: it holds no published run, or the records are of no release.
        Refused: something in it is not what the release's log bound.
    """
    if records.month is None:
        raise Malformed("--trace is for a release; the file of a run on a dev set has its calls already")
    if not file.is_file():
        raise NotFound(
            f"there is no file {file}; a service gives one at /runs/ID once the run's owner has published it"
        )
    try:
        played = list(_played(json.loads(file.read_bytes())))
    except (VaultError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Malformed(f"{file} is not a published run as `GET /runs/ID` gives it: {type(error).__name__}") from None
    bound = {result.transcript: (run, result) for run in records.runs for result in run.results if result.transcript}
    tasks = {task.task.id: task for task in records.tasks}
    opened: dict[str, PublicResult] = {}
    numbers: set[int] = set()
    for outcome, opens in played:
        if outcome.task_id in tasks:
            run, result = bound.get(opens, (None, None))
            if run is None or result is None or result.task != outcome.task_id:
                raise Refused(f"{file}: the transcript of {outcome.task_id} is not the one that the log bound")
            _require_same(outcome, result, f"{file}: {outcome.task_id}")
            values = _values(tasks[result.task], run, outcome, Month.parse(records.month), str(file))
            opened[result.task] = replace(result, played=outcome, values=values)
            numbers.add(run.number)
    if len(numbers) != 1:
        what = f"results of {len(numbers)} runs" if numbers else "no task of this release"
        raise Refused(f"{file} has {what}; name the release in which its tasks retired")
    runs = [_opened(run, opened) if run.number in numbers else run for run in records.runs]
    return replace(records, runs=runs)


def _played(document: Mapping[str, Any]) -> Iterator[tuple[TaskRun, str]]:
    """Yield each outcome of a trace, and the commitment (hex) that its transcript and salt come to."""
    for item in document["trace"]["tasks"]:
        outcome, salt = outcome_of(item["run"]), item.get("transcript_salt")
        transcript = transcript_bytes(outcome)
        if salt is not None and transcript is not None:
            yield outcome, commitment("transcript", transcript, bytes.fromhex(salt)).hex()


def _require_same(outcome: TaskRun, result: PublicResult, where: str) -> None:
    """Require what the result says of the outcome beside the transcript."""
    transcript = outcome.transcript
    said = (outcome.verdict.value, outcome.passed, outcome.calls, transcript.unlisted, transcript.injected > 0)
    if said != (result.verdict, result.passed, result.calls, result.unlisted, result.saw_error):
        raise Refused(f"{where}: verdict or counts differ from the result in the release")


def _values(task: PublicTask, run: PublicRun, outcome: TaskRun, last: Month, file: str) -> Mapping[str, str] | None:
    """Find the variant in which a task was served to a run's submitter; the run's month is not in the records."""
    free = task.task.free
    document = {name: part for name, part in task.task.document.items() if name not in _NOT_SERVED}
    if task.variant_key is None:
        candidates = iter([variant.first(free)])
    else:
        key = bytes.fromhex(task.variant_key)
        months = (last.plus(-back) for back in range(LONGEST_LIFE))
        candidates = (variant.assigned(key, run.submitter, str(month), free) for month in months)
    for values in candidates:
        if digest(variant.filled(document, values)) == outcome.served:
            return values if task.variant_key else None
    raise Refused(f"{file}: {task.task.id} was served in another variant than that of {run.submitter}")


def _opened(run: PublicRun, opened: Mapping[str, PublicResult]) -> PublicRun:
    return replace(run, results=[opened.get(result.task, result) for result in run.results])
