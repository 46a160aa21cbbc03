"""Tests of the PostgreSQL executor: one queued notification per row, harmless if lost or doubled, and replaced."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
from sqlalchemy import inspect, text

from quarterturn import migrations
from quarterturn.app import Application
from quarterturn.runs import submission_service
from quarterturn.runs.postgres_executor import PostgresExecutor
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.requests import SubmissionRequest, Submissions
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
    house.settings = house.settings.model_copy(update={"service": service})
    house.submissions = Submissions(house.engine, house.exposures, service, house.now)
    for name in ("ada", "bob"):
        house.accounts.create(name, "submitter")
    yield house
    house.close()


def submit(house, account="ada") -> int:
    return submission_service.submit(
        house, account, REQUEST, idempotency_key=None, enqueue=PostgresExecutor(house).enqueue
    )[0].number


def queued_notifications(house) -> list[tuple[int, int]]:
    with house.engine.connect() as connection:
        return [(int(number), priority) for number, priority in connection.execute(text(QUEUED))]


def sql(house, statement: str) -> None:
    with transaction(house.engine) as session:
        session.connection().exec_driver_sql(statement)


def maintain(house) -> None:
    executor = PostgresExecutor(house, 1)
    executor._stopping.set()  # once, and without a pause
    executor._tend()


def test_a_notification_names_its_row_and_has_a_lower_priority_the_more_its_submitter_has_waiting(house):
    house.accounts.link("bob", "ada")
    house.accounts.create("carl", "submitter")
    numbers = [submit(house, name) for name in ("ada", "ada", "bob", "carl")]
    assert queued_notifications(house) == [(numbers[0], -1), (numbers[3], -1), (numbers[1], -2), (numbers[2], -3)]


def test_a_notification_is_committed_with_its_row_or_not_at_all(house):
    with suppress(ZeroDivisionError):
        house.submissions.take(
            "ada",
            REQUEST,
            month="2026-12",
            enqueue=lambda session, n: (PostgresExecutor(house).enqueue(session, n), 1 // 0),
        )
    assert (queued_notifications(house), house.submissions.unfinished()) == ([], [])


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
    with house.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT queueing_lock, queue_name FROM procrastinate_jobs")
        return {int(number): name for number, name in rows}


def test_runs_of_each_class_are_rung_for_in_a_queue_of_their_own_and_in_nobodys_way(house):
    house.settings = house.settings.model_copy(update={"service": ServiceSettings(at_once=1, images=("",))})
    submission_requests = (
        REQUEST,
        SubmissionRequest("private", image="agent:1"),
        SubmissionRequest("private", image="agent:1", model="anthropic"),
    )
    enqueue = PostgresExecutor(house).enqueue
    numbers = [
        house.submissions.take("ada", one, month="2026-12", enqueue=enqueue)[0].number for one in submission_requests
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
        house.submissions.take("bob", SubmissionRequest("private", image="a:1"), month="2026-12")[0].number,
    ]
    taken = []
    work = lambda house, claim, _: taken.append(claim.number) or house.queue.finish(claim, None)  # noqa: E731
    PostgresExecutor(house, 1, work, only)._answer(numbers[0])
    assert taken == [numbers[heard]]


def test_a_notification_that_a_dead_worker_held_is_replaced(house):
    number = submit(house)
    sql(house, "UPDATE procrastinate_jobs SET status = 'doing'")
    maintain(house)
    assert queued_notifications(house) == [(number, -1)]
    with house.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM procrastinate_jobs").scalar() == 1


def test_a_notification_of_a_row_that_no_longer_waits_takes_one_that_does(house):
    first, second = submit(house), submit(house)
    sql(house, f"DELETE FROM procrastinate_jobs WHERE queueing_lock = '{second}'")
    house.queue.finish(house.queue.claim("somebody"), None)
    taken = []
    executor = PostgresExecutor(
        house, 1, lambda house, claim, _: taken.append(claim.number) or house.queue.finish(claim, None)
    )
    executor._answer(first)
    assert taken == [second]
    executor._answer(first)
    assert taken == [second]


def test_tables_of_another_version_are_made_anew_and_taken_away_with_ours(house):
    number = submit(house)
    sql(house, "COMMENT ON TABLE procrastinate_jobs IS '0.1'; DROP FUNCTION procrastinate_fetch_job_v2 CASCADE")
    migrations.upgrade(house.engine)
    assert queued_notifications(house) == []
    maintain(house)
    assert queued_notifications(house) == [(number, -1)]
    migrations.downgrade(house.engine)
    assert set(inspect(house.engine).get_table_names()) == {"alembic_version"}
    migrations.upgrade(house.engine)
    assert "procrastinate_jobs" in inspect(house.engine).get_table_names()
