"""Types and values of SQL: reads cells, converts, and adds up what numbers of two types make.

Values are Python's as a PostgreSQL client has them: int, Decimal, float, str, bool, date, datetime, and None for null.
Types are `int4`, `int8`, `numeric`, `float4`, `float8`, `text`, `bpchar`, `bool`, `date`, `timestamp`, `timestamptz`,
`unknown` for a text without a type yet, and any other type by its own name: of those a value is only its text.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation
from typing import Any, TypeAlias

from verifiers.sql.errors import QueryFailed

Value: TypeAlias = Any
NUMBERS = ("int4", "int8", "numeric", "float8")
TEXTS = ("text", "bpchar", "name")
TIMES = ("date", "timestamp", "timestamptz")
_BASES = {"int2": "int4", "varchar": "text", "oid": "int8"}
MAX_DIGITS, MAX_SCALE, MAX_TEXT = 20_000, 1000, 1 << 20
RANGES = {"int4": 2**31, "int8": 2**63}
EXACT = Context(prec=MAX_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])


def type_of(base: str) -> str:
    """Return the type of a column from the catalogue's name of its base type."""
    return _BASES.get(base, base)


def cell(text: str | None, type_: str) -> Value:  # noqa: PLR0911 - one return for each type
    """Read a cell as PostgreSQL prints it, with ISO dates in UTC.

    Raises:
        QueryFailed: it has no value here, such as a date of infinity.
    """
    if text is None:
        return None
    try:
        match type_:
            case "int4" | "int8":
                return int(text)
            case "numeric":
                return _finite(text)
            case "float4" | "float8":
                return float(_finite(text))
            case "bool":
                return text == "t"
            case "date":
                return date.fromisoformat(text)
            case "timestamp" | "timestamptz":
                return moment(text, type_)
    except (ValueError, InvalidOperation):
        raise QueryFailed(f"a {type_} has a value that no query is evaluated with") from None
    return text


def _finite(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite() or len(text) > MAX_DIGITS or abs(number.adjusted()) > MAX_DIGITS // 4:
        raise ValueError
    return number


def moment(text: str, type_: str) -> datetime:
    """Read a date and a time; without a zone they are in UTC."""
    value = datetime.fromisoformat(text)
    if type_ == "timestamp":
        return value.replace(tzinfo=None)
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def common(types: Sequence[str]) -> str:
    """Return the type that values of these types have together (PostgreSQL's manual, 10.5).

    Raises:
        QueryFailed: they have none.
    """
    known = [type_ for type_ in dict.fromkeys(types) if type_ != "unknown"]
    if not known:
        return "text"
    if len(known) == 1:
        return known[0]
    if all(type_ in NUMBERS or type_ == "float4" for type_ in known):
        return "float8" if "float4" in known else max(known, key=NUMBERS.index)
    if all(type_ in TEXTS for type_ in known):
        return "text"
    if all(type_ in TIMES for type_ in known):
        return max(known, key=TIMES.index)
    raise QueryFailed(f"{' and '.join(known)} are types that do not go together")


def converter(source: str, target: str, modifiers: Sequence[int] = ()) -> Callable[[Value], Value]:
    """Return the function that converts a value that is not null.

    Raises:
        QueryFailed: this conversion is none that is evaluated here.
    """
    if target == "numeric" and modifiers:
        scale = modifiers[1] if len(modifiers) > 1 else 0
        inner, limit = converter(source, target), Decimal(10) ** (modifiers[0] - scale)
        return lambda value: _within(rounded(inner(value), scale), limit)
    if target == "text" and modifiers:
        inner = converter(source, target)
        return lambda value: inner(value)[: modifiers[0]]
    made = _CONVERSIONS.get((source, target))
    if made is not None:
        return made
    if source == target or (source == "unknown" and target not in NUMBERS):
        return lambda value: value
    raise QueryFailed(f"{source} is not converted to {target}")


def _within(number: Decimal, limit: Decimal) -> Decimal:
    if abs(number) >= limit:
        raise QueryFailed("a number has more digits than its type")
    return number


def in_range(number: int, type_: str) -> int:
    """Return an integer that its type holds.

    Raises:
        QueryFailed: it does not.
    """
    if not -RANGES[type_] <= number < RANGES[type_]:
        raise QueryFailed("an integer is out of range")
    return number


def rounded(number: Decimal, scale: int) -> Decimal:
    """Round half away from zero to so many decimal places, which may be negative."""
    if abs(scale) > MAX_SCALE:
        raise QueryFailed("a number is rounded to more than 1000 places")
    made = number.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP, context=_LOSSY)
    return made if scale >= 0 else EXACT.quantize(made, Decimal(1))


