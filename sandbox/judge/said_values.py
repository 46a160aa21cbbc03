"""Search of a session for choices of free parameters that its agent said and was not shown. Pure.

It runs in a judge, which holds no key and knows nothing of what others were served.

    1. lists   Choices are compared as words, without case, signs and escapes (`vault.task.variant`), or written as one
               word (`amberDesk`). Those that are equal, or of which one contains the other, are left out: a rule on the
               lists alone.
    2. order   Tool descriptions and goal are shown first; then come each call's arguments and its result, in turn, and
               the answer. A choice is *said* if it stands in arguments or in the answer, and in nothing that was shown
               before: a server repeats in its errors what it was asked for.
    3. model   Of what was said, a choice that stood in a language model's reply before it stood in any request to it
               came from there.

Every text is read once, and its runs of as many words as a choice has are looked up: time is linear in the session,
and in the number of choices that the agent's own texts hold.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from sandbox.errors import Malformed
from sandbox.judge.evidence import reply_object
from sandbox.results.said import SaidChoices
from sandbox.transcript import Transcript
from vault.task.variant import Free, searched_words

MAX_BYTES = 1024 * 1024
"""Bytes of a reply; all choices of a task fit in."""

_DIGITS = re.compile(r"[0-9a-f]+")

Place: TypeAlias = tuple[str, int]
"""A choice: its parameter and its number."""


class SpokenChoices:
    """Those choices of free parameters that stand in an agent's own texts, without those that contain another choice.

    A task has thousands of choices, and an agent's texts hold a few of them. So all lists are normalised as one text,
    and whether a choice contains another is looked at for these alone; the answer depends on the lists alone.

    Args:
        lists: the choices of each parameter, a line each.
        spoken: the words of the agent's texts, with an empty one between two texts.
    """

    def __init__(self, lists: Mapping[str, str], spoken: Sequence[str]) -> None:
        lines = _normal("\n".join(lists.values()))
        phrases, joined = lines.split("\n"), lines.replace(" ", "").split("\n")
        self._lists, self._joined = (" \n ".join(["", *of, ""]) for of in (phrases, joined))
        self._sizes = {1, *(phrase.count(" ") + 1 for phrase in phrases)}
        runs = set(_runs(spoken, self._sizes))
        self._places: dict[str, Place] = {}
        for number, (phrase, word) in enumerate(zip(phrases, joined, strict=True)):
            if (phrase in runs or word in runs) and self._is_alone(phrase):
                spellings = (phrase, word) if self._may_be_joined(word) else (phrase,)
                self._places |= dict.fromkeys(spellings, _place(lists, number))
        self._first_words = {phrase.partition(" ")[0] for phrase in self._places}

    def held(self, spoken: Sequence[str]) -> set[Place]:
        """Return those of them that stand in a text."""
        starts = [start for start, word in enumerate(spoken) if word in self._first_words]
        runs = {" ".join(spoken[start : start + size]) for start in starts for size in self._sizes}
        return {self._places[phrase] for phrase in runs & self._places.keys()}

    def _is_alone(self, phrase: str) -> bool:
        """Say whether a choice has words, equals no other, is in no other, and has no other in it."""
        parts = phrase.split()
        shorter = _runs(parts, (size for size in self._sizes if size < len(parts)))
        once = self._lists.count(f" {phrase} ") == 1
        return bool(parts) and once and not any(f"\n {part} \n" in self._lists for part in shorter)

    def _may_be_joined(self, spelling: str) -> bool:
        """Say whether a choice written as one word is no word of the lists, and no other choice written so."""
        return self._joined.count(f" {spelling} ") == 1 and f" {spelling} " not in self._lists


class _Spaces(dict[int, int | str]):
    """Table for `str.translate`: what is in no word becomes a space, but for line breaks."""

    def __missing__(self, code: int) -> int | str:
        self[code] = code if chr(code).isalnum() or chr(code) == "\n" else " "
        return self[code]


def _normal(lines: str) -> str:
    """Return the words of each line (`vault.task.variant.words`), with a space between two words and nothing else."""
    normal = unicodedata.normalize("NFKC", lines).casefold().translate(_Spaces())
    while "  " in normal:
        normal = normal.replace("  ", " ")
    return normal.replace(" \n", "\n").replace("\n ", "\n").strip(" ")


def _spoken(texts: Iterable[str]) -> list[str]:
    """Return the words of texts, with an empty one after each text."""
    return [word for text in texts for word in (*searched_words(text), "")]


def _runs(spoken: Sequence[str], sizes: Iterable[int]) -> Iterator[str]:
    """Yield all runs of so many words, with a space between them."""
    for size in sizes:
        for run in zip(*(spoken[start:] for start in range(size)), strict=False):
            yield " ".join(run)


def _place(lists: Mapping[str, str], number: int) -> Place:
    """Return parameter and number of a choice, of which the number in all lists together is known."""
    for name, lines in lists.items():
        if number <= (last := lines.count("\n")):
            return name, number
        number -= last + 1
    raise IndexError(number)


def request(free: Free, shown: Sequence[str], transcript: Transcript) -> bytes:
    """Write what a judge needs to search a session.

    Args:
        free: the choices of each free parameter.
        shown: what the agent was shown before its first call.
        transcript: its session.
    """
    document = {
        "free": {name: "\n".join(text.replace("\n", " ") for text in choices) for name, choices in free.items()},
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
    calls = [(_spoken((tool, *_texts(arguments))), _spoken((result,))) for tool, arguments, result in session["calls"]]
    answer = _spoken((session["answer"],))
    index = SpokenChoices(session["free"], [word for spoken, _ in calls for word in spoken] + answer)
    said: set[Place] = set()
    shown = index.held(_spoken(session["shown"]))
    for spoken, result in calls:
        said |= index.held(spoken) - shown
        shown |= index.held(result)
    said |= index.held(answer) - shown
    replied = _replied(index, session["models"]) & said
    return json.dumps({"said": _digits(said), "replied": _digits(replied)}).encode()


def _replied(index: SpokenChoices, models: Sequence[tuple[Any, Sequence[str]]]) -> set[Place]:
    """Return the choices that stood in a model's reply before they stood in a request."""
    asked: set[Place] = set()
    replied: set[Place] = set()
    for asking, reply in models:
        asked |= index.held(_spoken(_texts(asking))) - replied
        replied |= index.held(_spoken((*reply, "".join(reply)))) - asked
    return replied


def _texts(value: Any) -> Iterator[str]:
    """Yield every text, key and number in a JSON value, however deep it is."""
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
