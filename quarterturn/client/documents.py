"""Documents of the API as dataclasses, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, TypeVar

from quarterturn.client.problem import no_answer

SubmissionSet = Literal["dev", "private", "check"]
State = Literal["queued", "running", "done", "failed", "cancelled"]
UNFINISHED = ("queued", "running")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a submission failed; `ours` says that it was the service's fault."""

    code: str
    hint: str
    ours: bool


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate between 0 and 1, with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Score:
    """How many public tasks were passed."""

    passed: int
    attempted: int


@dataclass(frozen=True, slots=True)
class Submission:
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
    figures: Mapping[str, Any] | None
    score: Score | None
    created_at: datetime

    @property
    def ended(self) -> bool:
        """Whether it neither waits nor runs."""
        return self.state not in UNFINISHED

    @property
    def success_rate(self) -> Rate | None:
        """The success rate that is ranked, of a private run that is done."""
        figures = self.figures or {}
        parts = (figures[part] for part in ("sealed", "whole") if part in figures)
        part = next((part for part in parts if part["attempted"]), None)
        if part is None or part["success_rate"]["value"] is None:
            return None
        return Rate(*(float(part["success_rate"][name]) for name in ("value", "low", "high")))


@dataclass(frozen=True, slots=True)
class Run:
    """The public tasks of a run.

    Attributes:
        id: the submission's name.
        trace: each task with its calls, as the API gives it.
    """

    id: str
    trace: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class NamedAgent:
    """An agent that was submitted.

    Attributes:
        agent: its name as submitted: the image's repository or the endpoint's host.
        display_name: the name that its owner chose, or None.
        removed: the name that a maintainer removed, until its owner chooses another one, or None.
    """

    agent: str
    display_name: str | None
    removed: str | None


@dataclass(frozen=True, slots=True)
class SubmissionPage:
    """A page of submissions, the newest first; `next` is the cursor of the next page, or None."""

    submissions: tuple[Submission, ...]
    next: str | None


def submission_of(document: Mapping[str, Any]) -> Submission:
    """Read a submission."""

    def read() -> Submission:
        known = {item.name: document[item.name] for item in fields(Submission)}
        failure = Failure(**known["failure"]) if known["failure"] else None
        score = Score(**known["score"]) if known["score"] else None
        made_at = datetime.fromisoformat(known["created_at"])
        made = Submission(**known | {"failure": failure, "score": score, "created_at": made_at})
        _ = made.success_rate  # of another form than is known it says so here
        return made

    return parsed(read)


def run_of(document: Mapping[str, Any]) -> Run:
    """Read a run."""
    return Run(document["id"], document["trace"])


def parsed(read: Callable[[], T]) -> T:
    """Read an answer; one of another form is an error of the service."""
    try:
        return read()
    except (KeyError, TypeError, ValueError) as error:
        raise no_answer(
            f"The service answers in another form than this client knows ({type(error).__name__})."
        ) from None
