"""Tests of worker processes that are killed or cut off from the database: nothing is lost or ended twice."""

import logging
import select
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from quarterturn import retry_loop
from quarterturn.app import Application
from quarterturn.runs import jobs
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store import queue
from quarterturn.submissions.store.queue import Claim, Reaper
from quarterturn.submissions.store.requests import SubmissionRequest, Submissions
from vault import database as db
from vault.errors import Unavailable

from ..patience import until
from .children import Child, Gate

pytestmark = pytest.mark.slow

REQUEST = SubmissionRequest("dev", image="agent:1")


class Crowd:
    """Workers on one home, with lists of the jobs that ended and that failed."""

    def __init__(self, house: Application, folder: Path) -> None:
        self.house, self.folder = house, folder
        self.workers: list[Child] = []
        self.killed: set[int] = set()

    def start(self, pause: float = 0.0, database: str = "") -> int:
        number = len(self.workers)
        self.house.home.engine.dispose()  # a child opens it too
        with Gate() as ready:
            self.workers.append(Child(lambda: self._work(str(self.folder / str(number)), pause, database, ready)))
            ready.wait()
        return number

    def _work(self, ledger: str, pause: float, database: str, ready: Gate) -> None:
        """Work until the process is killed; every job takes a while."""
        queue.LEASE, queue.TRIES = timedelta(seconds=2), 100
        queue.MAX_SIGHT_GAP = queue.LEASE
        jobs.REAP_SECONDS, jobs.POLL_SECONDS, db.IDLE, retry_loop.MAX_RETRY_DELAY_SECONDS = 0.2, 0.5, 15, 0.5
        logging.basicConfig(filename=f"{ledger}.log", level=logging.INFO, format="%(name)s %(message)s", force=True)

        def noted(file: str, line: object) -> None:
            with Path(f"{ledger}{file}").open("a") as lines:
                lines.write(f"{line}\n")

        def work(claim: Claim, stopping: threading.Event) -> None:
            stopping.wait(pause)
            if house.submissions.queue.finish(claim, None):
                noted("", claim.number)

        def failed(troubled: retry_loop.RetryLoop, error: Exception) -> None:
            noted(".failures", type(error).__name__)
            say(troubled, error)

        say, retry_loop.RetryLoop.say = retry_loop.RetryLoop.say, failed
        house = Application(self.house.home.folder, None, database=database or None)
        jobs.WorkerThreads(house.submissions.queue, work, 2).start()
        ready.open()
        threading.Event().wait()

    def kill(self, number: int) -> None:
        self.workers[number].kill()
        self.killed.add(number)

    def failures(self, number: int) -> int:
        return len((self.folder / f"{number}.failures").read_text().splitlines())

    def ended(self, number: int) -> list[int]:
        file = self.folder / str(number)
        return [int(line) for line in file.read_text().split("\n")[:-1]] if file.exists() else []

    def all_ended(self) -> list[int]:
        return [job for number in range(len(self.workers)) for job in self.ended(number)]

    def said(self, number: int) -> list[str]:
        lines = (self.folder / f"{number}.log").read_text().splitlines()
        return [line for line in lines if line.startswith("quarterturn.worker ")]

    def troubles(self, number: int) -> int:
        return sum("trying again" in line for line in self.said(number))

    def recoveries(self, number: int) -> int:
        return sum("It works again" in line for line in self.said(number))

    def submit(self, count: int) -> None:
        for number in range(count):
            account = ("ada", "bob", "carl")[number % 3]
            self.house.submissions.service.submit(account, REQUEST, idempotency_key=None)

    def waiting(self) -> int:
        with suppress(Unavailable):
            return len(self.house.submissions.store.unfinished())
        return -1

    def nothing_is_lost_or_ended_twice(self, count: int) -> None:
        until(lambda: self.waiting() == 0, "the end of all jobs")
        rows = [one for name in ("ada", "bob", "carl") for one in self.house.submissions.store.of(name, limit=1000)]
        assert Counter(one.state for one in rows) == {"done": count}
        times = Counter(self.all_ended())
        assert max(times.values()) == 1
        assert set(times) <= {one.number for one in rows}
        assert len(times) >= count - 2 * len(self.workers), "only who was killed between its two words may lack one"


@pytest.fixture
def house(home) -> Iterator[Application]:
    house = Application(home, None)
    service = ServiceSettings(images=("",), at_once=16, waiting=1000, dev_per_day=1000)
    house.home.settings = house.home.settings.model_copy(update={"service": service})
    (home / "quarterturn.toml").write_text(
        (home / "quarterturn.toml").read_text().replace("at_once = 1\n", "at_once = 16\n")
    )
    house.submissions.store = Submissions(house.home.engine, house.benchmark.exposures, service, house.home.now)
    for name in ("ada", "bob", "carl"):
        house.auth.accounts.create(name, "submitter")
    yield house
    house.close()


@pytest.fixture
def crowd(house, tmp_path) -> Iterator[Crowd]:
    crowd = Crowd(house, tmp_path)
    yield crowd
    for number in {*range(len(crowd.workers))} - crowd.killed:
        crowd.kill(number)


