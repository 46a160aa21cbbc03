"""Partition of a transcript: what an agent said to its user, apart from what it said to tools and they to it. Pure.

Keywords count where they stand in the answer or in the text of a model's replies. One that stands only in arguments or
results of tools scores 0 (*How do you benchmark an MCP server you built?*, step 2): a search for a name is no answer.

The keywords of a task (ours: tasks list none) are the words of a reference solution's answer that the goal does not
have. A task whose solutions answer nothing has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from sandbox.transcript import Transcript

PROSE = frozenset({"text", "content", "refusal"})
"""Kinds of a model's reply that are for people; its reasoning, tools and arguments are not."""

_WORD = re.compile(r"\w+(?:[.,@/+-]\w+)*")


def answer_text(transcript: Transcript) -> str:
    """Return the answer, and the text of the model's replies."""
    said = (text for call in transcript.model_calls for kind, text in call.response if kind in PROSE)
    return "\n".join([transcript.answer or "", *said])


def keyword_coverage(text: str, answers: Iterable[str | None], goal: str) -> Fraction | None:
    """Return the share of the keywords of a reference answer that a text has, of the answer where it is largest.

    Args:
        text: what the agent said to its user.
        answers: the answers of the reference solutions.
        goal: what the agent was told.

    Returns:
        From 0 to 1; None where no answer has a keyword.
    """
    had, told = _words(text), _words(goal)
    wanted = [words for answer in answers if (words := _words(answer or "") - told)]
    return max((Fraction(len(words & had), len(words)) for words in wanted), default=None)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
