"""Plays outages against one service and one runner: no submission is lost, and the same agent has the same score.

Each submission is an official run of one fixed agent, which does every other task. In each group one thing is broken
while servings are in play: a process is killed or suspended, the network or the database is away, a disk is full. The
score of each run stands beside that of the undisturbed ones. Two ends are fails by decision 58, because an agent could
bring them about: its supervisor is killed, or its runner's host is gone for good.

Service (`chaos_service.py`) and runner are programs of their own. The runner reaches the service through a proxy of
this process; home and spool lie on small file systems in memory, so that they can be filled.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import chaos_service
from report import Failed, Found, Missing, Table

from quarterturn.app import Application
from quarterturn.client.connection import Client
from quarterturn.settings import DatabaseSettings, RunSettings
from rotation.calendar import Month
from rotation.month import sets
from rotation.month.sets import DEMO, SetSpec, Stratum
from sandbox.results.outcome import TaskRun
from sandbox.servings.spool import AGENT_STARTED
from vault.errors import Unavailable

ROOT = Path(__file__).parents[1]
SQLITE = "sqlite:///quarterturn.db"
ROUNDS = 3  # submissions for each disturbance
IMAGE = "registry.example/bench/folders@sha256:" + "0" * 64
AGENT = f"python3 {ROOT / 'bench' / 'agent' / 'folders.py'}"
COHORT_TASKS, WALL_SECONDS, PLACES = 2, 20.0, 2
OUTAGE_SECONDS = 15.0
LOCKED_SECONDS = 35.0  # longer than a transaction waits
DOWN_SECONDS = 3.0
LIMIT_SECONDS = 600.0
HOME_MIB, SPOOL_MIB = 256, 8
COLUMNS = ("disturbance", "runs", "ended", "scores", "undisturbed", "other outcomes", "served again", "log", "seconds")

Mode = Literal["open", "silent", "refused"]


def bench(rounds: int) -> Found:
    """Play each disturbance on SQLite."""
    return play_outages(rounds or ROUNDS, (*DISTURBANCES, Disturbance("database locked", _lock_database)))


def play_outages(rounds: int, disturbances: Sequence[Disturbance], database_url: str = SQLITE) -> Found:
    """Play each disturbance against so many submissions."""
    with (
        tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder,
        playground(Path(folder), database_url) as play,
    ):
        groups = list(compared(play, disturbances, rounds))
        play.service.kill()
        play.house.log.ledger.verify()
    count = sum(len(group.names) for group in groups)
    return Found(
        about=f"On {database_url.partition(':')[0]}: {count} submissions of one agent, of {4 * COHORT_TASKS} tasks "
        f"each, on one runner with {PLACES} places in the bwrap box. A worker's lease has "
        f"{chaos_service.LEASE_SECONDS:.0f} seconds, and a lost host is waited for 80 seconds beyond the agent's time.",
        lines=[],
        tables=[Table("Scores, and what else became of the runs.", COLUMNS, [group.row for group in groups])],
        remarks=[sentence for group in groups for sentence in violations(group)],
    )


# -- what is compared -------------------------------------------------------------------------------------------------


@dataclass
class Group:
    """Submissions that one disturbance was played against, and what the table says of them."""

    disturbance: Disturbance
    names: list[str] = field(default_factory=list)
    seconds: float = 0.0
    codes: Counter[str | None] = field(default_factory=Counter)
    row: dict[str, Any] = field(default_factory=dict)


def compared(play: Play, disturbances: Sequence[Disturbance], count: int) -> Iterator[Group]:
    """Play all disturbances, and compare each run with the first one, which nothing disturbed."""
    house, undisturbed = play.house, frozenset[str]()
    for disturbance in disturbances:
        group = play.group(disturbance, count)
        undisturbed = undisturbed or passes(outcomes(house, group.names[0]))
        played = [outcomes(house, name) for name in group.names]
        others = [run for runs in played for run in runs if run.passed != (run.task_id in undisturbed)]
        group.codes.update(run.code for run in others)
        values = (
            disturbance.name,
            len(group.names),
            sum(house.submissions.store.get(name).state == "done" for name in group.names),
            ", ".join(score(runs) for runs in played),
            f"{len(undisturbed) / (4 * COHORT_TASKS):.3g}",
            ", ".join(f"{number} {code}" for code, number in group.codes.items()) or "none",
            sum(served_again(house, name) for name in group.names),
            "in order" if all(is_logged(house, name) for name in group.names) else "not in order",
            round(group.seconds),
        )
        group.row = dict(zip(COLUMNS, values, strict=True))
        sys.stderr.write(f"· {group.row}\n")
        yield group


def outcomes(house: Application, name: str) -> list[TaskRun]:
    """Return what the tasks of a submission came to."""
    number = house.submissions.store.get(name).run
    return list(house.runs.store.results(number, who="bench", why="compare outages")) if number else []


def passes(runs: list[TaskRun]) -> frozenset[str]:
    """Return the tasks that were passed."""
    return frozenset(run.task_id for run in runs if run.passed)


def score(runs: list[TaskRun]) -> str:
    """Return the share of tasks that were passed."""
    return f"{len(passes(runs)) / len(runs):.3g}" if runs else "no run"


def served_again(house: Application, name: str) -> int:
    """Count the servings of a submission's tasks beyond the first of each."""
    number = house.submissions.store.get(name).run
    return sum(servings.times - 1 for servings in house.benchmark.exposures.of_run(number).values()) if number else 0


