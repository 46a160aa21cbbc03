"""Is this task nearly one that there is already?

A task is a set of hashed shingles: three words in a row of its goal, of each text in its state and of each value that
its predicate wants. Two tasks are as near as their sets overlap (Jaccard), which MinHash estimates and an index by
locality finds without comparing all pairs (Broder 1997; Indyk and Motwani 1998), both by the library `rensa`.

Two draws of one skeleton share its wording and little else: among the shipped grammars' they come to 0.72 at most, and
half of them to less than 0.3. From THRESHOLD on, knowing one task is knowing the other.

However little two tasks share, their goals may not be the same words: whoever reads the one that is published first has
read what the other one asks. `wording` is what is compared; a free value counts as a gap, whatever it is called.

A sketch and a wording can be tested against guesses, so they are as secret as their task: sealed, under a key, or in
memory.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from rensa import RMinHash, RMinHashLSH

from vault.task.document import fixed_words

THRESHOLD = 0.85
WORDS = 3  # in a shingle
SLOTS, BANDS, SEED = 128, 32, 1  # a pair at the threshold is missed once in 10^10
_HASH = 8  # bytes of a hashed shingle


@dataclass(frozen=True, slots=True)
class Sketch:
    """A task's shingles, hashed: `data` holds eight bytes of each, sorted."""

    data: bytes = field(repr=False)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Sketch:
        """Sketch a task document."""
        texts = [document["goal"], *_texts(document["initial_state"]), *_texts(document["success_predicate"])]
        hashed = {blake2b(shingle.encode(), digest_size=_HASH).digest() for text in texts for shingle in _cut(text)}
        return cls(b"".join(sorted(hashed)))

    def hashes(self) -> list[str]:
        """Give the hashed shingles, one word each."""
        return [self.data[start : start + _HASH].hex() for start in range(0, len(self.data), _HASH)]


@dataclass(frozen=True, slots=True)
class Near:
    """A task that is too near, and the estimated share of shingles that the two have in common."""

    name: str
    similarity: float


class Neighbours:
    """The tasks that there are, in memory; threads may share it."""

    def __init__(self) -> None:
        self._index = RMinHashLSH(THRESHOLD, SLOTS, BANDS)
        self._known: list[tuple[str, RMinHash]] = []
        self._lock = threading.Lock()

    def add(self, name: str, sketch: Sketch) -> None:
        """Take a task in, whatever it is near to."""
        with self._lock:
            self._insert(name, _minhash(sketch))

    def join(self, name: str, sketch: Sketch) -> Near | None:
        """Take a task in unless another one is too near, and say which is nearest; two at once cannot both get in."""
        mine = _minhash(sketch)
        with self._lock:
            near = self._nearest(name, mine)
            if near is None:
                self._insert(name, mine)
            return near

    def _insert(self, name: str, minhash: RMinHash) -> None:
        self._index.insert(len(self._known), minhash)
        self._known.append((name, minhash))

    def _nearest(self, name: str, minhash: RMinHash) -> Near | None:
        found = [self._known[place] for place in self._index.query(minhash)]
        near = [Near(other, minhash.jaccard(theirs)) for other, theirs in found if other != name]
        nearest = max(near, key=lambda one: one.similarity, default=None)
        return nearest if nearest is not None and nearest.similarity >= THRESHOLD else None


def wording(document: Mapping[str, Any]) -> str:
    """Give the words of a task's goal, without case, signs and free values; equal ones tell two tasks alike."""
    return " ".join(fixed_words({"goal": document["goal"]}))


def _minhash(sketch: Sketch) -> RMinHash:
    minhash = RMinHash(SLOTS, SEED)
    minhash.update(sketch.hashes())
    return minhash


def _cut(text: str) -> Iterator[str]:
    words = re.findall(r"\w+", text.casefold())
    for start in range(max(1, len(words) - WORDS + 1)):
        yield " ".join(words[start : start + WORDS])


def _texts(value: Any) -> Iterator[str]:
    """Give every name and value as text."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)
