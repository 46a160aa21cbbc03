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

from sandbox.attempt import attempt, prepare
from sandbox.box import Box, Places
from sandbox.errors import NotAllowed
from sandbox.failure import DOUBTS, RETRIES
from sandbox.outcome import TaskRun
from sandbox.scene import Scene
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
    """
    job = checked(Job(task, submission, box, places or box, alias, terms or Terms(), solution))
    return _with_retries(job, prepare(job), threading.Semaphore(DOUBTS))


def run_set(
    tasks: Sequence[Task],
    submission: Submission,
    box: Box,
    *,
    places: Places | None = None,
    workers: int = 2,
    on_done: Callable[[TaskRun], None] | None = None,
    solutions: Mapping[str, Solution] | None = None,
    alias: Callable[[], str] = new_alias,
    terms: Terms | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[TaskRun]:
    """Run a set, `workers` agents at a time, each of them while the next task's world is being prepared.

    The results come in the order of `tasks`; `on_done` is called in this thread, in the order in which they end. An
    exception (of `on_done` too, or an interrupt) ends all runs, and nothing of them is left. So does `cancelled`, which
    is asked once a second in this thread.

    Raises:
        NotAllowed: the set was cancelled.
        Refused, Malformed: as for `run_task`.
    """
    given, terms = solutions or {}, terms or Terms()
    stop, playing, doubts = threading.Event(), threading.Semaphore(workers), threading.Semaphore(DOUBTS)
    jobs = [
        checked(Job(task, submission, box, places or box, alias(), terms, given.get(task.id), stop)) for task in tasks
    ]
    pool = ThreadPoolExecutor(workers + 1, thread_name_prefix="run")
    try:
        futures = [pool.submit(_in_turn, job, playing, doubts) for job in jobs]
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


def _in_turn(job: Job, playing: threading.Semaphore, doubts: threading.Semaphore) -> TaskRun:
    scene = prepare(job)
    with playing:
        return _with_retries(job, scene, doubts)


def _with_retries(job: Job, scene: Scene, doubts: threading.Semaphore) -> TaskRun:
    tries = [attempt(job, scene)]
    while not job.stop.is_set() and _again(tries, doubts):
        tries.append(attempt(job, prepare(job)))
    *earlier, last = tries
    return replace(last, attempts=len(tries), earlier=tuple(earlier))


def _again(tries: Sequence[TaskRun], doubts: threading.Semaphore) -> bool:
    """Say whether there is another attempt; one after an unclear failure is taken from what the whole run has."""
    if len(tries) > RETRIES:
        return False
    failure = tries[-1].failure
    return failure == "ours" or (failure == "unclear" and doubts.acquire(blocking=False))
