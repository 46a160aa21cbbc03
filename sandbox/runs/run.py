"""Runs one task, or a set of tasks, with one submission.

A run is an attempt (`sandbox.runs.attempt`), repeated only where `sandbox.results.failure` finds that the failure is
ours; the last one counts, and all are kept. Passed = the predicate is true, no budget was exceeded, and the machinery
held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace

from sandbox.boxes.box import AgentLauncher, Box, WorldLauncher
from sandbox.errors import NotAllowed
from sandbox.results.failure import PREPARATIONS, RETRIES, UNSERVED
from sandbox.results.outcome import TaskRun
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.attempt import attempt, judged_later, prepare
from sandbox.runs.job import Job, Solution, Terms, checked, new_alias
from sandbox.runs.submission import Submission
from sandbox.shared_lock import SharedLock
from vault.task.document import Task
from vault.task.variant import Free

__all__ = ["Solution", "Terms", "new_alias", "run_set", "run_task"]

LOOK = 1.0
"""Seconds between two looks at whether a set was given up from outside."""

Again = Callable[[str, str], bool]
"""Says whether a task may be served again after a failure of ours, by its id and the code; any thread may ask."""


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
    job = checked(Job(task, submission, box, places or box, alias, terms or Terms(), solution))
    return _run(job, _counted())


def run_set(
    tasks: Sequence[Task],
    submission: Submission,
    box: Box,
    *,
    places: AgentLauncher | None = None,
    workers: int = 2,
    on_done: Callable[[TaskRun], None] | None = None,
    on_serve: Callable[[str], None] = lambda _: None,
    on_left: Callable[[UnjudgedResult], None] = lambda _: None,
    again: Again | None = None,
    left: Mapping[str, UnjudgedResult] | None = None,
    solutions: Mapping[str, Solution] | None = None,
    free: Mapping[str, Free] | None = None,
    kept: WorldLauncher | None = None,
    alias: Callable[[], str] = new_alias,
    terms: Terms | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[TaskRun]:
    """Run a set, `workers` agents at a time, while other tasks are being prepared or taken down.

    The results come in the order of `tasks`; `on_done` is called in this thread, in the order in which they end.
    `on_serve` is called with a task's id right before an agent is let go on it, in whatever thread it is played, and
    `on_left` with what each attempt left before that is judged. `again` decides whether a task is served again after a
    failure of ours; without it the whole set has `failure.RETRIES`. `left` is what was handed over by a set that did
    not come to its end: it is judged, and those tasks are not served for it. `free` has, by task, the choices of the
    parameters that were filled in; which of them an agent says is a part of the result. `kept` has the worlds that the
    reference agent used before. An exception (of one of these as well, or an interrupt) ends all runs, and nothing of
    them is left. So does `cancelled`, which is asked once a second in this thread.

    Raises:
        NotAllowed: the set was cancelled.
        Refused, Malformed, Unavailable: as for `run_task`.
    """
    given, before, filled, terms = solutions or {}, left or {}, free or {}, terms or Terms()
    stop, turns, again = threading.Event(), SharedLock(workers), again or _counted()
    jobs = [
        checked(
            Job(
                *(task, submission, box, places or box, alias(), terms, given.get(task.id), stop, turns, on_serve),
                free=filled.get(task.id, {}),
                kept=kept,
            )
        )
        for task in tasks
    ]
    pool = ThreadPoolExecutor(workers + ahead(workers), thread_name_prefix="run")
    try:
        futures = [pool.submit(_run, job, again, on_left, before.get(job.task.id)) for job in jobs]
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, LOOK, FIRST_COMPLETED)
            for future in done:
                run = future.result()
                if on_done:
                    on_done(run)
            if waiting and cancelled():
                raise NotAllowed("the run was ended from outside while it was played; nothing more of it is served")
        return [future.result() for future in futures]
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def ahead(workers: int) -> int:
    """Give how many tasks beyond those that are played are made ready, or taken down; each holds a world's memory."""
    return (workers + 1) // 2


def _counted() -> Again:
    """Allow `RETRIES` servings again, whatever the tasks."""
    retries = threading.Semaphore(RETRIES)
    return lambda _task_id, _code: retries.acquire(blocking=False)


def _run(
    job: Job,
    again: Again,
    on_left: Callable[[UnjudgedResult], None] = lambda _: None,
    left: UnjudgedResult | None = None,
) -> TaskRun:
    """Make attempts until one settles it; where the box itself is gone, nothing more can be settled."""
    tries: list[TaskRun] = [*left.earlier, judged_later(job, left)] if left else []
    job = replace(job, seal=lambda unjudged: on_left(replace(unjudged, earlier=tuple(tries))))
    while not tries or (not job.stop.is_set() and _another(job, tries, again)):
        tries.append(attempt(job, prepare(job)))
    *earlier, last = tries
    if last.failure == "ours" and not job.stop.is_set():
        job.box.check()
    return replace(last, attempts=len(tries), earlier=tuple(earlier))


def _another(job: Job, tries: Sequence[TaskRun], again: Again) -> bool:
    """Say whether there is another attempt; what was not served yet is only made ready again."""
    last = tries[-1]
    if last.failure != "ours":
        return False
    if last.code in UNSERVED:
        return sum(run.code in UNSERVED for run in tries) < PREPARATIONS
    return again(job.task.id, last.code)
