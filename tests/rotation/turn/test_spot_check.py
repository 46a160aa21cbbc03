"""Tests of the spot check at a turn: a worker that lied is found, and states are not kept for long."""

import json
from dataclasses import replace

import pytest

from rotation.runs.run_tasks import OpenRun
from rotation.turn import spot_check, turn_facts
from rotation.turn.spot_check import SpotChecks
from sandbox.boxes import box
from sandbox.judge import WORKER
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.results.unjudged import UnjudgedResult
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState
from vault.ledger.audit.verify import audit
from verifiers.language.verdict import Evidence, Verdict

from ..conftest import FIRST, SMALL, Benchmark, Killed, NamedBox, begun, submission

pytestmark = pytest.mark.slow


@pytest.fixture
def home(begun_home, monkeypatch) -> Benchmark:
    """Return a benchmark after its first turn, in which every result is sampled."""
    monkeypatch.setattr("vault.ledger.statements.spot_check.ONE_IN", 1)
    return begun_home


def state(task_id, word) -> UnjudgedResult:
    facts = AttemptFacts(Stage.FROZEN, ended="answered", world=box.ExitFacts(running=True))
    return UnjudgedResult(task_id, FrozenState(word.encode()), facts, Transcript((), None, "answered"))


def judged(home, run, task_id, word="true", **changes):
    """Record that a task of a run passed, with these changes, and that its state is this word."""
    home.run_tasks.seal(run, state(task_id, word))
    home.run_tasks.record(run, replace(home.done(task_id), judged_by="another", **changes))


def _all_but_one_judged(home) -> OpenRun:
    begun(home)
    run = home.open("careful")
    home.serve(run)
    for task_id in run.tasks[1:]:
        judged(home, run, task_id)
    return run


@pytest.fixture
def under_way(own_home, monkeypatch) -> tuple[Benchmark, OpenRun]:
    """Return a benchmark in which every result is sampled, and a run that lacks the outcome of its first task."""
    monkeypatch.setattr("vault.ledger.statements.spot_check.ONE_IN", 1)
    return own_home(_all_but_one_judged)


def finished(home, run, word="true", **changes):
    """Judge the first task of a run, and close it."""
    judged(home, run, run.tasks[0], word, **changes)
    home.official.close(run)


def stated(home):
    return home.leaf(f"retire/{FIRST}").predicate["spot_check"]


def counted(home):
    """Return how many results were chosen, judged again, and judged otherwise, as the retirement states it."""
    return tuple(stated(home)[name] for name in ("chosen", "judged", "differed"))


def found(home):
    return [(one.kind, one.subject, one.state) for one in home.findings.all()]


def kept(home):
    return home.vault.blob_names("left/")


def test_correctly_judged_states_are_judged_again_and_deleted(under_way):
    home, run = under_way
    finished(home, run)
    assert len(kept(home)) == len(run.tasks) == SMALL.size
    home.rotation.run(FIRST)
    assert counted(home) == (12, 12, 0)
    assert sorted(home.again.asked) == sorted(run.tasks)
    assert kept(home) == home.vault.blob_names("again/") == found(home) == []
    step = audit(home.audited(FIRST), [home.vkey]).steps[10]
    assert "12 of the month's 12 results; the operator says that 12 were judged again, and that 0 came" in step.proved


def test_one_in_twenty_is_asked_for_and_the_audit_knows_which(begun_home):
    home = begun_home
    for number in range(4):
        home.play(f"agent-{number}", 0.5)
    home.rotation.run(FIRST)
    assert 0 <= stated(home)["chosen"] <= 16, "of 48; more is once in a milliard months"
    home.audited(FIRST)


def test_a_worker_that_says_passed_where_the_state_says_not_is_found(under_way):
    home, run = under_way
    finished(home, run, "false")
    home.rotation.run(FIRST)
    assert stated(home)["differed"] == 1
    name = f"{run.record.number}/{run.tasks[0]}"
    assert found(home) == [("verdict", name, "open")]
    assert any(name in line for line in turn_facts.spot_check_lines(home.months.turn(FIRST)))
    assert kept(home) == [f"left/{name}/1"], "of what came out otherwise, the state stays"
    report = audit(home.audited(FIRST), [home.vkey])
    assert (report.answer, [doubt.rule for doubt in report.doubts]) == ("yes with doubts", ["doubt.differed"])
    assert "and that 1 came out otherwise" in report.steps[10].proved
    home.stock(1)
    home.rotation.run(FIRST.plus(1))
    assert kept(home) == []
    assert found(home) == [("verdict", name, "open")]


