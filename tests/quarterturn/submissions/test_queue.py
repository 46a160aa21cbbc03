"""Tests of the queue: fair, fenced, leased, and nothing is lost or ended twice."""

import threading
from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy import delete

from quarterturn.app import Application
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.queue import LEASE, TRIES, Claim, Queue, pause
from quarterturn.submissions.store.requests import SubmissionRequest, Submissions
from quarterturn.submissions.store.tables import SubmissionRow
from sandbox.isolation.run_classes import run_class
from vault.database import transaction

from ..conftest import with_submitters

both = pytest.mark.both_databases

REQUEST = SubmissionRequest("dev", image="agent:1")
MONTH = "2026-12"


@pytest.fixture
def house(home, clock, opened):
    return with_submitters(opened(home, clock), "ada", "bob", "carl", "countess")


@pytest.fixture
def submit(house):
    door = Submissions(
        house.home.engine, house.benchmark.exposures, ServiceSettings(waiting=100, dev_per_day=1000), house.home.now
    )
    return lambda account: door.take(account, REQUEST, month=MONTH)[0]


@pytest.fixture
def queue(house, clock):
    return Queue(house.home.engine, clock, at_once=100)


def state(house, claim):
    return house.submissions.store.get(claim.id).state


@both
def test_a_frequent_submitter_does_not_come_before_a_rare_one(submit, queue):
    flood = [submit("ada").number for _ in range(4)]
    one = submit("bob").number
    two = [submit("carl").number for _ in range(2)]
    assert queue.waiting() == [flood[0], one, two[0], flood[1], two[1], flood[2], flood[3]]


@both
def test_linked_accounts_stand_in_one_line(house, submit, queue):
    house.auth.accounts.link("countess", "ada")
    first, second, other = submit("ada").number, submit("countess").number, submit("bob").number
    assert queue.waiting() == [first, other, second]


def test_running_jobs_count_as_the_beginning_of_a_backlog(submit, queue):
    submit("ada")
    second = submit("ada").number
    queue.claim("w")
    other = submit("bob").number
    assert queue.waiting() == [other, second]


@both
def test_who_comes_later_begins_in_the_present_round_and_has_no_backlog_to_wait_for(submit, queue):
    flood = [submit("ada").number for _ in range(6)]
    for _ in range(3):
        queue.claim("w")
    late = [submit("bob").number for _ in range(3)]
    assert queue.waiting() == [late[0], flood[3], late[1], flood[4], late[2], flood[5]]
    assert queue.places([*late, 99]) == {late[0]: 0, late[1]: 2, late[2]: 4}


@both
def test_one_that_is_named_takes_the_place_of_its_partys_first(house, submit, queue):
    first, second, other = submit("ada").number, submit("ada").number, submit("bob").number
    door = Submissions(house.home.engine, house.benchmark.exposures, ServiceSettings(waiting=100), house.home.now)
    named = door.take("ada", SubmissionRequest("private", image="agent:1", counts=True), month=MONTH)[0].number
    assert queue.waiting() == [other, named, first, second]


def next_claim(rows, party, now, only, at_once):
    """Return what is claimed next, row by row, as the module's rules 4 and 5 say."""
    running = Counter(party[row["account"]] for row in rows if row["state"] == "running")
    for row in sorted(rows, key=lambda row: (row["fair_round"], row["number"])):
        own = party[row["account"]]
        named = [other["number"] for other in rows if other["designated"] and party[other["account"]] == own]
        is_ready = row["state"] == "queued" and (row["not_before"] is None or row["not_before"] <= now)
        is_of_class = only in (
            None,
            run_class(private=row["tasks"] == "private", kind=row["kind"], model=None, judged=False),
        )
        is_first = row["tasks"] != "private" or not named or (row["designated"] and row["number"] == min(named))
        if is_ready and is_of_class and is_first and running[own] < at_once:
            return row
    return None


