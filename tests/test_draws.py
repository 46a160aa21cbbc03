"""Tests that random draws are seeded: in tests, by hypothesis, and by the fixture `dice`."""

from __future__ import annotations

import ast
import random

import pytest
from hypothesis import settings

from .draws import MAY_VARY, unseeded_draws_in
from .places import name_of, python_files


@pytest.mark.slow
def test_no_test_draws_without_a_seed():
    draws = {
        name_of(path): f"{name_of(path)}:{line} {name}"
        for path in python_files()
        if "bench" not in path.parts
        for line, name in unseeded_draws_in(ast.parse(path.read_text(encoding="utf-8")))
    }
    excess = [place for file, place in draws.items() if file not in MAY_VARY]
    assert not excess, "draw from the fixture `dice`:\n" + "\n".join(excess)
    assert not set(MAY_VARY) - set(draws), "these need no exception any more"


def test_draws_without_a_seed_are_noticed():
    code = "os.urandom(4)\nsecrets.token_hex()\nrandom.random()\nrandom.Random()\nnp.random.default_rng()\nuuid.uuid4()"
    assert [line for line, _ in unseeded_draws_in(ast.parse(code))] == [1, 2, 3, 4, 5, 6]
    seeded = "random.Random(4).random()\nnp.random.default_rng(seed)\ndice.random()\nos.getpid()"
    assert not list(unseeded_draws_in(ast.parse(seeded)))


def test_dice_fall_alike_in_each_run_of_a_test(dice, request):
    assert dice.random() == random.Random(request.node.nodeid).random()


def test_hypothesis_plays_the_same_examples_in_each_run():
    assert settings.default.derandomize
    assert settings.default.database is None
