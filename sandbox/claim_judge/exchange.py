"""Exchange with a language model about one claim, as it is sealed with a task's result.

The request itself is not kept: it follows from the task, the answer and the marker, and its digest is here. What was
replied is kept to the letter, so that a verdict can be recomputed without a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sandbox.transcript import ModelOutcome

ExchangeOutcome = ModelOutcome | Literal["unsent"]


@dataclass(frozen=True, slots=True)
class ClaimExchange:
    """What was asked of a model about one claim, and what it replied.

    Attributes:
        claim: the claim's id.
        marker: around the answer, 32 hexadecimal digits.
        request: SHA-256 (hex) of the message.
        outcome: as of any request to a model (`sandbox.transcript.ModelCall`); `unsent` where the budget had too little
            left for it, or the model process was gone.
        reply: what it replied, unread; None where there is no whole reply.
        read: tokens that were read.
        written: tokens that were written.
        estimated: whether these are our own estimate, and not the upstream's count.
    """

    claim: str
    marker: str
    request: str
    outcome: ExchangeOutcome = "unsent"
    reply: str | None = field(default=None, repr=False)
    read: int = 0
    written: int = 0
    estimated: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ClaimExchange:
        """Read what `as_json` gave."""
        return cls(**value)


def replies(exchanges: Iterable[ClaimExchange]) -> dict[str, str | None] | None:
    """Return the reply about each claim, by its id; None where no model was asked."""
    return {exchange.claim: exchange.reply for exchange in exchanges} or None
