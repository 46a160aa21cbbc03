"""Search of a session for choices of free parameters that its agent said and was not shown. Pure.

It runs in a judge, which holds no key and knows nothing of what others were served.

    1. lists   Choices are compared as words, without case and signs (`vault.task.variant.words`). Choices that are
               equal, or of which one contains the other, are left out: a rule on the lists alone.
    2. order   Tool descriptions and goal are shown first; then come each call's arguments and its result, in turn, and
               the answer. A choice is *said* if it stands in arguments or in the answer, and in nothing that was shown
               before: a server repeats in its errors what it was asked for.
    3. model   Of what was said, a choice that stood in a language model's reply before it stood in any request to it
               came from there.

Every text is read once, and for each length that choices have, its runs of as many words are looked up together: time
is linear in the session.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from sandbox.errors import Malformed
from sandbox.judge.evidence import reply_object
from sandbox.results.said import SaidChoices
from sandbox.transcript import Transcript
from vault.task.variant import Free, words

MAX_BYTES = 1024 * 1024
"""Bytes of a reply; all choices of a task fit in."""

_DIGITS = re.compile(r"[0-9a-f]+")

Place: TypeAlias = tuple[str, int]
"""A choice: its parameter and its number."""


class ChoiceIndex:
    """Choices of free parameters by their words, without those that contain each other."""

    def __init__(self, free: Free) -> None:
        phrases = [
            (tuple(words(text)), (name, number)) for name, texts in free.items() for number, text in enumerate(texts)
        ]
        among = Counter(phrase for phrase, _ in phrases)
        sizes = sorted({len(phrase) for phrase in among})
        dropped = {phrase for phrase, often in among.items() if often > 1} | {()}
        for phrase in (phrase for phrase in among if len(phrase) > sizes[0]):
            if inside := [part for part in _parts(phrase, sizes) if part in among]:
                dropped.update(inside, [phrase])
        self._places: dict[int, dict[tuple[str, ...], Place]] = {size: {} for size in sizes if size}
        for phrase, place in phrases:
            if phrase not in dropped:
                self._places[len(phrase)][phrase] = place

    def held(self, texts: Iterable[str]) -> set[Place]:
        """Give the choices that stand in any of these texts."""
        spoken = [word for text in texts for word in (*words(text), "")]
        found: set[Place] = set()
        for size, places in self._places.items():
            runs = zip(*(spoken[start:] for start in range(size)), strict=False)
            found.update(places[run] for run in places.keys() & set(runs))
        return found


def _parts(phrase: tuple[str, ...], sizes: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Give all shorter runs of a phrase's words that may be choices."""
    for size in sizes:
        if not 0 < size < len(phrase):
            continue
        for start in range(len(phrase) - size + 1):
            yield phrase[start : start + size]


def request(free: Free, shown: Sequence[str], transcript: Transcript) -> bytes:
    """Write what a judge needs to search a session.

    Args:
        free: the choices of each free parameter.
        shown: what the agent was shown before its first call.
        transcript: its session.
    """
    document = {
        "free": {name: list(choices) for name, choices in free.items()},
        "shown": list(shown),
        "calls": [[call.tool, call.arguments, call.result] for call in transcript.calls],
        "answer": transcript.answer or "",
        "models": [[call.request, [text for _, text in call.response]] for call in transcript.model_calls],
    }
    return json.dumps(document, default=dict).encode()


def searched(data: bytes) -> bytes:
    """Search a session (`request`), and give the reply that `parsed` reads: by parameter, choices as bits of a number.

    {"said": {parameter: hexadecimal digits}, "replied": the same, for what a model's reply had first}
    """
    session = json.loads(data)
    index = ChoiceIndex(session["free"])
    said: set[Place] = set()
    shown = index.held(session["shown"])
    for tool, arguments, result in session["calls"]:
        said |= index.held((tool, *_texts(arguments))) - shown
        shown |= index.held((result,))
    said |= index.held((session["answer"],)) - shown
    replied = _replied(index, session["models"]) & said
    return json.dumps({"said": _digits(said), "replied": _digits(replied)}).encode()


def _replied(index: ChoiceIndex, models: Sequence[tuple[Any, Sequence[str]]]) -> set[Place]:
    """Give the choices that stood in a model's reply before they stood in a request."""
    asked: set[Place] = set()
    replied: set[Place] = set()
    for asking, reply in models:
        asked |= index.held(_texts(asking)) - replied
        replied |= index.held((*reply, "".join(reply))) - asked
    return replied


def _texts(value: Any) -> Iterator[str]:
    """Give every text, key and number in a JSON value, however deep it is."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(items):
                yield from items
                waiting.extend(items.values())
            case list(items):
                waiting.extend(items)
            case int() | float() as number:
                yield str(number)


def _digits(places: Iterable[Place]) -> dict[str, str]:
    bits: dict[str, int] = {}
    for name, number in sorted(places):
        bits[name] = bits.get(name, 0) | 1 << number
    return {name: f"{number:x}" for name, number in bits.items()}


def parsed(data: bytes, free: Free) -> tuple[SaidChoices, ...]:
    """Read a judge's reply: for each parameter of which a choice was said, which.

    Raises:
        Malformed: it is not as a judge says it.
    """
    match reply_object(data, MAX_BYTES):
        case {"said": dict(said), "replied": dict(replied), **rest} if not rest and replied.keys() <= said.keys():
            return tuple(_parameter(name, free, said[name], replied.get(name, "0")) for name in sorted(said))
    raise Malformed("a judge's reply has no known form")


def _parameter(name: str, free: Free, said: Any, replied: Any) -> SaidChoices:
    if name not in free:
        raise Malformed("a judge reports choices of no parameter of the task")
    every, some = (_numbers(digits, len(free[name])) for digits in (said, replied))
    if not every or not set(some) <= set(every):
        raise Malformed("a judge reports choices in an unknown form")
    return SaidChoices(name, len(free[name]), every, some)


def _numbers(digits: Any, choices: int) -> tuple[int, ...]:
    if not isinstance(digits, str) or not _DIGITS.fullmatch(digits) or (bits := int(digits, 16)) >> choices:
        raise Malformed("a judge reports choices in an unknown form")
    return tuple(number for number in range(choices) if bits >> number & 1)
