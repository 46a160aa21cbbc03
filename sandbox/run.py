"""One run of one task, and a set of them.

A run is an attempt (`sandbox.attempt`), and after a failure that is not surely theirs another, as often as
`sandbox.failure` allows; the last one counts, and all are kept. Passed = the predicate is true, no budget was exceeded,
and `sandbox.failure` finds that the machinery held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace

from sandbox.attempt import attempt, judged_later, prepare
from sandbox.box import Box, Places
from sandbox.errors import NotAllowed
from sandbox.failure import DOUBTS, RETRIES
from sandbox.left import Left
from sandbox.outcome import TaskRun
from sandbox.submission import Submission
from sandbox.terms import Job, Solution, Terms, checked, new_alias
from vault.task import Task

__all__ = ["Solution", "Terms", "new_alias", "run_set", "run_task"]

LOOK = 1.0
"""Seconds between two looks at whether a set was given up from outside."""


def run_task(
    task: Task,
    submission: Submission,
    box: Box,
    *,
    alias: str,
    places: Places | None = None,
    solution: Solution | None = None,
    terms: Terms | None = None,
) -> TaskRun:
    """Run one task with one submission, again where the failure was not surely theirs.

    The agent's place is made by `places`, if that is given, and else by the box.

    Raises:
        Refused: a solution was handed to what is no reference agent, or the task still has free parameters.
        Malformed: the task's state is none that its servers know.
        Unavailable: the box cannot be had any more.
    """
    job = checked(Job(task, submission, box, places or box, alias, terms or Terms(), solution))
    return _run(job, threading.Semaphore(DOUBTS))


def run_set(
    tasks: Sequence[Task],
    submission: Submission,
    box: Box,
    *,
    places: Places | None = None,
    workers: int = 2,
    on_done: Callable[[TaskRun], None] | None = None,
    on_retry: Callable[[str], None] = lambda _: None,
    on_left: Callable[[Left], None] = lambda _: None,
    left: Mapping[str, Left] | None = None,
    solutions: Mapping[str, Solution] | None = None,
    alias: Callable[[], str] = new_alias,
    terms: Terms | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[TaskRun]:
    """Run a set, `workers` agents at a time, while other tasks are being prepared or taken down.

    The results come in the order of `tasks`; `on_done` is called in this thread, in the order in which they end.
    `on_retry` is called with a task's id before that is served again, in whatever thread it is played, and `on_left`
    with what each attempt left before that is judged. `left` is what was handed over by a set that did not come to its
    end: it is judged, and those tasks are not served again for it. An exception (of one of these as well, or an
    interrupt) ends all runs, and nothing of them is left. So does `cancelled`, which is asked once a second in this
    thread.

    Raises:
        NotAllowed: the set was cancelled.
        Refused, Malformed, Unavailable: as for `run_task`.
    """
    given, before, terms = solutions or {}, left or {}, terms or Terms()
    stop, turns, doubts = threading.Event(), threading.Semaphore(workers), threading.Semaphore(DOUBTS)
    jobs = [
        checked(Job(task, submission, box, places or box, alias(), terms, given.get(task.id), stop, turns))
        for task in tasks
    ]
    pool = ThreadPoolExecutor(workers + ahead(workers), thread_name_prefix="run")
    try:
        futures = [pool.submit(_run, job, doubts, on_retry, on_left, before.get(job.task.id)) for job in jobs]
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


def _run(
    job: Job,
    doubts: threading.Semaphore,
    on_retry: Callable[[str], None] = lambda _: None,
    on_left: Callable[[Left], None] = lambda _: None,
    left: Left | None = None,
) -> TaskRun:
    """Make attempts until one settles it; where the box itself is gone, nothing more can be settled."""
    tries: list[TaskRun] = [*left.earlier, judged_later(job, left)] if left else []
    job = replace(job, seal=lambda found: on_left(replace(found, earlier=tuple(tries))))
    while not tries or (not job.stop.is_set() and _again(tries, doubts)):
        if tries:
            on_retry(job.task.id)
        tries.append(attempt(job, prepare(job)))
    *earlier, last = tries
    if last.failure == "ours" and not job.stop.is_set():
        job.box.check()
    return replace(last, attempts=len(tries), earlier=tuple(earlier))


def _again(tries: Sequence[TaskRun], doubts: threading.Semaphore) -> bool:
    """Say whether there is another attempt; one after an unclear failure is taken from what the whole run has."""
    if len(tries) > RETRIES:
        return False
    failure = tries[-1].failure
    return failure == "ours" or (failure == "unclear" and doubts.acquire(blocking=False))
