"""What one run said of a task's free values, and who had been served them: the input of the `echo` detector. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

MOST_CHOICES = 10**9
MOST_PARAMETERS = 64
_MONTH = re.compile(r"(?P<year>[0-9]{4})-(?P<month>0[1-9]|1[0-2])")
_FIELDS = ("parameter", "choices", "own", "said", "elsewhere", "drawn")


@dataclass(frozen=True, slots=True)
class ServedValues:
    """One free parameter of a task, as one run of one submitter met it; choices are numbers from 0 on.

    Attributes:
        parameter: its name.
        choices: how many choices it has.
        own: choice -> the rotations in which this submitter was served it, up to the run's own.
        said: the choices that the run said and was not shown.
        elsewhere: choice -> its other sources, `submitter|month`, at least for each choice that the run said.
        drawn: all choices that others were served so far; like `elsewhere` of no use where the run said nothing.
    """

    parameter: str
    choices: int
    own: Mapping[int, tuple[int, ...]]
    said: frozenset[int]
    elsewhere: Mapping[int, tuple[str, ...]]
    drawn: frozenset[int]


@dataclass(frozen=True, slots=True)
class SaidValues:
    """The free values of one task in one run.

    Attributes:
        rotation: the run's rotation.
        submitter: the run's submitter.
        task: the task's name.
        values: its parameters.
        upstream: the model provider whose model said them first; empty where the agent did.
    """

    rotation: int
    submitter: str
    task: str
    values: tuple[ServedValues, ...]
    upstream: str = ""


def served_values(given: Any) -> tuple[ServedValues, ...]:
    """Read the `foreign` field of a line of a case file; without what others were served where nothing was said.

    Args:
        given: the field.

    Raises:
        ValueError: it has another form; the message says where.
    """
    if not (isinstance(given, list) and len(given) <= MOST_PARAMETERS):
        raise ValueError(f"'foreign' has to be a list of at most {MOST_PARAMETERS} parameters")
    read = tuple(_parameter(item) for item in given)
    if len({values.parameter for values in read}) < len(read):
        raise ValueError("'foreign' has a parameter twice")
    return read


def dated(read: Sequence[ServedValues], rotation: int) -> tuple[ServedValues, ...]:
    """Return what a line of a rotation says with months counted as rotations.

    Months are rotations, or any other count of months, or written as `YYYY-MM`: where the newest in which the submitter
    was served a value is later than the line's rotation, it is taken to be that rotation.
    """
    newest = max((month for values in read for months in values.own.values() for month in months), default=rotation)
    later = newest - rotation
    if later <= 0:
        return tuple(read)
    return tuple(
        replace(values, own={choice: tuple(month - later for month in months) for choice, months in values.own.items()})
        for values in read
    )


def _parameter(item: Any) -> ServedValues:
    if not isinstance(item, dict) or not set(_FIELDS) <= set(item):
        raise ValueError(f"each parameter of 'foreign' has to have {', '.join(_FIELDS)}")
    name, choices = item["parameter"], item["choices"]
    if not isinstance(name, str) or not name:
        raise ValueError("'parameter' in 'foreign' has to be a text")
    if not _whole(choices, 1, MOST_CHOICES):
        raise ValueError(f"'choices' of {name!r} in 'foreign' has to be a whole number from 1 to {MOST_CHOICES}")
    own = {choice: tuple(map(_month, months)) for choice, months in _by_choice(item, "own", choices)}
    elsewhere = {choice: tuple(map(_source, sources)) for choice, sources in _by_choice(item, "elsewhere", choices)}
    said, drawn = (_choices(item, field, choices) for field in ("said", "drawn"))
    return ServedValues(name, choices, own, said, elsewhere if said else {}, drawn if said else frozenset())


def _whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _choices(item: Mapping[str, Any], field: str, choices: int) -> frozenset[int]:
    given = item[field]
    if not (isinstance(given, list) and set(map(type, given)) <= {int}) or (
        given and not 0 <= min(given) <= max(given) < choices
    ):
        raise ValueError(f"{field!r} of {item['parameter']!r} in 'foreign' has to list choices from 0 to {choices - 1}")
    return frozenset(given)


def _by_choice(item: Mapping[str, Any], field: str, choices: int) -> Iterator[tuple[int, Sequence[Any]]]:
    given = item[field]
    if not isinstance(given, dict):
        raise ValueError(f"{field!r} of {item['parameter']!r} in 'foreign' has to map choices to lists")  # noqa: TRY004 - one kind of error
    for key, listed in given.items():
        known = key.isascii() and key.isdecimal() and str(int(key[:9])) == key
        if not (known and int(key) < choices and isinstance(listed, list)):
            raise ValueError(
                f"{field!r} of {item['parameter']!r} in 'foreign' has to map choices to lists, unlike {key!r}"
            )
        yield int(key), listed


def _month(given: Any) -> int:
    if _whole(given, -(2**31), 2**31):
        return int(given)
    if isinstance(given, str) and (written := _MONTH.fullmatch(given)):
        return int(written["year"]) * 12 + int(written["month"])
    raise ValueError(f"a month in 'foreign' has to be a whole number or YYYY-MM, unlike {given!r}")


def _source(given: Any) -> str:
    if isinstance(given, str) and all(given.rpartition("|")):
        return given
    raise ValueError(f"a source in 'foreign' has to be written submitter|month, unlike {given!r}")
