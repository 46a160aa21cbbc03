"""Tests of the automatic monthly turn: once, in order, beside other processes; what it lacks is reported."""

import json
import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlmodel import Session, select

from quarterturn.app import Application
from quarterturn.cli.setup import home_checks
from quarterturn.cli.setup.check_result import ok
from quarterturn.errors import Unavailable
from quarterturn.home.home import create
from quarterturn.month.automatic_turn import MonthlyClock
from quarterturn.notices.tables import NoticeRow
from quarterturn.settings import BenchmarkSettings, Settings
from rotation.calendar import Month
from rotation.turn.periodic_job import PeriodicJob
from rotation.turn.turn_facts import STEPS
from vault.ledger.statements.statement import Statement

from ...patience import PATIENCE, until
from ...rotation.conftest import NamedBox, submission
from ..children import Child, Gate
from ..conftest import Clock

pytestmark = pytest.mark.slow

DUE = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.fixture
def at(live, opened):
    """Open the home at a time; several calls stand for several processes."""

    def at(now: datetime) -> tuple[Application, Clock]:
        present = Clock(now)
        return opened(live, present), present

    return at


def posted_keys(house: Application) -> list[str]:
    return [one.key for one in house.month.outbox.posted()]


def months(house: Application) -> list[tuple[str, bool]]:
    return [(str(turn.month), turn.finished) for turn in house.benchmark.months.turns()]


def leaves(house: Application) -> Counter[str]:
    return Counter(Statement.parse(house.log.ledger.leaf(index)).kind for index in range(house.log.ledger.size))


def words(house: Application, key: str) -> str:
    with Session(house.home.engine) as session:
        return json.dumps(session.exec(select(NoticeRow.content).where(NoticeRow.key == key)).one())


def test_a_month_is_turned_from_its_moment_on_and_not_before(at):
    house, present = at(DUE - timedelta(days=8))
    house.month.clock.look()
    assert posted_keys(house) == []
    present.now = DUE - timedelta(days=7)
    house.month.clock.look()
    assert posted_keys(house) == ["turn.coming/2026-12"]
    assert "Nothing is missing for it." in words(house, "turn.coming/2026-12")
    present.now = DUE - timedelta(seconds=1)
    house.month.clock.look()
    assert months(house) == [("2026-11", True)]
    present.now = DUE
    house.month.clock.look()
    house.month.clock.look()
    assert months(house) == [("2026-11", True), ("2026-12", True)]
    assert posted_keys(house) == ["turn.coming/2026-12", "turn.done/2026-12"]
    assert leaves(house)["retire"] == 1


def test_the_due_date_is_a_setting_and_is_published(at):
    house, present = at(DUE)
    clock = house.home.settings.clock.model_copy(update={"day": 3, "hour": 6})
    house.home.settings = house.home.settings.model_copy(update={"clock": clock})
    house.month.clock.look()
    assert len(months(house)) == 1
    present.now = DUE + timedelta(days=2, hours=6)
    house.month.clock.look()
    assert len(months(house)) == 2
    view = json.loads((house.home.places.view / "rotations.json").read_text())
    assert view["next"] == {"turn": "2027-01", "due": "2027-02-03T06:00:00Z"}


def test_months_that_were_missed_are_turned_in_their_order_until_one_lacks_tasks(at):
    house, _ = at(DUE + timedelta(days=75))  # three turns are due, and there are tasks for one
    house.month.clock.look()
    assert months(house) == [("2026-11", True), ("2026-12", True)]
    assert posted_keys(house) == ["turn.overdue/2027-01/2027-03-17", "turn.done/2026-12"]
    said = words(house, "turn.overdue/2027-01/2027-03-17")
    assert "Too few reviewed tasks of unseen skeletons: filesystem/single-tool/easy lacks 1; " in said
    everything = " ".join(words(house, key) for key in posted_keys(house))
    for record in house.home.vault.records():
        task = house.home.vault.open(record.id, who="tester", why="secrecy").task
        secrets = (task.id, task.goal, record.skeleton_tag, record.template_tag)
        assert not [word for word in secrets if word in everything]


def test_tasks_without_a_review_are_reported_each_day_and_turned_once_reviewed(at, stock, monkeypatch):
    house, present = at(DUE)
    house.month.clock.look()
    present.now = datetime(2027, 2, 1, tzinfo=UTC)
    with monkeypatch.context() as patch:  # whoever draws is faster than whoever reviews
        patch.setattr("quarterturn.tasks.review.TaskReviews.decide", lambda *_: None)
        stock(house, 1, first=5)
    house.month.clock.look()
    present.now += timedelta(hours=30)
    house.month.clock.look()
    overdue = [key.rpartition("/")[2] for key in posted_keys(house) if "turn.overdue/2027-01" in key]
    assert overdue == ["2027-02-01", "2027-02-02"]
    assert "6 admitted tasks wait for a reviewer" in words(house, "turn.overdue/2027-01/2027-02-01")
    stock(house, 1, first=6)
    house.month.clock.look()
    assert months(house)[-1] == ("2027-01", True)


