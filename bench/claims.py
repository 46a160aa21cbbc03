"""Measures the queue on SQLite and on PostgreSQL: claims a second however many wait, and a day of a large service.

claims    A job is claimed and ended while 10 to 100,000 wait, of a tenth as many parties. How fair that was is the
          smallest number of claims between two of one party. Processor time is this process's, not the server's.
day       The last day of a month of 100,000 submissions on 1,000 places. The queue's own code runs it, with a clock
          that jumps from event to event. Submissions, claims and ends are all made. Of renewals and looks at leases one
          for each submission is made, and the others are counted. What breaks first is what takes most of a core.
"""

from __future__ import annotations

import heapq
import importlib
import random
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from report import Failed, Found, Missing, Table
from sqlalchemy import Engine, insert, text

from quarterturn import migrations
from quarterturn.accounts.tables import AccountRow
from quarterturn.launcher.machine import find
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.queue import RENEWAL_SECONDS, Claim, Lease, Queue
from quarterturn.submissions.store.requests import SubmissionRequest, Submissions
from quarterturn.submissions.store.tables import SubmissionRow
from rotation.exposure.store import Exposures
from sandbox.runs.run import LOOK
from vault.database import open_engine, transaction

ROOT = Path(__file__).parents[1]
WAITING = (10, 1_000, 10_000, 100_000)
CLAIMS = 300
NOW = datetime(2026, 12, 30, tzinfo=UTC)
DAY_SECONDS = 86_400
SUBMISSIONS, DAYS, PLACES, ACCOUNTS = 100_000, 30, 1_000, 1_000
RUN_SECONDS = 0.95 * PLACES * DAYS * DAY_SECONDS / SUBMISSIONS  # on average: 95 % of the places are in use
LIMITS = ServiceSettings(private_per_month=SUBMISSIONS, private_in_all=2 * SUBMISSIONS, waiting=100, at_once=16)
REQUEST = SubmissionRequest("private", image="sha256:" + "0" * 64)
CLAIM_COLUMNS = ("database", "waiting", "claims a second", "processor ms", "others between two of a party")
DAY_COLUMNS = ("database", "act", "a day", "processor ms", "of one core")


def bench(rounds: int) -> Found:
    """Measure claims on both databases, then a day; with rounds, as many hundred submissions of it instead of five."""
    claims: list[dict[str, Any]] = []
    acts: list[dict[str, Any]] = []
    with databases() as addresses:
        for name, address in addresses.items():
            claims += [measure_claims(name, address(), waiting) for waiting in WAITING[: 2 if rounds else None]]
            acts += simulate_day(name, address(), 100 * (rounds or 5))
    tables = [
        Table("A job claimed and ended. Parties have ten each waiting, and take turns.", CLAIM_COLUMNS, claims),
        Table(f"A day of {SUBMISSIONS:,} submissions a month on {PLACES:,} places.", DAY_COLUMNS, acts),
    ]
    return Found("The queue on SQLite and on PostgreSQL.", [], tables=tables)


def measure_claims(name: str, address: str, waiting: int) -> dict[str, Any]:
    """Claim and end jobs; there are enough that as many wait at the end as are said."""
    with open_database(address) as engine:
        parties = waiting // 10
        write_accounts(engine, parties)
        write_rows(engine, parties, range(waiting + CLAIMS), state="queued")
        queue = Queue(engine, lambda: NOW)
        numbers = []
        start, processor = time.perf_counter(), time.process_time()
        for _ in range(CLAIMS):
            claim = queue.claim("bench")
            if claim is None or not queue.finish(claim, None):
                raise Failed("a job was not claimed, or its claim was lost")
            numbers.append(claim.number)
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
    owners = [(number - 1) % parties for number in numbers]
    between = [owners[place + 1 :].index(owner) for place, owner in enumerate(owners) if owner in owners[place + 1 :]]
    fewest = f"{min(between)} of {parties - 1}" if between else "none came twice"
    rate, each = f"{CLAIMS / seconds:.0f}", f"{1000 * processor / CLAIMS:.2f}"
    return dict(zip(CLAIM_COLUMNS, (name, f"{waiting:,}", rate, each, fewest), strict=True))


