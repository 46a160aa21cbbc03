"""Measures drawing tasks from the shipped grammars, beside the canonical form of the documents that are drawn.

The floor is `rfc8785.dumps` of each drawn document: whatever makes a task has to write it down at least once. The same
seeds are drawn in every round, so each round does the same work. A draw that breaks a constraint is thrown away and
made again inside `sample`, and its time counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

import rfc8785
from measure import interleave, timed
from report import Found, Line

from grammars.draw.sample import sample
from grammars.language.grammar import Draft, Grammar
from grammars.language.load import library, load

ROUNDS = 15
DRAFTS = 24


def bench(rounds: int = 0) -> Found:
    """Draw from each grammar."""
    lines = [_line(load(name), rounds or ROUNDS) for name in library()]
    return Found(f"{DRAFTS} drafts with fixed seeds a round, beside `rfc8785` of the same documents.", lines)


def _line(grammar: Grammar, rounds: int) -> Line:
    draw = partial(drafts, grammar)
    documents = [draft.task for draft in draw()]
    write: Callable[[], list[bytes]] = lambda: [rfc8785.dumps(document) for document in documents]  # noqa: E731
    seen = interleave(timed(draw, units=DRAFTS), timed(write, units=DRAFTS), rounds)
    return Line(f"a draft of the {grammar.server} grammar", "its document in canonical form", seen, "drafts")


def drafts(grammar: Grammar) -> list[Draft]:
    """Draw with each seed once."""
    return [sample(grammar, Random(seed)) for seed in range(DRAFTS)]
