"""Rows of the `echo` detector: what runs said of a task's free parameters, beside what it was served to whom.

    1. said      which choices were said was found by a judge in each run, and sealed with its result
                 (`sandbox.judge.said_values`); only here is it held against assignments
    2. served    the exposure rows say who was served a task in which month, and the task's variant key which choices
                 these were (`vault.task.variant`); the keys are used after one entry in the access log
    3. house     the first choices and those that admission plays belong to no submitter: each is a source of its own

No task is opened: a choice is a number, and a source is a name and a month.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from grammars.draw.variants import FURTHER, tested_choice
from rotation.calendar import Month
from rotation.detection.statistics.served_values import SaidValues, ServedValues
from rotation.exposure.store import Exposures
from sandbox.results.said import SaidChoices
from sandbox.runs.store import RunRecord
from vault.store.tasks import Vault
from vault.task import variant

HOUSE = "the house"

Choices: TypeAlias = Mapping[str, int]
"""Parameter -> the number of a choice."""
SaidInRun: TypeAlias = tuple[RunRecord, str, Sequence[SaidChoices]]
"""A run, a task, and what it said of it."""


def rotation_of(month: str, start: Month) -> int:
    """Return the rotation of a month, if rotation 1 was in the month `start`."""
    return Month.parse(month).since(start) + 1


class ServedChoices:
    """Service that holds what runs said against what was served."""

    def __init__(self, vault: Vault, exposures: Exposures) -> None:
        self._vault, self._exposures = vault, exposures

    def rows(self, results: Iterable[SaidInRun], start: Month, *, who: str, why: str) -> tuple[SaidValues, ...]:
        """Return the rows of these results, united by submitter, task and rotation.

        A submitter's row of a task is there from the rotation on in which something of it was said.

        Args:
            results: all results of the runs, whether anything was said or not.
            start: the month of rotation 1.
            who: who asks, for the access log.
            why: the reason, for the access log.
        """
        told = self._by_party(list(results), start)
        sizes: dict[str, dict[str, int]] = defaultdict(dict)
        for (_, _, task), months in told.items():
            sizes[task] |= {one.parameter: one.choices for said in months.values() for one in said}
        if not any(sizes.values()):
            return ()
        self._vault.note(who=who, what=f"variants/* ({len(sizes)})", why=why)
        served = {task: _ServedTask(self._vault.variant_key(task), of) for task, of in sizes.items()}
        for task, submitter, month in self._exposures.recipients(sizes):
            served[task].serve(submitter, month, rotation_of(month, start))
        return tuple(_rows(told, served))

    def _by_party(
        self, results: Sequence[SaidInRun], start: Month
    ) -> dict[tuple[str, str, str], dict[int, list[SaidChoices]]]:
        """Map (upstream or nothing, submitter, task) to what was said by rotation, from the first that said something.

        What a language model said first is its provider's, and nobody else's.
        """
        upstreams = self._exposures.upstreams({run.number for run, _, _ in results})
        told: dict[tuple[str, str, str], dict[int, list[SaidChoices]]] = defaultdict(lambda: defaultdict(list))
        for run, task, said in results:
            rotation = rotation_of(run.month, start)
            for one in said:
                own = tuple(choice for choice in one.said if choice not in one.replied)
                for upstream, choices in (("", own), (upstreams.get(run.number, "unknown"), one.replied)):
                    if choices:
                        place = (upstream, run.submitter, task)
                        told[place][rotation].append(SaidChoices(one.parameter, one.choices, choices))
        first = {place: min(months) for place, months in told.items()}
        for run, task, _ in results:
            rotation = rotation_of(run.month, start)
            for upstream in {"", upstreams.get(run.number, "")}:
                place = (upstream, run.submitter, task)
                if place in first and rotation > first[place]:
                    told[place].setdefault(rotation, [])
        return told


class _ServedTask:
    """The choices of one task that each recipient was served."""

    def __init__(self, key: bytes, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sorted(sizes.items()))
        self._key, self._numbers = key, {name: _numbers(size) for name, size in self.sizes.items()}
        self._served: list[tuple[str, str, int, Choices]] = [
            ("", f"{HOUSE}|{f'admission {number}' if number else 'first choices'}", 0, choices)
            for number in range(FURTHER + 1)
            for choices in [{name: tested_choice(number, size) for name, size in self.sizes.items()}]
        ]

    def serve(self, submitter: str, month: str, rotation: int) -> None:
        """Add a recipient."""
        texts = variant.assigned(self._key, submitter, month, self._numbers)
        choices = {name: int(text) for name, text in texts.items()}
        self._served.append((submitter, f"{submitter}|{month}", rotation, choices))

    def values(self, submitter: str, rotation: int, name: str, said: frozenset[int]) -> ServedValues:
        """Return one parameter as a submitter met it, by what was served up to a rotation."""
        own: dict[int, list[int]] = defaultdict(list)
        elsewhere: dict[int, list[str]] = defaultdict(list)
        drawn: set[int] = set()
        for recipient, source, when, choices in self._served:
            choice = choices[name]
            if when > rotation:
                continue
            if recipient == submitter:
                own[choice].append(when)
                continue
            if recipient:
                drawn.add(choice)
            if choice in said:
                elsewhere[choice].append(source)
        return ServedValues(
            parameter=name,
            choices=self.sizes[name],
            own={choice: tuple(months) for choice, months in own.items()},
            said=said,
            elsewhere={choice: tuple(sources) for choice, sources in elsewhere.items()},
            drawn=frozenset(drawn),
        )


def _rows(
    told: Mapping[tuple[str, str, str], Mapping[int, Sequence[SaidChoices]]], served: Mapping[str, _ServedTask]
) -> Iterator[SaidValues]:
    for (upstream, submitter, task), months in sorted(told.items()):
        ever = {one.parameter for said in months.values() for one in said}
        for rotation, said in sorted(months.items()):
            by_name = {name: {choice for one in said if one.parameter == name for choice in one.said} for name in ever}
            values = (served[task].values(submitter, rotation, name, frozenset(by_name[name])) for name in sorted(ever))
            yield SaidValues(rotation, submitter, task, tuple(values), upstream)


@cache
def _numbers(size: int) -> list[str]:
    """Return the numbers of so many choices as texts, in the place of the choices themselves."""
    return [str(number) for number in range(size)]