FALSE = Evidence("filesystem.fileExists", Verdict.FALSE)


@pytest.mark.parametrize(
    ("word", "changes", "differs"),
    {
        "another verdict than its evidence": ("false", {"evidence": FALSE}, True),
        "a fail that was none": ("true", {"evidence": FALSE, "verdict": Verdict.FALSE}, True),
        "no state, and a pass": ("malformed", {}, True),
        "a budget that was exceeded": ("true", {"transcript": Transcript((), None, "steps-exceeded")}, False),
        "a failure, whatever the state says": (
            "true",
            {
                "failure": "unclear",
                "code": "relay-lost",
                "verdict": Verdict.UNKNOWN,
                "evidence": Evidence("run", Verdict.UNKNOWN, children=(Evidence("all", Verdict.TRUE),)),
            },
            False,
        ),
        "what was no state the first time": (
            "malformed",
            {"failure": "theirs", "verdict": Verdict.FALSE, "evidence": Evidence("run", Verdict.FALSE)},
            False,
        ),
    }.values(),
)
def test_the_definition_of_a_differing_verdict(under_way, word, changes, differs):
    home, run = under_way
    finished(home, run, word, **changes)
    home.rotation.run(FIRST)
    assert counted(home) == (12, 12, int(differs))


def test_a_result_that_is_bound_otherwise_than_it_was_sealed_is_found(home, monkeypatch):
    real = home.run_tasks._result
    lies = iter([True])

    def bound(number, run):
        made = real(number, run)
        lie = replace(made.result, verdict=Verdict.TRUE, passed=True)
        return replace(made, result=lie) if next(lies, False) else made

    monkeypatch.setattr(home.run_tasks, "_result", bound)
    run = home.open("careful")
    home.serve(run)
    for task_id in run.left:
        judged(home, run, task_id, "false", verdict=Verdict.FALSE, evidence=FALSE)
    home.official.close(run)
    home.rotation.run(FIRST)
    assert counted(home) == (12, 12, 1)


def test_states_that_cannot_be_judged_again_are_counted(under_way):
    home, run = under_way
    finished(home, run, "unjudged")
    bare = home.play("bare", 0.5)
    home.rotation.run(FIRST)
    assert counted(home) == (24, 11, 0)
    lines = "\n".join(turn_facts.spot_check_lines(home.months.turn(FIRST)))
    assert "11 of 24 chosen results judged again, 0 came out otherwise" in lines
    passed = [f"{bare.record.number}/{task}" for task in bare.tasks[:6]]
    assert all(name in lines for name in (f"{run.record.number}/{run.tasks[0]}", *passed)), "a pass has a state"


def test_the_attempt_that_counts_is_the_one_that_is_judged_again(home):
    run = home.open("careful")
    first, second, *others = [planned.task for planned in home.run_tasks.prepare(run)]
    home.run_tasks.serve(run, first.id, second.id)
    home.run_tasks.seal(run, state(first.id, "false"))
    home.run_tasks.seal(run, state(first.id, "true"))  # served again
    home.run_tasks.record(run, replace(home.done(first.id), judged_by="another"))
    home.run_tasks.seal(run, state(second.id, "false"))  # served again, and its world broke
    home.run_tasks.record(run, replace(home.done(second.id), judged_by=""))
    taken = home.official.resume(run.record.number, submission("careful"), NamedBox())
    home.serve(taken)
    for task in others:
        home.run_tasks.seal(taken, state(task.id, "true"))
        home.run_tasks.record(taken, replace(home.done(task.id), judged_by=WORKER))
    assert len(kept(home)) == 11
    home.official.close(taken)
    home.rotation.run(FIRST)
    assert counted(home) == (12, 11, 0)
    assert "(10 of them by the process that judged at first)" in turn_facts.spot_check_lines(home.months.turn(FIRST))[0]


def test_unjudged_results_of_a_run_that_the_turn_closed_are_not_judged_again(home):
    run = home.open("careful")
    home.serve(run)
    judged(home, run, run.left[0])
    home.rotation.run(FIRST)
    assert counted(home) == (12, 1, 0)
    assert kept(home) == []


def test_a_run_that_was_served_nothing_has_nothing_to_judge_again(home):
    home.open("careful")
    home.rotation.run(FIRST)
    assert stated(home)["chosen"] == 0
    assert home.again.asked == []


