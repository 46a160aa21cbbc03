"""Near-duplicate detection of tasks: MinHash sketches with an LSH index, and exact comparison of goal wordings.

A task is a set of hashed shingles: three consecutive words of its goal, of each text in its state and of each value
that its predicate expects. The similarity of two tasks is the Jaccard index of their sets, which MinHash estimates; a
locality-sensitive hashing index finds similar tasks without comparing all pairs (Broder 1997; Indyk and Motwani 1998).
Both come from the library `rensa`.

Two draws of one skeleton share its wording and little else: among the shipped grammars' they reach 0.72 at most, and
half of them less than 0.3. From THRESHOLD on, whoever knows one task knows the other.

However small the similarity, two goals may not have the same words: whoever reads the one that is published first has
read what the other one asks. `wording` gives what is compared; a free value counts as a gap, whatever its value is.

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
        """Return the hashed shingles, one word each."""
        return [self.data[start : start + _HASH].hex() for start in range(0, len(self.data), _HASH)]


@dataclass(frozen=True, slots=True)
class Near:
    """A near-duplicate: its name, and the estimated Jaccard similarity."""

    name: str
    similarity: float


class Neighbours:
    """In-memory index of the existing tasks for near-duplicate search; thread-safe."""

    def __init__(self) -> None:
        self._index = RMinHashLSH(THRESHOLD, SLOTS, BANDS)
        self._known: list[tuple[str, RMinHash]] = []
        self._lock = threading.Lock()

    def add(self, name: str, sketch: Sketch) -> None:
        """Add a task, even if it is a near-duplicate of another one."""
        with self._lock:
            self._insert(name, _minhash(sketch))

    def join(self, name: str, sketch: Sketch) -> Near | None:
        """Add a task unless it is a near-duplicate; in that case give the nearest one. Check and insert are atomic."""
        minhash = _minhash(sketch)
        with self._lock:
            near = self._nearest(name, minhash)
            if near is None:
                self._insert(name, minhash)
            return near

    def _insert(self, name: str, minhash: RMinHash) -> None:
        self._index.insert(len(self._known), minhash)
        self._known.append((name, minhash))

    def _nearest(self, name: str, minhash: RMinHash) -> Near | None:
        neighbours = [self._known[place] for place in self._index.query(minhash)]
        near = [Near(other, minhash.jaccard(theirs)) for other, theirs in neighbours if other != name]
        nearest = max(near, key=lambda candidate: candidate.similarity, default=None)
        return nearest if nearest is not None and nearest.similarity >= THRESHOLD else None


def wording(document: Mapping[str, Any]) -> str:
    """Return the words of a task's goal without case, punctuation and free values, for exact comparison of goals."""
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
    """Yield every name and value as text."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)
