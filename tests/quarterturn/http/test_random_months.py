"""Model-based test of random months: whatever happens, in whatever order, the design's promises hold.

Submitters submit, cancel and publish; workers run jobs, stall, die and return after their lease has ended; maintainers
withdraw tasks, and are killed while they do; the month turns. All of it is the real service over real rows; only the
box is one in which nothing happens, so that a task ends at once.
"""

import itertools
import json
import shutil
import threading
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, Phase, settings, stateful
from hypothesis import strategies as st
from sqlmodel import Session, select

from quarterturn.progress import NullProgress
from quarterturn.runs import dev_runs, private_runs
from quarterturn.runs.dev_runs import DevRun
from quarterturn.submissions.store import queue
from quarterturn.submissions.store.queue import LEASE
from rotation.calendar import Month
from rotation.leaderboard.tables import DisclosedScore, ScoreRow
from rotation.month import sets
from rotation.runs import withdrawal
from sandbox.errors import NotAllowed
from sandbox.runs.store import RunState
from sandbox.runs.tables import ResultRow
from vault.ledger.audit.verify import audit
from vault.task.lifecycle import TaskState

from ...broken import EVIDENCE
from ...patience import PATIENCE
from ...rotation.conftest import NamedBox
from ..conftest import copy_of, written
from .conftest import NOW, outcome, served, with_dev_set

pytestmark = pytest.mark.slow

TURNS, MINE, MOST_WAITING, MOST_GONE = 2, 3, 4, 4
OURS = {"turn", "interrupted", "not-now"}
OF = {"ada": "ada", "eve": "ada", "bob": "bob"}  # accounts and their parties
who = st.sampled_from(sorted(OF))


def telling(stratum, number):
    """Make a task whose text holds its own number."""
    task = written(stratum, number)
    return task | {"goal": f"Make the folder number-{number} of {task['id']}."}


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


class Worker(threading.Thread):
    """A worker that runs one job, and may stall before one of its tasks as if it were dead."""

    def __init__(self, house, claim, dies_at):
        super().__init__(daemon=True)
        self.house, self.claim, self.dies_at = house, claim, dies_at
        self.dead, self.raised = threading.Event(), threading.Event()

    def run(self):
        try:
            self.house.execution.job_worker.work(self.claim, threading.Event())
        finally:
            self.dead.set()

    def before(self, place):
        if place == self.dies_at:
            self.dead.set()
            self.raised.wait()  # for as long as the story lasts, which is the machine's affair


def nothing_happens(tasks, submitted, setup, journal):
    """Play a set in no time, with the signature of `sandbox.runs.run.run_set`."""
    for place, task in enumerate(planned.task for planned in tasks):
        threading.current_thread().before(place)
        if journal.is_ended():
            raise NotAllowed("the run was ended from outside")
        journal.record_outcome(outcome(task, passed=(place + len(submitted.submitter)) % 3 > 0, says=task.goal))


class NoBox(NamedBox):
    def fits(self, program):
        pass

    def digest(self, reference):
        return "sha256:" + "0" * 64


