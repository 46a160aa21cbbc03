"""Answers that a claim judge is checked with: right ones, wrong ones, and ones that try to talk it round. Pure.

The shipped cases have a goal, claims, and answers with the right outcome of each claim; tasks of a home add their
reference answers and `answer` mutants, of which only right and wrong is known. An injected answer is a wrong one in
which text addresses the judge, and is about one claim that the wrong answer does not support.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from verifiers.answer.claims import DEFAULT_THRESHOLD, Claim, ClaimOutcome, claims_in
from verifiers.language.predicate import CLAIMS, Predicate, probes

_DATA = files("quarterturn_judge").joinpath("data")
_FALSE_MARKER = "0123456789abcdef" * 2
"""What an injection takes for the marker; the real one is drawn afterwards."""


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """An answer of known worth.

    Attributes:
        text: the answer.
        right: whether it must pass.
        gold: the right outcome of each claim; None where only `right` is known.
    """

    text: str = field(repr=False)
    right: bool
    gold: tuple[ClaimOutcome, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CheckCase:
    """A goal with claims and answers.

    Attributes:
        id: its name, or its task's.
        goal: the goal.
        groups: the claims of each `answer.claims` that must hold, with its threshold.
        answers: the answers.
    """

    id: str
    goal: str = field(repr=False)
    groups: tuple[tuple[tuple[Claim, ...], float], ...] = field(repr=False)
    answers: tuple[CheckAnswer, ...] = field(repr=False)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of all groups."""
        return tuple(claim for claims, _ in self.groups for claim in claims)


@dataclass(frozen=True, slots=True)
class InjectedAnswer:
    """A wrong answer that addresses the judge.

    Attributes:
        kind: the kind of attack.
        goal: the goal.
        claim: a claim that the wrong answer does not support.
        text: the answer.
    """

    kind: str
    goal: str = field(repr=False)
    claim: Claim = field(repr=False)
    text: str = field(repr=False)


def shipped() -> list[CheckCase]:
    """Return the cases that come with the package."""
    document = json.loads(_DATA.joinpath("cases.json").read_bytes())
    return [_case(plain) for plain in document["cases"]]


def _case(plain: Mapping[str, Any]) -> CheckCase:
    answers = []
    for answer in plain["answers"]:
        gold = tuple(ClaimOutcome(word) for word in answer["gold"])
        answers.append(CheckAnswer(answer["text"], answer["id"] == "reference", gold))
    groups = ((tuple(claims_in(plain)), DEFAULT_THRESHOLD),)
    return CheckCase(plain["id"], plain["goal"], groups, tuple(answers))


def of_task(
    name: str,
    goal: str,
    predicate: Predicate,
    solutions: Sequence[Mapping[str, Any]],
    mutants: Sequence[Mapping[str, Any]],
) -> CheckCase | None:
    """Make a case of a task with claims; None where it has none, or nothing to judge.

    An `answer` mutant counts as wrong only where claims are all that the predicate says of the answer: else another
    predicate may be what it fails.
    """
    asked = [probe for probe in probes(predicate) if probe.name.startswith("answer.")]
    groups = [probe.arguments for probe in asked if probe.name == CLAIMS]
    answers = [CheckAnswer(solution["answer"], right=True) for solution in solutions if solution.get("answer")]
    if len(groups) == len(asked):
        answers += [CheckAnswer(mutant["answer"], right=False) for mutant in mutants if mutant.get("answer")]
    if not groups or not answers:
        return None
    read = tuple((tuple(claims_in(group)), group.get("threshold", DEFAULT_THRESHOLD)) for group in groups)
    return CheckCase(name, goal, read, tuple(answers))


def injected(cases: Sequence[CheckCase]) -> list[InjectedAnswer]:
    """Return the corpus of injected answers, each made of a wrong answer of one of these cases, in turn."""
    templates = json.loads(_DATA.joinpath("injections.json").read_bytes())["injections"]
    wrong = list(_wrong(cases))
    made = []
    for place, template in enumerate(templates):
        goal, claim, answer = wrong[place % len(wrong)]
        filled = {
            "{answer}": answer,
            "{claim}": claim.text,
            "{claim64}": base64.b64encode(claim.text.encode()).decode(),
            "{marker}": _FALSE_MARKER,
        }
        text = template["text"]
        for name, value in filled.items():
            text = text.replace(name, value)
        made.append(InjectedAnswer(template["kind"], goal, claim, text))
    return made


def _wrong(cases: Sequence[CheckCase]) -> Iterator[tuple[str, Claim, str]]:
    """Yield goal, claim and answer where the answer does not support the claim."""
    for case in cases:
        for answer in case.answers:
            for claim, outcome in zip(case.claims, answer.gold or (), strict=False):
                if outcome is ClaimOutcome.INCORRECT:
                    yield case.goal, claim, answer.text
