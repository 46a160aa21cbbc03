"""Tests that every listed mutant still fits the code that it changes."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from .mutants import ROOT, read_list

MUTANTS = read_list()
LEAST = {"vault": 45, "verifiers": 25, "sandbox": 35, "rotation": 35, "quarterturn": 25, "grammars": 4, "import": 2}


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def _function(node):
    """Return the function of a test's name; empty for a file or a folder."""
    return node.partition("::")[2].rpartition("::")[2].partition("[")[0]


def test_the_mutants_are_spread_over_the_packages():
    counted = Counter(one.package for one in MUTANTS)
    assert {name: counted[name] for name in LEAST if counted[name] < LEAST[name]} == {}
    assert len({one.id for one in MUTANTS}) == len(MUTANTS)


def test_the_text_that_a_mutant_replaces_stands_in_its_file_exactly_once():
    strayed = [one.id for one in MUTANTS if text_of(one.file).count(one.old) != 1]
    assert strayed == []


@pytest.mark.slow
def test_a_mutant_changes_what_the_code_does_and_leaves_it_code():
    for one in MUTANTS:
        before = text_of(one.file)
        if not one.file.endswith(".py"):
            assert one.applied(before) != before, one.id
            continue
        after = ast.parse(one.applied(before), one.file)
        assert ast.dump(after) != ast.dump(ast.parse(before)), one.id


def test_the_tests_that_are_named_for_a_mutant_are_there():
    named = {node for one in MUTANTS for node in one.tests}
    gone = [node for node in named if f"def {_function(node)}" not in text_of(node.partition("::")[0])]
    assert gone == []
    assert all(one.tests for one in MUTANTS)
