"""Documents of the API as models, which check what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from sandbox.remote_document import RemoteDocument

SubmissionSet = Literal["dev", "private", "check"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
UNFINISHED = ("queued", "running")


class Failure(RemoteDocument):
    """Why a submission failed; `ours` says that it was the service's fault."""

    code: str
    hint: str
    ours: bool


class Rate(RemoteDocument):
    """A rate between 0 and 1, with its interval."""

    value: float
    low: float
    high: float


class Score(RemoteDocument):
    """How many public tasks were passed."""

    passed: int
    attempted: int


class Figure(RemoteDocument):
    """A figure with its interval; None where nothing was attempted."""

    value: float | None
    low: float | None
    high: float | None


class PartFigures(RemoteDocument):
    """The disclosed figures of a part of a run; those beside the ranked one are kept as they came."""

    model_config = ConfigDict(extra="allow")

    attempted: int
    success_rate: Figure


class Figures(RemoteDocument):
    """The disclosed figures of a private run: over the cohorts that stay sealed, and over all of them."""

    sealed: PartFigures | None = None
    whole: PartFigures | None = None


class Submission(RemoteDocument):
    """A submission as its owner may see it.

    Attributes:
        id: its name, `s-…`.
        set: the tasks that it is run on.
        kind: `image` or `endpoint`.
        model: the language model that it may use, or None.
        counts: whether it was named to count.
        month: the benchmark month.
        state: where it is.
        place: how many are before it in the queue, while it waits.
        failure: why it failed, or None.
        charged: whether it counts against a quota.
        run: the number of its private run in the public log, or None.
        figures: the disclosed figures of a private run, or None.
        score: what was passed on the dev set or in a check, or None.
        created_at: when it was submitted.
    """

    id: str
    set: SubmissionSet
    kind: Literal["image", "endpoint"]
    model: str | None
    counts: bool
    month: str
    state: State
    place: int | None
    failure: Failure | None
    charged: bool
    run: int | None
    figures: Figures | None
    score: Score | None
    created_at: datetime

    @property
    def ended(self) -> bool:
        """Whether it neither waits nor runs."""
        return self.state not in UNFINISHED

    @property
    def success_rate(self) -> Rate | None:
        """The success rate that is ranked, of a private run that is done."""
        parts = (self.figures.sealed, self.figures.whole) if self.figures else ()
        rate = next((part.success_rate for part in parts if part and part.attempted), None)
        if rate is None or rate.value is None or rate.low is None or rate.high is None:
            return None
        return Rate(value=rate.value, low=rate.low, high=rate.high)


class Run(RemoteDocument):
    """The public tasks of a run.

    Attributes:
        id: the submission's name.
        trace: each task with its calls, as the API gives it.
    """

    id: str
    trace: Mapping[str, Any] = Field(repr=False)


class NamedAgent(RemoteDocument):
    """An agent that was submitted.

    Attributes:
        agent: its name as submitted: the image's repository or the endpoint's host.
        display_name: the name that its owner chose, or None.
        removed: the name that a maintainer removed, until its owner chooses another one, or None.
    """

    agent: str
    display_name: str | None
    removed: str | None


class SubmissionPage(RemoteDocument):
    """A page of submissions, the newest first; `next` is the cursor of the next page, or None."""

    submissions: tuple[Submission, ...]
    next: str | None


class NamedAgents(RemoteDocument):
    """The agents that the caller has submitted."""

    agents: tuple[NamedAgent, ...]
