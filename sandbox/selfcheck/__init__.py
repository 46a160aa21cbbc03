"""Does the wall hold? Named attempts to get out, to stay, and to touch a score, each with the control that stops it."""

from sandbox.selfcheck.attempt import Attempt, Outcome, Part, Spec
from sandbox.selfcheck.suite import attack, attempts, selfcheck

__all__ = ["Attempt", "Outcome", "Part", "Spec", "attack", "attempts", "selfcheck"]
