"""Spot check of sealed states: judges each a second time with readers and judges started for it alone.

No agent is run, no task is served, and no language model is asked: what one replied is in the sealed result. What only
a backend can read is read back in a fresh world, as at first. Nothing of a state is looked into by this process. What
a runner handed in is also compared with what the calls of its transcript leave (`sandbox.runs.replay`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Self

from sandbox.boxes.box import Box, ResourceLimits
from sandbox.claim_judge.exchange import ClaimExchange, replies
from sandbox.errors import Lost, Malformed, Unjudged
from sandbox.isolation.forkserver import ForkServer
from sandbox.judge import StateJudge
from sandbox.judge.process import JUDGES, READERS
from sandbox.judge.state_judge import as_it_is
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.job import RunSetup
from sandbox.runs.replay import ReplayResult, replay
from sandbox.runs.task_world import question_of, read_by, untouched
from sandbox.servings.state_reader import read_back
from sandbox.world.frozen import FrozenState
from vault.errors import kind_of
from vault.task.document import Task
from verifiers.language.verdict import Verdict

TRIES = 2
"""How often a state is judged where a reader, a judge or a backend of ours fails."""


class JudgeAgain:
    """Readers and judges of one spot check, as a context that ends them.

    Args:
        box: gives the box of a name, in which backends are started; asked for tasks that need one.
    """

    def __init__(self, box: Callable[[str], Box]) -> None:
        self._box, self._servers = box, (ForkServer(*READERS), ForkServer(*JUDGES))
        self._judging = StateJudge(*self._servers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()

    def verdict(
        self, box: str, task: Task, left: UnjudgedResult, claims: Sequence[ClaimExchange] = ()
    ) -> Verdict | None:
        """Return the verdict of a task's predicate on what was left; None where the state cannot be read.

        Args:
            box: the name of the box that it was left in.
            task: as it was served.
            left: what was sealed.
            claims: what a language model said of the claims in the predicate; it is not asked again.

        Raises:
            Unjudged: a reader, a judge or a backend failed each time, for a reason of ours.
            Unavailable: a box, a reader or a judge cannot be had now; try again.
        """
        answer, seed = left.transcript.answer, partial(untouched, task.document)
        question = replace(question_of(task), replies=replies(claims))
        for _ in range(TRIES):
            try:
                return self._judging.verdict(question, left.state, answer, seed, self._back(box, task)).verdict
            except Malformed:
                return None
            except (Lost, OSError):
                continue
        raise Unjudged(f"the state that was left of task {task.id} could not be judged again, {TRIES} times")

    def replay(self, box: str, task: Task, left: UnjudgedResult) -> ReplayResult:
        """Play the calls of a transcript again on this machine, and compare what they leave with what was handed in.

        Args:
            box: the name of the box that it was left in.
            task: as it was served.
            left: what was sealed.
        """
        try:
            player = RunSetup.supervised(self._box(box)).player
        except Exception as error:
            if kind_of(error) is None:
                raise
            return ReplayResult.NOT_PLAYED  # this machine has no such box
        return replay(player, self._judging, task, left)

    def _back(self, box: str, task: Task) -> Callable[[FrozenState], FrozenState]:
        servers = read_by(task)
        if not servers:
            return as_it_is
        return lambda state: read_back(self._box(box), servers, state, ResourceLimits(), self._judging)
