"""Trial of one task for its author: with a reference solution, a mutant or an agent command; it counts nowhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quarterturn.errors import Malformed
from quarterturn.runs.request import RunRequest
from sandbox.boxes.box import Box
from sandbox.claim_judge.claim_judge import ClaimJudge
from sandbox.isolation import machine_lock
from sandbox.isolation.run_classes import RunClass
from sandbox.runs.job import Terms
from sandbox.runs.trial import Trial, Trials
from vault.task.document import Task

SUBMITTER = "trial"


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """What is to be played.

    Attributes:
        agent: an agent's command, or None for a solution.
        solution: the name of the reference solution; None for the first one.
        mutant: the name of the mutant that its end state is changed by, or None.

    Raises:
        Malformed: an agent, and something to be played instead of one.
    """

    agent: str | None = None
    solution: str | None = None
    mutant: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be played together."""
        if self.agent is not None and (self.solution is not None or self.mutant is not None):
            raise Malformed("--agent plays the task itself: leave --solution and --mutant out")


def play(
    task: Task,
    provenance: Mapping[str, Any],
    request: TrialRequest,
    make_box: Callable[[RunClass], Box],
    *,
    public: bool,
    claims: ClaimJudge | None = None,
) -> Trial:
    """Play a task; of one with free parameters, the base.

    Args:
        task: the task.
        provenance: its solutions and mutants.
        request: what is to be played.
        make_box: gives a box for a class of runs.
        public: whether everybody may know the task.
        claims: who judges claims about the answer; without one, they are unknown.

    Raises:
        NotFound: there is no solution, mutant or agent of that name.
        Malformed: the task or the agent cannot be played; the message says why.
        Unavailable: there is no box.
    """
    base, filled = task.base(), task.in_base(dict(provenance))
    if request.agent is None:
        trials = Trials(make_box("open" if public or claims else "sealed"), Terms(claims=claims))
        if request.mutant is None:
            return trials.solution(base, filled, request.solution)
        return trials.mutant(base, filled, request.mutant, request.solution)
    run = RunRequest(None, request.agent, SUBMITTER, None)
    run_class = run.run_class(private=not public, judged=claims is not None)
    submission, box = run.submission(lambda: make_box(run_class))
    with machine_lock.playing(run_class):
        return Trials(box, Terms(claims=claims)).agent(base, submission)
