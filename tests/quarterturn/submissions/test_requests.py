"""Tests of submission requests: accepted once, charged to quotas that are counted from rows, and cancelled."""

from datetime import UTC, datetime, timedelta

import pytest

from quarterturn.errors import Malformed, NotAllowed, NotFound, OverQuota
from quarterturn.failure_codes import CODES, charged, code_of
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.queue import Queue
from quarterturn.submissions.store.requests import SubmissionRequest, Submissions
from quarterturn.submissions.store.tables import SubmissionRow
from sandbox.errors import Malformed as NoImage
from sandbox.errors import Refused
from vault.database import transaction

from ...rotation.conftest import NamedBox, submission
from ..conftest import with_submitters

both = pytest.mark.both_databases

NOW = datetime(2026, 12, 5, 10, tzinfo=UTC)
MONTH = "2026-12"
DEV = SubmissionRequest("dev", image="agent:1")
PRIVATE = SubmissionRequest("private", image="agent:1")


@pytest.fixture
def house(home, opened):
    return with_submitters(opened(home, lambda: NOW), "ada", "bob", "countess")


@pytest.fixture
def take(house):
    def take(account="ada", submission_request=DEV, *, month=MONTH, **how):
        return house.submissions.store.take(account, submission_request, month=month, **how)[0]

    return take


def limited(house, **limits) -> Submissions:
    return Submissions(house.home.engine, house.benchmark.exposures, ServiceSettings(**limits), house.home.now)


def work_off(house, code=None, run=None):
    """Let a worker claim the next job and end it."""
    queue = Queue(house.home.engine, house.home.now)
    claim = queue.claim("worker")
    if run is not None:
        assert queue.opened(claim, run)
    assert queue.finish(claim, code)


def a_run(house, submitter="ada", *, served=False):
    """Record a private run in the ledger's rows; nobody plays it."""
    record = house.runs.store.open(submission(submitter), month=MONTH, track="docker", tasks=1, box=NamedBox())
    if served:
        with transaction(house.home.engine) as session:
            house.benchmark.exposures.expose(session, record, "t-" + "a" * 16, "s", channel="docker")
    return record.number


def test_a_submission_waits_and_is_its_owners(house, take):
    made = take()
    assert made.state == "queued"
    assert made.id.startswith("s-")
    assert house.submissions.store.get(made.id, "ada") == made
    for name, account in ((made.id, "bob"), ("s-" + "a" * 16, "ada")):
        with pytest.raises(NotFound, match=r"^there is no such submission$"):
            house.submissions.store.get(name, account)


@both
def test_the_newest_comes_first_and_pages_follow(house, take):
    made = [take() for _ in range(5)]
    take("bob")
    first = house.submissions.store.of("ada", limit=3)
    assert [one.id for one in first] == [one.id for one in reversed(made[2:])]
    rest = house.submissions.store.of("ada", after=first[-1].number, limit=3)
    assert [one.id for one in rest] == [made[1].id, made[0].id]


@pytest.mark.parametrize(
    "submission_request",
    [
        {},
        {"image": "a", "endpoint": "https://a.example/"},
        {"image": ""},
        {"image": "-v"},
        {"image": "a b"},
        {"image": "a" * 501},
        {"endpoint": "http://a.example/"},
        {"endpoint": "https://a.example:25/"},
        {"image": "a", "counts": True},
    ],
)
def test_a_request_that_could_never_be_run_is_refused(submission_request):
    with pytest.raises((Malformed, NoImage, Refused)):
        SubmissionRequest("dev", **submission_request)


@both
def test_the_same_key_gives_the_same_submission(house, take):
    first = take(idempotency_key="k-1")
    again, new = house.submissions.store.take("ada", DEV, month=MONTH, idempotency_key="k-1")
    assert (again, new) == (first, False)
    assert take(idempotency_key="k-2").id != first.id
    assert take("bob", idempotency_key="k-1").id != first.id
    with pytest.raises(NotAllowed, match="a different request"):
        take(submission_request=PRIVATE, idempotency_key="k-1")


@both
def test_a_quota_says_what_is_left_before_it_bites(house):
    few = limited(house, dev_per_day=2)
    for used in range(2):
        assert few.quotas("ada", MONTH)["dev"].left == 2 - used
        few.take("ada", DEV, month=MONTH)
    with pytest.raises(OverQuota, match="all 2 of the quota 'dev' are used; it resets on 2026-12-06"):
        few.take("ada", DEV, month=MONTH)
    few.take("bob", DEV, month=MONTH)


@both
def test_linked_accounts_share_their_quotas(house):
    few = limited(house, private_per_month=1)
    house.auth.accounts.link("countess", "ada")
    few.take("countess", PRIVATE, month=MONTH)
    with pytest.raises(OverQuota):
        few.take("ada", PRIVATE, month=MONTH)


def test_a_new_day_and_a_new_month_begin_anew(house, take):
    take()
    take(submission_request=PRIVATE)
    later = Submissions(
        house.home.engine, house.benchmark.exposures, ServiceSettings(), lambda: NOW + timedelta(days=1)
    )
    assert later.quotas("ada", MONTH)["dev"].used == 0
    assert later.quotas("ada", MONTH)["private"].used == 1
    assert later.quotas("ada", "2027-01")["private"].used == 0
    assert later.quotas("ada", MONTH)["private"].until == datetime(2027, 1, 1, tzinfo=UTC)


