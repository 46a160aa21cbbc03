"""Run requests: what is to be run, where, and how a run is resumed, cancelled and stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quarterturn.choices import BoxName, TaskSet
from quarterturn.errors import Malformed
from quarterturn.runs.hosted_endpoint import Hosting
from sandbox.boxes.box import AgentLauncher, Box
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.endpoint.signature import Sender
from sandbox.image_reference import ImageReference
from sandbox.isolation.run_classes import RunClass, run_class
from sandbox.model_gateway.process import ModelGateway
from sandbox.runs import submission as submissions
from sandbox.runs.submission import Submission
from vault.task.document import Task

if TYPE_CHECKING:  # loads SQLAlchemy, which a dev run needs for nothing
    from sqlmodel import Session

LeaseStatus = Literal["held", "cancelled", "stopped", "lost"]


@dataclass(frozen=True, slots=True)
class RunControl:
    """Control of a run while it is played: resuming, cancelling and stopping it.

    Attributes:
        resume: the number of the run that an earlier attempt opened, or None.
        opened: called with the run's number within the transaction that opens it; if it raises, none is opened.
        lease_status: called once a second. A run that its owner `cancelled` is ended in the public log; one that the
            operator `stopped`, or that was `lost` to another worker, is resumed later.
        again: whether its holder resumes it without being told.
        before_close: called once all tasks were played, before the run is closed.
    """

    resume: int | None = None
    opened: Callable[[Session, int], None] = lambda _session, _number: None
    lease_status: Callable[[], LeaseStatus] = lambda: "held"
    again: bool = False
    before_close: Callable[[], None] = lambda: None


ALONE = RunControl()


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run: the agent, its submitter, its model, and the box, if one was named.

    Raises:
        Malformed: not exactly one thing is submitted, an image for a box that has none, or no image's name.
    """

    image: str | None
    agent: str | None
    submitter: str
    box: BoxName | None
    hosting: Hosting | None = None
    model: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run, before anything is started for it."""
        if self.hosting is not None and self.model is not None:
            raise Malformed("a hosted endpoint brings its own model: leave --model out")
        if sum(given is not None for given in (self.image, self.agent, self.hosting)) != 1:
            raise Malformed("name one of --image, --agent and --endpoint")
        if self.image is not None and self.box == "bwrap":
            raise Malformed("an image needs the docker box: leave --box bwrap out, or give --agent a command")
        if self.image is not None:
            ImageReference.parse(self.image)

    def run_class(self, *, private: bool, judged: bool = False) -> RunClass:
        """Say which class a run of it has, on the private set or on public tasks, with a claim judge or without."""
        kind = "endpoint" if self.hosting is not None else "image" if self.image is not None else "command"
        return run_class(private=private, kind=kind, model=self.model, judged=judged)

    @property
    def named_box(self) -> BoxName | None:
        """The box to use, or None where it is left to the settings; an image runs in the docker box only."""
        return "docker" if self.image is not None else self.box

    def submission(self, make_box: Callable[[], Box]) -> tuple[Submission, Box]:
        """Make the submission and then its box; an image is made the other way round, for an engine knows its digest.

        Raises:
            Malformed, NotFound, Refused: it cannot be submitted; the message says why.
            Unavailable: the box cannot be had.
        """
        if self.hosting is not None:
            return self.hosting.submission(self.submitter), make_box()
        if self.agent is not None:
            made, box = submissions.command(self.agent, submitter=self.submitter), make_box()
        else:
            box = make_box()
            resolve: Callable[[ImageReference], str] = getattr(box, "digest")  # noqa: B009 - of the docker box, which alone has images
            made = submissions.image(self.image or "", submitter=self.submitter, resolve=resolve)
        box.fits(made.program)
        return made, box

    def places(self, sender: Callable[[], Sender]) -> AbstractContextManager[AgentLauncher | None]:
        """Give where agents run, if it is not the box; an endpoint's address is pinned and its callbacks are heard."""
        return self.hosting.places(sender()) if self.hosting else nullcontext()


@dataclass(frozen=True, slots=True)
class Facilities:
    """What a home gives to its runs.

    Attributes:
        of_set: the name of the set.
        box: gives the box of a name (None: that of the settings) for a class of runs.
        sender: gives the signer of requests to hosted endpoints.
        model: gives the model process of an upstream for runs of a set; None where no upstream is named.
        dev_tasks: gives the first tasks of the public dev set, or all.
        claims: gives the claim judge for runs of a set; None where the settings name none.
    """

    of_set: str
    box: Callable[[BoxName | None, RunClass], Box]
    sender: Callable[[], Sender]
    model: Callable[[str | None, TaskSet], AbstractContextManager[ModelGateway | None]]
    dev_tasks: Callable[[int | None], Sequence[Task]]
    claims: Callable[[TaskSet], AbstractContextManager[ClaimJudge | None]] = lambda _: nullcontext()
