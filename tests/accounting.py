"""Pytest plugin that reports what each test costs: processor seconds, and counts of what it starts.

Every run ends with a table by room. Seconds depend on the machine and are only shown. Units are the seconds over those
of a fixed workload (`workload.py`). Each room has a budget of units and of starts (`budgets.py`), and a run of a whole
room that exceeds it fails. The counts are of what the test's own process starts; what that starts in turn shows in the
processor seconds, once it has ended. What an engine does for a container is not among them.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.boxes.docker.engine import Container
from vault.keys.locks import passphrase

from . import places, sizes, workload
from .budgets import PLACE, STARTS, Budgets, whole_rooms, with_measured
from .workload import PLAYS_IN_A_UNIT, SECONDS_BETWEEN_PLAYS, processor_seconds, unit_of

TESTS = Path(__file__).parent
DEAREST = 10
MIN_PLAYS = 5
OVER_BUDGET = 1
MACHINERY = "machinery"
"""The room of the files that lie in `tests` itself."""
COLLECTION = "collection"
"""What a run costs outside of its tests: imports, collection, and the process that prints the summary."""

started: Counter[str] = Counter()
"""What this process has started since it began, by kind."""


def count(kind: str) -> None:
    """Count one more start of a kind."""
    started[kind] += 1


def room_of(nodeid: str) -> str:
    """Return the room that a test belongs to: the folder below `tests`, or the extra."""
    path = nodeid.split("::", maxsplit=1)[0].removeprefix("tests/").removeprefix("extras/")
    folder, _, rest = path.partition("/")
    return folder if rest else MACHINERY


class Costs:
    """Collects what the tests of a run cost, in the process that prints the summary."""

    def __init__(self) -> None:
        self.rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.by_test: Counter[str] = Counter()
        self.plays: list[float] = []
        """Processor seconds of each play of the workload."""

    def add(self, nodeid: str, cost: Mapping[str, float]) -> None:
        """Take in one test."""
        room = self.rooms[room_of(nodeid)]
        room.update(cost)
        room["tests"] += 1
        self.by_test[nodeid] = cost["processor"]  # type: ignore[assignment]

    def measured(self) -> dict[str, Mapping[str, float]]:
        """Return the rooms' costs, with their units where the workload was played."""
        unit = unit_of(self.plays) if self.plays else None
        return {
            room: {**costs, "units": costs["processor"] / unit} if unit else costs for room, costs in self.rooms.items()
        }

    def table(self, budgets: Budgets) -> list[str]:
        """Return the table's lines, most expensive room first."""
        columns = ("tests", "clock", "processor", "units", "budget", *STARTS)
        rows = [
            (room, {**costs, "budget": budgets.of(room).get("units", 0)}) for room, costs in self.measured().items()
        ]
        rows.sort(key=lambda row: -row[1]["processor"])
        rows.append(("all", {name: sum(costs.get(name, 0) for _, costs in rows) for name in columns}))
        figures = ["".join(f"{costs.get(name, 0):>12.0f}" for name in columns) for _, costs in rows]
        heads = f"{'room':<12}" + "".join(f"{name:>12}" for name in columns)
        return [heads, *(f"{room:<12}{line}" for (room, _), line in zip(rows, figures, strict=True))]

    def dearest(self, room: str | None = None) -> list[str]:
        """Return the lines of the tests that cost most, of one room or of all."""
        tests = Counter({test: cost for test, cost in self.by_test.items() if room in {None, room_of(test)}})
        return [f"{seconds:>8.1f} s  {test}" for test, seconds in tests.most_common(DEAREST)]