@both
def test_a_submission_cancelled_before_its_start_costs_nothing(house, take):
    made = take()
    assert house.submissions.store.quotas("ada", MONTH)["dev"].used == 1
    gone = house.submissions.store.cancel(made.id, "ada")
    assert (gone.state, gone.code) == ("cancelled", "cancelled")
    assert house.submissions.store.quotas("ada", MONTH)["dev"].used == 0
    with pytest.raises(NotAllowed, match="cancelled"):
        house.submissions.store.cancel(made.id, "ada")
    with pytest.raises(NotFound):
        house.submissions.store.cancel(made.id, "bob")


def test_a_submission_cancelled_while_it_runs_is_charged(house, take):
    made = take()
    house.submissions.queue.claim("worker")
    house.submissions.store.cancel(made.id, "ada")
    assert house.submissions.store.quotas("ada", MONTH)["dev"].used == 1


def test_failures_of_the_operator_are_refunded_and_others_are_not(house, take):
    for code in sorted(set(CODES) - {"cancelled"}):
        house.auth.accounts.create(code, "submitter")
        take(code)
        work_off(house, code)
        assert house.submissions.store.quotas(code, MONTH)["dev"].used == (0 if CODES[code].ours else 1), code


@both
def test_a_private_run_costs_nothing_only_where_it_was_served_nothing(house, take):
    """The cause does not matter: a refund of a run that was served something would be a second draw."""
    for code in sorted(CODES):
        house.auth.accounts.create(code, "submitter")
        used = []
        for run in (lambda: None, lambda: a_run(house, code), lambda: a_run(house, code, served=True)):  # noqa: B023
            take(code, PRIVATE)
            work_off(house, code, run=run())
            used.append(house.submissions.store.quotas(code, MONTH)["private"].used)
        assert used == [0, 0, 1], code


@both
def test_only_so_many_wait(house):
    few = limited(house, waiting=2)
    made = [few.take("ada", DEV, month=MONTH)[0] for _ in range(2)]
    with pytest.raises(OverQuota, match="'waiting' are used; wait until one of your submissions has ended"):
        few.take("ada", PRIVATE, month=MONTH)
    few.cancel(made[0].id, "ada")
    few.take("ada", PRIVATE, month=MONTH)


NAMED = SubmissionRequest("private", image="agent:1", counts=True)


@both
@pytest.mark.slow
def test_a_run_is_designated_before_any_of_its_submitter_has_begun_or_never(house, take):
    take()
    work_off(house)  # the dev set serves nothing private
    take(submission_request=PRIVATE)
    take(submission_request=NAMED)
    house.submissions.queue.claim("worker")
    with pytest.raises(NotAllowed, match="the first one counts"):
        take(submission_request=NAMED)
    house.auth.accounts.link("countess", "ada")
    with pytest.raises(NotAllowed):
        take("countess", NAMED)
    take("bob", NAMED)


@both
def test_the_designated_run_is_played_first_and_the_submitters_others_wait_until_it_has_ended(house, take):
    """So the designated run is served a task first, or nothing was served when it ended."""
    house.auth.accounts.link("countess", "ada")
    plain, other, named = take(submission_request=PRIVATE), take("countess", PRIVATE), take("countess", NAMED)
    queue = Queue(house.home.engine, house.home.now, at_once=3)
    first = queue.claim("worker")
    assert (first.id, queue.claim("another")) == (named.id, None)
    house.submissions.store.cancel(named.id, "countess")
    assert {queue.claim("worker").id, queue.claim("worker").id} == {plain.id, other.id}


def test_of_two_designated_runs_the_first_is_played_first(house, take):
    take(submission_request=PRIVATE)
    first, second = take(submission_request=NAMED), take(submission_request=NAMED)
    queue = Queue(house.home.engine, house.home.now, at_once=3)
    claim = queue.claim("worker")
    assert (claim.id, queue.claim("worker")) == (first.id, None)
    queue.finish(claim, None)
    assert queue.claim("worker").id == second.id


def test_waiting_running_and_done_submissions_are_always_charged():
    assert charged("queued", None, served=False)
    assert charged("running", None, served=False)
    assert charged("done", None, served=False)
    assert not charged("cancelled", "cancelled", served=False)


def test_an_error_becomes_a_code_and_none_of_its_words():
    assert code_of(Malformed("…")) == "not-runnable"
    assert code_of(ValueError("a word of a task")) == "mistake"
    assert all(code in CODES for code in map(code_of, (NotFound(""), Refused(""), OverQuota(""), OSError())))


def test_rows_of_the_queue_name_nothing_of_a_private_run_but_its_number():
    told = {"id", "account", "tasks", "kind", "reference", "model", "designated", "month", "state", "code", "run"}
    kept = {"number", "attempt", "worker", "failed_attempts", "idempotency_key", "request_digest", "fair_round"}
    times = {"lease_until", "not_before", "created_at", "started_at", "ended_at"}
    assert set(SubmissionRow.model_fields) == told | kept | times