@both
def test_claims_come_in_the_order_that_the_rules_say(house, clock, dice):
    house.auth.accounts.link("countess", "ada")
    party = {"ada": "ada", "countess": "ada", "bob": "bob", "carl": "carl"}
    now, orders = clock(), set()
    queue = Queue(house.home.engine, clock, at_once=2)
    for _ in range(30):
        rows = []
        for number in range(1, dice.randint(1, 9)):
            tasks = dice.choice(["dev", "private"])
            rows.append(
                {
                    "number": number,
                    "account": dice.choice(list(party)),
                    "tasks": tasks,
                    "designated": tasks == "private" and dice.random() < 0.3,
                    "kind": dice.choice(["image", "endpoint"]),
                    "state": dice.choice(["queued", "queued", "running"]),
                    "not_before": dice.choice([None, None, now - timedelta(1), now, now + timedelta(1)]),
                    "fair_round": dice.randint(0, 3),
                }
            )
        with transaction(house.home.engine) as session:
            session.exec(delete(SubmissionRow))
            for row in rows:
                fixed = {"reference": "x", "month": MONTH, "request_digest": "", "created_at": now}
                session.add(SubmissionRow(id=f"s{row['number']}", **fixed, **row))
        order, only = [], dice.choice([None, "sealed", "open"])
        while (expected := next_claim(rows, party, now, only, 2)) is not None:
            claim = queue.claim("w", only)
            assert claim is not None, (rows, only, expected)
            assert claim.number == expected["number"], (rows, only)
            expected["state"] = "running"
            order.append(claim.number)
        assert queue.claim("w", only) is None, (rows, only)
        orders.add(tuple(order))
    assert len(orders) > 10


def of_classes(house):
    """Submit one run of each kind for each of two accounts; give their numbers by class."""
    house.home.settings = house.home.settings.model_copy(
        update={"service": ServiceSettings(waiting=100, private_per_month=100)}
    )
    door = Submissions(house.home.engine, house.benchmark.exposures, house.home.settings.service, house.home.now)
    requests_by_class = {
        "sealed": [SubmissionRequest("private", image="agent:1")],
        "open": [
            SubmissionRequest("dev", image="agent:1"),
            SubmissionRequest("check", image="agent:1"),
            SubmissionRequest("private", image="agent:1", model="anthropic"),
            SubmissionRequest("private", endpoint="https://agent.example/run"),
        ],
    }
    return {
        name: {
            door.take(account, submission_request, month=MONTH)[0].number
            for account in ("ada", "bob")
            for submission_request in own
        }
        for name, own in requests_by_class.items()
    }


@both
def test_a_worker_of_one_class_takes_that_class_alone_and_all_of_it(house, queue):
    made = of_classes(house)
    for name, numbers in made.items():
        taken = set()
        while claim := queue.claim("w", name):
            taken.add(claim.number)
        assert taken == numbers
    assert queue.claim("w") is None


def test_jobs_that_wait_for_another_class_block_nobody_and_running_ones_count(house, clock):
    made = of_classes(house)
    queue = Queue(house.home.engine, clock, at_once=1)
    first, second = queue.claim("w", "sealed"), queue.claim("w", "sealed")
    assert {first.number, second.number} == made["sealed"], "though others of the same party came before"
    assert queue.claim("w", "open") is None, "one of each party runs"
    assert queue.finish(first, None)
    assert queue.claim("w", "open").number in made["open"]


@both
def test_only_so_many_of_one_submitter_run_at_once(house, clock, submit):
    queue = Queue(house.home.engine, clock, at_once=1)
    for _ in range(3):
        submit("ada")
    claim = queue.claim("w")
    assert queue.claim("w") is None
    assert queue.finish(claim, None)
    assert queue.claim("w") is not None


@both
def test_a_claim_raises_the_attempt_and_is_a_lease(house, submit, queue, clock):
    submit("ada")
    first = queue.claim("one")
    assert (first.attempt, state(house, first)) == (1, "running")
    assert queue.reap() == 0
    clock.now += LEASE / 2
    assert queue.renew(first)
    clock.now += LEASE / 2 + timedelta(seconds=1)
    assert queue.reap() == 0
    clock.now += LEASE
    assert queue.reap() == 1
    second = queue.claim("two")
    assert (second.number, second.attempt) == (first.number, 2)


@both
def test_many_that_reap_at_once_put_each_job_back_once(house, submit, queue, clock):
    for _ in range(6):
        submit("ada")
    claims = [queue.claim("w") for _ in range(6)]
    clock.now += LEASE + timedelta(seconds=1)
    found: list[int] = []
    reapers = [threading.Thread(target=lambda: found.append(queue.reap())) for _ in range(4)]
    for reaper in reapers:
        reaper.start()
    for reaper in reapers:
        reaper.join()
    assert sorted(found) == [0, 0, 0, 6]
    assert {queue.claim("w").attempt for _ in claims} == {2}


