"""Tokens that a model wrote, by what they were for: reasoning, tools, or verification. Pure.

The record has the number of tokens of each request, and the pieces of its reply. A reply's tokens are divided by the
length of its pieces: *tool* are names and arguments of calls, *reasoning* all else that it wrote. The calls of a reply
that only looks, at something that an earlier call changed, are *verification*: one of its arguments, of three
characters or more, is one of theirs. What was read is told as a sum: a request repeats all that was said before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from quarterturn_measures.measures.failure_class import MIN_SUBJECT_CHARACTERS, reads
from sandbox.transcript import ModelCall

TOOL, ARGUMENTS = "tool", "arguments"


@dataclass(frozen=True, slots=True)
class TokenKinds:
    """Tokens of one task's requests to a model.

    Attributes:
        read: read, all kinds together.
        reasoning: written as text or as reasoning.
        tool: written as calls of tools.
        verification: written as calls that look at what an earlier one changed.
        untagged: written, and no piece of the reply is in the record.
        estimated: whether a count is ours and not the upstream's.
    """

    read: int
    reasoning: int
    tool: int
    verification: int
    untagged: int
    estimated: bool

    def share(self, kind: str) -> Fraction | None:
        """Return a kind's share of the tagged tokens; None where there are none."""
        tagged = self.reasoning + self.tool + self.verification
        return Fraction(getattr(self, kind), tagged) if tagged else None


def token_kinds(model_calls: Iterable[ModelCall]) -> TokenKinds | None:
    """Count the tokens of a task by kind; None where no model was asked."""
    calls = list(model_calls)
    if not calls:
        return None
    counts = {"reasoning": 0, "tool": 0, "verification": 0, "untagged": 0}
    changed: set[str] = set()
    for call in calls:
        total = sum(len(text) for _, text in call.response)
        for_tools = sum(len(text) for kind, text in call.response if kind in (TOOL, ARGUMENTS))
        asked = list(_asked(call))
        tools = call.written * for_tools // total if total else 0
        looks = bool(asked) and all(reads(name) and names & changed for name, names in asked)
        counts["verification" if looks else "tool"] += tools
        counts["reasoning" if total else "untagged"] += call.written - tools
        changed |= {name for tool, names in asked if not reads(tool) for name in names}
    return TokenKinds(sum(call.read for call in calls), **counts, estimated=any(call.estimated for call in calls))


def _asked(call: ModelCall) -> Iterator[tuple[str, set[str]]]:
    """Yield the calls that a reply asks for: each tool's name, and the texts among its arguments."""
    pieces = [piece for piece in call.response if piece[0] in (TOOL, ARGUMENTS)]
    for place, (kind, text) in enumerate(pieces):
        if kind == TOOL:
            following = pieces[place + 1 : place + 2]
            yield text.replace("__", ".", 1), _names(following[0][1] if following and following[0][0] != TOOL else "")


def _names(arguments: str) -> set[str]:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return set()
    values = value.values() if isinstance(value, dict) else ()
    return {text for text in values if isinstance(text, str) and len(text) >= MIN_SUBJECT_CHARACTERS}
