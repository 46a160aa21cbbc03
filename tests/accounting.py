"""Pytest plugin that reports what each test costs: processor seconds, and counts of the processes it starts.

Every run ends with a table by package. Seconds depend on the machine and are only shown; counts do not, so each package
has a budget of them (`budgets.toml`), and a run that exceeds one fails. The counts are of what the test's own process
starts; what that starts in turn shows in the processor seconds, once it has ended.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox.boxes.docker.engine import Container
from vault.keys.locks import passphrase

from . import sizes

HERE = Path(__file__).parent
KINDS = ("boxes", "containers", "databases", "processes", "derivations")
SLOWEST = 10
STARTS = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.spawn"}
OVER_BUDGET = 1

started: Counter[str] = Counter()
"""What this process has started since it began, by kind."""


def count(kind: str) -> None:
    """Count one more start of a kind."""
    started[kind] += 1


def processor_seconds() -> float:
    """Give what this process and its children that have ended used so far."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def package_of(nodeid: str) -> str:
    """Give the package that a test belongs to: the folder below `tests`, or the file there."""
    return nodeid.split("::", maxsplit=1)[0].removeprefix("tests/").split("/")[0]


class Costs:
    """Collects what the tests of a run cost, in the process that prints the summary."""

    def __init__(self) -> None:
        self.packages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.by_test: Counter[str] = Counter()

    def add(self, nodeid: str, cost: Mapping[str, float]) -> None:
        """Take in one test."""
        package = self.packages[package_of(nodeid)]
        package.update(cost)
        package["tests"] += 1
        self.by_test[nodeid] = cost["processor"]  # type: ignore[assignment]

    def table(self) -> list[str]:
        """Give the table's lines, most expensive package first."""
        columns = ("tests", "processor", "clock", *KINDS)
        lines = [f"{'package':<16}" + "".join(f"{name:>13}" for name in columns)]
        total: Counter[str] = Counter()
        for package, costs in sorted(self.packages.items(), key=lambda pair: -pair[1]["processor"]):
            lines.append(f"{package:<16}" + "".join(f"{costs[name]:>13.0f}" for name in columns))
            total.update(costs)
        return [*lines, f"{'all':<16}" + "".join(f"{total[name]:>13.0f}" for name in columns)]

    def over_budget(self, budgets: Mapping[str, Mapping[str, int]]) -> list[str]:
        """Name every count that exceeds its package's budget; a package without a budget may start nothing."""
        return [
            f"{package} started {costs[kind]:.0f} {kind}, and its budget in tests/budgets.toml is {most}"
            for package, costs in sorted(self.packages.items())
            for kind in KINDS
            if costs[kind] > (most := budgets.get(package, {}).get(kind, 0))
        ]


class Accounting:
    """The plugin: measures where tests run, and reports where the summary is printed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.costs = Costs()
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        before = processor_seconds(), Counter(started)
        item.stash[_BEFORE] = before
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        if call.when == "teardown":
            seconds, counts = item.stash[_BEFORE]
            report.cost = {"processor": round(processor_seconds() - seconds, 4), **(started - counts)}
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.costs.packages[package_of(report.nodeid)]["clock"] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)
        if report.when == "teardown":
            self.costs.add(report.nodeid, report.cost)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self._reports() or session.exitstatus:
            return
        if not self.config.getoption("exhaustive") and self._excess():
            session.exitstatus = OVER_BUDGET

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.costs.by_test:
            return
        terminalreporter.section("what the tests cost (seconds of processor and clock, counts of what was started)")
        for line in self.costs.table():
            terminalreporter.write_line(line)
        for nodeid, seconds in self.costs.by_test.most_common(SLOWEST):
            terminalreporter.write_line(f"{seconds:>8.1f} s  {nodeid}")
        if not self.config.getoption("exhaustive"):
            for line in self._excess():
                terminalreporter.write_line(f"over budget: {line}", red=True)
        for nodeid in dict.fromkeys(self.failed):
            terminalreporter.write_line(f"repeat: ./run test {self._options()}'{nodeid}'", red=True)

    def _reports(self) -> bool:
        return not hasattr(self.config, "workerinput")

    def _excess(self) -> list[str]:
        budgets = tomllib.loads((HERE / "budgets.toml").read_text(encoding="utf-8"))
        return self.costs.over_budget(budgets)

    def _options(self) -> str:
        seed = self.config.getoption("shuffle")
        size = "--all " if sizes.plays_all(self.config) else ""
        return f"{size}--shuffle {seed} " if seed is not None else size


_BEFORE = pytest.StashKey[tuple[float, Counter[str]]]()


def begin(config: pytest.Config) -> None:
    """Count from now on, and register the plugin."""
    config.pluginmanager.register(Accounting(config), "accounting")
    sys.addaudithook(_count_process)
    start, derivation = Container.start, passphrase.Argon2id

    def counted_start(self: Container) -> None:
        count("containers")
        start(self)

    def counted_derivation(*args: Any, **parameters: Any) -> Any:
        count("derivations")
        return derivation(*args, **parameters)

    Container.start = counted_start  # type: ignore[method-assign]
    passphrase.Argon2id = counted_derivation  # type: ignore[assignment, misc]


def _count_process(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in STARTS:
        return
    count("processes")
    if event == "subprocess.Popen":
        words = [arguments[1]] if isinstance(arguments[1], str | bytes) else arguments[1]
        if any(Path(os.fsdecode(word)).name == "bwrap" for word in words):
            count("boxes")
