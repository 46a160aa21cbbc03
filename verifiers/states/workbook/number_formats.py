"""Number formats of the function TEXT: numbers with a pattern of digits, dates and times, in English."""

from __future__ import annotations

import datetime
import re
from decimal import ROUND_HALF_UP, Decimal

from verifiers.states.workbook.model import EPOCH, FIRST_DAY, LAST_DAY
from verifiers.states.workbook.operands import MAX_EXACT, CellError, Operand, Unknown, as_number, as_text, single

MAX_FORMAT = 60  # characters
NOON, HALVES = 12, "am/pm"
_DIGITS = re.compile(
    r"""(?P<before>(?:"[^"]*"|\\.|[$€£ (+-])*)(?P<whole>[#0,]*[#0])?(?:(?P<point>\.)(?P<part>0*\#*))?"""
    r"""(?P<percent>%?)(?P<after>(?:"[^"]*"|\\.|[€£ )-])*)"""
)
_LITERAL = re.compile(r'"([^"]*)"|\\(.)')
_UNIT = re.compile(r'yyyy|yy|mmmm?|mm?|dddd?|dd?|hh?|ss?|AM/PM|"[^"]*"|\\.|[-/:,. ]', re.IGNORECASE)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"),
    "December",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def format_number(value: Operand, code: str) -> str:
    """Return a value as a number format shows it.

    Raises:
        Unknown: it is a format that is not supported here.
        CellError: the value is an error.
    """
    scalar = single(value)
    if isinstance(scalar, bool) or len(code) > MAX_FORMAT:
        raise Unknown
    if code in {"@", "General"}:
        return as_text(scalar)
    try:
        number = float(as_number(scalar))
    except CellError:
        return as_text(scalar)
    if (match := _DIGITS.fullmatch(code)) and (match["whole"] or match["part"]):
        return _number_text(number, match)
    return _date_text(number, code)


def _number_text(number: float, pattern: re.Match[str]) -> str:
    whole, part = pattern["whole"] or "#", pattern["part"] or ""
    value = abs(Decimal(repr(number))) * (100 if pattern["percent"] else 1)
    if value >= MAX_EXACT:
        raise Unknown
    rounded = value.quantize(Decimal(1).scaleb(-len(part)), ROUND_HALF_UP)
    if number < 0 and not rounded:  # which some show with a sign
        raise Unknown
    before, _, after = str(rounded).partition(".")
    before = before.lstrip("0").rjust(whole.count("0"), "0")
    if "," in whole and before:
        before = f"{int(before):,}"
    after = after[: part.count("0")] + after[part.count("0") :].rstrip("0")
    sign = "-" if number < 0 else ""
    start, end = (_LITERAL.sub(r"\1\2", pattern[side]) for side in ("before", "after"))
    return f"{sign}{start}{before}{pattern['point'] or ''}{after}{pattern['percent']}{end}"


def _date_text(number: float, code: str) -> str:
    units = [unit.lower() if unit[0].isalpha() else unit for unit in _UNIT.findall(code)]
    shows_day = any(unit[0] in "yd" or unit.startswith("mmm") for unit in units)
    if len("".join(units)) != len(code) or not (FIRST_DAY if shows_day else 0) <= number <= LAST_DAY:
        raise Unknown
    moment = EPOCH + datetime.timedelta(seconds=round(number * 86400))
    kinds = [unit[0] for unit in units if unit[0] in "ymdhs"]
    hour = (moment.hour - 1) % NOON + 1 if HALVES in units else moment.hour
    texts, at = [], 0
    for unit in units:
        kind = unit[0] if unit[0] in "ymdhs" else ""
        if kind == "m" and (kinds[at - 1 : at] == ["h"] or kinds[at + 1 : at + 2] == ["s"]):
            kind = "minute"
        at += bool(kind)
        value = {"m": moment.month, "d": moment.day, "h": hour, "minute": moment.minute, "s": moment.second}.get(kind)
        if unit == HALVES:
            texts.append("PM" if moment.hour >= NOON else "AM")
        elif kind == "y":
            texts.append(f"{moment.year:04d}"[-len(unit) :])
        elif kind in {"m", "d"} and len(unit) > 2:  # noqa: PLR2004 - 2 digits
            name = _MONTHS[moment.month - 1] if kind == "m" else _DAYS[moment.weekday()]
            texts.append(name if len(unit) == len("mmmm") else name[:3])
        else:
            texts.append(_LITERAL.sub(r"\1\2", unit) if value is None else f"{value:0{len(unit)}d}")
    return "".join(texts)
