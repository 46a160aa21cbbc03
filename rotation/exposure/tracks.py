"""Tracks: who sees what of a live set, as one table. Scores of different tracks never share a rank.

What an agent sees behind the wall stays there. Whoever is sent a task reads it, so it is sent the cohort that leaves
next and nothing else, and the skeletons of what it was sent are *seen* from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rotation.calendar import Month
from rotation.errors import NotAllowed
from rotation.month.store import Cohort
from sandbox.boxes.box import Box
from sandbox.runs.submission import Submission


@dataclass(frozen=True, slots=True)
class Track:
    """A track.

    Attributes:
        name: as in the `run-open` statement.
        channel: how its exposures are counted; None stands for the box.
        read: whether somebody reads the tasks that are served.
        ranked: whether its scores may have a rank.
    """

    name: str
    channel: str | None = None
    read: bool = False
    ranked: bool = True

    def cohorts(self, live: Iterable[Cohort], month: Month) -> tuple[Cohort, ...]:
        """Choose what is served of the live cohorts in `month`: all, or the sunset cohort where the tasks are read.

        Raises:
            NotAllowed: there is none.
        """
        chosen = tuple(cohort for cohort in live if not self.read or cohort.retires == month)
        if not chosen:
            raise NotAllowed(f"no cohort is live in {month} that the track '{self.name}' could be served")
        return chosen


DOCKER = Track("docker")
MODEL = Track("docker-model-gateway")  # the sealed text goes to the upstream of a model, and is counted as such
ENDPOINT = Track("endpoint", channel="endpoint", read=True)
UNOFFICIAL = Track("unofficial", ranked=False)

TRACKS: Mapping[str, Track] = {track.name: track for track in (DOCKER, MODEL, ENDPOINT, UNOFFICIAL)}


def track_of(submission: Submission, box: Box, upstream: str | None = None) -> Track:
    """Say which track a submission runs in; `upstream` names the language model that it may ask, if there is one."""
    if submission.kind == "endpoint":
        return ENDPOINT
    official = MODEL if upstream else DOCKER
    return official if box.official and submission.kind == "image" else UNOFFICIAL
