"""Predicates over the final answer: the text that the agent gave at the end.

An agent that gave no answer fails every one of them. White space around the answer never counts, nor do the dressings
that people put around an answer or an item of it: a fence, code marks, emphasis, quotes, a closing full stop.
"""
# The answer is submitted text too, and it is taken apart where it is judged: it is one capped text, what looks into it
# is linear in it, and the only parser is that of JSON, in which normal forms are written as well.

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from verifiers.answer.claims import (
    CLAIMS_SCHEMA,
    DEFAULT_THRESHOLD,
    THRESHOLD_SCHEMA,
    ClaimOutcome,
    claims_in,
    coverage,
    reply_outcome,
)
from verifiers.answer.examples import answer_views
from verifiers.answer.readings import bare, forms_of, read_as, readings, split_list, ungrouped
from verifiers.errors import CorruptState, StateUnavailable, TargetMissing
from verifiers.formats.plain_json import parse_json
from verifiers.predicates.context import Context
from verifiers.predicates.registry import FLAG, NAME, NOTHING, TEXT, Example, ProbeResult, names, predicate
from verifiers.predicates.values import exact, json_equal, near
from verifiers.quoting import listed, quoted
from verifiers.texts import casefolded, place_of

A_LETTER, AN_ITEM = 1, 4  # steps for a letter of numbers or of a list, and for an item whose dressings are looked at
MAX_ANSWER = 64 * 1024  # characters; the gateway takes no longer one
NUMBER = {"type": "number"}
TOLERANCE = {"type": "number", "minimum": 0}

_NUMBERS = re.compile(
    r"(?<![\w.])[-+]?(?:[0-9]{1,3}(?:,[0-9]{3}){1,13}|[0-9]{1,40})(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,3})?(?!\w|\.[0-9])"
)


class _Wanted:
    """Texts that a predicate wants, held against what an answer says."""

    def __init__(self, context: Context, texts: Iterable[str], *, ignore_case: bool) -> None:
        self.context, self.ignore_case = context, ignore_case
        self.texts = [self.fold(text.strip()) for text in texts]
        self._forms = forms_of(self.texts)

    def fold(self, text: str) -> str:
        """Return a text without differences of case, where case does not count."""
        return casefolded(text, self.context.budget) if self.ignore_case else text

    def read(self, text: str) -> str:
        """Return the wanted text that a part of the answer stands for, or that part's last reading."""
        return read_as(text, self._forms, self.fold)

    def split(self, answer: str) -> tuple[list[str], list[str]]:
        """Return the items that an answer names, and what each stands for."""

        def split() -> tuple[list[str], list[str]]:
            self.context.budget.step(len(answer) * A_LETTER)
            named = split_list(answer, lambda part: self.read(part) in self._forms)
            self.context.budget.step(len(named) * AN_ITEM)
            return named, [self.read(item) for item in named]

        return self.context.once(("answer items", self.ignore_case, *self.texts), split)


def _given(context: Context) -> str:
    if context.answer is None:
        raise TargetMissing("the agent gave no answer")
    if len(context.answer) > MAX_ANSWER:
        raise CorruptState(f"the answer is longer than {MAX_ANSWER} letters")
    context.budget.parse(len(context.answer))
    return context.answer.strip()


def _document(answer: str) -> Any:
    for reading in readings(answer):
        try:
            return parse_json(reading)
        except ValueError:
            continue
    raise TargetMissing(f"the answer is not JSON: {quoted(answer)}")


def numbers_in(text: str) -> set[Fraction]:
    """Find the numbers in a text; commas may group thousands, and a part of a word or of a version is no number."""
    matches = set(_NUMBERS.findall(text.replace("\u2212", "-")))
    return {Fraction(Decimal(number.replace(",", ""))) for number in matches}


@predicate(
    "answer.equals",
    words="the answer is {text}",
    takes={"text": TEXT},
    may_take={"ignore_case": FLAG},
    produces=("text",),
    example=Example({"text": "Blue"}, partial(answer_views, " Blue\n"), partial(answer_views, "It is Blue")),
)
def equals(context: Context, text: str, *, ignore_case: bool = False) -> ProbeResult:
    """The whole answer is this text."""
    answer, wanted = _given(context), _Wanted(context, [text], ignore_case=ignore_case)
    return ProbeResult(wanted.read(answer) in wanted.texts, f"the answer is {quoted(answer)}")


@predicate(
    "answer.oneOf",
    words="the answer is one of {texts}",
    takes={"texts": names(TEXT, least=1)},
    may_take={"ignore_case": FLAG},
    produces=("texts",),
    example=Example({"texts": ["4 May", "May 4"]}, partial(answer_views, "May 4"), partial(answer_views, "May 5")),
)
def one_of(context: Context, texts: Sequence[str], *, ignore_case: bool = False) -> ProbeResult:
    """The whole answer is one of these texts."""
    answer, wanted = _given(context), _Wanted(context, texts, ignore_case=ignore_case)
    return ProbeResult(wanted.read(answer) in wanted.texts, f"the answer is {quoted(answer)}")


@predicate(
    "answer.number",
    words="the one number in the answer is {value}",
    takes={"value": NUMBER},
    may_take={"tolerance": TOLERANCE},
    produces=("value",),
    example=Example(
        {"value": 1234}, partial(answer_views, "It is 1,234."), partial(answer_views, "It is 1,234 or 1,235.")
    ),
)
def number(context: Context, value: float, tolerance: float = 0) -> ProbeResult:
    """Exactly one number occurs in the answer, and it is this one, within the tolerance (0 if none is given)."""
    answer = _given(context)
    context.once("answer letters", lambda: context.budget.step(len(answer) * A_LETTER))
    numbers = context.once("answer numbers", lambda: numbers_in(ungrouped(bare(answer))))
    if len(numbers) != 1:
        raise TargetMissing(f"the answer has {len(numbers)} different numbers in it: {quoted(answer)}")
    return ProbeResult(near(next(iter(numbers)), value, tolerance), f"the answer is {quoted(answer)}")


