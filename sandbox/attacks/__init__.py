"""Self-check of the isolation: named attacks to escape, persist or forge a score, each with the control that stops
it."""

from sandbox.attacks.harness.attempt import Attempt, Outcome, Spec, SuitePart
from sandbox.attacks.suite import attack, attempts, selfcheck

__all__ = ["Attempt", "Outcome", "Spec", "SuitePart", "attack", "attempts", "selfcheck"]