def test_open_runs_are_announced_before_and_ended_by_the_turn(at):
    house, present = at(DUE - timedelta(days=1))
    number = house.runs.official.open(submission("slow"), NamedBox()).record.number
    house.month.clock.look()
    assert "1 runs are open" in words(house, "turn.coming/2026-12")
    present.now = DUE
    house.month.clock.look()
    assert house.runs.store.get(number).code == "turn"


def test_a_missing_key_ring_is_reported_and_crashes_nothing(at, live):
    house, _ = at(DUE)
    ring = live / "keys" / "ring.json"
    ring.rename(ring.with_suffix(".away"))
    house.month.clock.look()
    assert posted_keys(house) == ["turn.overdue/2026-12/2027-01-01"]
    assert "The key ring or a signing key cannot be used" in words(house, "turn.overdue/2026-12/2027-01-01")
    ring.with_suffix(".away").rename(ring)
    house.month.clock.look()
    assert months(house)[-1] == ("2026-12", True)


def test_an_error_in_a_turn_is_reported_by_its_type_and_the_turn_is_resumed(at, monkeypatch, caplog):
    house, _ = at(DUE)
    with monkeypatch.context() as patch:
        patch.setitem(house.month.rotation._steps, "commit", lambda turn: {}["a word of a task"])
        house.month.clock.look()
    assert months(house)[-1] == ("2026-12", False)
    said = words(house, "turn.overdue/2026-12/2027-01-01")
    assert "interrupted (KeyError)" in said
    assert "KeyError in <lambda> (test_automatic_turn.py" in caplog.text
    assert "a word of a task" not in said + caplog.text
    house.month.clock.look()
    assert months(house)[-1] == ("2026-12", True)
    assert leaves(house) == {"commit": 30, "set": 2, "retire": 1}


@pytest.mark.both_databases
def test_of_concurrent_clocks_one_turns(at):
    houses = [at(DUE)[0] for _ in range(3)]
    gate = threading.Barrier(3)

    def look(house: Application) -> None:
        gate.wait()
        house.month.clock.look()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(look, houses))
    houses[0].month.clock.look()
    assert months(houses[0]) == [("2026-11", True), ("2026-12", True)]
    assert houses[0].benchmark.months.turns()[-1].done == STEPS
    assert leaves(houses[0]) == {"commit": 30, "set": 2, "retire": 1}
    assert posted_keys(houses[0]) == ["turn.done/2026-12"]


def test_of_concurrent_processes_that_are_killed_one_completes_the_turn(at, live):
    def look(before: Callable[[str], None]) -> None:
        step = MonthlyClock._step
        MonthlyClock._step = lambda self, name: (before(name), step(self, name))[1]
        ready.open()
        begin.wait()
        Application(live, None, lambda: DUE).month.clock.look()

    def stop_at(name: str) -> None:
        if name == "retire":
            reached.open()
            signal.pause()

    with Gate() as ready, Gate() as begin, Gate() as reached:
        for before in (stop_at, lambda _: None):
            looking = [Child(partial(look, before)) for _ in range(2)]
            for _ in looking:
                ready.wait()
            begin.open(2)
            if before is stop_at:
                reached.wait()
                assert [one.kill().code for one in looking].count(-signal.SIGKILL) >= 1
            else:
                assert [one().code for one in looking] == [0, 0]
    house, _ = at(DUE)
    assert months(house) == [("2026-11", True), ("2026-12", True)]
    assert leaves(house) == {"commit": 30, "set": 2, "retire": 1}
    assert house.log.writer.fsck() == []


def test_without_the_lock_it_reports_that_another_process_turns(at, say, live):
    house, _ = at(DUE)
    other, _ = at(DUE)
    with house.month.turns.alone():
        other.month.clock.look()
        assert (len(months(house)), posted_keys(house)) == (1, [])
        with pytest.raises(Unavailable, match="another process is turning this home"), other.month.turns.alone():
            pass
        assert say("turn", "run", "--month", "2026-12", "--early", "--home", live).code == 6


@pytest.mark.both_databases
def test_what_another_machine_did_of_a_turn_is_not_done_again(at):
    """Without a common lock the rows decide: the second process changes nothing."""
    house, _ = at(DUE)
    other, _ = at(DUE)
    month, retired = Month.parse("2026-12"), Counter()

    def overtaken(step: str) -> None:
        if step == "close" and not retired:
            retired.update(other.month.rotation.run(month).done)

    with pytest.raises(Exception, match=r"retire|already|not live|cannot"):
        house.month.rotation.run(month, overtaken)
    assert house.benchmark.months.turns()[-1].done == STEPS
    assert leaves(house) == {"commit": 30, "set": 2, "retire": 1}


