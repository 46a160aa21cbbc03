"""Canonical JSON (RFC 8785) with the standard library alone: the auditor's twin of `vault.canonical`.

`canonical` sorts keys by UTF-16 code units (section 3.2.3), writes numbers as ECMAScript does (section 3.2.2.3) and
strings with the shortest escapes (3.2.2.2). `parse` refuses what two readers could read differently: duplicate keys,
NaN and Infinity, lone surrogates, whole numbers of 2^53 or more, more than `MAX_DEPTH` levels. `parse_canonical` also
refuses bytes that are not exactly the canonical form of what they say. Messages give places and never quote values.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

from vault.errors import Malformed

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
_SHORT = 15  # digits of a whole number that is below it for certain
_POINT_AFTER, _POINT_BEFORE = 21, -6  # ECMAScript writes an exponent outside of these (Number::toString, steps 6 to 10)

_SHARED = 32  # characters of a text that others may have, too; a hash has twice as many
_SIMPLE = frozenset({str, bool, type(None)})  # always plain
_ASTRAL = re.compile(rb"[\xf0-\xff]")  # begins a character above U+FFFF in UTF-8
_UNSURE = object()
_plain = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False).encode


def canonical(value: Any) -> bytes:
    """Write a value as canonical JSON.

    Raises:
        Malformed: it holds something that canonical JSON has no form for.
    """
    text = _plain(value) if _is_plain(value, 0) else _write(value)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Malformed("the value has no canonical JSON: a text in it holds a lone surrogate") from error


def parse(data: bytes, what: str = "the document") -> Any:
    """Read one JSON value from UTF-8 bytes.

    Raises:
        Malformed: it is not JSON, or two readers could read it differently.
    """
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)
        _is_plain(value, 0)
        if "\\u" in text:
            canonical(value)  # only an escape can smuggle a lone surrogate in
    except Malformed as error:
        raise Malformed(f"{what} is refused: {error}", where=what) from None
    except UnicodeDecodeError as error:
        raise Malformed(f"{what} is not UTF-8 at byte {error.start}", where=f"{what}: byte {error.start}") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Malformed(f"{what} is not JSON: {place}: {error.msg}", where=f"{what}: {place}") from None
    except RecursionError:
        raise Malformed(f"{what} is nested deeper than {MAX_DEPTH} levels", where=what) from None
    return value


def parse_canonical(data: bytes, what: str = "the document") -> Any:
    """Read one JSON value and refuse bytes that are not its canonical form.

    Raises:
        Malformed: as `parse`, or the bytes differ from the canonical ones; the message says from which byte on.
    """
    if (value := _surely_canonical(data)) is not _UNSURE:
        return value
    value = parse(data, what)
    expected = canonical(value)
    if expected != data:
        at = next((i for i, (a, b) in enumerate(zip(data, expected, strict=False)) if a != b), len(expected))
        raise Malformed(
            f"{what} is not canonical JSON (RFC 8785): it differs from byte {at} on", where=f"{what}: byte {at}"
        )
    return value


def shared(value: Any) -> Any:
    """Share equal keys and short texts in a value that is kept: thousands of lines repeat them."""
    if type(value) is dict:
        return {sys.intern(key): shared(item) for key, item in value.items()}
    if type(value) is list:
        return [shared(item) for item in value]
    return sys.intern(value) if type(value) is str and len(value) < _SHARED else value


def _surely_canonical(data: bytes) -> Any:
    """Parse text that is provably canonical by the standard library alone, or give _UNSURE.

    1. what it reads and writes again to the very same bytes has no key twice, and its own order, spacing and escapes
    2. these are the canonical ones, and so are its numbers, where there is no fraction, no exponent, no number of more
       than 15 digits and no character above U+FFFF (up to there, UTF-16 sorts keys as code points do)
    3. with at most MAX_DEPTH brackets in all, it is nested no deeper
    """
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH or not (data.isascii() or _ASTRAL.search(data) is None):
        return _UNSURE
    try:
        text = data.decode()
        value = _read(text)
    except ValueError:
        return _UNSURE
    return value if _plain(value) == text else _UNSURE


def _is_plain(value: Any, depth: int) -> bool:
    """Refuse a value without canonical form; tell whether the standard encoder already writes it canonically.

    It does where there is no float and every key is ASCII. Every item is looked at, even after the answer is known.
    """
    kind = type(value)
    if kind in _SIMPLE:
        return True
    if kind is int:
        return _require_exact(value)
    if kind is float:
        return _require_finite(value)
    if depth >= MAX_DEPTH:
        raise Malformed(f"it is nested deeper than {MAX_DEPTH} levels")
    plain = True
    if kind is dict:
        plain = _require_texts(value)
        value = value.values()
    elif kind is not list and kind is not tuple:
        raise Malformed(f"JSON has no form for {kind.__name__}")
    for item in value:
        if type(item) not in _SIMPLE:  # a call an item would take most of the time
            plain &= _is_plain(item, depth + 1)
    return plain


def _require_exact(number: int) -> bool:
    if abs(number) > MAX_INTEGER:
        raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
    return True


def _require_finite(number: float) -> bool:
    if not math.isfinite(number):
        raise Malformed("a number is not finite")
    return False


def _require_texts(keys: Mapping[Any, Any]) -> bool:
    """Refuse keys that are not text; tell whether all are ASCII."""
    if strange := [key for key in keys if type(key) is not str]:
        raise Malformed(f"a key is {type(strange[0]).__name__} and not text")
    return "".join(keys).isascii()


def _write(value: Any) -> str:
    if type(value) is float:
        return number(value)
    if type(value) is str:
        return encode_basestring(value)
    if type(value) is dict:
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{encode_basestring(key)}:{_write(value[key])}" for key in keys) + "}"
    if type(value) is list or type(value) is tuple:
        return "[" + ",".join(map(_write, value)) + "]"
    return _plain(value)


def number(value: float) -> str:
    """Write a finite double as ECMAScript does (ECMA-262, Number::toString): the shortest digits that come back."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")  # repr gives the same shortest digits, set differently
    integer, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (integer + fraction).lstrip("0")
    point = len(integer) + int(exponent or 0) - (len(integer + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _place(digits, point)


def _place(digits: str, point: int) -> str:
    count = len(digits)
    if count <= point <= _POINT_AFTER:
        return digits + "0" * (point - count)
    if 0 < point <= _POINT_AFTER:
        return f"{digits[:point]}.{digits[point:]}"
    if _POINT_BEFORE < point <= 0:
        return "0." + "0" * -point + digits
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+d}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Malformed("an object has the same key twice")
    return members


def _constant(name: str) -> Any:
    raise Malformed(f"{name} is no JSON number")


def _refuse(number: str) -> Any:
    raise ValueError(number)


def _short(digits: str) -> int:
    return int(digits) if len(digits) <= _SHORT else _refuse(digits)


_read = json.JSONDecoder(parse_int=_short, parse_float=_refuse, parse_constant=_refuse).decode


def _integer(digits: str) -> int:
    if len(digits) > len(str(MAX_INTEGER)) + 1:
        raise Malformed("a whole number is beyond 2^53 - 1; write it as text")
    return int(digits)
