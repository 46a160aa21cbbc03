"""Submission service: what submitters can ask for, and what they are told.

Of a private run they see its state, its place in the queue, the minutes in which it started and ended, one code if it
failed, and its figures as `rotation.leaderboard.disclosure` discloses them; not its progress, or its result on any
task. A private task's result comes with the task's retirement, and the dev set's at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from quarterturn.errors import ForeignImage, NoModel, NotAllowed, NotNow
from quarterturn.failure_codes import CODES
from quarterturn.public_view import PublicViewWriter
from quarterturn.submissions.store.queue import Queue
from quarterturn.submissions.store.requests import Quota, SubmissionRecord, SubmissionRequest, Submissions
from quarterturn.submissions.store.traces import TraceScore, TraceStore
from rotation.calendar import Month
from rotation.errors import NotAllowed as NotLive
from rotation.exposure.tracks import DOCKER, ENDPOINT, JUDGED, MODEL
from rotation.leaderboard.store import ScoreStore
from rotation.month.set_file import TRACKS
from rotation.month.store import MonthStore
from rotation.runs.official import OfficialRuns
from sandbox.image_reference import ImagePattern, ImageReference
from vault.errors import Unavailable

Waits = Literal["next", "before", "own", "named", "again"] | None


@dataclass(frozen=True, slots=True)
class SubmissionPolicy:
    """What may be submitted.

    Attributes:
        images: names that an account may give to its images, beside digests.
        models: the language models that agents may ask.
        endpoints: whether hosted endpoints can be run: they call back to an address that the settings must name.
        tracks: the tracks in which private runs may be made.
        judged: says whether the set that is live names a claim judge.
    """

    images: Sequence[ImagePattern]
    models: Collection[str]
    endpoints: bool
    tracks: Collection[str] = TRACKS
    judged: Callable[[], bool] = lambda: False

    def prefixes(self, account: str) -> list[str]:
        """Return the beginnings that an account's names of images have."""
        return [pattern.prefix(account) for pattern in self.images]

    def require(self, account: str, wanted: SubmissionRequest) -> None:
        """Refuse what may not be submitted.

        Raises:
            NotAllowed: it is private, and its track is none of the set's; or it is an endpoint, and none can be run.
            ForeignImage: the image may be somebody else's.
            NoModel: the settings have no such model.
        """
        if wanted.tasks == "private" and (track := self._track(wanted)) not in self.tracks:
            field = "endpoint" if wanted.endpoint is not None else "model" if wanted.model is not None else "image"
            names = ", ".join(self.tracks)
            raise NotAllowed(
                f"the private set has no track '{track}'; its tracks are: {names}",
                detail=f"The private set accepts no runs of this kind; its tracks are: {names}. Submit to the dev set.",
                field=field,
                expected=" or ".join(self.tracks),
                state="no-track",
            )
        if wanted.endpoint is not None and not self.endpoints:
            raise NotAllowed(
                "the setting service.callbacks_url names no address that an endpoint could call back",
                detail="This service runs no hosted endpoints: its operator has set no address that they could call "
                "back. Submit an image, or ask the operator.",
                field="endpoint",
                expected="an image",
                state="no-endpoints",
            )
        if wanted.image is not None and not self.may_name(account, ImageReference.parse(wanted.image)):
            beginnings = [f"a name that begins with {prefix}" for prefix in self.prefixes(account)]
            names = " or ".join(["a digest (sha256:…)", *beginnings])
            raise ForeignImage(
                "an image is named by its digest, or begins as the setting service.images says",
                detail=f"The image may be somebody else's. Name it by {names}.",
                field="image",
                given=wanted.image,
                expected=names,
            )
        if wanted.model is not None and wanted.model not in self.models:
            expected = (
                "the name of a model that this service offers; its operator names them. Without one, leave it out"
            )
            message = f"the settings allow no model '{wanted.model}'"
            raise NoModel(message, field="model", expected=expected, given=wanted.model)

    def may_name(self, account: str, image: ImageReference) -> bool:
        """Say whether an account may name an image; names of other people's images can be guessed, digests cannot."""
        return image.digest is not None or any(pattern.permits(image, account) for pattern in self.images)

    def _track(self, wanted: SubmissionRequest) -> str:
        if wanted.endpoint is not None:
            return ENDPOINT.name
        return MODEL.name if wanted.model is not None else JUDGED.name if self.judged() else DOCKER.name