@predicate(
    "answer.contains",
    words="the answer contains {text}",
    takes={"text": NAME},
    may_take={"ignore_case": FLAG},
    produces=("text",),
    example=Example(
        {"text": "a.txt"}, partial(answer_views, "It is in a.txt."), partial(answer_views, "It is in b.txt.")
    ),
)
def contains(context: Context, text: str, *, ignore_case: bool = False) -> ProbeResult:
    """The text occurs in the answer. Prefer another predicate where an answer that lists everything must not pass."""
    answer = _given(context)
    fold = partial(casefolded, budget=context.budget) if ignore_case else str
    return ProbeResult(place_of(fold(text), fold(answer), context.budget) >= 0, f"the answer is {quoted(answer)}")


@predicate(
    "answer.set",
    words="the answer names {items} in any order, and nothing else",
    takes={"items": names(least=1)},
    may_take={"ignore_case": FLAG},
    produces=("items",),
    example=Example({"items": ["a", "b"]}, partial(answer_views, "b, a"), partial(answer_views, "a, b, c")),
)
def item_set(context: Context, items: Sequence[str], *, ignore_case: bool = False) -> ProbeResult:
    """The answer is a list of just these items, in any order.

    It may be a JSON array, one item a line (with bullets or numbers), or items parted by commas or semicolons, the last
    two by "and".
    """
    answer, wanted = _given(context), _Wanted(context, items, ignore_case=ignore_case)
    named, meant = wanted.split(answer)
    return ProbeResult(set(meant) == set(wanted.texts), f"the answer names {listed(named)}")


@predicate(
    "answer.list",
    words="the answer names {items} in this order, and nothing else",
    takes={"items": {"type": "array", "items": NAME, "minItems": 1}},
    may_take={"ignore_case": FLAG},
    produces=("items",),
    example=Example({"items": ["a", "b"]}, partial(answer_views, "1. a\n2. b"), partial(answer_views, "b, a")),
)
def item_list(context: Context, items: Sequence[str], *, ignore_case: bool = False) -> ProbeResult:
    """The answer is a list of just these items, in this order; written as for `answer.set`."""
    answer, wanted = _given(context), _Wanted(context, items, ignore_case=ignore_case)
    named, meant = wanted.split(answer)
    return ProbeResult(meant == wanted.texts, f"the answer names {listed(named)}")


@predicate(
    "answer.json",
    words="the answer is the JSON value {value}",
    takes={"value": {}},
    produces=("value",),
    example=Example({"value": {"n": 1}}, partial(answer_views, '{"n": 1.0}'), partial(answer_views, '{"n": "1"}')),
)
def json_value(context: Context, value: Any) -> ProbeResult:
    """The whole answer is JSON, and its value is this one; compared as in `filesystem.fileJsonEquals`."""
    answer = _given(context)
    document = context.once("answer json", lambda: _document(answer))
    return ProbeResult(json_equal(document, value), f"the answer is {quoted(answer)}")


_CLAIMS = [
    {"id": "who", "text": "The meeting was moved by Ada."},
    {"id": "when", "text": "It is on 4 May now.", "rubric": "Partially correct if only the month is given."},
]
_HALF = {"who": ClaimOutcome.CORRECT, "when": ClaimOutcome.INCORRECT}
_MOST = {"who": ClaimOutcome.CORRECT, "when": ClaimOutcome.PARTIALLY_CORRECT}


@predicate(
    "answer.claims",
    words="a language model finds enough of these claims in the answer: {claims}",
    takes={"claims": CLAIMS_SCHEMA},
    may_take={"threshold": THRESHOLD_SCHEMA},
    produces=NOTHING,
    example=Example(
        {"claims": _CLAIMS, "threshold": 0.75},
        partial(answer_views, "Ada moved it to some day in May.", **_MOST),
        partial(answer_views, "Ada moved it to June.", **_HALF),
    ),
)
def claims(context: Context, claims: Sequence[Any], threshold: float = DEFAULT_THRESHOLD) -> ProbeResult:
    """Of these claims, the answer supports at least a share, as a language model judges each of them on its own.

    A claim that is correct counts 1, one that is partially correct 1/2, and the share is the mean (3/4 is asked for if
    no threshold is given). A claim that no model judged, or whose reply cannot be read, is unknown, and so is the
    predicate where such claims decide it. An empty answer supports nothing, and no model is asked about it. Ids are
    unique in a task. A run that needs this is in a track of its own; prefer another predicate wherever one will do.
    """
    if not _given(context):
        raise TargetMissing("the answer is empty")
    if context.replies is None:
        raise StateUnavailable("claims are judged by a language model, and none was asked")
    outcomes = {claim.id: reply_outcome(context.replies.get(claim.id)) for claim in claims_in({"claims": claims})}
    share = coverage(list(outcomes.values()))
    single = ", ".join(f"{name} {outcome or 'unknown'}" for name, outcome in outcomes.items())
    observation = f"the coverage is {share}, and {exact(threshold)} is asked for: {single}"
    holds = share.reaches(exact(threshold))
    if holds is None:
        raise StateUnavailable(observation)
    return ProbeResult(holds, observation)
