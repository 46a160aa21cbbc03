"""Self-check of the isolation: named attacks to escape from an agent's place, each with the control that stops it."""

from sandbox.attacks.harness.attempt import Attempt, Outcome, Spec, SuitePart
from sandbox.attacks.suite import selfcheck

__all__ = ["Attempt", "Outcome", "Spec", "SuitePart", "selfcheck"]
