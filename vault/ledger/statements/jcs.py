"""Canonical JSON (RFC 8785, "JCS") with the standard library alone, and a strict reader of it.

A document is refused where two readers could read it differently: a key that stands twice, NaN,
a lone surrogate, a whole number of 2^53 or more, more than 64 levels, or any byte that is not the
canonical form of what it says. Messages give places and never quote values.
"""

from __future__ import annotations

import json
import math
import re
from json.encoder import encode_basestring
from typing import Any

from vault.errors import Malformed

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
_EXPONENT_FROM = 1e21  # below it a double is written in digits alone
_FRACTION = re.compile(r"(?:^|[:\[,])-?[0-9]+[.eE]")  # or a text that looks so
_WORDS = {None: "null", True: "true", False: "false"}


def canonical(value: Any) -> bytes:
    """Write a value as canonical JSON.

    Raises:
        Malformed: it holds something that canonical JSON has no form for.
    """
    try:
        return _write(value, 0).encode()
    except UnicodeEncodeError as error:
        raise Malformed("canonical JSON has no form for a lone surrogate") from error


def parse(data: bytes, what: str = "the document") -> Any:
    """Read one JSON value from UTF-8 bytes.

    Raises:
        Malformed: it is not JSON, or two readers could read it differently.
    """
    return _parse(data, what)[0]


def parse_canonical(data: bytes, what: str = "the document") -> Any:
    """Read one JSON value and refuse bytes that are not its canonical form.

    Raises:
        Malformed: as `parse`, or the bytes differ from the canonical ones; the message says where.
    """
    value, expected = _parse(data, what)
    if expected != data:
        at = first_difference(data, expected)
        wrong = "is not canonical JSON (RFC 8785): it differs from"
        raise Malformed(f"{what} {wrong} byte {at} on", where=f"{what}: byte {at}")
    return value


def first_difference(one: bytes, other: bytes) -> int:
    """Return the index of the first byte in which two texts differ."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def number(value: float) -> str:
    """Write a double as ECMAScript's Number::toString: the shortest digits that come back."""
    if not math.isfinite(value):
        raise Malformed("a number is not finite")
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")  # the same digits, set differently
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:  # noqa: PLR2004 - ECMA-262, Number::toString, steps 6 to 10
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:  # noqa: PLR2004
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:  # noqa: PLR2004
        text = "0." + "0" * -point + digits
    else:
        text = f"{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{point - 1:+d}"
    return "-" * (value < 0) + text


def _parse(data: bytes, what: str) -> tuple[Any, bytes]:
    """Read one JSON value; give it and its canonical form."""
    try:
        text = data.decode()
        value = _decode(text)
        return value, data if _is_plain(text) and _write_plain(value) == text else canonical(value)
    except Malformed as error:
        raise Malformed(f"{what} is refused: {error}", where=what) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Malformed(f"{what} is not JSON: {error}", where=what) from None
    except RecursionError:
        raise Malformed(f"{what} is nested deeper than {MAX_DEPTH} levels", where=what) from None


def _is_plain(text: str) -> bool:
    """Tell whether the standard library writes the value of a text as RFC 8785 asks.

    It differs in fractions and in the order of names beyond ASCII, and knows no limit of levels.
    """
    levels = text.count("[") + text.count("{")
    return text.isascii() and levels <= MAX_DEPTH and not _FRACTION.search(text)


def _write(value: Any, depth: int) -> str:
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if value is None or kind is bool:
        return _WORDS[value]
    if kind is int and abs(value) > MAX_INTEGER:
        raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
    if kind is int or kind is float:
        return number(value) if kind is float else str(value)
    if depth >= MAX_DEPTH:
        raise Malformed(f"it is nested deeper than {MAX_DEPTH} levels")
    if kind is list or kind is tuple:
        return f"[{','.join([_write(item, depth + 1) for item in value])}]"
    if kind is not dict:
        raise Malformed(f"JSON has no form for {kind.__name__}")
    if strange := [key for key in value if type(key) is not str]:
        raise Malformed(f"a key is {type(strange[0]).__name__} and not text")
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    members = [f"{encode_basestring(key)}:{_write(value[key], depth + 1)}" for key in keys]
    return f"{{{','.join(members)}}}"


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Malformed("an object has the same key twice")
    return members


def _whole(digits: str) -> int:
    if len(digits) > len(str(MAX_INTEGER)) + 1 or abs(value := int(digits)) > MAX_INTEGER:
        raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
    return value


def _double(digits: str) -> float:
    value = float(digits)
    if value.is_integer() and MAX_INTEGER < abs(value) < _EXPONENT_FROM:
        raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
    return value


def _none(name: str) -> Any:
    raise Malformed(f"{name} is no JSON number")


_decode = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_whole, parse_float=_double, parse_constant=_none
).decode
_write_plain = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
