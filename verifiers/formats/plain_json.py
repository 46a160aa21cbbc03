"""JSON parser for hostile texts: capped in bytes, depth and digits, in linear time.

JSON is the only format that a judge parses itself: normal forms are JSON, so the judge needs this parser in any case,
and answers and texts in which a predicate asks for JSON need no other.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import Any, NoReturn

MAX_BYTES = 4 << 20
"""As text; as values it takes up to twenty times as much."""
MAX_DEPTH = 200

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)

for _name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
    codecs.lookup(_name)  # now, because a process that judges opens no file later


def parse_json(data: str | bytes, *, unique_keys: bool = False) -> Any:
    """Parse a text; bytes are in the encoding that they show.

    An infinity, a number of more than 4,300 digits, and what nests deeper than `MAX_DEPTH` are no JSON here. The depth
    is counted, because Python's own end to it depends on who called.

    Args:
        data: the text.
        unique_keys: whether an object that has a key twice is no JSON either.

    Raises:
        ValueError: it is no JSON, or beyond a cap.
    """
    if len(data) > MAX_BYTES:
        raise ValueError
    text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _must_be_shallow(text)
    text = text.removeprefix("\ufeff") if isinstance(data, bytes) else text
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique if unique_keys else None)


def _must_be_shallow(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        depth += 1 if first in "[{" else -1 if first in "]}" else 0
        if depth > MAX_DEPTH:
            raise ValueError


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) != len(members):
        raise ValueError
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
