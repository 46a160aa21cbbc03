"""Releases that an operator plays, some with doubts, and changes of single values in their leaves and lines."""

from __future__ import annotations

import copy
import functools
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from vault.ledger.statements.forms import PATTERNS
from vault.ledger.tree.tiles import unpack_entries

from ..vault.ledger.conftest import RETIRED, Month
from ..vault.ledger.freeze import GOOD

Played = tuple[Path, list[str]]  # a release, and the keys of its log
Edit = Callable[[dict[str, bytes]], object]  # changes files before the log binds them


def _differing(month: Month) -> Month:
    """Judge a result otherwise in the spot check."""
    month.play_checked().check(differed=1)
    return month


def _emptied(month: Month) -> Month:
    """Withdraw every task of the cohort before a run."""
    month.begin_without_reserve()
    for task in list(month.cohorts[RETIRED]):
        month.withdraw(task, None)
    return month.play_run(1)


PLAYS: Mapping[str, Callable[[Month], Month]] = {
    **GOOD,
    "turns": Month.play_turns,
    "differing": _differing,
    "emptied": _emptied,
}


def nothing(files: dict[str, bytes]) -> None:
    """Leave the files as they are."""


def released(name: str, folder: Path, edit: Edit = nothing) -> Played:
    """Play the month of a release, perhaps with other files than those that follow from it; `good` has a page."""
    month = Month(folder)
    PLAYS[name](month)
    page = b"<!DOCTYPE html>\n" if name == "good" else None
    release = month.retire(lambda content: replace(content, page=page), edit)
    return release, month.keys


def leaves_of(release: Path) -> list[bytes]:
    """Return the leaves of a release's log, which has less than 256 of them."""
    (bundle,) = (release / "log" / "tile" / "entries").glob("*/*")
    return unpack_entries(bundle.read_bytes(), int(bundle.name))


class Mutator:
    """Changes one value of a document at a time, to another of its form that stands somewhere, or to one of none."""

    def __init__(self, texts: Iterable[bytes], seed: int) -> None:
        self._draw = random.Random(seed)
        self._pool: dict[str, list[str]] = {}
        for text in texts:
            for word in re.findall(r'"([^"]*)"', text.decode()):
                self._pool.setdefault(_form_of(word), []).append(word)

    def changed(self, document: Any) -> Iterator[Any]:
        """Yield the document with one change, for each change of each of its values."""
        for path in _paths(document):
            value = _at(document, path)
            for other in self._others(value):
                if path:
                    whole = copy.deepcopy(document)
                    _at(whole, path[:-1])[path[-1]] = other
                    yield whole
                elif isinstance(other, dict):
                    yield other

    def _others(self, value: Any) -> Iterator[Any]:
        yield None if value is not None else 0
        if isinstance(value, bool):
            yield not value
        elif isinstance(value, int):
            yield from (value + 1, value - 1, 1000)
        elif isinstance(value, str):
            yield from ("", value + "x", *self._draw.sample(self._pool[_form_of(value)], 1))
        elif isinstance(value, list):
            yield from (value[::-1], value[1:], value + value[-1:], [])
        elif isinstance(value, dict):
            yield from ({key: item for key, item in value.items() if key != gone} for gone in value)
            yield from (value | {"strange": 1}, value | {"judge?": 1})


def _form_of(word: str) -> str:
    return next((name for name, (pattern, _) in PATTERNS.items() if re.fullmatch(pattern, word)), "text")


def _paths(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = document if isinstance(document, list) else []
    for key, item in document.items() if isinstance(document, dict) else enumerate(items):
        yield from _paths(item, (*path, key))


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda value, key: value[key], path, document)
