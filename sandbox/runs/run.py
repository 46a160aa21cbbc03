"""Runs one task, or a set of tasks, with one submission.

A run is an attempt (`sandbox.runs.attempt`), repeated only where `sandbox.results.failure` finds that the failure is
ours; the last one counts, and all are kept. Passed = the predicate is true, no budget was exceeded, and the machinery
held.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace

from sandbox.boxes.box import AgentLauncher, Box
from sandbox.errors import NotAllowed
from sandbox.results.failure import PREPARATIONS, UNSERVED
from sandbox.results.outcome import TaskRun
from sandbox.runs.attempt import attempt, judged_later
from sandbox.runs.job import Job, PlannedTask, RunSetup, Solution, Terms, checked, new_alias
from sandbox.runs.journal import RunJournal
from sandbox.runs.submission import Submission
from vault.task.document import Task

__all__ = ["PlannedTask", "RunSetup", "Solution", "Terms", "new_alias", "run_set", "run_task"]

LOOK = 1.0
"""Seconds between two looks at whether a set was given up from outside."""


def run_task(
    task: Task,
    submission: Submission,
    box: Box,
    *,
    alias: str,
    places: AgentLauncher | None = None,
    solution: Solution | None = None,
    terms: Terms | None = None,
) -> TaskRun:
    """Run one task with one submission, and again where the failure was ours.

    The agent's place is made by `places`, if that is given, and else by the box.

    Raises:
        Refused: a solution was handed to what is no reference agent, or the task still has free parameters.
        Malformed: the task's state is none that its servers know.
        Unavailable: the box cannot be had any more.
    """
    setup = RunSetup.in_box(box, places, terms=terms)
    return _run(checked(Job(PlannedTask(task, solution=solution), submission, setup, alias)))


def run_set(
    tasks: Sequence[PlannedTask], submission: Submission, setup: RunSetup, journal: RunJournal | None = None
) -> list[TaskRun]:
    """Run a set, and return the outcomes in the order of `tasks`.

    An exception, one of the journal's as well, or an interrupt ends all runs, and nothing of them is left.

    Raises:
        NotAllowed: the journal says that the run was ended from outside.
        Refused, Malformed, Unavailable: as for `run_task`.
    """
    journal, stop, workers = journal or RunJournal(), threading.Event(), setup.player.workers
    jobs = [checked(Job(planned, submission, setup, new_alias(), journal, stop)) for planned in tasks]
    pool = ThreadPoolExecutor(workers + ahead(workers), thread_name_prefix="run")
    try:
        futures = [pool.submit(_run, job) for job in jobs]
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, LOOK, FIRST_COMPLETED)
            for future in done:
                journal.record_outcome(future.result())
            if waiting and journal.is_ended():
                raise NotAllowed("the run was ended from outside while it was played; nothing more of it is served")
        return [future.result() for future in futures]
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def ahead(workers: int) -> int:
    """Return how many tasks beyond those that are played are made ready, or taken down; each holds a world's memory."""
    return (workers + 1) // 2


def _run(job: Job) -> TaskRun:
    """Make attempts until one settles it; where the box itself is gone, nothing more can be settled."""
    left = job.planned.left
    tries: list[TaskRun] = [*left.earlier, judged_later(job, left)] if left else []
    while not tries or (not job.stop.is_set() and _may_try_again(job, tries)):
        tries.append(attempt(job, earlier=tries))
    *earlier, last = tries
    if last.failure == "ours" and not job.stop.is_set():
        job.setup.player.check()
    return replace(last, attempts=len(tries), earlier=tuple(earlier))


def _may_try_again(job: Job, tries: Sequence[TaskRun]) -> bool:
    """Say whether there is another attempt; what was not recorded as served yet is only made ready again."""
    last = tries[-1]
    if last.failure != "ours":
        return False
    if last.code in UNSERVED and sum(run.code in UNSERVED for run in tries) >= PREPARATIONS:
        return False
    return not job.recorded or job.journal.allow_retry(job.task.id, last.code)