@pytest.mark.both_databases
@pytest.mark.parametrize("place", [0, 5, 11])
def test_a_check_that_is_killed_goes_on_where_it_was(under_way, place):
    home, run = under_way
    finished(home, run, "false")
    real, asked = home.again.verdict, []

    def dies(*args):
        if len(asked) == place:
            raise Killed
        asked.append(args[1].id)
        return real(*args)

    home.again.verdict = dies
    with pytest.raises(Killed):
        home.rotation.run(FIRST)
    home.reopen()
    assert len(kept(home)) == SMALL.size
    home.rotation.run(FIRST)
    assert len(home.again.asked) == SMALL.size - place
    assert not set(asked) & set(home.again.asked)
    assert (counted(home), len(found(home))) == ((12, 12, 1), 1)
    home.audited(FIRST)


@pytest.mark.parametrize("step", ["drop_states", "conclude"])
def test_a_check_that_is_killed_after_its_verdicts_judges_nothing_again(under_way, monkeypatch, step):
    home, run = under_way
    finished(home, run, "false")
    real = getattr(SpotChecks, step)

    def dies(*args):
        real(*args)
        raise Killed

    monkeypatch.setattr(SpotChecks, step, dies)
    with pytest.raises(Killed):
        home.rotation.run(FIRST)
    monkeypatch.setattr(SpotChecks, step, real)
    home.reopen()
    home.rotation.run(FIRST)
    assert home.again.asked == []
    assert (counted(home), len(found(home))) == ((12, 12, 1), 1)


def test_nobody_learns_the_choice_from_what_a_worker_has(under_way):
    home, run = under_way
    finished(home, run)
    seed = home.vault.open_blob(f"spot-seed/{FIRST}", who="ada", why="curious")
    opened = [entry for entry in home.vault.access_log() if entry.what == f"blob/spot-seed/{FIRST}"]
    assert [entry.who for entry in opened] == ["ada"], "and whoever looks is in the access log"
    promised = home.leaf(f"set/{FIRST}").predicate["spot_check"]
    home.rotation.run(FIRST)
    assert (stated(home)["seed"], stated(home)["salt"]) == (seed[:32].hex(), seed[32:].hex())
    assert spot_check.commitment("spot-check", seed[:32], seed[32:]).hex() == promised
    assert json.loads(home.months.turn(FIRST).facts[turn_facts.SPOT_CHECK]) == stated(home)


def test_withdrawn_tasks_and_hosted_runs_are_counted_as_the_log_has_them(home):
    home.play("early", 1)
    sunset = home.months.cohorts("live")[0]
    home.withdrawals.withdraw([sunset.tasks[0]], "it leaked", cause="leak", who="ada")
    home.finish(home.open("hosted", "endpoint"))
    home.play("late", 1)
    home.rotation.run(FIRST)
    assert stated(home)["chosen"] == 12 + 2 + 11
    home.audited(FIRST)


def test_transcripts_of_runners_are_replayed_and_maintainers_alone_see_what_came_of_it(under_way):
    home, run = under_way
    tasks = dict(zip(("differs", "not-comparable", "not-played", "same"), run.tasks[1:], strict=False))
    for outcome, task_id in tasks.items():
        home.run_tasks.seal(run, replace(state(task_id, "true"), output=outcome, played_by="north"))
    home.run_tasks.seal(run, replace(state(run.tasks[5], "true"), output="differs", played_by="the service"))
    finished(home, run)
    home.rotation.run(FIRST)
    names = {outcome: f"{run.record.number}/{task_id}" for outcome, task_id in tasks.items()}
    assert found(home) == [("replay", names["differs"], "open")]
    assert "the runner north handed in" in home.findings.all()[0].detail
    assert kept(home) == [f"left/{names['differs']}/1"]
    lines = turn_facts.spot_check_lines(home.months.turn(FIRST))
    assert lines[1] == "  transcripts from runners: 4 chosen, 1 lead to the same state"
    for line, outcome in zip(lines[2:], ("differs", "not-comparable", "not-played"), strict=True):
        assert line.endswith(f": {names[outcome]} (north)")
    assert counted(home) == (12, 12, 0)
    assert stated(home).keys() == {"seed", "salt", "chosen", "judged", "differed"}
    assert not any(b"north" in path.read_bytes() for path in home.public.rglob("*") if path.is_file())
