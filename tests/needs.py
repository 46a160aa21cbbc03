"""What tests cannot run without: how to detect it, and the command that installs it.

The small size leaves out what needs anything but bubblewrap (`sizes.py`). With CI=true all that is asked for must be
there. Elsewhere a test whose need is missing is not run; the run counts it, says why, and ends with exit code 6.
"""

from __future__ import annotations

import ctypes
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from launcher import engine, local_model, verbs
from quarterturn.launcher import machine
from quarterturn.launcher.steps import answer
from sandbox.errors import Unavailable
from sandbox.images.bases import base_name
from sandbox.images.build import IMAGES
from sandbox.images.client import exists

UNAVAILABLE = 6
CLONE_NEWNET = 0x40000000  # linux/sched.h


@dataclass(frozen=True)
class Need:
    """One component: its name, a probe, what to do where it is missing, and the subject of tests that need it."""

    name: str
    present: Callable[[], bool]
    mend: str
    subject: str = "other programs"


def _program(name: str, package: str, *also: str, subject: str = "other programs") -> Need:
    def present() -> bool:
        return all(machine.find(program) is not None for program in (name, *also))

    return Need(name, present, f"apt-get install {package}", subject)


def _root() -> bool:
    return os.geteuid() == 0


def _own_network() -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _engine() -> bool:
    try:
        return engine.answers() and all(exists(image.tag(base_name())) for image in IMAGES)
    except Unavailable:
        return False


def _bwrap() -> bool:
    program = machine.find("bwrap")
    return program is not None and answer([program, "--unshare-all", "--ro-bind", "/", "/", "true"]) is not None


VENV = Path(__file__).parents[1] / ".venv"
CONSUMERS = VENV / "consumers" / "bin" / "python"
LOCAL_MODEL = VENV / local_model.WEIGHTS
FRAMEWORKS, FRAMEWORKS_MCP1 = (VENV / place for place in verbs.FRAMEWORK_LOCKS)
FRAMEWORKS_NPM = VENV / verbs.FRAMEWORKS_NPM / "node_modules"
CANONICALIZE = VENV.joinpath("tests-npm", "node_modules", "canonicalize", "lib", "canonicalize.js")
GITHUB_API = VENV / "descriptions" / "github.json"
HEADERS = Path("/usr/include/asm-generic/unistd.h")
START_ENGINE = "start a Docker engine (dockerd) that `docker info` reaches, and ./run images"
DATABASES = f"apt-get install {' '.join(sorted(machine.FOR_WORLDS.values()))}"
AS_ROOT = "sudo ./run test --all"
NEEDS = {
    need.name: need
    for need in (
        Need("root", _root, AS_ROOT, "root"),
        Need("netns", _own_network, AS_ROOT, "root"),
        Need("engine", _engine, START_ENGINE, "engine"),
        Need("bwrap", _bwrap, "apt-get install bubblewrap, and allow user namespaces"),
        Need("postgres", lambda: machine.find("initdb") is not None, "apt-get install postgresql", "databases"),
        Need("redis", lambda: machine.find("redis-check-rdb") is not None, "apt-get install redis-tools", "databases"),
        _program("dovecot", "dovecot-imapd", subject="databases"),
        Need("databases", lambda: not machine.missing(machine.FOR_WORLDS), DATABASES, "databases"),
        Need("consumers", CONSUMERS.is_file, "./run test --exhaustive"),
        Need("local-model", LOCAL_MODEL.is_dir, "./run test --exhaustive"),
        Need("frameworks", FRAMEWORKS_NPM.is_dir, "./run test --exhaustive"),
        Need("canonicalize", CANONICALIZE.is_file, "./run test --all"),
        Need("github-api", GITHUB_API.is_file, "./run test --all"),
        Need("headers", HEADERS.is_file, "apt-get install linux-libc-dev"),
        _program("age", "age"),
        _program("apt-get", "apt"),
        _program("chromium", "chromium", subject="browser"),
        _program("docker-compose", "docker-compose"),
        _program("go", "golang-go golang-golang-x-mod-dev", "/usr/share/gocode/src/golang.org/x/mod"),
        _program("soffice", "libreoffice-calc-nogui"),
        _program("openssl", "openssl"),
        _program("runsc", "runsc"),
        _program("ssh-keygen", "openssh-client"),
        _program("strace", "strace"),
        _program("systemd-analyze", "systemd"),
        Need("softhsm", lambda: machine.find("softhsm2-util") is not None, "apt-get install softhsm2"),
    )
}
SERVERS_OF_DEBIAN = {"email", "postgres", "redis"}
"""Servers that a world starts from the machine's own packages."""
MARKS = {"engine": "engine", "box": "bwrap", "own_network": "netns"}  # a mark of its own that names a need
Fixture = TypeVar("Fixture", bound=Callable[..., object])
_OF_FIXTURES: dict[object, tuple[str, ...]] = {}


def needing(*names: str) -> Callable[[Fixture], Fixture]:
    """Declare what a fixture cannot be made without; it stands below `@pytest.fixture`."""

    def declare(fixture: Fixture) -> Fixture:
        _OF_FIXTURES[fixture] = names
        return fixture

    return declare


def needs_of(item: pytest.Item) -> set[str]:
    """Name what a test needs: by its marks, by the fixtures that it asks for, and by its parameters.

    Raises:
        pytest.UsageError: it names something that is not in the table.
    """
    names = set(_named(item))
    for name in names - NEEDS.keys():
        raise pytest.UsageError(f"{item.nodeid} needs {name!r}, which tests/needs.py does not know")
    return names


def _named(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("needs"):
        yield from mark.args
    yield from (need for mark, need in MARKS.items() if item.get_closest_marker(mark))
    if isinstance(item, pytest.Function):
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            yield from _OF_FIXTURES.get(definitions[-1].func, ())
    spec = getattr(item, "callspec", None)
    if spec is not None and spec.params.get("backend") == "postgresql":
        yield "postgres"
    if spec is not None and spec.params.get("server") in SERVERS_OF_DEBIAN and item.get_closest_marker("box"):
        yield "databases"


@cache
def missing(name: str) -> bool:
    """Return whether this machine lacks a component; each is probed once.

    Raises:
        KeyError: no component has this name.
    """
    return not NEEDS[name].present()


class NotRun:
    """Pytest plugin that leaves out the tests that cannot run here, and lists them at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.lacking: dict[str, int] = {}

    @pytest.hookimpl(trylast=True)  # after -m and -k: a test that was deselected counts as wanted by nobody
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        wanted = {item: sorted(needs_of(item)) for item in items}
        if os.environ.get("CI") == "true":
            return
        first_missing = {
            item: lacking for item, names in wanted.items() if (lacking := next(filter(missing, names), None))
        }
        if first_missing:
            config.hook.pytest_deselected(items=list(first_missing))
            items[:] = [item for item in items if item not in first_missing]
            self.lacking = dict(Counter(first_missing.values()))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["not_run"] = self.lacking
        elif self.lacking and session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            session.exitstatus = UNAVAILABLE

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self.lacking = getattr(node, "workeroutput", {}).get("not_run") or self.lacking

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.lacking:
            return
        by_mend: defaultdict[str, list[str]] = defaultdict(list)
        for name in self.lacking:
            by_mend[NEEDS[name].mend].append(name)
        terminalreporter.section(f"{sum(self.lacking.values())} tests not run")
        for mend, names in by_mend.items():
            number = sum(self.lacking[name] for name in names)
            terminalreporter.write_line(f"{number} tests not run: no {' or '.join(names)} here. To run them: {mend}")
