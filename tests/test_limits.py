"""Tests of the limit of each test: who exceeds it fails with stacks, and who does not react to that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from . import limits
from .patience import PATIENCE
from .quarterturn.children import Child, Gate

MOMENT, TESTS = 0.05, Path(__file__).parent


def test_a_wait_ends_before_its_test():
    assert PATIENCE < limits.LIMIT_SECONDS < limits.SETUP_LIMIT_SECONDS


def test_a_test_that_exceeds_its_limit_fails_with_the_stacks_of_threads_and_forked_children_and_all_commands():
    inside, over = Gate(), threading.Event()

    def wait_as_a_child():
        inside.open()
        threading.Event().wait()

    def wait_as_a_thread():
        over.wait()

    child, thread = Child(wait_as_a_child), threading.Thread(target=wait_as_a_thread)
    thread.start()
    try:
        with subprocess.Popen(["cat", "/dev/stdin"], stdin=subprocess.PIPE):
            inside.wait()
            with pytest.raises(limits.LimitExceeded) as caught, limits.limited("a story", MOMENT, 2):
                threading.Event().wait()
    finally:
        over.set()
        thread.join(PATIENCE)
        child.kill()
    message = str(caught.value)
    assert message.startswith("a story exceeded its limit of 0.05 s")
    assert all(name in message for name in ("wait_as_a_child", "wait_as_a_thread", "cat /dev/stdin"))
    assert f"  {child.pid} " in message


HANGING = f"""
import signal, threading
from tests import limits
def hang():
    signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGALRM}})
    with limits.limited("a story", {MOMENT}, 2, grace={MOMENT}):
        threading.Event().wait()
hang()
"""


def test_a_test_that_does_not_end_when_it_is_told_to_ends_with_its_process():
    command = [sys.executable, "-c", HANGING]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, "in hang" in done.stderr) == (1, True)


def test_a_block_that_ends_in_time_leaves_no_alarm():
    before = signal.getitimer(signal.ITIMER_REAL)
    with limits.limited("a story", PATIENCE, 2):
        pass
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= before[0]


def test_every_larger_limit_is_of_a_test_and_few_tests_have_one():
    for name, (seconds, reason) in limits.LARGER_LIMITS.items():
        file, _, function = name.partition("::")
        path = TESTS.parent / file if file.startswith("extras/") else TESTS / file
        assert f"def {function.rpartition('::')[2]}(" in path.read_text(encoding="utf-8")
        assert limits.LIMIT_SECONDS < seconds <= 3 * limits.LIMIT_SECONDS
        assert reason
    assert len(limits.LARGER_LIMITS) <= 12, "make a test cheaper"


def test_a_limit_grows_while_others_use_the_machine(monkeypatch):
    crowds = iter([4.0, 1.0])
    monkeypatch.setattr(limits, "crowding", lambda: next(crowds))
    with pytest.raises(limits.LimitExceeded), limits.limited("a story", MOMENT, 2):
        threading.Event().wait()
    assert next(crowds, None) is None