class SubmissionService:
    """Takes submissions, and cancels them.

    Args:
        submissions: the submissions.
        policy: what may be submitted.
        months: cohorts and turns.
        now: the present moment.
        official: ends the run of a cancelled submission that no worker plays.
        public_view: shows that it has ended.
    """

    def __init__(
        self,
        submissions: Submissions,
        policy: SubmissionPolicy,
        months: MonthStore,
        now: Callable[[], datetime],
        *,
        official: OfficialRuns,
        public_view: PublicViewWriter,
    ) -> None:
        self._submissions, self.policy = submissions, policy
        self._months, self._now, self._official, self._public_view = months, now, official, public_view

    def submit(
        self, account: str, wanted: SubmissionRequest, *, idempotency_key: str | None
    ) -> tuple[SubmissionRecord, bool]:
        """Accept a submission, and say whether it is new or was made before under the same idempotency key.

        Raises:
            NotNow: it is private, and nothing is live.
            NotAllowed, ForeignImage, NoModel: as for `SubmissionPolicy.require`.
            OverQuota, NotAllowed, KeyReused: as for `Submissions.take`.
        """
        self.policy.require(account, wanted)
        month = self._live_month() if wanted.tasks == "private" else self._month()
        return self._submissions.take(account, wanted, month=month, idempotency_key=idempotency_key)

    def cancel(self, name: str, account: str) -> SubmissionRecord:
        """Cancel a submission. The worker that plays its run ends the run; where none does, it is ended here.

        Raises:
            NotFound, NotAllowed: as for `Submissions.cancel`.
        """
        waits = self._submissions.get(name, account).state == "queued"
        gone = self._submissions.cancel(name, account)
        if waits and gone.run is not None:
            with suppress(Unavailable):  # then the turn ends it
                self._official.cancel(gone.run)
                self._public_view.update()
        return self._submissions.get(name, account)

    def quotas(self, account: str) -> dict[str, Any]:
        """Return the use and the rest of each quota."""
        quotas = self._submissions.quotas(account, self._month())
        return {name: _quota(quota) for name, quota in quotas.items()}

    def _month(self) -> str:
        """Return the live month, or the calendar month where none is live: runs of the dev set need no live month."""
        try:
            return self._live_month()
        except NotNow:
            return str(Month.of(self._now()))

    def _live_month(self) -> str:
        try:
            return str(self._months.live_month())
        except NotLive as error:
            why = {
                "detail": "No private set is live yet. Submit to the dev set, or wait for the first month; see "
                "/rotations.",
                "state": "no-live-set",
            }
            if self._months.turns():
                detail = "The monthly turn is under way. Submit again once it is done, usually within the hour; see "
                why = {"detail": f"{detail}/rotations.", "state": "turn-under-way", "retry_after": "60"}
            raise NotNow(str(error), **why) from None


class OwnerView:
    """Shows submissions to their owners.

    Args:
        queue: the order of the queue.
        submissions: the submissions.
        scores: the disclosed figures of private runs.
        traces: how many public tasks a submission passed.
        now: the present moment.
        at_once: how many submissions of a party run at a time.
    """

    def __init__(
        self,
        queue: Queue,
        submissions: Submissions,
        scores: ScoreStore,
        traces: TraceStore,
        *,
        now: Callable[[], datetime],
        at_once: int,
    ) -> None:
        self._queue, self._submissions, self._scores, self._traces = queue, submissions, scores, traces
        self._now, self._at_once = now, at_once

    def of(self, submission: SubmissionRecord) -> dict[str, Any]:
        """Return a submission as its owner may see it now."""
        return self.each([submission])[0]

    def each(self, submissions: Sequence[SubmissionRecord]) -> list[dict[str, Any]]:
        """Return submissions as their owners may see them now, in this order."""
        places = self._queue.places([submission.number for submission in submissions])
        public = [submission.id for submission in submissions if submission.tasks != "private"]
        scores = self._traces.scores(public) if public else {}
        return [
            self._shown(submission, places.get(submission.number), scores.get(submission.id))
            for submission in submissions
        ]

    def _shown(self, submission: SubmissionRecord, place: int | None, score: TraceScore | None) -> dict[str, Any]:
        code = CODES[submission.code] if submission.code else None
        private = submission.tasks == "private"
        return {
            "id": submission.id,
            "set": submission.tasks,
            "kind": submission.kind,
            "model": submission.model,
            "counts": submission.designated,
            "month": submission.month,
            "state": submission.state,
            "place": place,
            "failure": {"code": submission.code, "hint": code.hint, "ours": code.ours} if code else None,
            "charged": submission.charged,
            "run": submission.run,
            "figures": self._scores.disclosed(submission.run) if private and submission.run is not None else None,
            "score": score._asdict() if score else None,
            "agent": submission.reference,
            "created_at": submission.created_at.isoformat(),
            "started_at": _moment(submission.started_at, private=private),
            "ended_at": _moment(submission.ended_at, private=private),
        }

    def waits(self, submission: SubmissionRecord) -> Waits:
        """Say why a submission waits, or None where it does not.

        The causes: no free worker, others before it, as many of its party running as may, one that its party named to
        count, or a retry after a failure of ours.
        """
        place = self._queue.places([submission.number]).get(submission.number)
        if place is None:
            return None
        if submission.not_before is not None and submission.not_before > self._now():
            return "again"
        if self._queue.awaits_named(submission.number):
            return "named"
        if self._submissions.count_running(submission.account) >= self._at_once:
            return "own"
        return "before" if place else "next"


def _moment(moment: datetime | None, *, private: bool) -> str | None:
    """Write a moment; of a private run it is that of the full minute before, and tells nothing finer."""
    if moment is None:
        return None
    return (moment.replace(second=0, microsecond=0) if private else moment).isoformat()


def _quota(quota: Quota) -> dict[str, Any]:
    return asdict(quota) | {"left": quota.left, "until": quota.until.isoformat() if quota.until else None}
