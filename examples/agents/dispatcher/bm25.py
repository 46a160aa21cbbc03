"""Ranking of texts by BM25 (Robertson and Zaragoza, 2009, section 3.2), the usual baseline of text retrieval."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

K1, B = 1.2, 0.75  # how soon a repeated word counts no more, and how much a long text is discounted
WORD = re.compile(r"[a-z]+|\d+")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, those of `read_text_file` and `readTextFile` too, without plural s."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return [word.removesuffix("s") for word in WORD.findall(apart.lower())]


def rank(query: str, texts: Mapping[str, str]) -> list[str]:
    """Return the names of the texts, the best match first; texts that match alike stay in their order."""
    counts = {name: Counter(words(text)) for name, text in texts.items()}
    mean_length = sum(count.total() for count in counts.values()) / len(counts)
    texts_with = Counter(word for count in counts.values() for word in count)

    def score(name: str) -> float:
        count = counts[name]
        discount = K1 * (1 - B + B * count.total() / mean_length)
        return sum(
            math.log(1 + (len(counts) - texts_with[word] + 0.5) / (texts_with[word] + 0.5))
            * (count[word] * (K1 + 1) / (count[word] + discount))
            for word in set(words(query))
        )

    return sorted(counts, key=score, reverse=True)
