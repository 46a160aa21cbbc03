"""Part of the suite that runs inside an agent's place, as the core's self-check, with its positive controls."""

from __future__ import annotations

from quarterturn_attacks.controls.positive_controls import controls
from sandbox.attacks.inside_suite import ATTEMPTS, run

__all__ = ["ATTEMPTS", "controls", "run"]
