"""Run requests: what is to be run, and what a home gives to its runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from quarterturn.boxes import digest_of
from quarterturn.choices import BoxName
from quarterturn.errors import Malformed
from quarterturn.runs.hosted_endpoint import Hosting
from sandbox.boxes.box import AgentLauncher, Box
from sandbox.endpoint.signature import Sender
from sandbox.image_reference import ImageReference
from sandbox.isolation.run_classes import RunClass, run_class
from sandbox.runs import submission as submissions
from sandbox.runs.submission import Submission
from vault.task.document import Task

if TYPE_CHECKING:  # loads SQLAlchemy, which a dev run needs for nothing
    from grammars.language.grammar import Draft
    from quarterturn.keys.claim_judge import ClaimJudges
    from quarterturn.keys.models import ModelUpstreams
    from quarterturn.settings import Settings
    from quarterturn.submissions.store.queue import Lease
    from quarterturn.submissions.store.requests import SubmissionRecord
    from rotation.month.sets import SetSpec


def is_held(lease: Lease | None) -> bool:
    """Return whether a run goes on: that of a command does until it is interrupted, a worker's while it has the job."""
    return lease is None or lease.status() == "held"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run: the agent with its packages, its submitter, its model, and the box, if one was named.

    Raises:
        Malformed: not exactly one thing is submitted, an image for a box that has none, or no image's name.
    """

    image: str | None
    agent: str | None
    submitter: str
    box: BoxName | None
    hosting: Hosting | None = None
    model: str | None = None
    packages: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run, before anything is started for it."""
        if self.hosting is not None and self.model is not None:
            raise Malformed("a hosted endpoint brings its own model: leave --model out")
        if sum(given is not None for given in (self.image, self.agent, self.hosting)) != 1:
            raise Malformed("name one of --image, --agent and --endpoint")
        if self.packages is not None and self.agent is None:
            raise Malformed("--packages belong to --agent: an image and an endpoint bring their own")
        if self.image is not None and self.box == "bwrap":
            raise Malformed("an image needs the docker box: leave --box bwrap out, or give --agent a command")
        if self.image is not None:
            ImageReference.parse(self.image)

    @classmethod
    def of(cls, submission: SubmissionRecord, settings: Settings) -> Self:
        """Return what a submission through the service asks to be run."""
        service, name = settings.service, submission.reference
        if submission.kind == "image":
            return cls(name, None, submission.account, None, model=submission.model)
        hosting = Hosting(name, service.callbacks, service.callbacks_url or None)
        return cls(None, None, submission.account, settings.run.box, hosting, submission.model)

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
            made, box = submissions.command(self.agent, submitter=self.submitter, packages=self.packages), make_box()
        else:
            box = make_box()
            made = submissions.image(self.image or "", submitter=self.submitter, resolve=partial(digest_of, box))
        box.fits(made.program)
        return made, box

    def places(self, sender: Callable[[], Sender]) -> AbstractContextManager[AgentLauncher | None]:
        """Return where agents run, if not in the box; an endpoint's address is pinned and its callbacks are heard."""
        return self.hosting.places(sender()) if self.hosting else nullcontext()


@dataclass(frozen=True, slots=True)
class Facilities:
    """What a home gives to its runs.

    Attributes:
        spec: its set, whose dev tasks are public.
        models: the language models that agents may ask.
        claim_judges: the claim judge, if the settings name one.
        box: makes the box of a name (None: that of the settings) for a class of runs.
        sender: makes the signer of requests to hosted endpoints.
    """

    spec: SetSpec
    models: ModelUpstreams
    claim_judges: ClaimJudges
    box: Callable[[BoxName | None, RunClass], Box]
    sender: Callable[[], Sender]

    def dev_drafts(self, first: int | None = None) -> Sequence[Draft]:
        """Return the first drafts of the public dev set, or all."""
        from rotation.generation import shipped_dev_sets  # noqa: PLC0415 - draws in processes of its own

        return shipped_dev_sets.drafts(self.spec)[:first]

    def dev_tasks(self, first: int | None = None) -> Sequence[Task]:
        """Return the first tasks of the public dev set, or all."""
        from rotation.generation import shipped_dev_sets  # noqa: PLC0415 - likewise

        return shipped_dev_sets.tasks(self.spec, first=first)
