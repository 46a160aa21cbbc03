"""Strict JSON parser and RFC 8785 (JCS) canonical serializer.

`parse` reads UTF-8 JSON and refuses whatever two readers could understand differently: duplicate keys, NaN and
Infinity, lone surrogates, numbers that a double does not hold exactly, more than MAX_DEPTH levels, more than MAX_SIZE
bytes. `canonical` writes RFC 8785 (JCS), refuses the same things, and so `parse(canonical(value))` always gives the
value back. A refusal names the place as a JSON path and never quotes a value: documents may be private tasks.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import rfc8785

from vault.errors import Malformed

MAX_DEPTH = 64
MAX_SIZE = 256 * 1024
MAX_INTEGER = 2**53 - 1
_EXPONENT_FROM = 1e21  # RFC 8785 writes doubles from here on with an exponent, so that they come back as doubles
_SHOWN_KEY = 60
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOO_LARGE = "the whole number is beyond 2^53 - 1; write it as text"

Step = str | int


def parse(data: bytes, what: str = "the document", *, max_size: int = MAX_SIZE) -> Any:
    """Read one JSON value.

    Args:
        data: UTF-8 without a byte order mark.
        what: how messages call the document (`the task`).
        max_size: the cap in bytes.

    Raises:
        Malformed: it is not JSON, or not strict; the message says where.
    """
    if len(data) > max_size:
        raise Malformed(f"{what} has {len(data)} bytes; {max_size} are allowed.")
    value, trouble = _read(data)
    if trouble:
        raise Malformed(f"{what} is not JSON: {trouble}.")
    _require_sound(value, what)
    return value


def parse_object(data: bytes, what: str = "the document", *, max_size: int = MAX_SIZE) -> dict[str, Any]:
    """Read one JSON object; like `parse`, and anything but an object is refused."""
    value = parse(data, what, max_size=max_size)
    if not isinstance(value, dict):
        raise Malformed(f"{what} must be a JSON object at $.")
    return value


def canonical(value: Any, what: str = "the document") -> bytes:
    """Write a value as RFC 8785 canonical JSON.

    Raises:
        Malformed: it holds something that canonical JSON has no form for; the message says where.
    """
    _require_sound(value, what)
    return rfc8785.dumps(value)


def digest(value: Any, what: str = "the document") -> str:
    """Return the SHA-256 of a value's canonical JSON, in lower-case hex.

    Raises:
        Malformed: as `canonical` does.
    """
    return hashlib.sha256(canonical(value, what)).hexdigest()


def json_path(steps: Sequence[Step]) -> str:
    """Format a place as a JSON path: `$.available_tools[3]`, `$.initial_state.filesystem.files["a b.txt"]`."""
    return "$" + "".join(map(_step, steps))


def _step(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if step.isascii() and step.isidentifier():
        return f".{step[:_SHOWN_KEY]}"
    abbreviated = step if len(step) <= _SHOWN_KEY else step[:_SHOWN_KEY] + "..."
    return f"[{json.dumps(abbreviated)}]"


class _Unsound:
    """Placeholder for an invalid value, kept in the parsed document until the walk finds its path."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence


def _read(data: bytes) -> tuple[Any, str]:
    """Return the parsed value, or an error sentence: the decoder's own errors hold the document and are dropped."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, f"byte {error.start} is not UTF-8"
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant, parse_int=_integer), ""
    except json.JSONDecodeError as error:
        return None, f"line {error.lineno}, column {error.colno}: {error.msg}"
    except RecursionError:
        return None, f"it is nested deeper than {MAX_DEPTH} levels"


def _pairs(pairs: list[tuple[str, Any]]) -> Any:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
    return _Unsound(f"the key {_step(twice)} stands there twice")


def _constant(name: str) -> Any:
    return _Unsound(f"{name} is no JSON number")


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= len(str(MAX_INTEGER)) + 1 else _Unsound(_TOO_LARGE)


def _require_sound(value: Any, what: str) -> None:
    if fault := _fault(value, 0):
        steps, sentence = fault
        raise Malformed(f"{what} is malformed at {json_path(steps[::-1])}: {sentence}.")


def _fault(value: Any, depth: int) -> tuple[list[Step], str] | None:
    """Find what is wrong with a value: the way to it, innermost step first, and a sentence."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return None if _encodable(value) else ([], "the text holds a lone surrogate")
    if isinstance(value, int | float):
        return _number_fault(value)
    if isinstance(value, dict | list | tuple):
        return ([], f"it is nested deeper than {MAX_DEPTH} levels") if depth == MAX_DEPTH else _inside(value, depth + 1)
    return [], value.sentence if isinstance(value, _Unsound) else f"JSON has no form for {type(value).__name__}"


def _inside(container: dict[Any, Any] | list[Any] | tuple[Any, ...], depth: int) -> tuple[list[Step], str] | None:
    items = container.items() if isinstance(container, dict) else enumerate(container)
    for step, item in items:
        if type(item) is str and item.isascii() and (type(step) is int or (type(step) is str and step.isascii())):
            continue  # as most of a document is
        if isinstance(container, dict):
            if not isinstance(step, str):
                return [], f"a key is {type(step).__name__} and not text"
            if not _encodable(step):
                return [step], "the key holds a lone surrogate"
        if fault := _fault(item, depth):
            fault[0].append(step)
            return fault
    return None


def _number_fault(number: float) -> tuple[list[Step], str] | None:
    if isinstance(number, float) and not math.isfinite(number):
        return [], "the number is not finite"
    if number != int(number) or abs(number) <= MAX_INTEGER:
        return None
    if isinstance(number, float) and abs(number) >= _EXPONENT_FROM:
        return None
    return [], _TOO_LARGE


def _encodable(text: str) -> bool:
    return text.isascii() or _SURROGATE.search(text) is None