class Accounting:
    """The plugin: measures where tests run, and reports where the summary is printed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.costs = Costs()
        self.failed: list[str] = []
        self._in_tests = 0.0
        self._played_at: float | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if self._played_at is None:
            self._played_at = -SECONDS_BETWEEN_PLAYS if self._names_rooms() else processor_seconds()
        if processor_seconds() - self._played_at > SECONDS_BETWEEN_PLAYS:
            self._play()
        before = processor_seconds(), Counter(started)
        item.stash[_BEFORE] = before
        yield
        self._in_tests += processor_seconds() - before[0]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        if call.when == "teardown":
            seconds, counts = item.stash[_BEFORE]
            report.cost = {"processor": round(processor_seconds() - seconds, 4), **(started - counts)}
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.costs.rooms[room_of(report.nodeid)]["clock"] += report.duration
        if report.failed:
            self.failed.append(report.nodeid)
        if report.when == "teardown":
            self.costs.add(report.nodeid, report.cost)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        self.costs.plays += output.get("plays", [])
        self.costs.rooms[COLLECTION]["processor"] += output.get("outside_of_tests", 0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._plays_tests():
            while self._whole_rooms() and len(self.costs.plays) < MIN_PLAYS:
                self._play()
            outside = processor_seconds() - self._in_tests
        else:
            own = resource.getrusage(resource.RUSAGE_SELF)  # workers that have ended say what they used
            outside = own.ru_utime + own.ru_stime
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output |= {"plays": self.costs.plays, "outside_of_tests": outside}
            return
        self.costs.rooms[COLLECTION]["processor"] += outside  # type: ignore[assignment]
        if session.exitstatus == pytest.ExitCode.OK and self._excess():
            session.exitstatus = OVER_BUDGET

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self.costs.by_test:
            return
        terminalreporter.section("what the tests cost (seconds of clock and processor, units, counts of starts)")
        for line in self.costs.table(self._budgets()):
            terminalreporter.write_line(line)
        if self.costs.plays:
            plays = sorted(self.costs.plays)
            terminalreporter.write_line(
                f"a unit is {PLAYS_IN_A_UNIT} plays of the workload: {unit_of(plays):.2f} s here; "
                f"of {len(plays)} plays the fastest took {plays[0]:.3f} s, the slowest {plays[-1]:.3f} s"
            )
        for line in self.costs.dearest():
            terminalreporter.write_line(line)
        for room, lines in self._excess().items():
            for line in (*(f"over budget: {line}" for line in lines), *self.costs.dearest(room)):
                terminalreporter.write_line(line, red=True)
        if self.config.getoption("set_budgets"):
            terminalreporter.write_line(self._set_budgets())
        for nodeid in dict.fromkeys(self.failed):
            terminalreporter.write_line(f"repeat: ./run test {self._options()}'{nodeid}'", red=True)

    def _play(self) -> None:
        self.costs.plays.append(workload.play())
        self._played_at = processor_seconds()

    def _plays_tests(self) -> bool:
        return hasattr(self.config, "workerinput") or not self.config.getoption("numprocesses", None)

    def _size(self) -> str:
        return "all" if sizes.plays_all(self.config) else "small"

    def _budgets(self) -> Budgets:
        return Budgets.read(self._size())

    def _names_rooms(self) -> list[Path]:
        """Return the named paths of a run that may be held to budgets; none where other options choose among tests."""
        options = [self.config.getoption(name, None) for name in NARROWING]
        if any(options) or self.config.getoption("changed") is not None:
            return []
        return [Path(self.config.invocation_params.dir, word).resolve() for word in self.config.args]

    def _whole_rooms(self) -> set[str]:
        """Return the rooms that were played as a whole; of a part nothing can be said."""
        named = self._names_rooms()
        rooms = set(self.costs.rooms) if self._size() == "all" else set(self.costs.rooms) - set(sizes.WHOLE)
        whole = whole_rooms(rooms - {MACHINERY, COLLECTION}, named, TESTS, places.extras())
        return whole | {MACHINERY, COLLECTION} if TESTS in named or TESTS.parent in named else whole

    def _excess(self) -> dict[str, Sequence[str]]:
        budgets, measured = self._budgets(), self.costs.measured()
        whole = self._whole_rooms()
        excess = {room: budgets.excess(room, measured.get(room, {})) for room in sorted(whole)}
        excess["all"] = budgets.excess_of_all(measured) if COLLECTION in whole else []
        return {room: lines for room, lines in excess.items() if lines}

    def _set_budgets(self) -> str:
        measured = self.costs.measured()
        whole = {room: measured[room] for room in self._whole_rooms() if room in measured}
        try:
            PLACE.write_text(with_measured(PLACE.read_text(encoding="utf-8"), self._size(), whole), encoding="utf-8")
        except ValueError as error:
            return f"tests/budgets.toml stays as it is: {error}"
        return f"wrote the budgets of {', '.join(sorted(whole))} to tests/budgets.toml"

    def _options(self) -> str:
        seed = self.config.getoption("shuffle")
        size = "--all " if sizes.plays_all(self.config) else ""
        return f"{size}--shuffle {seed} " if seed is not None else size


NARROWING = ("exhaustive", "keyword", "markexpr", "lf", "deselect", "ignore", "ignore_glob", "maxfail")
"""Options after which a room is not played as a whole, or is played with more than that."""
_BEFORE = pytest.StashKey[tuple[float, Counter[str]]]()


def add_option(parser: pytest.Parser) -> None:
    """Add the option to pytest's."""
    parser.addoption("--set-budgets", action="store_true", help="write what whole rooms took to tests/budgets.toml")


def begin(config: pytest.Config) -> None:
    """Count from now on, and register the plugin."""
    config.pluginmanager.register(Accounting(config), "accounting")
    _count_processes()
    start, derivation = Container.start, passphrase.Argon2id

    def counted_start(self: Container) -> None:
        count("containers")
        start(self)

    def counted_derivation(*args: Any, **parameters: Any) -> Any:
        count("derivations")
        return derivation(*args, **parameters)

    Container.start = counted_start  # type: ignore[method-assign]
    passphrase.Argon2id = counted_derivation  # type: ignore[assignment, misc]


def _count_processes() -> None:
    """Count each start of a process. (A hook of `sys.addaudithook` would run at every import and every open file.)"""
    begin_process, fork, spawn = subprocess.Popen.__init__, os.fork, os.posix_spawn

    def counted_process(self: subprocess.Popen[Any], args: Any, *more: Any, **parameters: Any) -> None:
        count("processes")
        words = [args] if isinstance(args, str | bytes | os.PathLike) else args
        if any(Path(os.fsdecode(word)).name == "bwrap" for word in words):
            count("boxes")
        begin_process(self, args, *more, **parameters)

    def counted_fork() -> int:
        count("processes")
        return fork()

    def counted_spawn(*args: Any, **parameters: Any) -> int:
        count("processes")
        return spawn(*args, **parameters)

    subprocess.Popen.__init__ = counted_process  # type: ignore[method-assign]
    os.fork, os.posix_spawn = counted_fork, counted_spawn