@pytest.mark.both_databases
def test_no_run_is_lost_or_ended_twice_when_workers_are_killed(crowd):
    crowd.submit(24)
    for _ in range(2):
        crowd.start()
    for target in (5, 10, 15):
        until(lambda: len(crowd.all_ended()) >= target, "the next to be ended")  # noqa: B023 - asked in this turn alone
        crowd.kill(len(crowd.workers) - 2)
        crowd.start()
    crowd.nothing_is_lost_or_ended_twice(24)


# -- PostgreSQL that goes away ------------------------------------------------------------------------------------


class Wire:
    """A proxy to PostgreSQL that can be held (nothing passes, no error is raised) or cut."""

    def __init__(self, target: Path) -> None:
        self._target, self._open, self._ended = target, threading.Event(), threading.Event()
        self._listener: socket.socket | None = None
        self._pairs: list[socket.socket] = []
        self._place = socket.socket()  # listens never: it keeps the port while the wire is cut
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", 0))
        self.port = self._place.getsockname()[1]
        self._open.set()
        self.mend()

    def mend(self) -> None:
        self._listener = listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def hold(self) -> None:
        self._open.clear()

    def let_go(self) -> None:
        self._open.set()

    def cut(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._pairs:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        self.let_go()
        self.cut()
        self._place.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(str(self._target))
                self._pairs += [near, far]
                threading.Thread(target=self._carry, args=(near, far), daemon=True).start()

    def _carry(self, near: socket.socket, far: socket.socket) -> None:
        with near, far, suppress(OSError):
            while True:
                for end in select.select([near, far], [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    self._open.wait()
                    (far if end is near else near).sendall(data)


@pytest.fixture
def wire(postgres) -> Iterator[Wire]:
    wire = Wire(postgres.folder / ".s.PGSQL.5432")
    yield wire
    wire.end()


def through(wire: Wire, house: Application) -> str:
    return f"postgresql://postgres@127.0.0.1:{wire.port}/{house.home.engine.url.database}?sslmode=disable"


class TestPostgres:
    @pytest.fixture
    def backend(self) -> str:
        return "postgresql"

    def test_a_worker_cut_off_from_the_database_writes_nothing_and_resumes_when_it_is_back(self, crowd, wire, house):
        apart = crowd.start(0.05, through(wire, house))
        other = crowd.start(0.05)
        made = 0

        def both_at_work() -> bool:  # a late worker finds something left to do
            nonlocal made
            if crowd.waiting() < 20 and made < 2000:
                crowd.submit(20)
                made += 20
            return bool(crowd.ended(apart) and crowd.ended(other))

        until(both_at_work, "a job that each of them ended")
        crowd.submit(40)
        wire.hold()
        made += 40
        crowd.nothing_is_lost_or_ended_twice(made)  # the other took over what the one held
        wire.let_go()
        crowd.kill(other)
        before = len(crowd.ended(apart))
        crowd.submit(20)
        until(lambda: len(crowd.ended(apart)) >= before + 10, "ten jobs that it ended")
        until(lambda: crowd.troubles(apart) <= crowd.recoveries(apart), "its word that it works again")
        known = crowd.troubles(apart)
        wire.cut()
        until(lambda: crowd.troubles(apart) > known, "its word that it is in trouble")
        failed = crowd.failures(apart)
        until(lambda: crowd.failures(apart) >= failed + 6, "two more tries of each of its threads")
        wire.mend()
        crowd.submit(20)
        crowd.nothing_is_lost_or_ended_twice(made + 40)
        assert crowd.troubles(apart) <= crowd.recoveries(apart) + 1, "said once for each trouble"

    def test_a_lease_outlives_an_outage_of_the_database_but_not_its_worker(self, house, postgres, clock):
        house.home.now = house.submissions.queue._clock = clock
        house.submissions.store.take("ada", REQUEST, month="2026-12")
        claim, reaper = house.submissions.queue.claim("worker"), Reaper(house.submissions.queue)

        def look(later=timedelta(0)) -> int:
            clock.now += later
            return reaper.reap()

        assert look() == look(queue.MAX_SIGHT_GAP) == 0
        postgres.stop()
        for _ in range(2):
            with pytest.raises(Unavailable):
                look(queue.MAX_SIGHT_GAP)
        clock.now += timedelta(minutes=10)
        postgres.start()
        assert look() == look(queue.MAX_SIGHT_GAP) == 0, "its worker had no chance to renew"
        assert house.submissions.queue.renew(claim)
        clock.now += timedelta(minutes=10)
        assert look() == 0, "this process was suspended, and its sight with it"
        assert house.submissions.queue.renew(claim)
        assert [look(queue.MAX_SIGHT_GAP) for _ in range(3)] == [0, 0, 1], "silent while the database was up"

    @pytest.mark.parametrize(
        "how",
        [
            pytest.param(signal.SIGINT, id="stopped", marks=pytest.mark.exhaustive),
            pytest.param(signal.SIGQUIT, id="crashed"),
        ],
    )
    def test_workers_go_on_after_the_database_was_restarted_amid_their_work(self, crowd, postgres, how):
        crowd.submit(30)
        for _ in range(2):
            crowd.start(0.02)
        until(lambda: len(crowd.all_ended()) >= 5, "some jobs that are ended")
        postgres.stop(how)
        until(lambda: all(map(crowd.troubles, range(2))), "the word of each that it is in trouble")
        postgres.start()
        crowd.nothing_is_lost_or_ended_twice(30)
