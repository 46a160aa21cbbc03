"""Tracks: the kinds of run, and which live cohorts each is served. Scores are never ranked across tracks.

What an agent sees in the sandbox stays there. A hosted endpoint's owner reads the tasks that it is sent, so it is only
sent the cohort that retires next, and the skeletons of these tasks are *seen* from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rotation.errors import NotAllowed
from rotation.month.store import Cohort
from sandbox.boxes.box import Box
from sandbox.runs.submission import Submission


@dataclass(frozen=True, slots=True)
class Track:
    """A kind of run, with its rules for serving and ranking.

    Attributes:
        name: as in the `run-open` statement.
        channel: the channel of its exposures; None stands for the box's name.
        read: whether somebody outside the sandbox reads the tasks that are served.
        ranked: whether its scores may be ranked.
    """

    name: str
    channel: str | None = None
    read: bool = False
    ranked: bool = True

    def cohorts(self, live: Iterable[Cohort], sunset: str) -> tuple[Cohort, ...]:
        """Choose the live cohorts that are served: all, or only `sunset`, the next to retire, if the tasks are read.

        Raises:
            NotAllowed: there is no such cohort.
        """
        chosen = tuple(cohort for cohort in live if not self.read or cohort.id == sunset)
        if not chosen:
            raise NotAllowed(f"no live cohort may be served to the track '{self.name}': {sunset} is not live")
        return chosen


DOCKER = Track("docker")
MODEL = Track("docker-model-gateway")  # the model's provider reads the tasks, counted as its own channel
JUDGED = Track("docker-judged")  # the claim judge's provider reads answers, counted as its own channel
ENDPOINT = Track("endpoint", channel="endpoint", read=True)
UNOFFICIAL = Track("unofficial", ranked=False)

TRACKS: Mapping[str, Track] = {track.name: track for track in (DOCKER, MODEL, JUDGED, ENDPOINT, UNOFFICIAL)}


def track_of(submission: Submission, box: Box, upstream: str | None = None, *, judged: bool = False) -> Track:
    """Return the track that a submission runs in.

    Args:
        submission: what is run.
        box: where.
        upstream: the language model that its agents may call, if any.
        judged: whether the month's set names a claim judge. That is an exit, so a run without another has a track of
            its own; one that has an exit keeps its track, in which all runs of the month are judged.
    """
    if submission.kind == "endpoint":
        return ENDPOINT
    official = MODEL if upstream else JUDGED if judged else DOCKER
    return official if box.official and submission.kind == "image" else UNOFFICIAL
