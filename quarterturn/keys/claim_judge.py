"""Claim judge of a home: which upstream and model judge claims, with what, and whether that was checked.

Its upstream is one of `[models.NAME]`, with a key for dev and another for private runs, and it is the judge's alone:
agents are refused it. A month's set names a judge only if `quarterturn judge check` has measured it and found it over
the bars; what was measured is kept in the home, under the digest of what was measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from quarterturn.choices import TaskSet
from quarterturn.errors import NotFound, Refused
from quarterturn.home.paths import HomePaths
from quarterturn.keys.models import ModelUpstreams
from quarterturn.settings import ClaimJudgeSettings
from rotation.month.judge import JudgeDigests
from sandbox.claim_judge import anchors, prompt
from sandbox.claim_judge.anchors import Anchor
from sandbox.claim_judge.claim_judge import ClaimJudge, ClaimJudgeSpec
from vault.files import write_atomically
from verifiers.answer.claims import MAX_CLAIMS


class ClaimJudges:
    """The claim judge of one home, if its settings name one.

    Args:
        settings: the table `[claim_judge]`.
        models: gives the upstreams and their keys; opens the key ring.
        places: where the anchors lie, and what was measured is kept.
    """

    def __init__(self, settings: ClaimJudgeSettings, models: Callable[[], ModelUpstreams], places: HomePaths) -> None:
        self._settings, self._models, self._places = settings, models, places

    @property
    def named(self) -> bool:
        """Whether the settings name a judge."""
        return bool(self._settings.upstream)

    def spec(self) -> ClaimJudgeSpec:
        """Return the judge as the settings have it.

        Raises:
            NotFound: they name none.
        """
        if not self.named:
            raise NotFound("the settings name no claim judge: add a table [claim_judge] to them")
        settings, upstream = self._settings, self._models().upstream(self._settings.upstream)
        own = replace(upstream, models=(settings.model,), tokens=settings.tokens, requests=MAX_CLAIMS)
        return ClaimJudgeSpec(own, settings.answer_tokens)

    def anchors(self) -> list[Anchor]:
        """Return the judgements by people that the judge is checked against: the home's, else the shipped ones.

        Raises:
            NotFound: there is no file of the name in the settings.
            Malformed: the file holds no anchors.
            Refused: a digest in it is not that of what stands beside it.
        """
        return anchors.parse(*self._anchors())

    def digests(self) -> JudgeDigests | None:
        """Return the digests of the judge; None where the settings name none."""
        if not self.named:
            return None
        found = anchors.digest(anchors.parse(*self._anchors()))
        return JudgeDigests(anchors=found, parameters=self.spec().parameters(), rubric=prompt.digest())

    def checked(self) -> JudgeDigests | None:
        """Return the digests of the judge for a month's `set` statement; None where the settings name none.

        Raises:
            Refused: it was never checked as it is now, or it was found under a bar.
        """
        judge = self.digests()
        if judge is None:
            return None
        measured = self._measured()
        if measured.get("judge") != judge.digest:
            raise Refused(
                "the claim judge was never checked as the settings have it now: run `quarterturn judge check`, and "
                "turn the month when it has passed"
            )
        if measured["refused"]:
            raise Refused(f"the claim judge was checked and is refused: {'; '.join(measured['refused'])}")
        return judge

    def keep(self, judge: JudgeDigests, report: dict[str, Any]) -> None:
        """Keep what was measured of a judge, in the place of what was measured before."""
        place = self._places.claim_judge_check
        kept = json.dumps({"judge": judge.digest, **report}, indent=1, sort_keys=True)
        write_atomically(place, f"{kept}\n".encode(), place.with_name(f".{place.name}.part"))

    def judge(self, tasks: TaskSet) -> ClaimJudge | None:
        """Return the judge, with its key for runs of one kind; None where the settings name none.

        Raises:
            Locked: its key for these runs was never entered, or cannot be opened.
            Refused: dev and private runs have the same key.
        """
        if not self.named:
            return None
        spec = self.spec()
        return ClaimJudge(spec, self._models().key(spec.upstream.name, tasks))

    @contextmanager
    def opened(self, tasks: TaskSet) -> Iterator[ClaimJudge | None]:
        """Yield the judge as `judge` does, and end it afterwards."""
        judge = self.judge(tasks)
        try:
            yield judge
        finally:
            if judge:
                judge.close()

    def _anchors(self) -> tuple[bytes, str]:
        if not self._settings.anchors:
            return anchors.SHIPPED.read_bytes(), "the shipped anchors"
        place = self._places.home / self._settings.anchors
        if not place.is_file():
            raise NotFound(f"there is no file {place}, which claim_judge.anchors names")
        return place.read_bytes(), str(place)

    def _measured(self) -> dict[str, Any]:
        place: Path = self._places.claim_judge_check
        kept: dict[str, Any] = json.loads(place.read_bytes()) if place.is_file() else {}
        return kept
