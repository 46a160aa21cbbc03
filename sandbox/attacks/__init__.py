"""Does the wall hold? Named attempts to get out, to stay, and to touch a score, each with the control that stops it."""

from sandbox.attacks.harness.attempt import Attempt, Outcome, Part, Spec
from sandbox.attacks.suite import attack, attempts, selfcheck

__all__ = ["Attempt", "Outcome", "Part", "Spec", "attack", "attempts", "selfcheck"]
