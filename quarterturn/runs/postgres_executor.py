"""PostgreSQL executor: procrastinate notifies workers on any number of machines that a submission waits.

1. A notification is a procrastinate job that says "row N waits" and nothing else. It is enqueued in the row's own
   transaction; its priority is minus the row's place in its party's backlog.
2. A worker that receives one claims what comes first by the rows (`quarterturn.submissions.store.queue`), and goes on
until
   nothing may be claimed. So a notification that is lost, late, doubled or received by two workers changes only the
   timing.
3. Every REAP seconds each process reaps, and notifies of every claimable row that has no notification. Two processes
   that do so at once enqueue one: both hold the writers' lock, and procrastinate's queueing lock is the row's number.
4. Runs of each class have a queue of their own (`sandbox.isolation.run_classes`), and a worker of one class listens to
   that one alone.
5. Each worker is a thread with an event loop and two connections of its own; one that loses the database starts again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, text
from sqlmodel import Session

from quarterturn.choices import WorkerClass
from quarterturn.retry_loop import RetryLoop
from quarterturn.runs.jobs import REAP, LocalExecutor, Work, named, take
from quarterturn.submissions.store.queue import Executor, Queue
from vault.database import driver_address, transaction
from vault.errors import Unavailable

if TYPE_CHECKING:
    from procrastinate import App

TASK = "look"
QUEUES: Mapping[WorkerClass, str] = {"sealed": "look-sealed", "open": "look-open"}
POLL = 5.0  # seconds between polls, for a notification that did not arrive
AT_ONCE = 64  # notifications sent together: for each, jobs are claimed until none is left

_TODO = text("SELECT queueing_lock FROM procrastinate_jobs WHERE status = 'todo'")
_LEFT = text(
    "DELETE FROM procrastinate_jobs AS job WHERE status = 'doing' AND NOT EXISTS (SELECT 1 FROM procrastinate_workers"
    " AS worker WHERE worker.id = job.worker_id AND worker.last_heartbeat > now() - interval '60 seconds')"
)


def executor(engine: Engine, queue: Queue, work: Work, workers: int, only: WorkerClass | None = None) -> Executor:
    """Return the executor of a home: that of PostgreSQL where the database is PostgreSQL, else the local one."""
    if engine.dialect.name == "postgresql":
        return PostgresExecutor(engine, queue, work, workers, only)
    return LocalExecutor(queue, work, workers, only)


class PostgresExecutor:
    """Works on the jobs of one home, with others on other machines (`quarterturn.submissions.store.queue.Executor`).

    Args:
        engine: the database.
        queue: the jobs of the home.
        work: runs one job and records its end; called by all threads.
        workers: how many jobs are worked on at a time; none, where others work and this process only takes jobs in.
        only: the class of runs that are worked on here; all of them by default.
    """

    def __init__(
        self, engine: Engine, queue: Queue, work: Work, workers: int = 1, only: WorkerClass | None = None
    ) -> None:
        self._engine, self._queue, self._work, self._count, self._only = engine, queue, work, workers, only
        self._stopping = threading.Event()
        self._steady = RetryLoop(self._stopping)
        self._threads: list[threading.Thread] = []
        for noisy, level in (("procrastinate", logging.CRITICAL), ("psycopg.pool", logging.ERROR)):
            logging.getLogger(noisy).setLevel(level)  # we say it once

    def enqueue(self, session: Session, number: int) -> None:
        """Notify workers of a row, once its transaction is committed."""
        _ring(session, number, self._queue.place(session, number), self._queue.class_of(session, number))

    def start(self) -> None:
        """Begin to listen."""
        self._stopping.clear()
        steps = [self._tend, *[self._listen] * self._count] if self._count else []
        self._threads = [threading.Thread(target=self._steady.make, args=(step,), name=step.__name__) for step in steps]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Claim no more jobs; a job that is being played is given back, and its run is resumed later."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _tend(self) -> None:
        self._queue.reap()
        with transaction(self._engine) as session:
            session.connection().execute(_LEFT)
            rung = set(session.connection().execute(_TODO).scalars())
            for own in QUEUES:
                for number, place in self._queue.claimable(session, own)[:AT_ONCE]:
                    if str(number) not in rung:
                        _ring(session, number, place, own)
        self._stopping.wait(REAP)

    def _listen(self) -> None:
        with self._engine.connect():
            pass  # where it does not answer, this says so in our words
        try:
            asyncio.run(self._hear())
        except _errors() as error:
            raise Unavailable(f"The queue's notifications stopped ({type(error).__name__}).") from None

    async def _hear(self) -> None:
        app = self._listener()
        async with app.open_async():
            hearing = asyncio.create_task(
                app.run_worker_async(
                    queues=[QUEUES[self._only]] if self._only else list(QUEUES.values()),
                    concurrency=1,
                    fetch_job_polling_interval=POLL,
                    delete_jobs="always",
                    install_signal_handlers=False,
                )
            )
            while not hearing.done() and not self._stopping.is_set():
                await asyncio.wait([hearing], timeout=0.2)
            hearing.cancel()  # it waits for what is being played
            with suppress(asyncio.CancelledError):
                await hearing
        if not self._stopping.is_set():
            raise Unavailable("The queue's notifications stopped.")

    def _listener(self) -> App:
        from procrastinate import App, PsycopgConnector  # noqa: PLC0415 - an extra

        address, options = driver_address(self._engine)
        app = App(connector=PsycopgConnector(conninfo=address, kwargs=options, min_size=1, max_size=4))
        app.task(name=TASK)(self._answer)
        return app

    def _answer(self, number: int) -> None:  # noqa: ARG002 - what comes first is taken, be it this row or another
        """Handle a notification; errors are kept from procrastinate, which would log their text."""
        try:
            take(self._queue, f"{named()}/{threading.get_ident()}", self._work, self._stopping, self._only)
        except Exception as error:
            self._steady.say(error)


def _ring(session: Session, number: int, place: int, own: WorkerClass) -> None:
    job = _ringer().tasks[TASK]
    driver = _driver(session.connection())
    ring = job.configure(queue=QUEUES[own], priority=-place, queueing_lock=str(number), connection=driver)
    ring.defer(number=number)


@cache
def _ringer() -> App:
    """Return the procrastinate app that enqueues on the caller's connection, and has none of its own."""
    from procrastinate import App, SyncPsycopgConnector  # noqa: PLC0415 - an extra

    app = App(connector=SyncPsycopgConnector())
    app.task(name=TASK)(lambda number: None)  # noqa: ARG005 - answered by those who listen
    return app


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


def _errors() -> tuple[type[Exception], ...]:
    from procrastinate.exceptions import ProcrastinateException  # noqa: PLC0415 - an extra
    from psycopg import Error  # noqa: PLC0415 - likewise

    return ProcrastinateException, Error