def is_logged(house: Application, name: str) -> bool:
    """Say whether the published log has a run's opening and then its score."""
    number, log = house.submissions.store.get(name).run, house.log.ledger
    opened, scored = (log.find(f"{kind}/{number}") for kind in ("run-open", "score"))
    return opened is not None and scored is not None and opened < scored < log.published.size


def violations(group: Group) -> Iterator[str]:
    """Say what of a group is not as the design has it."""
    row, is_a_fail = group.row, group.disturbance.is_a_fail
    as_undisturbed = row["other outcomes"] == "none" or (is_a_fail and set(group.codes) <= {"runner-lost"})
    served_once = is_a_fail or not row["served again"]
    if row["ended"] != row["runs"] or row["log"] != "in order" or not as_undisturbed or not served_once:
        yield f"Not as it should be: {row['disturbance']}."


# -- the machines -----------------------------------------------------------------------------------------------------


class Program:
    """A program that can be stopped, killed and started again."""

    process: subprocess.Popen[bytes] | None = None

    def signal(self, number: signal.Signals) -> None:
        if self.process:
            self.process.send_signal(number)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Service(Program):
    """The service's program, at one port however often it is started."""

    def __init__(self, home: Path, log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]
        self.home, self._log = home, log

    def start(self) -> None:
        words = [ROOT / "bench" / "chaos_service.py", AGENT, "serve", "--home", self.home, "--port", self.port]
        with self._log.open("ab") as log:
            command = [sys.executable, *map(str, words), "--workers", str(ROUNDS), "--no-clock"]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(self._listens, "a service that answers")

    def _listens(self) -> bool:
        if self.process and self.process.poll() is not None:
            raise Failed(f"the service ended: {self._log.read_text()[-500:]}")
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1.0).close()
            return True
        return False


class RunnerMachine(Program):
    """The runner's program, with one spool and one token however often it is started."""

    def __init__(self, folder: Path, token: str, log: Path) -> None:
        self.spool, self._token, self._log = folder / "spool", folder / "token", log
        self._token.touch(mode=0o600)
        self._token.write_text(token)
        self._folder = folder

    def start(self, url: str) -> None:
        program = Path(sys.prefix) / "bin" / "quarterturn"
        words = ["runner", "start", "--to", url, "--box", "bwrap", "--places", str(PLACES), "--spool", self.spool]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self._folder), "LC_ALL": "C.UTF-8"}
        with self._log.open("ab") as log:
            command = [program, *words, "--token-file", self._token]
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def supervisors(self) -> list[int]:
        """Return the processes that play, of those whose agent was let go."""
        texts = []
        for lock in self.spool.glob("*.lock"):
            with suppress(FileNotFoundError):  # handed in meanwhile
                texts.append(lock.read_bytes())
        return [int(text.split(b":")[2]) for text in texts if AGENT_STARTED in text]

    def kill_supervisors(self) -> None:
        for process in self.supervisors():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


