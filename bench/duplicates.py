"""Measures the search for near duplicates of a draft in a large index, beside the search in an empty one.

The draft is sketched and joined to the index each time, as the sixth gate of admission does. The tasks that there are
have as many shingles as drafts have, of random bytes: what is compared is the search, and no search ends early.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from measure import Side, interleave, timed
from report import Found, Line

from grammars.admission.duplicates import Neighbours, Sketch
from grammars.draw.sample import sample
from grammars.language.grammar import Draft
from grammars.language.load import load

ROUNDS = 15
SIZES = (1_000, 100_000)
DRAFTS = 24
SHINGLES = 150


def bench(rounds: int = 0) -> Found:
    """Join drafts to indexes of each size."""
    grammar = load("filesystem")
    drafts = [sample(grammar, Random(seed)) for seed in range(DRAFTS)]
    lines = []
    for size in SIZES:
        seen = interleave(_side(size, drafts), _side(0, drafts), rounds or ROUNDS)
        lines.append(Line(f"a draft against {size:,} tasks", "against none", seen, "drafts"))
    return Found(f"{DRAFTS} drafts with fixed seeds; a rate counts drafts.", lines)


def _side(size: int, drafts: list[Draft]) -> Side:
    index = Neighbours()
    for number in range(size):
        index.add(str(number), Sketch(Random(number).randbytes(8 * SHINGLES)))
    join: Callable[[], list[object]] = lambda: [index.join(draft.id, Sketch.of(draft.task)) for draft in drafts]  # noqa: E731
    return timed(join, units=len(drafts))
