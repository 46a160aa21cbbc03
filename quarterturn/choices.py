"""Fixed choices of command-line options and settings, each defined in this one place.

It imports nothing, so that the command line can name the choices without loading what they lead to.
"""

from __future__ import annotations

from typing import Literal

BoxName = Literal["auto", "docker", "bwrap"]
TaskSet = Literal["dev", "private"]
Category = Literal["single-tool", "composition", "recovery"]
Difficulty = Literal["easy", "medium", "hard"]
State = Literal["draft", "admitted", "reviewed", "live", "retired", "published", "rejected", "withdrawn"]
WithdrawalCause = Literal["leak", "broken"]
ReviewState = Literal["open", "explained", "confirmed"]
SubmissionSet = Literal["dev", "private", "check"]
WorkerClass = Literal["sealed", "open"]
Role = Literal["maintainer", "reviewer", "runner", "auditor", "submitter", "machine"]

LISTEN = "127.0.0.1:8701"
"""Default listen address for callbacks of hosted endpoints."""
