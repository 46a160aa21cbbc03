"""Fixtures and rules of all tests: no network beyond this machine, and nothing read from the user's environment."""

from __future__ import annotations

import ctypes
import gc
import ipaddress
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from launcher.verbs import QUICK
from quarterturn import migrations
from sandbox.isolation import machine_lock
from tests import accounting, changed, limits, needs, places, sizes
from tests.postgres import Server
from tests.waits import ALLOWED
from vault import core_dumps
from vault.database import open_engine

settings.register_profile(  # two cores are shared by many tests: time says nothing; what failed once fails again
    "house", deadline=None, derandomize=True, database=None
)
settings.register_profile("small", settings.get_profile("house"), max_examples=25)  # the default is 100
settings.load_profile("house")

for _name in [name for name in os.environ if name.startswith("QUARTERTURN_")]:
    del os.environ[_name]

core_dumps.disable_core_dumps = lambda: (
    None
)  # verbs are played in this process, and a limit once lowered is every test's

_connect = socket.socket.connect
_network = Path("/proc/self/ns/net").readlink()
CLONE_NEWNET = 0x40000000  # linux/sched.h
OWN_ADDRESSES = ("203.0.113.1/32", "203.0.113.10/32", "198.51.100.10/32", "2001:db8::10/128")  # RFC 5737, RFC 3849


def _connect_here(self: socket.socket, address: Any) -> None:
    inet = self.family in {socket.AF_INET, socket.AF_INET6} and Path("/proc/thread-self/ns/net").readlink() == _network
    if inet and not ipaddress.ip_address(_numeric(address[0])).is_loopback:
        pytest.fail(f"a test tried to reach {address[0]}; tests reach nothing but this machine")
    _connect(self, address)


def _numeric(host: str) -> str:
    return "127.0.0.1" if host == "localhost" else host


socket.socket.connect = _connect_here  # type: ignore[method-assign, assignment]


_sleep = time.sleep


def _sleep_if_allowed(seconds: float) -> None:
    code = sys._getframe(1).f_code
    file = Path(code.co_filename)
    tested = any(file.is_relative_to(folder) for folder in (places.TESTS, *places.extras().values()))
    if tested and f"{places.name_of(file)}::{code.co_name}" not in ALLOWED:
        pytest.fail(f"{file.name} sleeps; wait for an event, or poll with tests/patience.py")
    _sleep(seconds)


time.sleep = _sleep_if_allowed


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--exhaustive", action="store_true", help="play every case of the sets that runs else sample")
    accounting.add_option(parser)
    changed.add_option(parser)
    sizes.add_options(parser)
    parser.addoption("--shuffle", type=int, metavar="SEED", help="shuffle the files, and the tests in each")


def pytest_configure(config: pytest.Config) -> None:
    accounting.begin(config)
    changed.begin(config)
    limits.begin(config)
    sizes.begin(config)  # before what is missing: of what is left out nothing can be
    if not sizes.plays_all(config) and not sizes.named_paths(config):
        settings.load_profile("small")  # before the tests' modules are imported, which take the profile of that moment
    config.pluginmanager.register(needs.NotRun(config), "needs")
    config.addinivalue_line("markers", "needs(name, ...): what it cannot run without; the names are in tests/needs.py")
    config.addinivalue_line("markers", "exhaustive: runs with --exhaustive only; a sample of its set always runs")
    config.addinivalue_line("markers", "own_network: runs in a network namespace of its own (needs root)")
    config.addinivalue_line("markers", "both_databases: what asks for a database plays on SQLite and on PostgreSQL")


_NONE_IS_QUICK = re.compile(r"^pytestmark = .*\b(slow|engine|box)\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files and folders of which `./run check` would deselect every test: reading them takes seconds."""
    if config.option.markexpr != QUICK:
        return None
    files = [collection_path] if collection_path.is_file() else list(collection_path.rglob("test_*.py"))
    return all(_NONE_IS_QUICK.search(file.read_text(encoding="utf-8")) for file in files) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("exhaustive"):
        left_out = [item for item in items if item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
    seed = config.getoption("shuffle")
    if seed is not None:
        order = random.Random(seed)
        place = {path: order.random() for path in dict.fromkeys(item.path for item in items)}
        items.sort(key=lambda item: (place[item.path], order.random()))


def pytest_collection_finish() -> None:
    """Exclude what was imported and collected, hundreds of megabytes, from later garbage collections."""
    gc.collect()
    gc.freeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames and metafunc.definition.get_closest_marker("both_databases"):
        elsewhere = pytest.param("postgresql", marks=pytest.mark.slow)
        metafunc.parametrize("backend", ["sqlite", elsewhere], indirect=True)


@pytest.fixture(scope="session", autouse=True)
def own_machine_lock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let runs of this process wait for none of other processes.

    A test may stall a run that holds the lock for its class, and wait for the next run of that class. A test elsewhere
    that waits for another class goes first (`test_a_run_waiting_for_another_class_is_next`): so neither would end.
    """
    folder = tmp_path_factory.mktemp("machine-lock")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine_lock, "shared_folder", lambda: folder)
        yield


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Return a source of random draws that is seeded by the test's name."""
    return random.Random(request.node.nodeid)


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """Return the database that a test runs on."""
    return str(getattr(request, "param", "sqlite"))


@pytest.fixture(scope="session")
@needs.needing("postgres")
def postgres() -> Iterator[Server]:
    """A PostgreSQL of this process' own, started when the first test asks for it."""
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="session")
def migrated_rows(postgres: Server) -> str:
    """Return the address of a database with all tables and no row, which is copied and never used."""
    address = postgres.make()
    engine = open_engine(address)
    migrations.upgrade(engine)
    engine.dispose()
    return address


@pytest.fixture
def migrated(backend: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the address of a database with all tables and no row; on SQLite they are made when it is migrated."""
    if backend == "sqlite":
        yield request.getfixturevalue("url")
        return
    server: Server = request.getfixturevalue("postgres")
    with server.copy(request.getfixturevalue("migrated_rows")) as address:
        yield address


@pytest.fixture
def url(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the address of an empty database."""
    if backend == "sqlite":
        yield f"sqlite:///{tmp_path / 'quarterturn.db'}"
        return
    server: Server = request.getfixturevalue("postgres")
    with server.empty() as address:
        yield address


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a marked test in a thread whose network holds a loopback and documentation addresses."""
    if pyfuncitem.get_closest_marker("own_network") is None:
        return None

    def story() -> None:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            pytest.fail(f"no network namespace can be made: {os.strerror(ctypes.get_errno())}; run this test as root")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        for address in OWN_ADDRESSES:
            nodad = ["nodad"] if ":" in address else []
            subprocess.run(["ip", "address", "add", address, "dev", "lo", *nodad], check=True)
        names = pyfuncitem._fixtureinfo.argnames
        pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})

    with ThreadPoolExecutor(1) as pool:  # what this thread starts has the same network; the other threads keep theirs
        pool.submit(story).result()
    return True
