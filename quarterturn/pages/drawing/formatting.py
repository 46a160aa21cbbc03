"""Formatting of names and numbers on pages. Pure.

A name is whatever a submitter chose: hidden characters, and those that reverse a line of text, are written as escapes.
"""

from __future__ import annotations

import unicodedata
from math import log10

MAX_CHART_NAME_CHARACTERS = 26  # the table beside the chart has the whole name
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
STACKED = 2  # combining marks on one letter
SMALL = 0.001
MIN_SHOWN_P_VALUE = 1e-15  # below, no p is told apart
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NONE = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"


def legible(name: str) -> str:
    """Write out every character that cannot be seen or that moves others; what is left stands on one line."""
    characters, stacked = [], 0
    for character in name:
        kind = unicodedata.category(character)
        stacked = stacked + 1 if kind in {"Mn", "Me"} else 0
        hidden = kind in HIDDEN or stacked > STACKED
        characters.append(character.encode("unicode_escape").decode() if hidden else character)
    return "".join(characters)


def short(name: str) -> str:
    """Shorten a legible name for a chart."""
    readable = legible(name)
    return readable if len(readable) <= MAX_CHART_NAME_CHARACTERS else f"{readable[: MAX_CHART_NAME_CHARACTERS - 1]}…"


def decimal(value: float | None, digits: int = 1, *, signed: bool = False) -> str:
    """Write a number with a true minus sign, and a comma at thousands."""
    if value is None:
        return NONE
    rounded = round(value, digits) + 0.0
    return f"{rounded:{'+' if signed and rounded else ''},.{digits}f}".replace("-", "\u2212")


def percent(share: float | None, digits: int = 0) -> str:
    """Write a share in per cent."""
    return NONE if share is None else f"{decimal(100 * share, digits)}\u202f%"


def points(share: float | None) -> str:
    """Write a change of a share in points."""
    return NONE if share is None else decimal(100 * share, 1, signed=True)


def chance(p: float | None) -> str:
    """Write a p-value: 0.016, or 7.9 times 10⁻¹²."""
    if p is None:
        return NONE
    if p <= MIN_SHOWN_P_VALUE:
        return f"at most 10{str(round(log10(MIN_SHOWN_P_VALUE))).translate(SUPERSCRIPT)}"
    if p >= SMALL:
        return f"{p:.2g}" if p < 1 else "1"
    mantissa, exponent = f"{p:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}{TIMES}10{str(int(exponent)).translate(SUPERSCRIPT)}"