@both
def test_a_worker_thought_dead_writes_nothing_any_more(house, submit, queue, clock):
    submit("ada")
    dead = queue.claim("one")
    clock.now += LEASE + timedelta(seconds=1)
    queue.reap()
    assert not queue.renew(dead)
    assert not queue.finish(dead, None)
    assert state(house, dead) == "queued"
    alive = queue.claim("two")
    assert not queue.finish(dead, "mistake")
    assert not queue.give_back(dead)
    assert queue.finish(alive, None)
    assert not queue.finish(alive, "mistake")
    assert house.submissions.store.get(alive.id).code is None


def test_a_job_that_dies_repeatedly_is_given_up_and_refunded(house, submit, queue, clock):
    made = submit("ada")
    for _ in range(TRIES):
        assert queue.claim("w") is not None
        clock.now += LEASE + timedelta(seconds=1)
        queue.reap()
    assert queue.claim("w") is None
    ended = house.submissions.store.get(made.id)
    assert (ended.state, ended.code, ended.charged) == ("failed", "interrupted", False)


def test_a_job_given_back_waits_again_and_the_try_counts(house, submit, queue):
    submit("ada")
    claim = queue.claim("w")
    assert queue.give_back(claim)
    assert queue.claim("w").attempt == 2


@both
def test_a_job_set_aside_lets_others_pass_and_is_taken_after_its_pause(house, submit, clock):
    queue = Queue(house.home.engine, clock, at_once=1)
    first, second = submit("ada"), submit("ada")
    assert queue.give_back(queue.claim("w"), pause(1))
    assert queue.waiting() == [first.number, second.number]
    other = queue.claim("w")
    assert other.number == second.number
    assert queue.finish(other, None)
    assert queue.claim("w") is None
    clock.now += pause(1)
    again = queue.claim("w")
    assert (again.number, again.attempt, house.submissions.store.get(first.id).not_before) == (first.number, 2, None)


def test_a_job_cancelled_while_set_aside_costs_nothing(house, submit, queue, clock):
    made = submit("ada")
    assert queue.give_back(queue.claim("w"), pause(1))
    assert not house.submissions.store.cancel(made.id, "ada").charged
    made = submit("ada")
    queue.claim("w")
    assert house.submissions.store.cancel(made.id, "ada").charged


def test_pauses_grow_up_to_the_longest_one():
    assert [pause(attempt).total_seconds() for attempt in (1, 2, 3, 6, 7, 1000)] == [5, 10, 20, 160, 300, 300]


def test_a_job_often_set_aside_is_not_given_up_when_one_worker_dies(house, submit, queue, clock):
    made = submit("ada")
    for attempt in range(TRIES + 1):
        assert queue.give_back(queue.claim("w"), pause(attempt))
        clock.now += pause(attempt)
    assert queue.claim("w") is not None
    clock.now += LEASE + timedelta(seconds=1)
    assert queue.reap() == 1
    assert house.submissions.store.get(made.id).state == "queued"


def test_a_cancelled_job_is_nobodys(house, submit, queue):
    made = submit("ada")
    claim = queue.claim("w")
    house.submissions.store.cancel(made.id, "ada")
    assert not queue.renew(claim)
    assert not queue.finish(claim, None)
    assert state(house, claim) == "cancelled"


def test_a_claim_of_nothing_writes_nothing(house, queue):
    assert queue.claim("w") is None
    assert not queue.renew(Claim(7, "s-" + "a" * 16, 1))


@both
def test_many_workers_take_each_job_once(house, submit, clock):
    made = {submit(name).number for name in ("ada", "bob", "carl") for _ in range(8)}
    taken: Counter[int] = Counter()
    lock = threading.Lock()

    def work():
        own = Application(house.home.folder, None, clock)
        queue = Queue(own.home.engine, clock, at_once=100)
        while claim := queue.claim("w"):
            with lock:
                taken[claim.number] += 1
            assert queue.finish(claim, None)
        own.close()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert taken == dict.fromkeys(made, 1)
    assert not house.submissions.store.unfinished()