class Day:
    """A day in a service: seconds since it began, and the processor time of the acts of its queue."""

    def __init__(self, engine: Engine) -> None:
        self.seconds = 0.0
        self.took: dict[str, list[float]] = defaultdict(list)
        now = lambda: NOW + timedelta(seconds=self.seconds)  # noqa: E731
        self.submissions = Submissions(engine, Exposures(engine, now), LIMITS, now)
        self.queue = Queue(engine, now, LIMITS.at_once)
        self.draw = random.Random(1)
        self.ends: list[tuple[float, int, Claim]] = []

    def measure(self, act: str, call: Callable[[], Any]) -> Any:
        """Make a call, and note its processor time."""
        start = time.process_time()
        result = call()
        self.took[act].append(time.process_time() - start)
        return result

    def claim_all(self) -> None:
        """Claim for every place that is free."""
        while len(self.ends) < PLACES and (claim := self.measure("claim", lambda: self.queue.claim("bench"))):
            end = self.seconds + self.draw.expovariate(1 / RUN_SECONDS)
            heapq.heappush(self.ends, (end, claim.number, claim))

    def end_due(self) -> None:
        """End the runs whose time has come."""
        while self.ends and self.ends[0][0] <= self.seconds:
            _, _, claim = heapq.heappop(self.ends)
            if not self.measure("end", lambda claim=claim: self.queue.finish(claim, None)):
                raise Failed("a claim was lost")


def simulate_day(name: str, address: str, count: int) -> list[dict[str, Any]]:
    """Play a day that begins with a month's rows behind it and all places in use."""
    with open_database(address) as engine:
        write_accounts(engine, ACCOUNTS)
        earlier = SUBMISSIONS - count
        write_rows(engine, ACCOUNTS, range(earlier), state="done")
        write_rows(engine, ACCOUNTS, range(earlier, earlier + PLACES), state="queued")
        day = Day(engine)
        day.claim_all()
        day.took.clear()
        for _ in range(count):
            day.seconds += day.draw.expovariate(SUBMISSIONS / DAYS / DAY_SECONDS)
            day.end_due()
            account = f"p-{day.draw.randrange(ACCOUNTS)}"
            day.measure("submission", lambda account=account: day.submissions.take(account, REQUEST, month="2026-12"))
            day.claim_all()
            _, _, claim = day.draw.choice(day.ends)
            lease = Lease(day.queue, claim, threading.Event())
            day.measure("renewal", lambda claim=claim: day.queue.renew(claim))
            if day.measure("look at a lease", lease.status) != "held":
                raise Failed("a lease was lost")
    seconds = PLACES * DAY_SECONDS
    of_a_day = {"renewal": seconds / RENEWAL_SECONDS, "look at a lease": seconds / LOOK}
    rows = []
    for act, took in day.took.items():
        number = of_a_day.get(act, len(took) * SUBMISSIONS / DAYS / count)
        each = sum(took) / len(took)
        values = (name, act, f"{number:,.0f}", f"{1000 * each:.2f}", f"{number * each / DAY_SECONDS:.2%}")
        rows.append(dict(zip(DAY_COLUMNS, values, strict=True)))
    return rows


def write_accounts(engine: Engine, parties: int) -> None:
    """Write an account for each party."""
    accounts = [{"name": f"p-{number}", "party": f"p-{number}", "created_at": NOW} for number in range(parties)]
    with transaction(engine) as session:
        session.connection().execute(insert(AccountRow), accounts)


def write_rows(engine: Engine, parties: int, numbers: range, *, state: str) -> None:
    """Write submissions of the parties in turns."""
    fixed = {
        "tasks": "private", "kind": "image", "reference": REQUEST.reference, "month": "2026-12", "state": state,
        "request_digest": "", "created_at": NOW, "attempt": 0, "failed_attempts": 0, "designated": False,
    }  # fmt: skip
    rows = [
        fixed | {"id": f"s-{number}", "account": f"p-{number % parties}", "fair_round": number // parties}
        for number in numbers
    ]
    with transaction(engine) as session:
        session.connection().execute(insert(SubmissionRow), rows)
    with engine.connect() as connection:
        connection.execute(text("ANALYZE"))
        connection.commit()


@contextmanager
def open_database(address: str) -> Iterator[Engine]:
    """Open an empty database with our tables."""
    engine = open_engine(address)
    try:
        migrations.upgrade(engine)
        yield engine
    finally:
        engine.dispose()


@contextmanager
def databases() -> Iterator[dict[str, Callable[[], str]]]:
    """Yield what makes an empty database, by its kind; both write to the disk as a service's do."""
    if find("postgres") is None:
        raise Missing("Debian's package postgresql is missing: install it")
    sys.path.append(str(ROOT))
    servers = importlib.import_module("tests.postgres")
    servers.HASTE = ("max_connections=200", "listen_addresses=")
    with tempfile.TemporaryDirectory(prefix="quarterturn-bench-") as folder, closing(servers.Server()) as server:
        files = (Path(folder) / f"{number}.db" for number in range(len(WAITING) + 1))
        yield {"SQLite": lambda: f"sqlite:///{next(files)}", "PostgreSQL": server.make}
