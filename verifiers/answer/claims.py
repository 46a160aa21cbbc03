"""Claims about an answer: what a language model's replies say of each, and the coverage that they come to. Pure.

A claim is asked about beforehand, in a process that holds no task's key (`sandbox.claim_judge`), and its reply is read
here. The outcome is one of three words, worth 0, 1/2 and 1; coverage is their mean, in exact fractions. A claim without
a readable reply is *unknown*: the low bound of the coverage counts it as 0, the high bound as 1, and only what both
bounds agree on is a verdict. (Outcomes, worths, threshold and "pass iff coverage >= threshold" are those of MCP-Atlas,
whose own code gives an unread claim 0.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from verifiers.formats.plain_json import parse_json

MAX_CLAIMS = 32
MAX_TEXT = 2000
"""Characters of a claim, and of its rubric."""
MAX_REPLY = 4000
"""Characters of a reply; a longer one is not read."""
DEFAULT_THRESHOLD = 0.75

_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
CLAIMS_SCHEMA: Mapping[str, Any] = {
    "type": "array",
    "minItems": 1,
    "maxItems": MAX_CLAIMS,
    "description": "list of claims: `id`, `text`, and `rubric` where the text alone leaves room for judgement",
    "items": {
        "type": "object",
        "required": ["id", "text"],
        "additionalProperties": False,
        "properties": {
            "id": {"type": "string", "pattern": r"^[a-z0-9][a-z0-9-]{0,31}$(?!\n)", "description": "claim's id"},
            "text": _TEXT,
            "rubric": _TEXT,
        },
    },
}
THRESHOLD_SCHEMA: Mapping[str, Any] = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}


class ClaimOutcome(StrEnum):
    """What a model says of one claim."""

    INCORRECT = "incorrect"
    PARTIALLY_CORRECT = "partially_correct"
    CORRECT = "correct"

    @property
    def worth(self) -> Fraction:
        """Return 0, 1/2 or 1."""
        return Fraction(list(ClaimOutcome).index(self), 2)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that an answer should support.

    Attributes:
        id: its name, unique in its task.
        text: the claim.
        rubric: how to judge it, or empty.
    """

    id: str
    text: str = field(repr=False)
    rubric: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Bounds of the mean worth of some claims; they are equal where no outcome is unknown."""

    low: Fraction
    high: Fraction

    def reaches(self, threshold: Fraction) -> bool | None:
        """Say whether it is at least the threshold; None where the unknown outcomes decide that."""
        if self.low >= threshold:
            return True
        return None if self.high >= threshold else False

    def __str__(self) -> str:
        """Return one fraction, or both."""
        return str(self.low) if self.low == self.high else f"between {self.low} and {self.high}"


def coverage(outcomes: Sequence[ClaimOutcome | None]) -> Coverage:
    """Return the coverage of one outcome or more; None stands for an unknown one."""
    known = sum((outcome.worth for outcome in outcomes if outcome is not None), Fraction(0))
    return Coverage(known / len(outcomes), (known + outcomes.count(None)) / len(outcomes))


def reply_outcome(reply: str | None) -> ClaimOutcome | None:
    """Read a model's reply, `{"outcome": "...", "justification": "..."}` and nothing else; None where it is not that.

    White space around it does not count. Nothing that a model may write raises.
    """
    if reply is None or len(reply) > MAX_REPLY:
        return None
    try:
        document = parse_json(reply.strip(), unique_keys=True)
    except ValueError:
        return None
    match document:
        case {"outcome": str(word), "justification": str(), **rest} if not rest and word in list(ClaimOutcome):
            return ClaimOutcome(word)
    return None


def claims_in(arguments: Mapping[str, Any]) -> list[Claim]:
    """Read the claims among the arguments of `answer.claims`."""
    return [Claim(claim["id"], claim["text"], claim.get("rubric", "")) for claim in arguments["claims"]]
