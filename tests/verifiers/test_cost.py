"""Tests of what judging costs: each predicate that searches texts counts its worst input, and the cap ends it."""

from unittest import mock

import pytest

from verifiers.errors import TargetMissing
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.evaluate import evaluate
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.predicates import context as contexts
from verifiers.predicates.context import Context

from .costly import CASES

SIZE = 12_000


@pytest.mark.parametrize("label", CASES)
def test_the_worst_text_of_a_predicate_is_counted_and_ends_at_the_cap(label):
    case = CASES[label]
    data = case.text(SIZE)
    states, answer = case.states(data), data.decode("utf-8", "replace")
    context = Context(states, answer)
    try:
        CATALOGUE[case.name].probe(context, **case.arguments)
    except TargetMissing:
        assert case.name.startswith(("answer.", "filesystem."))
    assert context.budget.steps >= len(data) // case.letters
    with mock.patch.object(contexts, "MAX_JUDGED", context.budget.steps - 1):
        evidence = evaluate(parse({case.name: case.arguments}), states, answer)
    assert evidence.verdict is Verdict.FALSE
    assert f"judging it needs more than {context.budget.steps - 1} steps, which counts against" in evidence.found
