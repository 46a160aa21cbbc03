"""Claim judge that a month's set names: digests of what judges, in the `set` statement and in each `run-open`. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

from vault.canonical import canonical


@dataclass(frozen=True, slots=True)
class JudgeDigests:
    """Digests (SHA-256, hex) of a claim judge.

    Attributes:
        anchors: of the judgements by people that it was checked against.
        parameters: of its upstream's name, model and parameters.
        rubric: of the instructions and the form of a request.
    """

    anchors: str
    parameters: str
    rubric: str

    def as_json(self) -> dict[str, str]:
        """Return the `judge` of a `set` statement."""
        return asdict(self)

    @property
    def digest(self) -> str:
        """The `judge` of a `run-open` statement: SHA-256 (hex) of the set's, as canonical JSON."""
        return hashlib.sha256(canonical(self.as_json())).hexdigest()
