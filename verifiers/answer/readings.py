"""Readings of an answer: the text as it was given, then without each dressing that people put around an answer.

A dressing is a fence, code marks, emphasis, quotes, or a closing full stop. It is taken off only where it is around the
whole text, so an answer that names several choices, each in its marks, keeps them all. `docs/SPEC.md` has a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from verifiers.formats.plain_json import parse_json

_FENCE = re.compile(r"(`{3,}|~{3,})[A-Za-z0-9+.-]*[ \t]*\r?\n(.*)\n[ \t]*\1", re.DOTALL)
_MARKS = (("``", "``"), ("`", "`"), ("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"))
_QUOTES = (
    ('"', '"'),
    ("'", "'"),
    ("\u201c", "\u201d"),
    ("\u201e", "\u201c"),
    ("\u2018", "\u2019"),
    ("\u00ab", "\u00bb"),
)
_FIRST = {"~", *(opening[0] for opening, _ in (*_MARKS, *_QUOTES))}
"""Characters that a dressing may begin with."""
_GROUPED = re.compile(r"[-+]?[0-9]{1,3}([,'\u2019_ \u00a0\u2009\u202f])[0-9]{3}(?:\1[0-9]{3}){0,12}(?:\.[0-9]{1,40})?")
_BULLET = re.compile(r"^\s*(?:[-*•]|[0-9]+[.)])\s+")


def readings(text: str) -> Iterator[str]:
    """Yield a text without white space around it, then without one dressing after the other.

    Each step takes off marks that what is left does not have, or the full stop behind them, so there are few steps.
    """
    left: str | None = text.strip()
    while left is not None:
        yield left
        left = _undress(left)


def bare(text: str) -> str:
    """Return the last reading of a text: without any dressing."""
    *_, last = readings(text)
    return last


def _undress(text: str) -> str | None:
    if text[:1] not in _FIRST and text[-1:] != ".":
        return None
    fence = _FENCE.fullmatch(text)
    if fence and fence[1] not in fence[2]:
        return fence[2].strip()
    for opening, closing in (*_MARKS, *_QUOTES):
        inner = text[len(opening) : -len(closing)].strip()
        if inner and text == f"{opening}{text[len(opening) : -len(closing)]}{closing}":
            return None if opening in inner or closing in inner else inner
    unstopped = text[:-1].rstrip()
    return unstopped if text.endswith(".") and unstopped and not unstopped.endswith(".") else None


def ungrouped(text: str) -> str:
    """Return a text that is one number without what parts its thousands; any other text as it is."""
    grouped = _GROUPED.fullmatch(text)
    return text.replace(grouped[1], "") if grouped else text


def read_as(text: str, wanted: Mapping[str, str], fold: Callable[[str], str]) -> str:
    """Return the wanted text that a text stands for, or its last reading where it stands for none.

    Args:
        text: an answer, or an item of one.
        wanted: the wanted texts by each form of theirs (`forms_of`).
        fold: takes differences away that do not count, such as those of case.
    """
    reading = ""
    for reading in map(fold, readings(text)):
        if reading in wanted:
            return wanted[reading]
    return wanted.get(ungrouped(reading), reading)


def forms_of(texts: Sequence[str]) -> dict[str, str]:
    """Return the wanted texts by their forms: each as it is, and without its own closing full stop."""
    whole = {text: text for text in texts}
    return {text.removesuffix("."): text for text in texts} | whole


def split_list(text: str, is_item: Callable[[str], bool]) -> list[str]:
    """Split a list: a JSON array of texts or whole numbers, one item a line, or items in one line.

    In one line commas or semicolons part items, and an "and" the last two. Bullets and numbering are taken off.

    Args:
        text: an answer.
        is_item: says of a part whether it is one item, though it has a bullet or an "and" in it.
    """
    if is_item(text):
        return [text]
    for reading in readings(text):
        if (items := _json_items(reading)) is not None:
            return items
    lines = [line.strip() for line in reading.splitlines() if line.strip()]
    if len(lines) > 1:
        return _items((line.rstrip(",;") for line in lines), is_item)
    *first, last = re.split("[,;]", reading)
    last = last.strip()
    if first and not is_item(last):
        last = last.removeprefix("and ")
    return _items((*first, *([last] if is_item(last) else last.split(" and "))), is_item)


def _items(parts: Iterable[str], is_item: Callable[[str], bool]) -> list[str]:
    stripped = (part.strip() for part in parts)
    return [item for part in stripped if (item := part if is_item(part) else _BULLET.sub("", part).strip())]


def _json_items(text: str) -> list[str] | None:
    try:
        parsed = parse_json(text)
    except ValueError:
        return None
    if isinstance(parsed, list) and all(isinstance(item, str) or type(item) is int for item in parsed):
        return [str(item).strip() for item in parsed]
    return None
