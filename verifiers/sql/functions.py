"""Functions of SQL (PostgreSQL's manual, 9.3, 9.4, 9.8 and 9.9) by name: the type that they give, and what they do.

Each is made for the types of its arguments. All but those of `verifiers.sql.compiler` give null where an argument is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Decimal
from typing import Any

from verifiers.budget import A_STEP, ReadingBudget
from verifiers.sql.errors import QueryFailed
from verifiers.sql.operators import arithmetic, lowered, uppered
from verifiers.sql.values import EXACT, MAX_SCALE, MAX_TEXT, NUMBERS, TIMES, Value, converter, rounded
from verifiers.texts import COMPARISONS, count_search

Made = tuple[str, Callable[..., Value]]
A_CAPITAL = 2  # letters of which some become capitals, for a step


def function(name: str, types: Sequence[str], budget: ReadingBudget) -> Made:
    """Return the type and the implementation of a function for arguments of these types.

    Raises:
        QueryFailed: there is none.
    """
    texts = ["text" if type_ in {"unknown", "bpchar", "name"} else type_ for type_ in types]
    if name in _NUMERIC:
        return _NUMERIC[name](["numeric" if type_ == "unknown" else type_ for type_ in types], budget)
    if name in {"extract", "date_part", "date_trunc", "to_char", "to_date"}:
        result, made = _TIMES[name](texts)
        return (result, _counted_form(made, budget)) if name == "to_char" else (result, made)
    wanted, result, made = _TEXTS[name]
    if len(texts) not in wanted or texts[0] != "text" or not all(type_ in {"text", "int4"} for type_ in texts):
        raise QueryFailed(f"there is no {name}({', '.join(types)}) here")
    inward = [converter(one, two) for one, two in zip(types, texts, strict=True)]

    def counted(*values: Value) -> Value:
        given = [convert(value) for convert, value in zip(inward, values, strict=True)]
        budget.step(1 + sum(len(value) for value in given if isinstance(value, str)) // A_STEP)
        _count(name, given, budget)
        return made(*given)

    return result, counted


def _count(name: str, values: Sequence[Any], budget: ReadingBudget) -> None:
    """Count what a function of texts takes beyond reading them."""
    match name, values:
        case "initcap", [text]:
            budget.step(len(text) // A_CAPITAL)
        case (("position" | "strpos"), [text, part]):
            count_search(len(part), len(text), budget)
        case (("replace" | "split_part"), [text, part, _]) if part:
            count_search(len(part), len(text), budget)
            budget.step(text.count(part) if len(part) > 1 else 0)
        case (("btrim" | "ltrim" | "rtrim"), [text, letters]):
            budget.step(len(text) * len(letters) // COMPARISONS)


def _counted_form(made: Callable[..., Value], budget: ReadingBudget) -> Callable[..., Value]:
    def counted(value: Value, form: str) -> Value:
        budget.step(1 + len(form))
        return made(value, form)

    return counted


# numbers


def _rounding(mode: str | None) -> Callable[[Sequence[str], ReadingBudget], Made]:
    def make(types: Sequence[str], _budget: ReadingBudget) -> Made:
        match types:
            case ["float8"]:
                return "float8", lambda value: float(_DOUBLE[mode](value))
            case ["int4" | "int8" | "numeric"]:
                inward = converter(types[0], "numeric")
                return "numeric", lambda value: _to_scale(inward(value), 0, mode)
            case ["int4" | "int8" | "numeric", "int4"] if mode in {None, "trunc"}:
                inward = converter(types[0], "numeric")
                return "numeric", lambda value, scale: _to_scale(inward(value), scale, mode)
        raise QueryFailed(f"there is no {mode or 'round'}({', '.join(types)}) here")

    return make


_DOUBLE: dict[str | None, Callable[[float], int]] = {
    None: round,
    "ceil": math.ceil,
    "floor": math.floor,
    "trunc": math.trunc,
}
_MODES = {"ceil": ROUND_CEILING, "floor": ROUND_FLOOR, "trunc": ROUND_DOWN}


def _to_scale(number: Decimal, scale: int, mode: str | None) -> Decimal:
    if mode is None:
        return rounded(number, scale)
    if abs(scale) > MAX_SCALE:
        raise QueryFailed("a number is cut to more than 1000 places")
    made = number.quantize(Decimal(1).scaleb(-scale), rounding=_MODES[mode])
    return made if scale >= 0 else EXACT.quantize(made, Decimal(1))


def _absolute(types: Sequence[str], _budget: ReadingBudget) -> Made:
    if len(types) != 1 or types[0] not in NUMBERS:
        raise QueryFailed(f"there is no abs({', '.join(types)}) here")
    return types[0], abs


def _sign(types: Sequence[str], _budget: ReadingBudget) -> Made:
    if len(types) != 1 or types[0] not in NUMBERS:
        raise QueryFailed(f"there is no sign({', '.join(types)}) here")
    type_ = "numeric" if types[0] == "numeric" else "float8"
    number = converter("int4", type_)
    return type_, lambda value: number((value > 0) - (value < 0))


def _modulo(types: Sequence[str], budget: ReadingBudget) -> Made:
    match types:
        case [left, right]:
            return arithmetic("%", left, right, budget)
    raise QueryFailed("mod takes two numbers")


_NUMERIC: dict[str, Callable[[Sequence[str], ReadingBudget], Made]] = {
    "abs": _absolute,
    "sign": _sign,
    "mod": _modulo,
    "round": _rounding(None),
    "trunc": _rounding("trunc"),
    "ceil": _rounding("ceil"),
    "ceiling": _rounding("ceil"),
    "floor": _rounding("floor"),
}

# texts


def _substring(text: str, start: int, length: int | None = None) -> str:
    if length is not None and length < 0:
        raise QueryFailed("a part of a text has a negative length")
    end = len(text) if length is None else max(0, start - 1 + length)
    return text[max(0, start - 1) : end]


def _replaced(text: str, old: str, new: str) -> str:
    if old and len(text) + text.count(old) * len(new) > MAX_TEXT:
        raise QueryFailed("a text is too long")
    return text.replace(old, new) if old else text


def _part(text: str, separator: str, number: int) -> str:
    if number == 0:
        raise QueryFailed("a text has no part 0")
    parts = text.split(separator) if separator else [text]
    place = number - 1 if number > 0 else number
    return parts[place] if -len(parts) <= place < len(parts) else ""


def _right(text: str, count: int) -> str:
    return text[max(0, len(text) - count) :] if count >= 0 else text[-count:]


def _capitals(text: str) -> str:
    return re.sub("[A-Za-z0-9]+", lambda word: word[0].capitalize(), text)


_TEXTS: dict[str, tuple[tuple[int, ...], str, Callable[..., Any]]] = {
    "btrim": ((1, 2), "text", lambda text, letters=" ": text.strip(letters) if letters else text),
    "trim": ((1,), "text", lambda text: text.strip(" ")),
    "ltrim": ((1, 2), "text", lambda text, letters=" ": text.lstrip(letters) if letters else text),
    "rtrim": ((1, 2), "text", lambda text, letters=" ": text.rstrip(letters) if letters else text),
    "initcap": ((1,), "text", _capitals),
    "left": ((2,), "text", lambda text, count: text[:count]),
    "right": ((2,), "text", _right),
    "length": ((1,), "int4", len),
    "char_length": ((1,), "int4", len),
    "lower": ((1,), "text", lowered),
    "upper": ((1,), "text", uppered),
    "position": ((2,), "int4", lambda text, part: text.find(part) + 1),
    "strpos": ((2,), "int4", lambda text, part: text.find(part) + 1),
    "replace": ((3,), "text", _replaced),
    "split_part": ((3,), "text", _part),
    "starts_with": ((2,), "bool", str.startswith),
    "substr": ((2, 3), "text", _substring),
    "substring": ((2, 3), "text", _substring),
}

# dates and times

_TWO = 2
_FIELDS: dict[str, Callable[[Any], int]] = {
    "year": lambda value: value.year,
    "month": lambda value: value.month,
    "day": lambda value: value.day,
    "quarter": lambda value: (value.month + 2) // 3,
    "dow": lambda value: value.isoweekday() % 7,
    "isodow": lambda value: value.isoweekday(),
    "doy": lambda value: value.timetuple().tm_yday,
    "week": lambda value: value.isocalendar()[1],
    "isoyear": lambda value: value.isocalendar()[0],
    "hour": lambda value: getattr(value, "hour", 0),
    "minute": lambda value: getattr(value, "minute", 0),
}


_DAY, _HOUR, _MINUTE = 86_400, 3600, 60
_SECONDS_OF: dict[str, Callable[[int], int]] = {
    "day": lambda seconds: seconds // _DAY,
    "hour": lambda seconds: seconds % _DAY // _HOUR,
    "minute": lambda seconds: seconds % _HOUR // _MINUTE,
}


def _interval_field(result: str) -> Made:
    """Return the fields of the difference of two times, whose parts have the sign of the whole."""
    exact, number = converter("numeric", result), converter("int4", result)

    def extract(name: str, value: timedelta) -> Value:
        field, micro = name.lower(), value // timedelta(microseconds=1)
        if field == "epoch":
            return exact(Decimal(micro).scaleb(-6))
        if field not in _SECONDS_OF:
            raise QueryFailed(f"the field {name[:40]} is not taken out of an interval")
        made = _SECONDS_OF[field](abs(micro) // 1_000_000)
        return number(-made if micro < 0 else made)

    return result, extract


def _field(result: str, types: Sequence[str]) -> Made:
    if len(types) == _TWO and types[1] == "interval":
        return _interval_field(result)
    if len(types) != _TWO or types[1] not in TIMES:
        raise QueryFailed(f"there is no extract({', '.join(types)}) here")
    number = converter("int4", result)

    def extract(name: str, value: Any) -> Value:
        if name.lower() not in _FIELDS:
            raise QueryFailed(f"the field {name[:40]} is not taken out of a time")
        return number(_FIELDS[name.lower()](value))

    return result, extract


def _truncated(types: Sequence[str]) -> Made:
    if len(types) != _TWO or types[1] not in TIMES:
        raise QueryFailed(f"there is no date_trunc({', '.join(types)}) here")
    result = "timestamptz" if types[1] == "date" else types[1]
    inward = converter("date", "timestamp") if types[1] == "date" else converter(types[1], types[1])

    def truncate(unit: str, value: Any) -> datetime:
        made = inward(value)
        if types[1] == "date":
            made = converter("text", "timestamptz")(made.isoformat())
        return _start(unit.lower(), made)

    return result, truncate


def _start(unit: str, value: datetime) -> datetime:  # noqa: PLR0911 - one return for each unit
    day = value.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(value.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
        case "day":
            return day
        case "hour":
            return value.replace(minute=0, second=0, microsecond=0)
        case "minute":
            return value.replace(second=0, microsecond=0)
    raise QueryFailed(f"a time is not cut to {unit[:40]}")


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_PATTERNS: dict[str, Callable[[Any], str]] = {
    "YYYY": lambda value: f"{value.year:04}",
    "MM": lambda value: f"{value.month:02}",
    "DD": lambda value: f"{value.day:02}",
    "Q": lambda value: str((value.month + 2) // 3),
    "HH24": lambda value: f"{getattr(value, 'hour', 0):02}",
    "MI": lambda value: f"{getattr(value, 'minute', 0):02}",
    "SS": lambda value: f"{getattr(value, 'second', 0):02}",
    "Mon": lambda value: _MONTHS[value.month - 1],
}


def _formatted(types: Sequence[str]) -> Made:
    if len(types) != _TWO or types[0] not in TIMES:
        raise QueryFailed(f"there is no to_char({', '.join(types)}) here")

    def write(value: Any, form: str) -> str:
        made, place = [], 0
        while place < len(form):
            name = next((name for name in _PATTERNS if form.startswith(name, place)), None)
            if name is None and form[place].isalnum():
                raise QueryFailed(f"to_char does not know the form {form[:40]}")
            made.append(form[place] if name is None else _PATTERNS[name](value))
            place += 1 if name is None else len(name)
        return "".join(made)

    return "text", write


def _read_date(types: Sequence[str]) -> Made:
    if list(types) != ["text", "text"]:
        raise QueryFailed(f"there is no to_date({', '.join(types)}) here")

    def read(text: str, form: str) -> date:
        if form != "YYYY-MM-DD":
            raise QueryFailed("to_date knows the form YYYY-MM-DD alone")
        made: date = converter("text", "date")(text)
        return made

    return "date", read


_TIMES: dict[str, Callable[[Sequence[str]], Made]] = {
    "extract": lambda types: _field("numeric", types),
    "date_part": lambda types: _field("float8", types),
    "date_trunc": _truncated,
    "to_char": _formatted,
    "to_date": _read_date,
}

SCALAR_FUNCTIONS = frozenset(
    {*_NUMERIC, *_TEXTS, *_TIMES, "coalesce", "concat", "concat_ws", "greatest", "least", "nullif"}
)
"""Every function that a query may call; the six that take null are in `verifiers.sql.compiler`."""
