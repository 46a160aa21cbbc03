"""Time limit of each test: a test that exceeds it fails with the stacks of all threads, and names all child processes.

An alarm raises `LimitExceeded` in the main thread, so only this test fails. Where that does not end it (it hangs in C,
or waits for a thread that hangs), `faulthandler` prints the stacks and ends the process; pytest-xdist then fails the
test and starts another worker. A wait ends before either (`patience.PATIENCE`) and says what it waited for.

A limit is of a machine that nobody else uses: it grows by the number of processes that share a core
(`patience.crowding`). Each phase has a limit of its own. That of a set-up is larger, because it may make what the
whole session uses.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import pytest

from .patience import crowding

LIMIT_SECONDS = 120.0
SETUP_LIMIT_SECONDS = 360.0
EXHAUSTIVE_LIMIT_SECONDS = 7200.0
GRACE_SECONDS = 30.0
"""How long a test may take to end after it was told to."""

LARGER_LIMITS: dict[str, tuple[float, str]] = {
    "journeys/test_demo.py::test_the_demo_plays_a_month_in_docker": (360, "a whole demo"),
    "journeys/test_docs.py::test_the_guide_to_a_month_and_the_readme_work_line_by_line": (360, "two whole guides"),
    "journeys/test_hygiene.py::test_a_month_leaves_no_word_and_no_key_outside_of_memory": (360, "a whole month"),
    "quarterturn/http/test_random_months.py::test_the_promises_hold_in_random_months": (360, "three whole months"),
    "rotation/detection/test_continuity.py::test_habits_in_calls_do_not_spread_the_scores_of_the_honest": (
        360,
        "many simulated years",
    ),
    "extras/attacks/tests/test_scenarios.py::test_no_agent_gets_through_the_gateway_stays_or_touches_its_score": (
        360,
        "every scenario in a box of its own",
    ),
}
"""Limits in seconds of tests that need more than `LIMIT_SECONDS` on a slow machine, by file and function, and why."""

STACKS_SIGNAL = signal.SIGRTMIN + 7
"""Makes a child that was forked from this process append its stacks to the file below; a program resets it."""
_CHILD_SECONDS = 1.0  # for a child to write its stacks, once the test has failed
_stacks = os.memfd_create("stacks")


class LimitExceeded(BaseException):
    """A test exceeded its limit; no `except Exception` in a test, nor hypothesis, goes on after it."""


def begin(config: pytest.Config) -> None:
    """Register the plugin, and let forked children tell where they are."""
    faulthandler.register(STACKS_SIGNAL, _stacks)
    config.pluginmanager.register(_Limits(os.dup(2)), "limits")


class _Limits:
    """The plugin; what ends the process is printed to a copy of the standard error, which pytest does not capture."""

    def __init__(self, stderr: int) -> None:
        self._stderr = stderr

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        with limited(item.nodeid, max(SETUP_LIMIT_SECONDS, limit_of(item)), self._stderr):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        with limited(item.nodeid, limit_of(item), self._stderr):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        with limited(item.nodeid, limit_of(item), self._stderr):
            return (yield)


def limit_of(item: pytest.Item) -> float:
    """Return the limit of a test in seconds."""
    if item.get_closest_marker("exhaustive"):
        return EXHAUSTIVE_LIMIT_SECONDS
    name = item.nodeid.removeprefix("tests/").partition("[")[0]
    return LARGER_LIMITS.get(name, (LIMIT_SECONDS, ""))[0]


@contextmanager
def limited(name: str, seconds: float, stderr: int, grace: float = GRACE_SECONDS) -> Iterator[None]:
    """Run the block, which may take so many seconds.

    Raises:
        LimitExceeded: it took longer; the message has the stacks of this process and of its children.
    """

    start = time.monotonic()

    def stop(_number: int, _frame: FrameType | None) -> None:
        left = start + seconds * crowding() - time.monotonic()
        if left > 0:  # others use the machine: a test that works more slowly does not hang
            faulthandler.dump_traceback_later(left + grace, exit=True, file=stderr)
            signal.setitimer(signal.ITIMER_REAL, left)
            return
        raise LimitExceeded(f"{name} exceeded its limit of {seconds:g} s (tests/limits.py)\n{where()}")

    faulthandler.dump_traceback_later(seconds + grace, exit=True, file=stderr)
    before = left = None
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGALRM, stop)
        left = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        if left is not None:
            signal.setitimer(signal.ITIMER_REAL, *left)
            signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()


def where() -> str:
    """Return the stacks of all threads of this process, and the state and command of each descendant.

    A descendant that was forked from this process, and has not become another program, adds its stacks.
    """
    parts = ["threads of the test's process:", _dump(lambda: faulthandler.dump_traceback(_stacks)), "child processes:"]
    children = list(descendants(os.getpid()))
    for pid in children:
        parts.append(_describe(pid))
        if _tells_stacks(pid):
            parts.append(_dump(lambda: os.kill(pid, STACKS_SIGNAL)))  # noqa: B023 - called at once
    return "\n".join(parts if children else parts[:-1])


def descendants(pid: int) -> Iterator[int]:
    """Yield the living descendants of a process, each before its own."""
    children = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children[parent].append(int(folder.name))
    waiting = sorted(children[pid], reverse=True)
    while waiting:
        child = waiting.pop()
        yield child
        waiting += sorted(children[child], reverse=True)


def _describe(pid: int) -> str:
    def read(name: str) -> str:
        with suppress(OSError):
            return Path(f"/proc/{pid}/{name}").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return ""

    state = read("stat").rpartition(")")[2].split()[:1]
    command = read("cmdline") or f"[{read('comm')}]"
    return f"  {pid} {''.join(state) or 'ended'}, in {read('wchan').strip('0') or 'user space'}: {command[:300]}"


def _tells_stacks(pid: int) -> bool:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (STACKS_SIGNAL - 1) & 1)
    return False


def _dump(write: Callable[[], object]) -> str:
    """Return what is appended to the file of stacks, once nothing more comes."""
    start, end = os.fstat(_stacks).st_size, -1
    with suppress(OSError):
        write()
    deadline = time.monotonic() + _CHILD_SECONDS
    while time.monotonic() < deadline and (end <= start or end != os.fstat(_stacks).st_size):
        end = os.fstat(_stacks).st_size
        threading.Event().wait(0.02)
    return os.pread(_stacks, max(os.fstat(_stacks).st_size - start, 0), start).decode(errors="replace").rstrip()
