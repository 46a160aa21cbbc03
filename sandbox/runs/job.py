"""Inputs of a run: the task, the submission, the box, and the terms of the whole set.

A solution, and a world that was used before, are only for the reference agent. A task with free parameters is never
served unfilled. `checked` refuses all of it before anything is started.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sandbox.boxes.box import AgentLauncher, Box, ResourceLimits, WorldLauncher
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.errors import Refused
from sandbox.judge import JUDGING, StateJudge
from sandbox.model_gateway.process import ModelGateway
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.run_environment import Timeouts
from sandbox.runs.stopwatch import Clock
from sandbox.runs.submission import Submission
from sandbox.shared_lock import SharedLock
from sandbox.transcript import ToolCall
from vault.task.document import Task
from vault.task.variant import Free


@dataclass(frozen=True, slots=True)
class Solution:
    """A reference solution, served to the reference agent and to nobody else."""

    calls: Sequence[ToolCall] = field(repr=False)
    answer: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms that every run of a set has in common.

    Attributes:
        world: caps on each world.
        agent: caps on each agent; its `wall` is the time that it has, in seconds.
        patience: how long we wait for our own parts.
        clock: a monotonic clock in seconds.
        models: the language model that agents may ask, or None where there is none.
        judging: who reads and judges what is left.
        claims: who asks a language model about claims, or None where nobody does; such predicates are unknown then.
    """

    world: ResourceLimits = field(default_factory=ResourceLimits)
    agent: ResourceLimits = field(default_factory=ResourceLimits)
    patience: Timeouts = field(default_factory=Timeouts)
    clock: Clock = time.monotonic
    models: ModelGateway | None = None
    judging: StateJudge = JUDGING
    claims: ClaimJudge | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One task for one submission.

    Attributes:
        box: where its world is made.
        places: where its agent's place is made: the same box, unless the agent runs elsewhere.
        stop: set when the set is given up.
        turns: shared while its agent runs; of a set, only so many do at a time.
        serve: is told the task's id before its agent is let go; what it raises ends the whole set.
        seal: is handed what an attempt left, before anything of it is read or judged.
        free: the choices of the parameters that were filled for this submitter; nothing of it is served.
        kept: where the reference agent's world is made, if it may be one that it used before; all others are fresh.
    """

    task: Task
    submission: Submission
    box: Box
    places: AgentLauncher
    alias: str
    terms: Terms
    solution: Solution | None
    stop: threading.Event = field(default_factory=threading.Event)
    turns: SharedLock = field(default_factory=SharedLock)
    serve: Callable[[str], None] = lambda _: None
    seal: Callable[[UnjudgedResult], None] = lambda _: None
    free: Free = field(default_factory=dict, repr=False)
    kept: WorldLauncher | None = None


def new_alias() -> str:
    """Make a per-run alias for what an agent is shown instead of a task's id."""
    return f"r-{secrets.token_hex(8)}"


def checked(job: Job) -> Job:
    """Refuse a job that may not be run.

    Raises:
        Refused: a solution, or a world that was used before, is for what is no reference agent; or the task still has
            free parameters.
    """
    if job.solution is not None and job.submission.submittable:
        raise Refused(f"{job.submission.name} is a submission, and no submission is ever handed a solution")
    if job.kept is not None and job.submission.submittable:
        raise Refused(f"{job.submission.name} is a submission, and each of its worlds is a fresh one")
    if job.task.free:
        raise Refused(f"task {job.task.id} has free parameters; fill them for this submitter before it is served")
    return job
