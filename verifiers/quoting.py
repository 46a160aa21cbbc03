"""Quoting of state in evidence: short, on one line, and printable whatever the bytes were.

Evidence ends up in JSON, so nothing in it may hold a lone surrogate or a control character. Nothing here raises, and
nothing looks at more of a value than is shown: an integer of any size, a fraction, an infinity, a value that nests
without end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from itertools import islice

LIMIT = 120
NAMES = 12
SENTENCE = 2000
"""Characters; what predicates quote is far shorter, and so is all that is said of a sound state."""
MAX_BITS = 1024
"""Of an integer that is shown; a larger one is told by its size."""


def quoted(value: object, limit: int = LIMIT) -> str:
    """Format a value as JSON, cut after `limit` characters."""
    text = ""
    for piece in _pieces(value, limit):
        text += piece
        if len(text) > limit:
            return text[:limit] + "…"
    return text


def listed(names: Collection[object]) -> str:
    """Format the first few of a list of names."""
    listing = ", ".join(quoted(name, 60) for name in islice(names, NAMES))
    more = len(names) - NAMES
    return f"{listing} and {more} more" if more > 0 else listing or "none"


def plain(number: Fraction | float) -> str:
    """Format a number as a double, whatever its size."""
    try:
        return repr(float(number))
    except OverflowError:
        return "more than a double holds"


def sentence(text: str) -> str:
    """Make a sentence safe to keep as evidence: cut, and without characters that cannot be printed or encoded."""
    shortened = text if len(text) <= SENTENCE else text[:SENTENCE] + "…"
    if shortened.isprintable():
        return shortened
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in shortened)


def _pieces(value: object, limit: int) -> Iterator[str]:
    """Yield the text of a value piece by piece; each piece has at least one character, so that cutting it ends it."""
    match value:
        case bytes():
            yield "the bytes " + value[:limit].hex()
        case str():
            yield json.dumps(value[: limit + 1])
        case None | bool():
            yield json.dumps(value)
        case int():
            yield str(value) if value.bit_length() <= MAX_BITS else _size_of(value)
        case float():
            yield json.dumps(value)
        case Fraction():
            yield plain(value)
        case list() | tuple():
            yield "["
            for number, item in enumerate(value):
                yield ", " if number else ""
                yield from _pieces(item, limit)
            yield "]"
        case Mapping():
            yield "{"
            for number, (key, item) in enumerate(value.items()):
                yield (", " if number else "") + json.dumps(str(key)[: limit + 1]) + ": "
                yield from _pieces(item, limit)
            yield "}"
        case _:
            yield json.dumps(str(value)[: limit + 1])


def _size_of(number: int) -> str:
    digits = int(number.bit_length() * math.log10(2)) + 1
    return f"an integer of about {digits} digits"
