"""Answer-leak check of a task: finds values that the agent must produce and that it could simply copy from somewhere.

A value that the predicate expects to be *produced* (an answer, a computed text, a computed cell: what each predicate
names in `produces` where it is registered) must not appear in the initial state, a file's name, a commit's message, a
tool's description or the goal. Numbers are searched as whole numbers and texts as whole words, ignoring case.
Exempt are:

- values of one or two characters: small numbers appear everywhere and tell nothing;
- texts of several words that are the whole content of a file of the initial state: they are moved or kept, not made;
- where predicates describe a server's whole state: a text that is a whole value in its initial state, and a number
  under the same key, because most of that state was there before; likewise the text of a file in a commit;
- what the template declares as `given`: the goal says it, or finding it is the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from verifiers.language.catalogue import CATALOGUE
from verifiers.predicates import namespaces

MIN_LEAK_CHARACTERS = 3
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_WHOLE = ("git.fileAtRef", "github.", "json_document.", "memory.", "redis.")
"""Beginnings of the registered names of predicates that describe a whole state, or a whole file in it."""


def leaks(
    document: Mapping[str, Any], given: Iterable[Any] = (), descriptions: Mapping[str, str] | None = None
) -> list[str]:
    """Name the places where a value that the agent must produce appears; no value is quoted."""
    allowed = {text.strip().casefold() for text in _scalars(list(given))}
    wanted = {text for text in produced(document) if text.casefold() not in allowed}
    pieces = list(_pieces(document, descriptions or {}))
    contents = {text.strip() for text in _initial_files(document).values() if isinstance(text, str)}
    places = []
    for text in sorted(wanted):
        if len(text) < MIN_LEAK_CHARACTERS or (len(text.split()) > 1 and text in contents):
            continue
        pattern = _pattern(text)
        places += [place for place, piece in pieces if pattern.search(piece)]
    return list(dict.fromkeys(places))


def produced(document: Mapping[str, Any]) -> set[str]:
    """Collect the values that the predicate expects to be produced, as stripped texts."""
    unchanged, state = _initial_files(document), document["initial_state"]
    texts = {server: _whole_texts(part) for server, part in state.items()}
    return {
        text.strip()
        for name, arguments in _probes(document["success_predicate"])
        if unchanged.get(str(arguments.get("path"))) != arguments.get("text", "")
        for key in CATALOGUE[name].produces
        if key in arguments
        for text in _scalars(arguments[key])
        if not (_describes_all(name) and text.strip() in texts.get(_server(name), ()))
        if text not in _under(_of_kind(state, "redis"), arguments.get("key"))
    }


def _server(predicate: str) -> str:
    return predicate.partition(".")[0]


def _describes_all(predicate: str) -> bool:
    server, _, name = predicate.partition(".")
    return f"{namespaces.registered(server)}.{name}".startswith(_WHOLE)


def _of_kind(state: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    """Return the parts of an initial state that are of a state kind, whichever server has them."""
    return (part for server, part in state.items() if namespaces.kind_of(server) == kind)


def _whole_texts(state: Any) -> set[str]:
    return {text.strip() for text in _scalars(state) if not _NUMBER.fullmatch(text)}


def _under(states: Iterable[Mapping[str, Any]], key: object) -> set[str]:
    """Return the texts stored under a Redis key, whatever its type."""
    parts = (part for state in states for part in state.values())
    values = (part[key] for part in parts if isinstance(part, Mapping) and key in part)
    return {text for value in values for text in _scalars(value)}


def _initial_files(document: Mapping[str, Any]) -> Mapping[str, Any]:
    parts = _of_kind(document["initial_state"], "files")
    return {path: text for part in parts for path, text in part.get("files", {}).items()}


def _probes(predicate: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    ((name, argument),) = predicate.items()
    if name in {"all", "any"}:
        for operand in argument:
            yield from _probes(operand)
    elif name != "not":
        yield name, argument


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _scalars(item)


def _pattern(text: str) -> re.Pattern[str]:
    if _NUMBER.fullmatch(text):
        return re.compile(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)")
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)


def _pieces(document: Mapping[str, Any], descriptions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "the goal", document["goal"]
    for server, state in document["initial_state"].items():
        for place, text in _texts(state, f"initial_state.{server}"):
            yield place, text
    for tool, text in descriptions.items():
        yield f"the description of {tool}", text


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield f"a name in {place}", str(key)
            yield from _texts(item, place)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, place)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield place, str(value)
