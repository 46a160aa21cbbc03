"""Check of translated goals: what an agent needs to know stands in each of them as it stands in the English goal.

A draw of a template with translations fills its goal in every wording of every language. A value is needed where it
stands in each English wording and is one of these: a drawn value that an expression put there; a constant that a
reference solution, the predicate or `given` names; or code (a path, a number, a name with signs in it, an abbreviation
in capitals, a text in quotes). It must stand literally in each wording of a translation. A translation must also say no
code that no English wording says.

Nothing is checked of the words around the values: a person has to read those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grammars.draw.sample import Draw
from grammars.errors import Malformed
from grammars.language.grammar import Draft
from grammars.language.labels import ENGLISH

_QUOTED = re.compile(r'"([^"]+)"')
_AROUND = ".,;:?!()\"'“”„«»¿¡…"
_CODE = re.compile(r"[0-9/_@#$%{}<>=*\\]|[A-Z]{2}|\w\.[a-z]{2}")


def require_same_values(made: Draw, where: str) -> None:
    """Refuse a translation that lacks a needed value of this draw, or says code that is not in English.

    Raises:
        Malformed: the message names template, language, wording and value.
    """
    if not made.goals:
        return
    english = made.goals[ENGLISH]
    drawn = set(_leaves(made.draft.provenance["parameters"]))
    said = {value for value in drawn if any(stands_in(value, text) for text in made.inserted)}
    values = said | (set(_solved_by(made.draft)) - drawn) | set().union(*map(codes, english))
    needed = sorted(value for value in values if all(stands_in(value, goal) for goal in english))
    for language, goals in made.goals.items():
        for number, goal in enumerate(goals, 1):
            place = f"{where}: language {language}, phrasing {number}"
            if missing := [value for value in needed if not stands_in(value, goal)]:
                raise Malformed(f"{place}: {missing[0]!r} stands in the English goal and not in this one: {goal!r}")
            if strange := sorted(code for code in codes(goal) if not any(stands_in(code, text) for text in english)):
                raise Malformed(f"{place}: {strange[0]!r} stands in no English goal of the same draw: {goal!r}")


def codes(goal: str) -> set[str]:
    """Return what stands in a goal and is no word of its language: paths, numbers, names with signs, quoted texts."""
    tokens = (token.strip(_AROUND) for token in goal.split())
    return {token for token in tokens if _CODE.search(token)} | set(_QUOTED.findall(goal))


def stands_in(value: str, goal: str) -> bool:
    """Say whether a value stands in a goal literally, and not as a part of a longer word."""
    return value in goal and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", goal) is not None


def _solved_by(draft: Draft) -> Iterator[str]:
    """Yield the values that solutions say to tools, that the predicate compares, and that are given."""
    for solution in draft.provenance["solutions"]:
        for call in solution["calls"]:
            yield from _leaves(call["arguments"])
    yield from _leaves(draft.provenance["given"])
    for conjunct in draft.task["success_predicate"]["all"]:
        for name, arguments in conjunct.items():
            if not name.endswith(".unchanged"):  # a frame is in the words of the state's kind, not of the goal
                parts = list(arguments.values()) if isinstance(arguments, Mapping) else arguments
                yield from _leaves(parts)
                yield from _keys(parts)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        yield str(value)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (key for key in value if key.strip())
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _keys(part)
