"""Budget for reading a state, in counted steps and bytes, so that the same bytes cost the same everywhere.

A *step* is one thing that a reader handles: a line, a cell, an object, a header, or `A_STEP` bytes that it parses. A
*byte* is one that was unpacked or kept. No clock is used. The caps are many times what the end states of tasks need,
and low enough that reading ends within some half second of processor time, whatever the bytes are, including encoding
and decoding the normal form. Judging has a budget of its own, for all probes together.
"""

from __future__ import annotations

from verifiers.errors import CorruptState

MAX_STEPS = 800_000
MAX_BYTES = 128 << 20
MAX_JUDGED = 400_000
"""Steps of all probes of a predicate together; a state that needs more counts against its agent.

A step is half a microsecond or less: judging ends within some 0.2 seconds of processor time. With reading,
that is below two on a core of a third of that speed. `tests/verifiers/costly.py` has the worst texts, and
`./run bench verdicts` times them.
"""
A_STEP, A_JSON_STEP = 32, 16
"""Bytes of a text that are parsed for one step; in JSON there may be numbers of thousands of digits."""
_MARKS = '"[{,:'


class BudgetSpent(CorruptState):
    """Reading costs more than its budget."""


class ReadingBudget:
    """A counter of steps and bytes with caps; `what` names what they are spent on, for the message."""

    def __init__(self, steps: int = MAX_STEPS, size: int = MAX_BYTES, what: str = "reading") -> None:
        self.max_steps, self.max_bytes, self.what = steps, size, what
        self.steps = self.bytes = 0

    def step(self, number: int = 1) -> None:
        """Count steps.

        Raises:
            BudgetSpent: it is more than the budget has.
        """
        self.steps += number
        if self.steps > self.max_steps:
            self.steps = self.max_steps
            raise BudgetSpent(f"{self.what} it needs more than {self.max_steps} steps")

    def keep(self, size: int) -> None:
        """Count bytes that are unpacked or kept.

        Raises:
            BudgetSpent: it is more than the budget has.
        """
        self.bytes += size
        if self.bytes > self.max_bytes:
            self.bytes = self.max_bytes
            raise BudgetSpent(f"{self.what} it needs more than {self.max_bytes} bytes")

    def parse(self, size: int) -> None:
        """Count the steps of parsing so many bytes.

        Raises:
            BudgetSpent: it is more than the budget has.
        """
        self.step(1 + size // A_STEP)

    def parse_json(self, data: bytes | str) -> None:
        """Count the steps of parsing a JSON text, by what it may hold.

        Raises:
            BudgetSpent: it is more than the budget has.
        """
        if isinstance(data, str):
            marks = [data.count(mark) for mark in _MARKS]
        else:
            self.keep(len(data))
            marks = [data.count(mark.encode()) for mark in _MARKS]
        self.step(1 + len(data) // A_JSON_STEP + (sum(marks) + sum(marks[:3])) // 2)
