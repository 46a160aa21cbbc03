"""Sizes of a run: small, which needs nothing but bubblewrap, and all (`--all`, or CI=true in the environment).

The small size leaves out tests that need another component (`needs.py`), that are marked `full`, or that lie in a
folder that is all of one piece (`WHOLE`). The run counts them and says how to play them. A file or a test that is named
on the command line is asked for, and so is such a folder: it is played whatever the size.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from .needs import NEEDS, needs_of

TESTS = Path(__file__).parent
SMALL = {"bwrap"}
"""What the tests of the small size may need."""
WHOLE = ("browser", "journeys")
"""Folders that the small size leaves out."""


def plays_all(config: pytest.Config) -> bool:
    """Return whether the run is of the size all."""
    option = config.getoption
    return bool(option("all") or option("exhaustive")) or (os.environ.get("CI") == "true" and not option("small"))


def named_paths(config: pytest.Config) -> tuple[Path, ...]:
    """Return what the command line asks for by its name: files, those of single tests, and the folders `WHOLE`."""
    if config.getoption("small"):
        return ()
    paths = [Path(config.invocation_params.dir, word.partition("::")[0]).resolve() for word in config.args]
    return tuple(path for path in paths if path.is_file() or (path.parent == TESTS and path.name in WHOLE))


def reason_to_leave_out(item: pytest.Item) -> str | None:
    """Return in a word what keeps a test out of the small size, or None where it belongs there."""
    folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
    if folder in WHOLE:
        return folder
    needed = sorted(needs_of(item) - SMALL)
    if needed:
        return NEEDS[needed[0]].subject
    return "costly cases" if item.get_closest_marker("full") else None


def summary(left_out: Counter[str]) -> str:
    """Return the line about what the small size left out."""
    total, counts = left_out.total(), left_out.most_common()
    subjects = ", ".join(f"{subject} ({number})" for subject, number in counts) if len(counts) > 1 else counts[0][0]
    return f"{total} {'tests' if total > 1 else 'test'} of {subjects}: ./run test --all"


class LeftOut:
    """Pytest plugin that leaves out what the small size does not play, and counts it at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.left_out: Counter[str] = Counter()

    @pytest.hookimpl(trylast=True)  # after -m and -k: what they deselect is not counted
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if plays_all(config):
            return
        reasons = _reasons(items, named_paths(config))
        if reasons:
            config.hook.pytest_deselected(items=list(reasons))
            items[:] = [item for item in items if item not in reasons]
            self.left_out = Counter(reasons.values())

    def pytest_sessionfinish(self) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["left_out"] = dict(self.left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.left_out = Counter(getattr(node, "workeroutput", {}).get("left_out")) or self.left_out

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.left_out:
            terminalreporter.write_line(summary(self.left_out))


def _reasons(items: Iterable[pytest.Item], named: tuple[Path, ...]) -> dict[pytest.Item, str]:
    return {
        item: reason
        for item in items
        if not any(item.path == path or path in item.path.parents for path in named)
        and (reason := reason_to_leave_out(item)) is not None
    }


def add_options(parser: pytest.Parser) -> None:
    """Add the options to pytest's."""
    parser.addoption("--all", action="store_true", help="also what needs an engine, a browser, databases or time")
    parser.addoption("--small", action="store_true", help="the small size alone, also of what is named")


def begin(config: pytest.Config) -> None:
    """Start the plugin.

    Raises:
        pytest.UsageError: both sizes are asked for.
    """
    if config.getoption("small") and (config.getoption("all") or config.getoption("exhaustive")):
        raise pytest.UsageError("--small leaves out what --all and --exhaustive ask for; give one of them")
    config.pluginmanager.register(LeftOut(config), "sizes")