_LOSSY = Context(prec=MAX_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation])


def text_of(value: Value) -> str:
    """Return a value's text as PostgreSQL prints it."""
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
        case datetime():
            text = value.isoformat(sep=" ")
            head, point, rest = text.partition(".")
            zone = "+00" if value.tzinfo else ""
            fraction = rest[:6].rstrip("0") if point else ""
            return head.removesuffix("+00:00") + (f".{fraction}" if fraction else "") + zone
        case date():
            return value.isoformat()
        case float():
            raise QueryFailed("a floating-point number is not converted to a text")
    return str(value)


def _parsed(type_: str) -> Callable[[Value], Value]:
    read: Callable[[str], Value] = _TRUTHS.__getitem__ if type_ == "bool" else lambda text: cell(text, type_)

    def parse(value: Value) -> Value:
        text = value.strip()
        if type_ in RANGES and not _INTEGER.fullmatch(text):
            raise QueryFailed(f"a text is no {type_}")
        try:
            made = read(text.lower() if type_ == "bool" else text)
        except LookupError:
            raise QueryFailed(f"a text is no {type_}") from None
        return in_range(made, type_) if type_ in RANGES else made

    return parse


_INTEGER = re.compile(r"[+-]?[0-9]{1,30}")
_TRUTHS = {"t": True, "true": True, "yes": True, "on": True, "1": True, "y": True}
_TRUTHS |= {"f": False, "false": False, "no": False, "off": False, "0": False, "n": False}


def _to_float(value: Value) -> float:
    try:
        return float(value)
    except OverflowError:
        raise QueryFailed("a number is too large for a double") from None


def _from_numeric(type_: str) -> Callable[[Value], int]:
    return lambda value: in_range(int(rounded(value, 0)), type_)


def _from_float(type_: str) -> Callable[[Value], int]:
    return lambda value: in_range(round(value), type_)


_CONVERSIONS: dict[tuple[str, str], Callable[[Value], Value]] = {
    ("int4", "int8"): lambda value: value,
    ("int8", "int4"): lambda value: in_range(value, "int4"),
    ("numeric", "int4"): _from_numeric("int4"),
    ("numeric", "int8"): _from_numeric("int8"),
    ("float8", "int4"): _from_float("int4"),
    ("float8", "int8"): _from_float("int8"),
    ("int4", "numeric"): Decimal,
    ("int8", "numeric"): Decimal,
    ("float8", "numeric"): lambda value: Decimal(f"{value:.15g}"),
    ("int4", "float8"): _to_float,
    ("int8", "float8"): _to_float,
    ("numeric", "float8"): _to_float,
    ("float4", "float8"): lambda value: struct.unpack("f", struct.pack("f", value))[0],  # what it stores of its text
    ("float4", "numeric"): lambda value: Decimal(f"{value:.6g}"),
    ("bool", "int4"): int,
    ("int4", "bool"): bool,
    ("date", "timestamp"): lambda value: datetime(value.year, value.month, value.day),  # noqa: DTZ001 - has no zone
    ("timestamp", "timestamptz"): lambda value: value.replace(tzinfo=UTC),
    ("date", "timestamptz"): lambda value: datetime(value.year, value.month, value.day, tzinfo=UTC),
    ("timestamp", "date"): lambda value: value.date(),
    ("timestamptz", "date"): lambda value: value.date(),
    ("timestamptz", "timestamp"): lambda value: value.replace(tzinfo=None),
    ("bpchar", "text"): lambda value: value.rstrip(" "),
    ("name", "text"): lambda value: value,
    ("text", "bpchar"): lambda value: value,
    **{(source, "text"): text_of for source in ("int4", "int8", "numeric", "float8", "bool", *TIMES)},
    **{
        (source, target): _parsed(target)
        for source in ("unknown", "text")
        for target in ("int4", "int8", "numeric", "float8", "bool", *TIMES)
    },
}
