"""Why a submission, a cancellation or a publication was refused, as problems: what happened and the next step.

Each is made from what the caller sent or may see; no exception's text is passed on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from quarterturn.choices import SubmissionSet
from quarterturn.display_names.rules import WORDS
from quarterturn.errors import Malformed
from quarterturn.http.dependencies.services import Months
from quarterturn.http.responses import event_streams, models
from quarterturn.http.responses.problems import Limit, Problem, shown
from quarterturn.http.responses.validation import of_field
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.requests import SubmissionRecord, SubmissionRequest
from sandbox.errors import SandboxError

ENDPOINT = (
    "a URL as https://agent.example.org/tasks: a full name or a public address, port 443 or one from 1024 on, "
    "without user and fragment"
)


def request(wanted: models.Agent, kind: SubmissionSet) -> SubmissionRequest:
    """Give what is asked for.

    Raises:
        Problem: it names not exactly one agent, or one that could never be run.
    """
    counts = isinstance(wanted, models.NewSubmission) and wanted.counts
    if wanted.image is None and wanted.endpoint is None:
        raise Problem("invalid", **of_field("image", "an image or an endpoint; neither was given"))
    if wanted.image is not None and wanted.endpoint is not None:
        raise Problem("invalid", **of_field("endpoint", "an image or an endpoint; both were given"))
    if counts and kind != "private":
        raise Problem("invalid", **of_field("counts", "false, unless `set` is private", given=True))
    try:
        return SubmissionRequest(kind, wanted.image, wanted.endpoint, wanted.model, counts)
    except (Malformed, SandboxError):
        if wanted.endpoint is not None:
            raise Problem("invalid", **of_field("endpoint", ENDPOINT)) from None
        expected = f"{models.WORDS[models.IMAGE]}, such as {models.EXAMPLES[models.IMAGE]}"
        raise Problem("invalid", **of_field("image", expected, wanted.image)) from None


def not_live(months: Months) -> Problem:
    """Say why no private set accepts runs."""
    if not months.turns():
        detail = "No private set is live yet. Submit to the dev set, or wait for the first month; see /rotations."
        return Problem("not-now", detail=detail, state="no-live-set")
    detail = "The monthly turn is under way. Submit again once it is done, usually within the hour; see /rotations."
    return Problem("not-now", {"retry-after": "60"}, detail=detail, state="turn-under-way")


def no_model(wish: SubmissionRequest) -> Problem:
    """Say that the service offers no such model."""
    expected = "the name of a model that this service offers; its operator names them. Without one, leave it out"
    return Problem("invalid", **of_field("model", expected, wish.model))


def foreign_image(wish: SubmissionRequest, prefixes: Sequence[str]) -> Problem:
    """Say how the caller may name images."""
    names = " or ".join(["a digest (sha256:…)", *(f"a name that begins with {prefix}" for prefix in prefixes)])
    detail = f"The image may be somebody else's. Name it by {names}."
    return Problem("not-yours", detail=detail, field="image", given=shown(wish.image), expected=names)


def no_endpoints() -> Problem:
    """Say that no hosted endpoint can be run here."""
    detail = (
        "This service runs no hosted endpoints: its operator has set no address that they could call back. "
        "Submit an image, or ask the operator."
    )
    return Problem("conflict", detail=detail, field="endpoint", expected="an image", state="no-endpoints")


def no_track(wish: SubmissionRequest, tracks: Collection[str]) -> Problem:
    """Say that the private set accepts no runs of this kind, and which it does."""
    field = "endpoint" if wish.endpoint is not None else "model" if wish.model is not None else "image"
    detail = (
        f"The private set accepts no runs of this kind; its tracks are: {', '.join(tracks)}. Submit to the dev set."
    )
    return Problem("conflict", detail=detail, field=field, expected=" or ".join(tracks), state="no-track")


def quota(quotas: Mapping[str, Mapping[str, Any]], kind: SubmissionSet, limits: ServiceSettings) -> Problem:
    """Say which quota is used up, and when it resets; if none of the caller's is, then the one of all parties."""
    for name in (kind, "waiting"):
        if not quotas[name]["left"]:
            limit, until = quotas[name]["limit"], quotas[name]["until"]
            if name == "waiting":
                detail = f"{limit} of your submissions wait or run, as many as may. Wait until one ends, or cancel one."
            else:
                detail = f"All {limit} submissions of the quota '{name}' are used. It resets at {until}."
            return Problem("quota", detail=detail, limit=_limit(name, limit, until))
    until = quotas["private"]["until"]
    detail = f"All {limits.private_in_all} private runs of this month, shared by all parties, are used. "
    limit = _limit("private_in_all", limits.private_in_all, until)
    return Problem("quota", detail=f"{detail}The limit resets at {until}.", limit=limit)


def _limit(name: str, value: int, until: str | None) -> Limit:
    limit = Limit(name=name, value=value, unit="submissions")
    return limit if until is None else Limit(**limit, resets_at=until)


def begun() -> Problem:
    """Say that a run can no longer be named to count."""
    detail = "A private run of yours has begun this month, and the first one counts. Submit without `counts`."
    return Problem("conflict", detail=detail, field="counts", given=True, expected="false", state="run-begun")


def no_agent() -> Problem:
    """Say that the caller has submitted no agent of this name."""
    detail = "You have submitted no agent of this name. GET /display-names lists yours; submit it first."
    return Problem("not-found", detail=detail)


def reserved_name(name: str) -> Problem:
    """Say which words no display name has."""
    words = ", ".join(WORDS)
    return Problem("invalid", **of_field("name", f"a name that is not reserved, without the words {words}", name))


def name_taken(name: str) -> Problem:
    """Say that a display name is taken."""
    detail = (
        "This name is taken: another agent or account has or had it, or one that looks like it (case, separators, "
        "0 and O, 1 and l and I do not count). Choose another one."
    )
    return Problem("conflict", detail=detail, field="name", given=shown(name), state="name-taken")


def names_used_up(most: int) -> Problem:
    """Say that an account has chosen as many names as it may."""
    detail = f"Your account has chosen {most} display names, as many as it may. Choose one that it had before."
    return Problem("quota", detail=detail, limit=Limit(name="display_names", value=most, unit="names"))


def ended(record: SubmissionRecord) -> Problem:
    """Say that a submission has ended."""
    detail = f"This submission has already ended ({record.state}), so it cannot be cancelled. Nothing was changed."
    return Problem("conflict", detail=detail, state=record.state, expected="queued or running")


def nothing_public(record: SubmissionRecord) -> Problem:
    """Say that nothing of a run is public yet."""
    when = (
        "A private run's tasks become public as they retire, at the month's turn."
        if record.tasks == "private"
        else "Wait until it is done."
    )
    detail = f"Nothing of this run is public yet; its submission is {record.state}. {when}"
    return Problem("conflict", detail=detail, state=record.state)


def crowded(pause: int) -> Problem:
    """Say that an account has as many event streams as it may."""
    most = event_streams.MOST
    detail = f"This account has {most} open event streams, as many as may be. Close one, or poll /submissions/{{id}}."
    limit = Limit(name="streams", value=most, unit="open streams", retry_after=pause)
    return Problem("rate", {"retry-after": str(pause)}, detail=detail, limit=limit)