def test_a_clock_that_is_stopped_leaves_a_turn_between_two_steps_and_the_next_ends_it(at, monkeypatch):
    house, _ = at(DUE)
    clock, reached = house.month.clock, threading.Event()
    stop = MonthlyClock._step

    def step(self: MonthlyClock, name: str) -> None:
        if name == "retire":
            reached.set()
            self._stopping.wait(PATIENCE)
        stop(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(MonthlyClock, "_step", step)
        clock.start()
        assert reached.wait(PATIENCE)
        clock.stop()
    assert house.benchmark.months.turns()[-1].done == ("stop", "close", "check", "retire")
    assert not [key for key in posted_keys(house) if "overdue" in key]
    at(DUE)[0].month.clock.look()
    assert months(house)[-1] == ("2026-12", True)


def test_an_alarm_asks_again_and_again_and_never_twice_at_once(caplog):
    caplog.set_level("WARNING", "apscheduler")  # which says when it would have asked beside itself
    asked, inside, most, threads = threading.Semaphore(0), [], [], threading.active_count()

    def ask() -> None:
        inside.append(1)
        most.append(len(inside))
        until(lambda: "maximum number of running instances reached" in caplog.text, "its next moment")
        inside.pop()
        asked.release()

    alarm = PeriodicJob(ask, seconds=0.01)
    alarm.start()
    for _ in range(3):
        assert asked.acquire(timeout=PATIENCE)
    alarm.stop()
    assert threading.active_count() == threads, "it is quiet once it was stopped"
    assert max(most) == 1
    alarm.stop()


# -- what doctor says of it ------------------------------------------------------------------------------


def test_doctor_says_when_the_next_turn_is_due_and_that_nothing_is_missing(at):
    house, _ = at(DUE - timedelta(days=20))
    due = "the turn of 2026-12 is due on 2027-01-01 at 00:00 UTC. Nothing is missing for it"
    assert home_checks.clock(house) == ok(due)


def test_doctor_reports_an_overdue_turn_what_it_lacks_and_unsent_notices(at, live, monkeypatch):
    settings = live / "quarterturn.toml"
    settings.write_text(settings.read_text().replace('webhook = ""', 'webhook = "http://127.0.0.1:9/"'))
    settings.write_text(settings.read_text().replace('webhook_secret_file = ""', 'webhook_secret_file = "none"'))
    house, present = at(DUE)
    finding = home_checks.clock(house)
    assert (finding.level, "is overdue since 2027-01-01" in finding.detail) == ("wrong", True)
    assert "that `quarterturn serve` runs" in finding.mend
    house.month.clock.look()
    present.now = datetime(2027, 1, 28, tzinfo=UTC)
    finding = home_checks.clock(house)
    said = finding.detail
    assert (finding.level, finding.mend) == ("advice", f"quarterturn task admit --as NAME --home {house.home.folder}")
    assert "the turn of 2027-01 is due on 2027-02-01 at 00:00 UTC. Too few reviewed tasks" in said
    why = "(its secret's file cannot be used: none); it will be tried again"
    assert f"turn.done/2026-12 was not delivered by webhook {why}" in said


def test_doctor_says_that_a_clock_before_the_last_turn_is_wrong(at):
    house, _ = at(datetime(2020, 1, 1, tzinfo=UTC))
    finding = home_checks.clock(house)
    assert finding.level == "wrong"
    assert "this machine's clock says 2020-01-01 00:00 UTC, and the turn of" in finding.detail


def test_the_first_set_of_a_new_home_is_due_and_never_overdue(home, stock, opened):
    house = opened(home, lambda: datetime(2027, 3, 5, tzinfo=UTC))
    lacking = home_checks.clock(house)
    assert lacking.detail.startswith("the first set is due: no turn was made yet, so no task is live. Too few reviewed")
    assert (lacking.level, lacking.mend) == ("advice", f"quarterturn task admit --as NAME --home {home}")
    stock(house, 4)
    ready = home_checks.clock(house)
    assert (ready.level, ready.mend) == ("advice", f"quarterturn turn run --home {home}")
    assert ready.detail.endswith("so no task is live. Nothing is missing for it")


def test_doctor_without_the_passphrase_says_so(tmp_path):
    create(tmp_path / "home", Settings(benchmark=BenchmarkSettings(first_month="2026-12")), b"test-phrase")
    detail = home_checks.check(tmp_path / "home")["clock"].detail
    assert detail.startswith(("the turn of 2026-11 is due on ", "the first set is due"))
    assert "The key ring or a signing key cannot be used" in detail
    assert "clock" not in home_checks.check(tmp_path / "nothing")
