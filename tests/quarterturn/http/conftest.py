"""Fixtures for HTTP tests: the real application over real homes, and a token for each role."""

import itertools
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from quarterturn import public_view
from quarterturn.accounts.roles import ROLES
from quarterturn.app import Application
from quarterturn.http.serve import make_server
from quarterturn.runs.jobs import WorkerThreads
from quarterturn.settings import ServiceSettings
from rotation.calendar import Month
from rotation.month.sets import DEMO
from sandbox.results.outcome import TaskRun
from sandbox.transcript import CallRecord, Transcript
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict

from ...patience import PATIENCE
from .. import invented_runs
from ..conftest import copy_of, made_once

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
QUARTERTURN = Path(sys.prefix) / "bin" / "quarterturn"
HEEDING = ["env", "--default-signal=INT"]  # a shell makes its background jobs ignore it
_addresses = itertools.count(1)


@dataclass
class Site:
    """A served application, and a client of it."""

    house: Application
    client: TestClient
    tokens: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, who: str | None = None, **how: Any) -> httpx2.Response:
        """Send a request as a role, as an account that has a token here, or as nobody."""
        headers = {**how.pop("headers", {})}
        if who is not None:
            headers["authorization"] = f"Bearer {self.tokens[who]}"
        return self.client.request(method, path, headers=headers, **how)

    def get(self, path: str, who: str | None = None, **how: Any) -> httpx2.Response:
        return self.ask("GET", path, who, **how)

    def post(self, path: str, body: Any, who: str | None = None, **how: Any) -> httpx2.Response:
        return self.ask("POST", path, who, json=body, **how)

    def account(self, name: str, role: str = "submitter") -> str:
        self.tokens[name] = self.house.auth.accounts.create(name, role)[0]
        return name


def from_elsewhere(site: Site) -> TestClient:
    """Return a client of the same application at an address of its own, which has made no request yet."""
    return TestClient(site.client.app, client=(f"203.0.113.{next(_addresses)}", 1), raise_server_exceptions=False)


@contextmanager
def served(home: Path, *, now: Callable[[], datetime] = lambda: NOW, workers: int = 0, **how: Any) -> Iterator[Site]:
    """Serve a home, without workers unless they are wanted."""
    house = Application(home, None, now)
    limits = how.pop("limits", None)
    if limits:
        house.home.settings = house.home.settings.model_copy(
            update={"service": ServiceSettings(**{"images": ("",)} | limits)}
        )
    work = how.pop("work", lambda claim, stopping: house.execution.job_worker.work(claim, stopping))  # noqa: PLW0108 - tests set the box later
    app = house.http(WorkerThreads(house.submissions.queue, work, workers, **how), clock=lambda: 0.0)
    try:
        with TestClient(app, raise_server_exceptions=False) as client:
            site = Site(house, client)
            for role in ROLES:
                site.account(role, role)
            yield site
    finally:
        house.close()


@pytest.fixture
def elsewhere() -> Callable[[Site], TestClient]:
    return from_elsewhere


@pytest.fixture
def serve() -> Callable[..., Any]:
    return served


def with_dev_set(home: Path, templates: Path) -> Path:
    """Copy the dev set's file, which is drawn once, into a home, and return the home."""
    view = Application(home, None).home.places.view
    view.mkdir(parents=True, exist_ok=True)
    shutil.copy(made_once(templates / public_view.DEV, draw_dev_set), view)
    return home


def draw_dev_set(file: Path) -> None:
    """Write the dev set's file of the set that prepared homes have, of which no task is private."""
    file.write_bytes(public_view.dev_set(DEMO, lambda _: 0, file))


@pytest.fixture
def site(live: Path, templates: Path) -> Iterator[Site]:
    with served(with_dev_set(live, templates)) as site:
        yield site


