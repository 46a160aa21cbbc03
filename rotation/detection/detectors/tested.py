"""What a test says: which hypothesis about whom, and how surprising the results are if it is wrong. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tested:
    """One test that was made.

    Attributes:
        kind: `leak`, `copy`, `family` or `task`.
        subject: who or what was tested: a submitter, `A|B`, a template family, a task's id.
        p_value: the chance of results at least as telling if nothing is wrong; above 0, at most 1.
        z: the same on a normal scale, large where something is wrong.
        effect: how much of it there is, in the kind's own unit; None where that cannot be said.
        interval: what that may be as well, at 95 %.
    """

    kind: str
    subject: str
    p_value: float
    z: float
    effect: float | None = None
    interval: tuple[float, float] | None = None
