"""State of one request to an upstream: what it was granted, and what has come back so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from sandbox.model_gateway.budget import Reserved, estimate
from sandbox.model_gateway.formats.wire_format import Document, Usage, Wire
from sandbox.transcript import ModelOutcome


@dataclass
class UpstreamCall:
    """A request that was sent.

    Attributes:
        number: which one of its task.
        ident: how the gateway calls it.
        request: as it was rebuilt.
        document: as it was sent, under our own terms.
        reserved: what it may cost.
        begun: whether the agent has been told a status.
    """

    number: int
    ident: int
    wire: Wire
    request: Document
    document: Document
    reserved: Reserved
    outcome: ModelOutcome = "cut"
    detail: str = ""
    usage: Usage = field(default_factory=Usage)
    pieces: list[list[str]] = field(default_factory=list)
    begun: bool = False

    def say(self, pieces: list[tuple[str, str]]) -> None:
        """Add to what was said, joining what continues."""
        for kind, text in pieces:
            if self.pieces and self.pieces[-1][0] == kind != "tool":
                self.pieces[-1][1] += text
            else:
                self.pieces.append([kind, text])

    def cost(self) -> tuple[int, int, bool]:
        """Return the tokens that were read and written, and whether either is an estimate."""
        if self.outcome != "ok" and self.usage == Usage() and not self.pieces:
            return (0, 0, False) if self.outcome != "cut" else (self.reserved.read, 0, True)
        read = self.reserved.read if self.usage.read is None else self.usage.read
        received = estimate(sum(len(text.encode()) for _, text in self.pieces))
        # A count that came before the end (Anthropic's first one) is no count of what was written after it.
        reported = self.usage.written if self.outcome == "ok" else None
        written = max(received, self.usage.written or 0) if reported is None else reported
        return read, written, self.usage.read is None or reported is None
