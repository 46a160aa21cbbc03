"""Inputs of a run: the task, the submission, the box, and the terms of the whole set.

A solution, and a world that was used before, are only for the reference agent. A task with free parameters is never
served unfilled. `checked` refuses all of it before anything is started.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from sandbox.boxes.box import AgentLauncher, Box, ReproducibleBox, ResourceLimits, WorldLauncher
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.errors import Refused
from sandbox.judge import JUDGING, StateJudge
from sandbox.model_gateway.process import ModelGateway
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.journal import RunJournal
from sandbox.runs.submission import Submission
from sandbox.servers.registry import SERVERS
from sandbox.servings.local_player import LocalPlayer
from sandbox.servings.player import ServingPlayer
from sandbox.servings.run_environment import Timeouts
from sandbox.servings.stopwatch import Clock
from sandbox.servings.supervised_player import SupervisedPlayer, supervisors_of
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
        offered_tools: what each agent is offered beside the tools that its task lists (`server.tool`).
    """

    world: ResourceLimits = field(default_factory=ResourceLimits)
    agent: ResourceLimits = field(default_factory=ResourceLimits)
    patience: Timeouts = field(default_factory=Timeouts)
    clock: Clock = time.monotonic
    models: ModelGateway | None = None
    judging: StateJudge = JUDGING
    claims: ClaimJudge | None = None
    offered_tools: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task that is to be played.

    Attributes:
        task: as it is served.
        free: the choices of the parameters that were filled in for this submitter; nothing of it is served. Which of
            them an agent says is a part of its result.
        solution: what the reference agent is handed.
        left: what an attempt left that was not judged any more; it is judged, and the task is not served for it.
        handle: of a serving that an earlier process started on a runner; what that left is waited for.
    """

    task: Task
    free: Free = field(default_factory=dict, repr=False)
    solution: Solution | None = None
    left: UnjudgedResult | None = None
    handle: str | None = None


@dataclass(frozen=True, slots=True)
class RunSetup:
    """Where and how a set is played.

    Attributes:
        player: who plays its servings.
        terms: the terms of each run.
        kept: whether the player's worlds may have been used before, which is for the reference agent alone.
    """

    player: ServingPlayer
    terms: Terms = field(default_factory=Terms)
    kept: bool = False

    @classmethod
    def in_box(
        cls,
        box: Box,
        places: AgentLauncher | None = None,
        *,
        workers: int = 2,
        kept: WorldLauncher | None = None,
        terms: Terms | None = None,
    ) -> RunSetup:
        """Return the setup of a set that this very process plays in a box.

        It is for agents of ours, for agents that run elsewhere, and inside supervisors; see `supervised`.

        Args:
            box: where worlds are made.
            places: where the agents' places are made; None: in the box.
            workers: how many agents are at work at a time, while other tasks are made ready or taken down.
            kept: worlds that the reference agent used before, for its next tasks; None: each world is a fresh one.
            terms: the terms of each run.
        """
        terms = terms or Terms()
        player = LocalPlayer(
            box,
            places,
            workers=workers,
            kept=kept,
            models=terms.models,
            clock=terms.clock,
            judging=terms.judging,
        )
        return cls(player, terms, kept is not None)

    @classmethod
    def supervised(
        cls, box: Box, places: AgentLauncher | None = None, *, workers: int = 2, terms: Terms | None = None
    ) -> RunSetup:
        """Return the setup of a set whose agents are played by supervisors of this machine, and not by this process.

        Two kinds are played here all the same: agents behind an endpoint, since none of their programs runs here and
        the key that signs requests lies here; and worlds that nobody else can make, in the tests' box in memory or of
        servers from two folders.

        Args:
            box: where worlds are made.
            places: where the agents' places are made; None: in the box.
            workers: how many agents are at work at a time, while other tasks are made ready or taken down.
            terms: the terms of each run.
        """
        terms = terms or Terms()
        folders = {server.folder.parent for server in SERVERS.values() if server.folder}
        if places is None and len(folders) <= 1 and isinstance(box, ReproducibleBox) and (recipe := box.recipe):
            supervisors = supervisors_of(recipe, next(iter(folders), None))
            return cls(SupervisedPlayer(box, supervisors, workers=workers, models=terms.models), terms)
        return cls.in_box(box, places, workers=workers, terms=terms)


@dataclass(frozen=True, slots=True)
class Job:
    """One task for one submission, in one setup; `alias` is what the agent is shown instead of the task's id.

    Attributes:
        stop: set when the set is given up.
        recorded: the handle of the present attempt, once that is recorded as served.
    """

    planned: PlannedTask
    submission: Submission
    setup: RunSetup
    alias: str
    journal: RunJournal = field(default_factory=RunJournal)
    stop: threading.Event = field(default_factory=threading.Event)
    recorded: list[str] = field(default_factory=list)

    @property
    def task(self) -> Task:
        """The task as it is served."""
        return self.planned.task

    @property
    def terms(self) -> Terms:
        """Its terms."""
        return self.setup.terms


def new_alias() -> str:
    """Make a per-run alias for what an agent is shown instead of a task's id."""
    return f"r-{secrets.token_hex(8)}"


def checked(job: Job) -> Job:
    """Refuse a job that may not be run.

    Raises:
        Refused: a solution, or a world that was used before, is for what is no reference agent; or the task still has
            free parameters.
    """
    if job.planned.solution is not None and job.submission.submittable:
        raise Refused(f"{job.submission.name} is a submission, and no submission is ever handed a solution")
    if job.setup.kept and job.submission.submittable:
        raise Refused(f"{job.submission.name} is a submission, and each of its worlds is a fresh one")
    if job.task.free:
        raise Refused(f"task {job.task.id} has free parameters; fill them for this submitter before it is served")
    return job