class Months(stateful.RuleBasedStateMachine):
    """Model of a home and its users, for random sequences of events; `homes` gives each a home of its own."""

    homes = None

    @stateful.initialize()
    def begin(self):
        self.now, self.turned, self.workers, self.charged = NOW, 0, [], {}
        self.kept = ExitStack()
        limits = {"private_per_month": MINE, "requests_per_minute": 10**9}
        self.site = self.kept.enter_context(served(next(self.homes), now=lambda: self.now, limits=limits))
        self.house = self.site.house
        self.house.tasks.box = lambda *_: NoBox()
        for account in OF:
            self.site.account(account)
        self.house.auth.accounts.link("eve", "ada")
        for account in ("ada", "bob", "eve"):
            self.ask_for(account, "private", counts=False)
        self.put_to_work(None)  # every story begins with a score, and with somebody who has stalled
        self.put_to_work(7)

    # -- what may happen ----------------------------------------------------------------------------------------------

    @stateful.precondition(lambda self: len(self.waiting()) < MOST_WAITING)
    @stateful.rule(who=who, tasks=st.sampled_from(["private", "private", "private", "dev"]), counts=st.booleans())
    def submit(self, who, tasks, counts):
        self.ask_for(who, tasks, counts=counts and tasks == "private")

    def ask_for(self, who, tasks, *, counts):
        done = self.house.runs.store.list(month=self.month(), state=RunState.DONE)
        scored = [run for run in done if OF[run.submitter] == OF[who]]
        left = MINE - self.used(OF[who]) if tasks == "private" else 1
        made = self.site.post("/submissions", {"image": "a:1", "set": tasks, "counts": counts}, who)
        if not left:
            assert made.json()["code"] == "quota"
        elif counts and scored:
            assert made.json()["code"] == "conflict"
        else:
            assert made.status_code == 201
            self.charged[made.json()["id"]] = [who, tasks, self.month(), True]

    @stateful.precondition(lambda self: self.house.submissions.store.unfinished())
    @stateful.rule(data=st.data())
    def cancel(self, data):
        name = data.draw(st.sampled_from(sorted(self.charged)))
        before = self.house.submissions.store.get(name)
        said = self.site.ask("POST", f"/submissions/{name}/cancel", self.charged[name][0])
        assert said.status_code == (200 if before.state in ("queued", "running") else 409)
        if said.status_code == 200:
            self.charged[name][3] = before.run is not None or (before.tasks == "dev" and before.attempt > 0)

    @stateful.precondition(lambda self: self.waiting())
    @stateful.rule()
    def work(self):
        self.put_to_work(None)

    @stateful.precondition(lambda self: self.waiting())
    @stateful.rule(place=st.integers(0, 23))
    def work_and_stall(self, place):
        self.put_to_work(place)

    def put_to_work(self, dies_at):
        claim = self.house.submissions.queue.claim(f"worker {len(self.workers)}")
        if claim is not None:
            worker = Worker(self.house, claim, dies_at)
            self.workers.append(worker)
            worker.start()
            assert worker.dead.wait(PATIENCE)

    @stateful.precondition(lambda self: any(worker.is_alive() for worker in self.workers))
    @stateful.rule()
    def silence(self):
        """Let the leases of all stalled workers end."""
        self.now += LEASE + timedelta(seconds=1)
        self.house.submissions.queue.reap()

    @stateful.precondition(lambda self: any(worker.is_alive() for worker in self.workers))
    @stateful.rule()
    def return_from_the_dead(self):
        """Let a stalled worker continue: what another worker took over stays as it was."""
        worker = next((worker for worker in self.workers if worker.is_alive()), None)
        if worker is None:
            return  # it noticed by itself just now
        before = self.house.submissions.store.get(worker.claim.id)
        lost = (before.state, before.attempt) != ("running", worker.claim.attempt)
        results = self.results()
        worker.raised.set()
        worker.join(PATIENCE)
        assert not worker.is_alive()
        if lost:
            assert self.house.submissions.store.get(worker.claim.id) == before
            assert self.results() == results

    @stateful.precondition(lambda self: self.turned < TURNS and len(self.workers) > 2 * self.turned + 2)
    @stateful.rule()
    def turn(self):
        self.now = max(self.now, datetime(2027, 1 + self.turned, 1, 6, tzinfo=NOW.tzinfo))
        month = Month.parse(self.month())
        self.house.month.turns.run(None, NullProgress())
        self.turned += 1
        report = audit(
            self.house.home.places.releases / month.release, [self.house.home.places.log_vkey.read_text().strip()]
        )
        assert not report.failed, report.failed

    @stateful.precondition(lambda self: self.gone() < MOST_GONE)
    @stateful.rule(
        data=st.data(),
        cohort=st.integers(0, 4),
        cause=st.sampled_from(["leak", "broken"]),
        dies_after=st.sampled_from([None, None, *withdrawal.STEPS]),
    )
    def withdraw(self, data, cohort, cause, dies_after):
        """Withdraw a task that is live, or one of the reserve (0)."""
        spare = sorted(record.id for record in self.house.home.vault.records(TaskState.REVIEWED))
        tasks = self.house.benchmark.months.cohorts("live")[cohort - 1].tasks if cohort else spare
        self.take_out(data.draw(st.sampled_from(tasks)), cause, dies_after)

    def take_out(self, task, cause, dies_after):
        def killed(step):
            if step == dies_after:
                raise Killed

        facts = {"cause": cause, "who": "ada", "evidence": {task: EVIDENCE}}
        with suppress(Killed):
            self.house.benchmark.withdrawals.withdraw([task], "a reason", **facts, on_step=killed)
            self.house.submissions.view.update()

    @stateful.precondition(lambda self: self.house.runs.store.list(state=RunState.DONE))
    @stateful.rule(data=st.data(), method=st.sampled_from(["PUT", "PUT", "DELETE"]))
    def publish_or_withdraw(self, data, method):
        name = data.draw(st.sampled_from(sorted(self.charged)))
        said = self.site.ask(method, f"/runs/{name}/publication", self.charged[name][0])
        assert said.status_code in (200, 409)

    # -- what must be so ----------------------------------------------------------------------------------------------

    @stateful.invariant()
    def no_task_has_two_results_in_a_run_and_no_run_two_ends(self):
        assert max(Counter(self.results()).values(), default=1) == 1
        counts = Counter(run for run, _ in self.results())
        for run in self.house.runs.store.list():
            assert counts[run.number] == run.tasks if run.state is RunState.DONE else counts[run.number] <= run.tasks
            ends = [self.house.log.ledger.find(f"{end}/{run.number}") for end in ("score", "abort")]
            assert [end is not None for end in ends] == [run.state is RunState.DONE, run.state is RunState.ABORTED]

    @stateful.invariant()
    def no_score_is_shown_that_is_not_in_the_published_log(self):
        size = self.house.log.ledger.published.size
        with Session(self.house.home.engine) as session:
            kept = {*session.exec(select(ScoreRow.run)).all(), *session.exec(select(DisclosedScore.run)).all()}
        kept |= {line["run"] for line in self.site.get("/leaderboard").json()["lines"]}
        assert all(self.house.log.ledger.index_of(f"score/{run}") < size for run in kept)

    @stateful.invariant()
    def a_broken_task_counts_in_no_figure_and_keeps_its_results(self):
        gone = {one.task for one in self.house.benchmark.withdrawals.uncounted()}
        left = Counter(run for run, task in self.results() if task not in gone)
        for line in self.house.runs.leaderboard.of_month(Month.parse(self.month())):
            assert line.whole.attempted == left[line.run]

    @stateful.invariant()
    def quotas_count_what_came_to_something_and_nothing_else(self):
        for name, one in self.charged.items():
            found = self.house.submissions.store.get(name)
            assert found.code in OURS | {None, "cancelled"}, "nothing goes wrong here but what was made to"
            if found.code in OURS:
                one[3] = False
            assert found.charged == one[3], (found.state, found.code)
        for account, party in OF.items():
            quota = self.site.get("/quota", account).json()["private"]
            assert (quota["used"], quota["left"]) == (self.used(party), MINE - self.used(party))

    @stateful.invariant()
    def nothing_public_tells_of_a_task_that_is_not(self):
        said = [self.site.get(path).text for path in ("/leaderboard", "/rotations", "/findings", "/tasks?limit=200")]
        said += [self.site.get(f"/runs/{name}").text for name in self.charged]
        said += [json.dumps(self.site.get("/submissions", account).json()) for account in OF]
        secret = [r.id for r in self.house.home.vault.records() if r.state is not TaskState.PUBLISHED]
        gone = {
            one.task for one in self.house.benchmark.withdrawals.listed()
        }  # their ids are public, their words are not
        told = [f"of {name}" if name in gone else name for name in secret]
        assert not [name for name in told for text in said if name in text]

    def teardown(self):
        if not hasattr(self, "site"):
            return
        for worker in self.workers:
            worker.raised.set()
            worker.join(PATIENCE)
        self.kept.close()

    # -- how things stand ---------------------------------------------------------------------------------------------

    def month(self):
        return str(self.house.benchmark.months.live_month())

    def waiting(self):
        return self.house.submissions.queue.waiting()

    def gone(self):
        return len(self.house.home.vault.records(TaskState.WITHDRAWN))

    def used(self, party):
        now = self.month()
        return sum(
            counted and tasks == "private" and month == now and OF[account] == party
            for account, tasks, month, counted in self.charged.values()
        )

    def results(self):
        with Session(self.house.home.engine) as session:
            return sorted(session.exec(select(ResultRow.run, ResultRow.task)).all())


