"""Tests of choosing variants: frozen bytes, and the number of variants from which on a task is traceable."""

import json
from pathlib import Path

import pytest

from vault.errors import Malformed
from vault.task import variant

VECTORS = json.loads((Path(__file__).parents[2] / "vectors/variants/assigned.json").read_bytes())
FREE = {"folder": [f"folder-{n}" for n in range(1000)], "owner": VECTORS["free"]["owner"]}
KEY = bytes.fromhex(VECTORS["key"])


def test_a_tasks_key_is_the_one_that_was_frozen():
    assert variant.task_key(bytes.fromhex(VECTORS["master"]), VECTORS["task"]) == KEY
    assert variant.digest(KEY) == VECTORS["sha256"]


@pytest.mark.parametrize("shown", VECTORS["assigned"], ids=lambda shown: f"{shown['submitter']} {shown['month']}")
def test_the_assignment_of_variants_is_frozen(shown):
    assert variant.assigned(KEY, shown["submitter"], shown["month"], FREE) == shown["choices"]


def test_from_twenty_bits_on_a_task_is_traceable():
    assert variant.traceable({"a": FREE["folder"], "b": FREE["folder"], "c": ["x", "y"]})
    assert not variant.traceable({"a": FREE["folder"], "b": FREE["folder"]})
    assert not variant.traceable({})
    assert variant.bits({"a": ["x", "y"], "b": list("abcd")}) == 3


def test_a_key_of_another_length_and_a_month_that_is_none_are_refused():
    with pytest.raises(Malformed, match="32 bytes, this one 31"):
        variant.assigned(KEY[1:], "acme", "2026-12", FREE)
    with pytest.raises(Malformed, match="YYYY-MM"):
        variant.assigned(KEY, "acme", "2026-12-01", FREE)
