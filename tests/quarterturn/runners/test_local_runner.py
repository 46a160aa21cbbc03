"""Tests of the local runner: a service that is killed while its own runner plays costs no agent a point."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from quarterturn.app import Application
from quarterturn.submissions.store.requests import SubmissionRequest
from sandbox.isolation import machine_lock
from sandbox.servings.spool import AGENT_STARTED
from vault.keys import signing

from ...patience import PATIENCE, until
from ...sandbox.processes import below, holds
from ..conftest import with_submitters
from .test_runner_program import MAKES_FOLDERS

pytestmark = [pytest.mark.box, pytest.mark.full, pytest.mark.slow]

PROGRAM = "quarterturn.client.local_runner_process"


class ServiceProgram:
    """`quarterturn serve` as a process, which plays a command wherever an image was submitted."""

    def __init__(self, home: Path, command: str, locks: Path) -> None:
        words = ["-m", "tests.quarterturn.runners.command_service", command, str(locks), "serve", "--home", str(home)]
        self._command = [sys.executable, *words, "--port", "0", "--no-clock"]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(self._command)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)
            self.process = None


@pytest.fixture
def house(playable, opened) -> Application:
    return with_submitters(opened(playable), "ada", "bob")


@pytest.fixture
def service(house, tmp_path) -> Iterator[ServiceProgram]:
    agent = tmp_path / "agent" / "agent.py"
    agent.parent.mkdir()
    agent.write_text(MAKES_FOLDERS.replace("PAUSE", "2.5"))
    program = ServiceProgram(house.home.folder, f"python3 {agent}", tmp_path)
    yield program
    program.end()


def submit(house: Application, who: str) -> str:
    request = SubmissionRequest("private", image=f"{who}/agent:1")
    return house.submissions.service.submit(who, request, idempotency_key=None)[0].id


def lets_an_agent_go(house: Application) -> bool:
    """Say whether an agent of an official run is played by a local runner."""
    with suppress(FileNotFoundError):
        for lock in house.home.places.local_runners.glob("*/*.lock"):
            row = house.runners.store.serving(lock.stem)
            if AGENT_STARTED in lock.read_bytes() and row is not None and row.run is not None:
                return True
    return False


def passed_tasks(house: Application, name: str) -> set[str]:
    until(lambda: house.submissions.store.get(name).state in ("done", "failed"), "the end of a submission")
    number = house.submissions.store.get(name).run
    assert number is not None
    runs = house.runs.store.results(number, who="test", why="compare")
    assert len(runs) == 8
    return {run.task_id for run in runs if run.passed}


def runners_of(service: ServiceProgram) -> list[int]:
    assert service.process
    return [pid for pid, words in below(service.process.pid).items() if PROGRAM in words]


def test_a_service_that_is_killed_while_its_own_runner_plays_costs_no_agent_a_point(house, service):
    service.start()
    undisturbed = passed_tasks(house, submit(house, "ada"))
    name = submit(house, "bob")
    until(lambda: lets_an_agent_go(house), "an agent that plays")
    service.end(signal.SIGKILL)
    service.start()
    assert passed_tasks(house, name) == undisturbed != set()


@pytest.mark.needs("root")  # another process's memory is read
def test_a_local_runner_holds_no_key_and_no_task(house, service, tmp_path):
    tasks = [
        house.home.vault.open(record.id, who="test", why="look for it").task for record in house.home.vault.records()
    ]
    keys = [house.home.ring._held.root, signing.load(house.home.places.log_key, house.home.ring).private_bytes_raw()]
    words = [word.encode() for task in tasks for word in (task.id, task.goal)]
    service.start()
    name = submit(house, "ada")
    until(lambda: lets_an_agent_go(house), "an agent that plays")
    (runner,) = runners_of(service)
    process = Path(f"/proc/{runner}")
    assert holds(runner, b"local-runners", *keys, *words) == [b"local-runners"], "which shows that memory was read"
    assert {line.partition("=")[0] for line in (process / "environ").read_text().split("\0")} <= {"PATH", "LC_ALL", ""}
    assert b"qt_" not in (process / "cmdline").read_bytes()
    files = [str(entry.readlink()) for entry in (process / "fd").iterdir()]
    assert not [file for file in files if "/keys/" in file or "quarterturn.db" in file]
    assert passed_tasks(house, name)
    assert runners_of(service) == [runner], "it stays for the next run"
    with machine_lock.playing("open", folder=tmp_path):
        assert not runners_of(service), "unless those of another class wait"