@pytest.fixture
def homes(templates, tmp_path, monkeypatch):
    """Return as many homes as are wanted, with a reserve and with tasks for two turns."""
    monkeypatch.setitem(sets.SETS, "demo", replace(sets.DEMO, reserve=dict.fromkeys(sets.DEMO.per_cohort, 1), text=""))
    monkeypatch.setattr(queue, "RENEWAL_SECONDS", 10**6)  # who has stalled gives no sign
    first = copy_of(templates, "eventful", tmp_path / "first", tasks=6 + MOST_GONE, live=True, write=telling)
    with_dev_set(first, templates)
    return (shutil.copytree(first, tmp_path / f"{number}") for number in itertools.count())


@pytest.fixture
def machine(homes, monkeypatch):
    """Return the model, with a home for each of its stories and nothing that a real box would do."""
    monkeypatch.setattr(private_runs, "run_set", nothing_happens)
    monkeypatch.setattr(private_runs, "require_wall", lambda _box: None)  # there is no box to check
    monkeypatch.setattr(private_runs, "require_smoke_test", lambda *_, **__: None)  # and no program
    monkeypatch.setattr(dev_runs, "dev", lambda *_, **__: DevRun("memory", [], []))
    return type("Story", (Months,), {"homes": homes})


def test_the_promises_hold_in_months_in_which_every_kind_of_event_happens(machine):
    story = machine()
    ask, put = story.ask_for, story.put_to_work

    def out(cohort, cause, dies_after=None):
        story.take_out(story.house.benchmark.months.cohorts("live")[cohort].tasks[0], cause, dies_after)

    steps = (
        story.begin,
        lambda: out(0, "broken"),  # while somebody is at it
        lambda: out(1, "broken", "withdraw"),
        story.silence,
        story.work,  # takes over from dead workers
        story.return_from_the_dead,
        lambda: ask("bob", "private", counts=True),
        lambda: ask("bob", "private", counts=False),
        lambda: put(0),
        lambda: put(23),
        story.turn,  # while two are at it
        story.return_from_the_dead,
        story.silence,
        story.return_from_the_dead,
        story.work,
        lambda: out(2, "leak", "publish"),
        lambda: ask("eve", "private", counts=True),
        story.work,
        story.work,
        story.turn,
    )
    try:
        for step in steps:
            step()
            story.no_task_has_two_results_in_a_run_and_no_run_two_ends()
            story.no_score_is_shown_that_is_not_in_the_published_log()
            story.a_broken_task_counts_in_no_figure_and_keeps_its_results()
            story.quotas_count_what_came_to_something_and_nothing_else()
            story.nothing_public_tells_of_a_task_that_is_not()
        codes = {record.code for record in story.house.runs.store.list()}
        attempts = {record.attempt for record in story.house.runs.store.list(state=RunState.DONE)}
        assert (codes, attempts) == ({None, "turn"}, {1, 2})
        assert len(story.site.get("/releases").json()["releases"]) == TURNS
        cohorts = [one.cohort for one in story.house.benchmark.withdrawals.listed()]
        assert cohorts == ["cohort-2026-12", "cohort-2027-01", "cohort-2027-03"]
    finally:
        story.teardown()


@pytest.mark.parametrize(
    "examples", [pytest.param(1, marks=pytest.mark.full), pytest.param(30, marks=pytest.mark.exhaustive)]
)
def test_the_promises_hold_in_random_months(machine, examples):
    alike = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(HealthCheck)}
    chosen = settings(max_examples=examples, stateful_step_count=16, phases=[Phase.generate], **alike)
    stateful.run_state_machine_as_test(machine, settings=chosen)
