"""Model-based test that no outcome beats a fail: random events against runs, quotas and the leaderboard.

An agent's outcome is drawn beforehand, for each time that a task would be served to a submitter: a second serving is a
second draw. Whatever happens to workers, submissions and runs, what counts as passed in the end is passed in the first
draw that was not taken away by a cause of the closed list.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from quarterturn.accounts.store import Accounts
from quarterturn.errors import NotAllowed as NotTaken
from quarterturn.errors import OverQuota
from quarterturn.failure_codes import code_of
from quarterturn.settings import ServiceSettings
from quarterturn.submissions.store.queue import LEASE, Queue
from quarterturn.submissions.store.requests import SubmissionRequest, Submissions
from rotation.errors import NotAllowed
from rotation.leaderboard.standings import counting
from sandbox import errors as sandbox_errors
from sandbox.boxes.box import ExitFacts
from sandbox.results.failure import RETRIES, STOPS, UNSERVED, AttemptFacts, Stage, classify
from sandbox.results.outcome import unplayed
from sandbox.results.unjudged import UnjudgedResult
from sandbox.runs.store import RunState
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState
from verifiers.language.verdict import Verdict

from .conftest import FIRST, SMALL, NamedBox, begun, submission

pytestmark = pytest.mark.slow

ACCOUNTS = {"ada": "ada", "countess": "ada", "bob": "bob"}
QUOTA = 2
ENDED, LOST = ExitFacts(running=False, exit_code=0), ExitFacts(running=False, lost=True)
PLAYED = AttemptFacts(Stage.VERDICT, ended="answered", agent=ENDED, world=ExitFacts(running=True))
HELD = replace(PLAYED, ended="agent-exited")

# How a serving may end, with the facts of its check: all but the first is what an agent would try, or what we might do.
ENDS = {
    "plain": (PLAYED, None),
    "steps": (replace(PLAYED, ended="steps-exceeded"), None),
    "time": (replace(PLAYED, ended="time-exceeded"), None),
    "gateway": (replace(PLAYED, ended=None), None),
    "relay": (replace(PLAYED, agent=ExitFacts(running=False, relay_died=True)), None),
    "world": (replace(PLAYED, world=ExitFacts(running=False, exit_code=137)), HELD),
    "server": (replace(PLAYED, servers_missed=1), HELD),
    "too large": (replace(PLAYED, too_large=True), HELD),
    "judge": (replace(PLAYED, stage=Stage.FROZEN, unjudged=True), None),
    "unknown": (replace(PLAYED, verdict=Verdict.UNKNOWN), None),
    "crowded": (replace(PLAYED, upstream="broke"), None),
    "broken machine": (replace(PLAYED, servers_missed=1), replace(HELD, stage=Stage.NOTHING)),
    "engine": (replace(PLAYED, agent=LOST), None),
    "upstream": (replace(PLAYED, upstream="down"), None),
}
EVENTS = [
    *("submit", "name", "cancel", "claim", "claim", "serve", "serve", "serve", "seal", "die", "stall", "zombie"),
    *("stop", "machine", "mistake", "close"),
    *ENDS,
]


class Worker:
    """A worker: its claim, its run, and the task in play."""

    def __init__(self, claim, account, run):
        self.claim, self.account, self.run, self.playing = claim, account, run, []


class Month:
    """Model of a month: submissions, workers that die, stall and are stopped, and the drawn outcomes."""

    def __init__(self, home):
        self.home, self.late = home, timedelta()
        clock = lambda: home.clock() + self.late  # noqa: E731
        limits = ServiceSettings(private_per_month=QUOTA, waiting=50, at_once=2)
        self.accounts = Accounts(home.engine, clock)
        for name, party in ACCOUNTS.items():
            self.accounts.create(name, "submitter")
            self.accounts.link(name, party)
        self.queue = Queue(home.engine, clock, at_once=2)
        self.door = Submissions(home.engine, home.exposures, limits, clock)
        self.runs, self.official, self.run_tasks = home.runs, home.official, home.run_tasks
        self.workers, self.zombies, self.taken = [], [], []
        self.draws = Counter()  # of a run and a task, how many were made
        self.counts = {}  # of a run and a task, the one that a cause of the closed list has not taken away
        self.sealed = {}  # of a run and a task, the draw that what is sealed was left by

    def passes(self, run, task):
        return random.Random(f"{run}/{task}/{self.counts[run, task]}").random() < 0.5

    def submit(self, place, *, named=False):
        account = list(ACCOUNTS)[place % len(ACCOUNTS)]
        with suppress(OverQuota, NotTaken):
            taken, _ = self.door.take(
                account, SubmissionRequest("private", image="agent:1", counts=named), month=str(FIRST)
            )
            self.taken.append(taken)

    def name(self, place):
        self.submit(place, named=True)

    def cancel(self, place):
        if self.taken:
            one = self.taken[place % len(self.taken)]
            with suppress(NotTaken):
                self.door.cancel(one.id, one.account)
            for worker in [w for w in self.workers if w.claim.id == one.id]:
                self.official.end(worker.run.record.number, "cancelled")
                self.workers.remove(worker)

    def claim(self, _):
        self.queue.reap()
        claim = self.queue.claim("worker")
        if claim is None:
            return
        one, agent, box = self.door.get(claim.id), None, NamedBox()
        agent = submission(one.account)
        if one.run is None:
            with self.official.opening(agent, box) as opening:
                assert self.queue.opened(claim, opening.record.number, opening.session)
            run = opening.run
        elif self.runs.get(one.run).state is RunState.RUNNING:
            run = self.official.resume(one.run, agent, box)
        else:
            self.queue.finish(claim, None)
            return
        self.run_tasks.prepare(run)
        worker = Worker(claim, one.account, run)
        for task in sorted(run.sealed):
            drawn = run.record.number, task
            assert self.sealed[drawn] == self.draws[drawn], "what is judged is what was played last"
            worker.playing.append(task)
        self.workers.append(worker)

    def worker(self, place):
        return self.workers[place % len(self.workers)] if self.workers else None

    def serve(self, place):
        if worker := self.worker(place):
            number, done = worker.run.record.number, self.runs.finished(worker.run.record.number)
            waiting = [task for task in worker.run.left if task not in {*worker.playing, *done}]
            if waiting:
                self.draw(worker, waiting[place % len(waiting)])
                assert number

    def draw(self, worker, task):
        number = worker.run.record.number
        self.run_tasks.serve(worker.run, task)
        self.draws[number, task] += 1
        self.counts.setdefault((number, task), self.draws[number, task])
        worker.playing.append(task)

    def end(self, kind, place):
        if (worker := self.worker(place)) and worker.playing:
            number, task = worker.run.record.number, worker.playing[place % len(worker.playing)]
            self.finish(worker, number, task, kind)

    def finish(self, worker, number, task, kind):
        facts, check = ENDS[kind]
        verdict = Verdict.TRUE if self.passes(number, task) else Verdict.FALSE
        facts = replace(facts, verdict=verdict) if facts.verdict is None and facts.stage is Stage.VERDICT else facts
        ruling = classify(facts, check)
        failure, worker.playing = ruling.failure, [one for one in worker.playing if one != task]
        assert failure != "ours" or kind in ("broken machine", "engine")
        if failure == "ours" and self.run_tasks.again(worker.run, task, ruling.code):
            assert ruling.code not in UNSERVED
            del self.counts[number, task]  # the next draw counts
            self.draw(worker, task)
            return
        opened = self.home.vault.open(task, who="test", why="test").task
        blank = unplayed(opened, failure or "theirs", ruling.code)
        passed = replace(blank, failure=None, verdict=verdict, transcript=Transcript((), None, "answered"))
        self.run_tasks.record(worker.run, blank if failure else passed)

    def seal(self, place):
        """Seal what an attempt left, to be judged by the next worker."""
        if (worker := self.worker(place)) and worker.playing:
            task = worker.playing[place % len(worker.playing)]
            drawn = worker.run.record.number, task
            self.sealed[drawn] = self.draws[drawn]
            self.run_tasks.seal(
                worker.run, UnjudgedResult(task, FrozenState(b"", {}), PLAYED, Transcript((), None, "answered"))
            )

    def die(self, place):
        if worker := self.worker(place):
            self.workers.remove(worker)
            self.late += 2 * LEASE

    def stall(self, place):
        if worker := self.worker(place):
            self.workers.remove(worker)
            self.zombies.append(worker)
            self.late += 2 * LEASE

    def zombie(self, place):
        """Continue a worker that was thought dead: where another has its run, it can do nothing."""
        if self.zombies:
            worker = self.zombies[place % len(self.zombies)]
            number, run = worker.run.record.number, worker.run
            if not self.runs.held(number, run.attempt):
                for deed in (
                    lambda: self.run_tasks.serve(run, run.tasks[0]),
                    lambda: self.run_tasks.record(run, self.home.done(run.tasks[0])),
                    lambda: self.run_tasks.again(run, run.tasks[0], "engine-lost"),
                    lambda: self.run_tasks.stop(run, "machine"),
                ):
                    with pytest.raises((NotAllowed, sandbox_errors.NotAllowed)):
                        deed()

    def halt(self, place, code, pause=None):
        if worker := self.worker(place):
            number = worker.run.record.number
            before = {task: one.cause for task, one in self.home.exposures.of_run(number).items()}
            self.run_tasks.stop(worker.run, code)
            for task, one in self.home.exposures.of_run(number).items():
                if one.cause and not before[task]:
                    assert STOPS[code].closed_list
                    self.counts.pop((number, task))
            self.queue.give_back(worker.claim, pause)
            self.workers.remove(worker)

    def stop(self, place):
        self.halt(place, "worker-stopped")

    def machine(self, place):
        self.halt(place, "machine", timedelta(seconds=1))

    def mistake(self, place):
        self.halt(place, code_of(ValueError()), timedelta(seconds=1))

    def close(self, place):
        if worker := self.worker(place):
            for task in list(worker.playing):
                self.finish(worker, worker.run.record.number, task, "plain")
            for task in worker.run.left:
                if task not in self.runs.finished(worker.run.record.number):
                    self.draw(worker, task)
                    self.finish(worker, worker.run.record.number, task, "plain")
            self.official.close(worker.run)
            self.queue.finish(worker.claim, None)
            self.workers.remove(worker)

    def judge(self):
        """Turn the month, and compare what counts with what plain failing would have given."""
        self.official.end_open(FIRST, "turn")
        exposures = self.home.exposures
        records = self.runs.list()
        assert {record.state for record in records} <= {RunState.DONE, RunState.ABORTED}
        served = exposures.runs(str(FIRST))
        counted = counting(records, served, self.accounts.parties()) & {r.number for r in records}
        firsts = {}
        for number in served:
            firsts.setdefault(ACCOUNTS[self.runs.get(number).submitter], number)
        assert counted == set(firsts.values()), "the first run of a party that was served a task, and no other"
        for number in counted:
            results = self.runs.results(number, who="test", why="test")
            assert len(results) == self.runs.get(number).tasks
            passed = {one.task_id for one in results if one.passed}
            assert passed <= {task for task in self.counts_of(number) if self.passes(number, task)}
        for number in served:
            retries = [one.retries for one in exposures.of_run(number).values()]
            assert sum(retries) <= RETRIES, "whoever played it"
            assert self.runs.get(number).state is RunState.DONE, "what was served is never aborted"
        charged = defaultdict(int)
        for taken in self.taken:
            one = self.door.get(taken.id)
            assert one.charged or one.run not in served, "no refund of what was served"
            charged[ACCOUNTS[one.account]] += one.charged
        assert all(count <= QUOTA for count in charged.values())

    def counts_of(self, number):
        return [task for run, task in self.counts if run == number]


def play(month, events):
    for event, place in events:
        if event in ENDS:
            month.end(event, place)
        else:
            getattr(month, event)(place)
    month.judge()


BAD_DAY = [("submit", 0), ("claim", 0), ("serve", 0)]
"""A run that was served a task, before whatever its owner would like to happen."""


EVENT_LISTS = st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 11)), min_size=10, max_size=60)
NOT_CHECKED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@settings(max_examples=5, suppress_health_check=NOT_CHECKED)
@given(EVENT_LISTS)
@example([*BAD_DAY, ("die", 0), ("claim", 0), ("close", 0)])
@example([*BAD_DAY, ("stall", 0), ("claim", 0), ("zombie", 0), ("close", 0)])
@example([*BAD_DAY, ("seal", 0), ("die", 0), ("claim", 0), ("plain", 0), ("close", 0)])
@example([*BAD_DAY, ("seal", 0), ("upstream", 0), ("die", 0), ("claim", 0), ("close", 0)])
@example([*BAD_DAY, ("cancel", 0), ("submit", 0), ("claim", 0), ("close", 0)])
@example([*BAD_DAY, ("unknown", 0), ("server", 0), ("close", 0), ("submit", 1), ("claim", 0), ("close", 0)])
@example([*BAD_DAY, ("name", 1), ("claim", 0), ("close", 1), ("cancel", 0)])
@example([("submit", 0), ("name", 1), ("claim", 0), ("cancel", 1), ("claim", 0), ("close", 0)])
@example([*BAD_DAY, *[("engine", 0)] * 6, ("stop", 0), ("claim", 0), ("close", 0)])
@example([*BAD_DAY, ("mistake", 0), ("claim", 0), ("machine", 0)])
def test_nothing_that_happens_is_better_than_a_fail(prepared, tmp_path_factory, events):
    _check(prepared, tmp_path_factory, events)


@pytest.mark.full
@settings(max_examples=30, suppress_health_check=NOT_CHECKED)
@given(EVENT_LISTS)
def test_nothing_is_better_than_a_fail_in_more_months(prepared, tmp_path_factory, events):
    _check(prepared, tmp_path_factory, events)


def _check(prepared, tmp_path_factory, events):
    home = prepared(begun, SMALL)[0].copied(tmp_path_factory.mktemp("month"))
    try:
        play(Month(home), events)
    finally:
        home.engine.dispose()
