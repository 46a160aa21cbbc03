"""One run of one task, and a set of them.

A run is an attempt (`sandbox.attempt`), and after a failure of ours another, at most twice. Passed = the predicate is
true, no budget was exceeded, and `sandbox.failure` finds that the machinery held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from sandbox.attempt import attempt, prepare
from sandbox.box import Box, Places
from sandbox.failure import RETRIES
from sandbox.outcome import TaskRun
from sandbox.scene import Scene
from sandbox.submission import Submission
from sandbox.terms import Job, Solution, Terms, checked, new_alias
from vault.task import Task

__all__ = ["Solution", "Terms", "new_alias", "run_set", "run_task"]


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
    """Run one task with one submission, again where the failure was ours.

    The agent's place is made by `places`, if that is given, and else by the box.

    Raises:
        Refused: a solution was handed to what is no reference agent, or the task still has free parameters.
        Malformed: the task's state is none that its servers know.
    """
    job = checked(Job(task, submission, box, places or box, alias, terms or Terms(), solution))
    return _with_retries(job, prepare(job))


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
) -> list[TaskRun]:
    """Run a set, `workers` agents at a time, each of them while the next task's world is being prepared.

    The results come in the order of `tasks`; `on_done` is called in this thread, in the order in which they end. An
    exception (of `on_done` too, or an interrupt) ends all runs, and nothing of them is left.
    """
    given, terms = solutions or {}, terms or Terms()
    stop, playing = threading.Event(), threading.Semaphore(workers)
    jobs = [
        checked(Job(task, submission, box, places or box, alias(), terms, given.get(task.id), stop)) for task in tasks
    ]
    pool = ThreadPoolExecutor(workers + 1, thread_name_prefix="run")
    try:
        futures = [pool.submit(_in_turn, job, playing) for job in jobs]
        for future in as_completed(futures):
            if on_done:
                on_done(future.result())
        return [future.result() for future in futures]
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _in_turn(job: Job, playing: threading.Semaphore) -> TaskRun:
    scene = prepare(job)
    with playing:
        return _with_retries(job, scene)


def _with_retries(job: Job, scene: Scene) -> TaskRun:
    run = attempt(job, scene)
    for number in range(2, RETRIES + 2):
        if run.failure != "ours" or job.stop.is_set():
            break
        run = replace(attempt(job, prepare(job)), attempts=number)
    return run