def outcome(task: Task, *, passed: bool, says: str = "") -> TaskRun:
    """Make a task's outcome, with an agent that gives an answer."""
    verdict = Verdict.TRUE if passed else Verdict.FALSE
    call = CallRecord(task.available_tools[0], {"path": says}, True, False, False, says, 0.25)
    return TaskRun(
        task.id,
        task.category,
        task.max_steps,
        verdict,
        Evidence("all", verdict, found=says),
        Transcript((call,), says, "answered"),
        output=says,
        phases={"agent": 12.625},
    )


def play(house: Application, passes: int, submitter: str = "ada", says: str = "") -> int:
    """Record a run of the live set in the ledger, with so many passes."""

    def invent(place: int, task: Task) -> TaskRun:
        return outcome(task, passed=place < passes, says=says)

    run = invented_runs.play(house, submitter, invent, "agent")
    house.submissions.refresh_view()
    return run.record.number


@pytest.fixture
def played() -> Callable[..., int]:
    return play


def turned_from(live: Path, templates: Path) -> Path:
    """Turn a home's first month, with one run and the sunset cohort released; it is done once, and copied."""

    def turn(folder: Path) -> None:
        with closing(Application(Path(shutil.copytree(live, folder)), None, lambda: NOW)) as house:
            play(house, 12, says="what the agent said")
            house.month.rotation.run(Month.parse("2026-12"))
            house.submissions.refresh_view()

    turned = made_once(templates / "turned", turn)
    shutil.rmtree(live)
    return Path(shutil.copytree(turned, live))


@pytest.fixture
def turned(live: Path, templates: Path) -> Iterator[Site]:
    with served(turned_from(live, templates)) as site:
        yield site


@pytest.fixture(scope="module")
def published(templates: Path, memory: Path) -> Iterator[Site]:
    """Serve a home with a release that the tests of a module only read, so that one is enough for all of them."""
    with served_release(templates, memory) as site:
        yield site


@contextmanager
def served_release(templates: Path, memory: Path, **how: Any) -> Iterator[Site]:
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        live = copy_of(templates, "live", Path(folder) / "home", tasks=5, live=True)
        with served(turned_from(live, templates), **how) as site:
            yield site


@pytest.fixture
def problem() -> Callable[[httpx2.Response], str]:
    """Return the code of a response that must be a problem."""

    def code(answer: httpx2.Response) -> str:
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        body = json.loads(answer.content)
        assert body["status"] == answer.status_code
        assert body["type"] == f"urn:quarterturn:problem:{body['code']}"
        return str(body["code"])

    return code


@contextmanager
def served_by_process(home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve a home in a process of its own; give its address and the process."""
    command = [*HEEDING, QUARTERTURN, "serve", "--home", home, "--port", "0", "--workers", "0", "--no-clock"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    alarm = threading.Timer(PATIENCE, process.kill)
    alarm.start()
    try:
        lines = [""]
        while (found := re.search(r"serving .* at (http://127\.0\.0\.1:\d+)", lines[-1])) is None:
            lines.append(process.stderr.readline())  # it may say something else before
            assert lines[-1], "".join(lines)
        alarm.cancel()  # it limits the start alone: on a slow machine a test may take longer than any limit
        yield found[1], process
    finally:
        process.kill()
        process.wait()
        alarm.cancel()
        process.stderr.close()


@contextmanager
def served_by_thread(home: Path) -> Iterator[str]:
    """Serve a home over a socket in a thread, without workers; return its address."""
    with closing(Application(home, None)) as house, answering(house) as url:
        yield url


@contextmanager
def answering(house: Application) -> Iterator[str]:
    """Run the server of `serve` for an open home, in a thread and without workers; return its address."""
    addresses: Queue[str] = Queue()
    app = house.http(WorkerThreads(house.submissions.queue, house.execution.job_worker.work, 0))
    server = make_server(app, "127.0.0.1", 0, ready=addresses.put)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield addresses.get(timeout=PATIENCE)
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def at_an_address(live: Path) -> Iterator[tuple[str, Application]]:
    """Serve a home with a live set over a socket; return its address and the home, opened once more."""
    with served_by_thread(live) as url, closing(Application(live, None)) as house:
        yield url, house
