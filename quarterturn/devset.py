"""The public dev set: drawn from the shipped grammars with a seed that anybody can read here.

It is for trying an agent out, and gives everything back: verdicts, evidence and transcripts. Its tasks are public from
the start, so no score on them is ever ranked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from grammars.grammar import Draft, Grammar
from rotation.draw import drafts
from rotation.sets import DEMO, SetSpec

SEED = hashlib.sha256(b"quarterturn/dev/v1").digest()
EACH = 2


def draw(grammars: Mapping[str, Grammar], spec: SetSpec = DEMO, each: int = EACH) -> list[Draft]:
    """Draw `each` tasks of every stratum, each of a skeleton of its own; the same ones every time."""
    chosen: list[Draft] = []
    used: set[str] = set()
    for stratum in sorted(spec.per_cohort):
        stream = drafts(grammars, stratum, SEED, exclude=lambda: used)
        for _ in range(each):
            draft = next(stream)
            used.add(draft.skeleton)
            chosen.append(draft)
    return chosen
