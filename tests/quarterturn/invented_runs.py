"""Runs whose outcomes are invented: opened in the ledger, served, recorded and closed, without a box."""

from collections.abc import Callable
from dataclasses import replace

from quarterturn.app import Application
from quarterturn.submissions.store.queue import Claim
from quarterturn.submissions.store.requests import SubmissionRecord, SubmissionRequest
from rotation.runs.run_tasks import OpenRun
from sandbox.results.outcome import TaskRun
from vault.task.document import Task

from ..rotation.conftest import NamedBox, outcome, submission
from ..serving import serve

Invent = Callable[[int, Task], TaskRun]
"""Makes the outcome of a task, by its place in the run."""


def passing(passes: Callable[[int, str], bool]) -> Invent:
    """Invent outcomes where this says by place and id whether a task is passed."""
    return lambda place, task: outcome(task.id, task.category, passed=passes(place, task.id))


def open_run(house: Application, submitter: str, agent: str = "") -> OpenRun:
    """Open a run of an image; its agent has its submitter's name, unless it is given another."""
    image = submission(submitter)
    return house.runs.official.open(replace(image, name=agent) if agent else image, NamedBox())  # type: ignore[arg-type]


def record_all(house: Application, run: OpenRun, invent: Invent) -> OpenRun:
    """Serve a run all tasks, record an outcome of each, and return the run."""
    for place, task in enumerate(serve(house.runs.tasks, run)):
        house.runs.tasks.record(run, invent(place, task))
    return run


def submitted(house: Application, account: str, run: int | None = None) -> tuple[SubmissionRecord, Claim]:
    """Submit an image for a private run and claim it; where a run is named, it is that one's, and has ended."""
    made, _ = house.submissions.store.take(account, SubmissionRequest("private", image="agent:1"), month="2026-12")
    claim = house.submissions.queue.claim("w")
    assert claim
    if run is not None:
        house.submissions.queue.opened(claim, run)
        house.submissions.queue.finish(claim, None)
    return made, claim


def play(house: Application, submitter: str, invent: Invent, agent: str = "") -> OpenRun:
    """Open, fill and close a run, and return it."""
    run = record_all(house, open_run(house, submitter, agent), invent)
    house.runs.official.close(run)
    return run
