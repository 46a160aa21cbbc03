"""Tests that no test depends on the machine's speed: none sleeps, and every limit of a wait is `PATIENCE`."""

from __future__ import annotations

import ast
import time

import pytest

from .places import name_of, python_files
from .waits import ALLOWED, waits_in


@pytest.mark.slow
def test_no_test_sleeps_or_gives_a_wait_a_limit_of_its_own():
    found = {
        f"{name_of(path)}::{function}": f"{name_of(path)}:{line} {function} {what}"
        for path in python_files()
        for function, line, what in waits_in(ast.parse(path.read_text(encoding="utf-8")))
    }
    excess = [said for place, said in found.items() if place not in ALLOWED]
    assert not excess, "wait for an event, with tests/patience.py:\n" + "\n".join(excess)
    assert not set(ALLOWED) - set(found), "these need no exception any more"


def test_a_sleep_and_a_short_wait_are_seen():
    lines = ("time.sleep(1)", "thread.join(5)", "run(timeout=3)", "asyncio.sleep(0)", "', '.join(x)", "done.wait(0)")
    code = "\n ".join(("def story():", *lines))
    seen = list(waits_in(ast.parse(code)))
    assert seen == [("story", 2, "sleeps"), ("story", 3, "waits 5 s at most"), ("story", 4, "waits 3 s at most")]


def test_a_test_that_sleeps_fails():
    def story():
        time.sleep(0)

    with pytest.raises(pytest.fail.Exception, match="sleeps"):
        story()
