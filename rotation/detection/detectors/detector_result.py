"""The result of one detector's test of one subject: p-value, z-score, effect and interval. Pure."""

from __future__ import annotations

from dataclasses import dataclass

MIN_SUBMITTERS = 5  # in a rotation; below, no verdict about leaks


@dataclass(frozen=True)
class DetectorResult:
    """The result of one test.

    Attributes:
        kind: `leak`, `copy`, `family`, `task`, `echo` or `group`.
        subject: who or what was tested: a submitter, `A|B`, a template family, a task's id.
        p_value: the p-value under the hypothesis that nothing is wrong; above 0, at most 1.
        z: the z-score, large if something is wrong.
        effect: the effect size, in the kind's own unit; None if it cannot be estimated.
        interval: the 95 % interval of the effect, if there is one.
        detail: where what was found comes from, if that is known.
        tasks: of an `echo`, the tasks that speak most clearly, the clearest first.
    """

    kind: str
    subject: str
    p_value: float
    z: float
    effect: float | None = None
    interval: tuple[float, float] | None = None
    detail: str | None = None
    tasks: tuple[str, ...] = ()
