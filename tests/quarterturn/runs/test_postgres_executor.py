"""Tests of the PostgreSQL executor: one queued notification per row, harmless if lost or doubled, and replaced."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from sqlalchemy import inspect, text

from quarterturn import migrations
from quarterturn.app import Application
from quarterturn.runs.postgres_executor import PostgresExecutor
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.requests import SubmissionRequest, Submissions
from vault.database import transaction

pytestmark = pytest.mark.slow

REQUEST = SubmissionRequest("dev", image="agent:1")
QUEUED = "SELECT queueing_lock, priority FROM procrastinate_jobs WHERE status = 'todo' ORDER BY priority DESC, id"


@pytest.fixture
def backend() -> str:
    return "postgresql"


@pytest.fixture
def house(home):
    house = Application(home, None)
    service = ServiceSettings(images=("",), at_once=2, waiting=1000, dev_per_day=1000)
    house.home.settings = house.home.settings.model_copy(update={"service": service})
    house.submissions.store = Submissions(house.home.engine, house.benchmark.exposures, service, house.home.now)
    for name in ("ada", "bob"):
        house.auth.accounts.create(name, "submitter")
    yield house
    house.close()


def executor_of(house, workers=1, work=None, only=None) -> PostgresExecutor:
    return PostgresExecutor(
        house.home.engine, house.submissions.queue, work or house.execution.job_worker.work, workers, only
    )


def submit(house, account="ada") -> int:
    return house.submissions.service.submit(account, REQUEST, idempotency_key=None, enqueue=executor_of(house).enqueue)[
        0
    ].number


def queued_notifications(house) -> list[tuple[int, int]]:
    with house.home.engine.connect() as connection:
        return [(int(number), priority) for number, priority in connection.execute(text(QUEUED))]


def sql(house, statement: str) -> None:
    with transaction(house.home.engine) as session:
        session.connection().exec_driver_sql(statement)


def maintain(house) -> None:
    executor = executor_of(house, 1)
    executor._stopping.set()  # once, and without a pause
    executor._tend()


def test_a_notification_names_its_row_and_has_a_lower_priority_the_more_its_submitter_has_waiting(house):
    house.auth.accounts.link("bob", "ada")
    house.auth.accounts.create("carl", "submitter")
    numbers = [submit(house, name) for name in ("ada", "ada", "bob", "carl")]
    assert queued_notifications(house) == [(numbers[0], -1), (numbers[3], -1), (numbers[1], -2), (numbers[2], -3)]


def test_a_notification_is_committed_with_its_row_or_not_at_all(house):
    with suppress(ZeroDivisionError):
        house.submissions.store.take(
            "ada",
            REQUEST,
            month="2026-12",
            enqueue=lambda session, n: (executor_of(house).enqueue(session, n), 1 // 0),
        )
    assert (queued_notifications(house), house.submissions.store.unfinished()) == ([], [])


def test_a_row_without_a_notification_gets_one_however_many_threads_maintain(house):
    numbers = [submit(house) for _ in range(4)]
    sql(house, "DELETE FROM procrastinate_jobs")
    threads = [threading.Thread(target=maintain, args=(house,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert queued_notifications(house) == [(numbers[0], -1), (numbers[1], -2)], (
        "no more of one party may be taken at once"
    )


def queues(house) -> dict[int, str]:
    with house.home.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT queueing_lock, queue_name FROM procrastinate_jobs")
        return {int(number): name for number, name in rows}


def test_runs_of_each_class_are_rung_for_in_a_queue_of_their_own_and_in_nobodys_way(house):
    house.home.settings = house.home.settings.model_copy(update={"service": ServiceSettings(at_once=1, images=("",))})
    submission_requests = (
        REQUEST,
        SubmissionRequest("private", image="agent:1"),
        SubmissionRequest("private", image="agent:1", model="anthropic"),
    )
    enqueue = executor_of(house).enqueue
    numbers = [
        house.submissions.store.take("ada", one, month="2026-12", enqueue=enqueue)[0].number
        for one in submission_requests
    ]
    own = dict(zip(numbers, ("look-open", "look-sealed", "look-open"), strict=True))
    assert queues(house) == own
    sql(house, "DELETE FROM procrastinate_jobs")
    maintain(house)
    assert queues(house) == {number: own[number] for number in numbers[:2]}, "the first of the party in each class"


@pytest.mark.parametrize(("only", "heard"), [("sealed", 1), ("open", 0)])
def test_a_worker_of_one_class_answers_with_that_class_alone(house, only, heard):
    numbers = [
        submit(house),
        house.submissions.store.take("bob", SubmissionRequest("private", image="a:1"), month="2026-12")[0].number,
    ]
    taken = []
    work = lambda claim, _: taken.append(claim.number) or house.submissions.queue.finish(claim, None)  # noqa: E731
    executor_of(house, 1, work, only)._answer(numbers[0])
    assert taken == [numbers[heard]]


def test_a_notification_that_a_dead_worker_held_is_replaced(house):
    number = submit(house)
    sql(house, "UPDATE procrastinate_jobs SET status = 'doing'")
    maintain(house)
    assert queued_notifications(house) == [(number, -1)]
    with house.home.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM procrastinate_jobs").scalar() == 1


def test_a_notification_of_a_row_that_no_longer_waits_takes_one_that_does(house):
    first, second = submit(house), submit(house)
    sql(house, f"DELETE FROM procrastinate_jobs WHERE queueing_lock = '{second}'")
    house.submissions.queue.finish(house.submissions.queue.claim("somebody"), None)
    taken = []
    executor = executor_of(
        house, 1, lambda claim, _: taken.append(claim.number) or house.submissions.queue.finish(claim, None)
    )
    executor._answer(first)
    assert taken == [second]
    executor._answer(first)
    assert taken == [second]


def test_tables_of_another_version_are_made_anew_and_taken_away_with_ours(house):
    number = submit(house)
    sql(house, "COMMENT ON TABLE procrastinate_jobs IS '0.1'; DROP FUNCTION procrastinate_fetch_job_v2 CASCADE")
    migrations.upgrade(house.home.engine)
    assert queued_notifications(house) == []
    maintain(house)
    assert queued_notifications(house) == [(number, -1)]
    migrations.downgrade(house.home.engine)
    assert set(inspect(house.home.engine).get_table_names()) == {"alembic_version"}
    migrations.upgrade(house.home.engine)
    assert "procrastinate_jobs" in inspect(house.home.engine).get_table_names()