class Network:
    """Proxy on the loopback between runner and service, in a thread of its own.

    Args:
        port: of the service.
    """

    def __init__(self, port: int) -> None:
        self._target, self.mode, self.port = port, "open", 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def switch(self, mode: Mode) -> None:
        """Let everything through, nothing (`silent`), or close what is open and refuse what comes (`refused`)."""
        self.mode = mode
        if mode == "refused":
            self._loop.call_soon_threadsafe(self._close_all)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _end(self) -> None:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _listen(self) -> None:
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode == "refused":
            writer.close()
            return
        try:
            upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, upstream}
        await asyncio.gather(self._pump(reader, upstream), self._pump(upstream_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                while self.mode == "silent":
                    await asyncio.sleep(0.1)
                writer.write(data)
                await writer.drain()
        writer.close()
        self._writers.discard(writer)

    def _close_all(self) -> None:
        for writer in list(self._writers):
            writer.close()


@dataclass
class Play:
    """The machines, and the home behind the service as this process sees it."""

    house: Application
    service: Service
    runner: RunnerMachine
    network: Network

    @property
    def url(self) -> str:
        """The service's address for the runner."""
        return f"http://127.0.0.1:{self.network.port}"

    def group(self, disturbance: Disturbance, count: int) -> Group:
        """Submit, disturb what is in play, and wait until all have ended."""
        start, group = time.monotonic(), Group(disturbance)
        for number in range(count):
            account = f"agent-{disturbance.name.translate({39: None, 32: '-'})}-{number}"
            token = self.house.auth.accounts.create(account, "submitter")[0]
            with Client(f"http://127.0.0.1:{self.service.port}", token) as client:
                group.names.append(client.submit(image=IMAGE, set="private").id)
        wait_for(self._plays, "an agent that plays")
        disturbance.act(self)
        with suppress(TimeoutError):
            wait_for(lambda: all(self._has_ended(name) for name in group.names), "their ends", LIMIT_SECONDS)
        group.seconds = time.monotonic() - start
        return group

    def _plays(self) -> bool:
        """Say whether an agent of an official run has been let go."""
        return bool(self.runner.supervisors()) and any(
            row.state == "started" and row.run is not None
            for path in self.runner.spool.glob("*.lock")
            for row in [self.house.runners.store.serving(path.stem)]
            if row is not None
        )

    def _has_ended(self, name: str) -> bool:
        return self.house.submissions.store.get(name).state in ("done", "failed", "cancelled")


@contextmanager
def playground(folder: Path, database_url: str) -> Iterator[Play]:
    """Yield a home with a live set that is served, a runner that plays for it, and the network between them."""
    with ExitStack() as stack:
        for name, size in (("service", HOME_MIB), ("machine", SPOOL_MIB)):
            stack.enter_context(small_disk(folder / name, size))
        house = stack.enter_context(closing(made_home(folder / "service" / "home", database_url)))
        service = Service(house.home.folder, folder / "service.log")
        stack.callback(service.kill)
        runner = RunnerMachine(folder / "machine", house.runners.store.add("north", 90), folder / "runner.log")
        stack.callback(runner.kill)
        stack.callback(runner.kill_supervisors)
        service.start()
        network = stack.enter_context(closing(Network(service.port)))
        play = Play(house, service, runner, network)
        runner.start(play.url)
        wait_for(house.runners.store.alive, "a runner that lives")
        yield play


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[None]:
    """Mount a file system in memory."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=700", "tmpfs", folder]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        raise Missing("disks cannot be filled: start it as root, where file systems may be mounted")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=False)


def made_home(folder: Path, database_url: str) -> Application:
    """Make a home with a live set of tasks that differ by a number."""
    sys.path.append(str(ROOT))
    homes = importlib.import_module("tests.quarterturn.conftest")
    homes.MONTH = str(Month.of(datetime.now(UTC)))
    mix = {Stratum("filesystem", "single-tool", "easy"): COHORT_TASKS}
    sets.SETS[DEMO.name] = SetSpec(DEMO.name, mix, mix)  # type: ignore[index]
    database = DatabaseSettings(url=database_url)
    homes.make(folder, tasks=5 * COHORT_TASKS, live=True, write=homes.with_files, database=database)
    homes.configure(folder, run=RunSettings(runners=("sealed",), wall_seconds=WALL_SECONDS, workers=PLACES))
    return Application(folder, None)


def wait_for(condition: Callable[[], object], what: str, seconds: float = 120.0) -> None:
    """Poll until a condition holds; a database that is away is asked again.

    Raises:
        TimeoutError: it does not within so many seconds.
    """
    end = time.monotonic() + seconds
    while True:
        with suppress(Unavailable):
            if condition():
                return
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} seconds in vain for {what}")
        time.sleep(0.2)


# -- disturbances -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Disturbance:
    """What is broken, and mended again, while servings are in play; `is_a_fail` where decision 58 says so."""

    name: str
    act: Callable[[Play], None]
    is_a_fail: bool = False


def _kill_runner(play: Play) -> None:
    play.runner.kill()
    time.sleep(DOWN_SECONDS)
    play.runner.start(play.url)


def _kill_service(play: Play) -> None:
    play.service.kill()
    time.sleep(DOWN_SECONDS)
    play.service.start()


def _kill_both(play: Play) -> None:
    play.runner.kill()
    _kill_service(play)
    play.runner.start(play.url)


def _suspend(play: Play, machine: Service | RunnerMachine) -> None:
    machine.signal(signal.SIGSTOP)
    time.sleep(max(OUTAGE_SECONDS, 2 * chaos_service.LEASE_SECONDS))
    machine.signal(signal.SIGCONT)


def _cut(play: Play, mode: Mode) -> None:
    play.network.switch(mode)
    time.sleep(OUTAGE_SECONDS)
    play.network.switch("open")


def _lock_database(play: Play) -> None:
    """Hold the database as its only writer for longer than a transaction waits."""
    with closing(sqlite3.connect(play.service.home / "quarterturn.db", timeout=60.0, isolation_level=None)) as rows:
        rows.execute("BEGIN EXCLUSIVE")
        time.sleep(LOCKED_SECONDS)
        rows.execute("ROLLBACK")


def fill(folder: Path) -> None:
    """Fill a disk for a while."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass
    time.sleep(OUTAGE_SECONDS)
    ballast.unlink()


def _lose_host(play: Play) -> None:
    play.runner.kill()
    play.runner.kill_supervisors()
    shutil.rmtree(play.runner.spool)
    play.runner.start(play.url)


DISTURBANCES = (
    Disturbance("nothing", lambda _: None),
    Disturbance("runner killed", _kill_runner),
    Disturbance("service killed", _kill_service),
    Disturbance("both killed", _kill_both),
    Disturbance("service suspended", lambda play: _suspend(play, play.service)),
    Disturbance("runner suspended", lambda play: _suspend(play, play.runner)),
    Disturbance("network silent", lambda play: _cut(play, "silent")),
    Disturbance("network refused", lambda play: _cut(play, "refused")),
    Disturbance("runner's disk full", lambda play: fill(play.runner.spool)),
    Disturbance("service's disk full", lambda play: fill(play.service.home)),
    Disturbance("supervisors killed", lambda play: play.runner.kill_supervisors(), is_a_fail=True),
    Disturbance("runner's host lost", _lose_host, is_a_fail=True),
)
