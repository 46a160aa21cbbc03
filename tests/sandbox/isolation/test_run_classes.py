"""Tests of the class of a run, which follows from its exits."""

import pytest

from sandbox.isolation.run_classes import run_class


@pytest.mark.parametrize(
    ("private", "kind", "model", "expected"),
    [
        (True, "image", None, "sealed"),
        (True, "command", None, "unofficial"),
        (True, "reference", None, "unofficial"),
        (True, "image", "anthropic", "open"),
        (True, "command", "anthropic", "open"),
        (True, "endpoint", None, "open"),
        (False, "image", None, "open"),
        (False, "command", None, "open"),
        (False, "endpoint", None, "open"),
    ],
)
def test_a_class_follows_the_exits(private, kind, model, expected):
    assert run_class(private=private, kind=kind, model=model) == expected
