"""Releases that an operator plays, honest and with a doubt, and changes of single values in leaves and lines."""

from __future__ import annotations

import copy
import functools
import itertools
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.commitment import commitment
from vault.ledger.signatures.note import Signer
from vault.ledger.statements import leaf
from vault.ledger.statements.forms import PATTERNS
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.spot_check import is_chosen
from vault.ledger.tree.merkle import leaf_hash, root
from vault.ledger.tree.tiles import unpack_entries

from ..vault.ledger.conftest import ORIGIN, RETIRED, Month, dice

Played = tuple[Path, list[str]]  # a release, and the keys of its log
Edit = Callable[[dict[str, bytes]], object]  # changes files before the log binds them


def nothing(files: dict[str, bytes]) -> None:
    """Leave the files as they are."""


def honest(folder: Path, edit: Edit = nothing) -> Played:
    operator = Month(folder).vary().play()
    return operator.retire(lambda content: replace(content, page=b"<!DOCTYPE html>\n"), edit), operator.keys


def withdrawing(folder: Path, edit: Edit = nothing) -> Played:
    """Withdraw two tasks of the cohort, and one of a reserve, as leaked."""
    operator = Month(folder).play_withdrawing()
    return operator.retire(edit=edit), operator.keys


def broken(folder: Path, edit: Edit = nothing) -> Played:
    """Withdraw a task as broken between its score and the second run."""
    operator = Month(folder).play_half()
    task, _ = operator.cohorts[RETIRED]
    operator.withdraw(task, operator.spares[0], cause="broken")
    operator.open_run(2)
    operator.score(2)
    line = {"task": task, "solution": "reference", "calls": [], "answer": None, "state": {}, "verdict": False}
    return operator.retire(lambda content: replace(content, broken=[line]), edit), operator.keys


def changed_key(folder: Path) -> Played:
    new = Signer(ORIGIN, Ed25519PrivateKey.from_private_bytes(dice("new")))
    operator = Month(folder)
    old = operator.keys
    operator.play_across(new)
    return operator.retire(), [*old, *operator.keys]


def checked(folder: Path, differed: int = 0) -> Played:
    """Promise a spot check with the first seed that chooses a result."""
    for number in itertools.count():
        operator, seed = Month(folder / str(number)), dice("spot", number)
        operator.commit_all()
        operator.state_set(spot_check=commitment("spot-check", seed, operator.salt("spot")))
        operator.open_run(1)
        operator.score(1)
        top = root([leaf_hash(data) for data in operator.leaves])
        tasks = itertools.chain.from_iterable(operator.cohorts.values())
        if chosen := sum(is_chosen(seed, top, 1, task) for task in tasks):
            operator.check(seed=seed.hex(), chosen=chosen, judged=chosen, differed=differed)
            return operator.retire(), operator.keys
    raise AssertionError


def differing(folder: Path) -> Played:
    """Judge a result otherwise in the spot check."""
    return checked(folder, 1)


RELEASES: dict[str, Callable[[Path], Played]] = {
    play.__name__: play for play in (honest, withdrawing, broken, changed_key, checked, differing)
}
DOUBTS = {"withdrawing": ["doubt.share"], "broken": ["doubt.share", "doubt.withdrawn"], "differing": ["doubt.differed"]}


def two_months(folder: Path) -> list[bytes]:
    """Play two months with all that a log may state; gives its leaves, the last of which opens a draw seed."""
    operator, judge = Month(folder), {name: dice(name).hex() for name in ("anchors", "parameters", "rubric")}
    operator.commit_all()
    operator.state_set(judge=judge, access_log=(3, dice("log")), month_key=dice("month"))
    first = operator.last_set
    fresh = [operator.invent(f"4{place}", place) for place in (0, 1)]
    operator.commit(*fresh, unused := operator.invent("unused", 0))
    operator.publish()
    operator.open_run(1, judge=sha256(canonical(judge)).hexdigest())
    operator.score(1)
    operator.open_run(2, track="endpoint", cohorts=[RETIRED])
    operator.abort(2)
    operator.retire()
    del operator.cohorts[RETIRED]
    operator.cohorts["cohort-2027-04"] = fresh
    hidden = commitment("draw-seed", dice("seed 2"), operator.salt("draw"))
    operator.state_set("2027-01", next_draw=hidden, access_log=(4, dice("log")))
    for task in (*fresh, unused):
        operator.withdraw(task, None, month="2027-01")
    seeds = [{"set": first, "seed": dice("seed").hex(), "salt": operator.salt("draw").hex()}]
    tasks = [
        {"id": task, "commitment": operator.promised(task).hex(), "sha256": dice(task).hex()}
        for task in operator.cohorts["cohort-2027-01"]
    ]
    facts = {"month": "2027-01", "cohort": "cohort-2027-01", "manifest": dice("manifest").hex(), "tasks": tasks}
    operator.log("retire 2", leaf.retire(**facts, draw_seeds=seeds))
    return operator.leaves


def log_of(play: Callable[[Path], Played], folder: Path) -> list[bytes]:
    """Give the leaves of a release's log, which has less than 256 of them."""
    (bundle,) = (play(folder)[0] / "log" / "tile" / "entries").glob("*/*")
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
        """Give the document with one change, for each change of each of its values."""
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
