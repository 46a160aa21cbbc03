"""Tests of running submissions: the checks before, the messages after, and that every run ends in public."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from quarterturn import trace_text
from quarterturn.app import Application
from quarterturn.errors import Malformed, Refused
from quarterturn.runs import private_runs
from quarterturn.runs.request import RunRequest
from sandbox.attacks import Attempt
from sandbox.errors import NotAllowed, Unavailable
from sandbox.errors import Refused as NotGiven
from sandbox.results.outcome import TaskRun
from sandbox.runs import submission as submissions
from sandbox.runs.store import RunState
from sandbox.servers.registry import names_of_tools
from sandbox.transcript import CallRecord, Transcript
from vault.ledger.statements.leaf import Statement
from verifiers.language.verdict import Evidence, Verdict

from ...patience import PATIENCE

pytestmark = pytest.mark.slow

AGENTS = Path(__file__).parents[3] / "examples" / "agents"
AGENT = submissions.command("true", submitter="me", name="quiet")


ASK = 'import os, urllib.request; urllib.request.urlopen(os.environ["QUARTERTURN_URL"] + "/task").read()\n'


class NoWorld:
    """A box in which no world can be made; `stop` is raised instead after so many tries."""

    name, official = "bwrap", False

    def __init__(self, stop=None, after=0):
        self.stop, self.tries = stop, after

    def check(self):
        pass

    def fits(self, program):
        pass

    def world(self, servers, state, limits):
        if self.stop and self.tries <= 0:
            raise self.stop
        self.tries -= 1
        raise Unavailable("no world today")


class Quiet:
    """Ignores progress."""

    def __init__(self):
        self.steps = 0

    @contextmanager
    def progress(self, what, total):
        yield self.advance

    def advance(self, steps):
        self.steps += steps


@pytest.fixture
def house(small):
    house = Application(small, None)
    yield house
    house.close()


def kinds(house) -> list[str]:
    return [Statement.parse(house.log.ledger.leaf(index)).kind for index in range(house.log.ledger.size)]


def last(house) -> Statement:
    return Statement.parse(house.log.ledger.leaf(house.log.ledger.size - 1))


def test_a_run_is_opened_and_bound_even_where_every_verdict_is_unknown(house):
    out = Quiet()
    opened, results = house.execution.private_runs.play(AGENT, NoWorld(), out)
    assert (len(results), out.steps) == (house.benchmark.spec.size,) * 2
    assert {result.verdict.value for result in results} == {"unknown"}
    assert house.runs.store.get(opened.record.number).state is RunState.DONE
    assert kinds(house)[-2:] == ["run-open", "score"]
    assert house.log.ledger.published.size == house.log.ledger.size


def test_a_task_without_a_world_was_served_to_nobody(house):
    house.execution.private_runs.play(AGENT, NoWorld(), Quiet())
    assert house.benchmark.exposures.totals() == []


@pytest.mark.parametrize(("error", "reason"), [(KeyboardInterrupt(), "worker-stopped"), (RuntimeError("x"), "mistake")])
def test_a_run_that_breaks_off_before_anything_was_served_is_aborted_in_public(house, error, reason):
    with pytest.raises(type(error)):
        house.execution.private_runs.play(AGENT, NoWorld(stop=error, after=5), Quiet())
    assert [run.state for run in house.runs.store.list()] == [RunState.ABORTED]
    assert last(house).kind == "abort"
    assert last(house).predicate["reason"] == reason
    assert house.log.ledger.published.size == house.log.ledger.size


class Endless(NoWorld):
    """A box whose first world is being made until the run has ended, and the run is ended meanwhile."""

    def __init__(self, house):
        super().__init__()
        self.house, self.first, self.seen = house, threading.Lock(), threading.Event()

    def world(self, servers, state, limits):
        if self.first.acquire(blocking=False):
            self.house.runs.official.end(1, "turn")
        assert self.seen.wait(PATIENCE)
        raise Unavailable("no world today")


def test_a_run_that_a_turn_aborts_is_given_up_while_it_is_played(house, monkeypatch):
    """No task has a result yet, so only the run's row shows the abort."""
    box, held = Endless(house), house.runs.store.held

    def look(*run):
        if not (found := held(*run)):
            box.seen.set()
        return found

    monkeypatch.setattr(house.runs.store, "held", look)
    with pytest.raises(NotAllowed, match="ended from outside"):
        house.execution.private_runs.play(AGENT, box, Quiet())
    assert house.runs.store.get(1).state is RunState.ABORTED
    assert house.runs.store.finished(1) == set()
    assert kinds(house).count("abort") == 1


def test_the_first_error_is_the_one_that_is_reported(house, monkeypatch):
    def unbindable(_):
        raise RuntimeError("the disk is full")

    def no_abort(*_):
        raise RuntimeError("still full")

    with monkeypatch.context() as broken:
        broken.setattr(house.runs.official, "close", unbindable)
        broken.setattr(house.runs.official, "end", no_abort)
        with pytest.raises(RuntimeError, match="the disk is full"):
            house.execution.private_runs.play(AGENT, NoWorld(), Quiet())
    house.month.rotation.run(house.benchmark.months.live_month())
    assert [run.state for run in house.runs.store.list()] == [RunState.ABORTED]


def test_a_box_with_a_hole_lets_no_run_begin(house, say, monkeypatch):
    hole = Attempt("egress-canary", "network", "a namespace", "escaped", "it answered")
    monkeypatch.setattr(private_runs, "selfcheck", lambda box: [hole])
    monkeypatch.setattr("quarterturn.boxes.choose_box", lambda *_: NoWorld())
    said = say("run", "--as", "me", "--set", "private", "--agent", "true", "--home", house.home.folder, "--json")
    assert said.code == 8
    assert "lets these out: egress-canary" in said.data["error"]
    assert house.runs.store.list() == ()


def test_a_private_run_tells_figures_and_nothing_of_a_task(house, say, monkeypatch):
    monkeypatch.setattr(private_runs, "selfcheck", lambda box: [])
    monkeypatch.setattr("quarterturn.boxes.choose_box", lambda *_: NoWorld())
    said = say("run", "--as", "me", "--set", "private", "--agent", "true", "--home", house.home.folder, "--json")
    assert said.code == 0
    figures = {"whole", "sealed", "ranked_on"}
    assert set(said.data) == {"run", "month", "box", "name", "track", "rank", "note", "public_grammar", *figures}
    assert (said.data["rank"], said.data["note"]) == (None, "unofficial")
    tasks = [record.id for record in house.home.vault.records()]
    assert not [task for task in tasks if task in said.out + said.err]
    leaderboard = say("leaderboard", "--home", house.home.folder, "--json").data
    assert [line["run"] for line in leaderboard] == [said.data["run"]]
    assert "unofficial" in say("leaderboard", "--home", house.home.folder).out


def test_the_reference_agent_cannot_be_submitted(house):
    oracle = submissions.reference("true")
    with pytest.raises(NotGiven, match="cannot be submitted"):
        house.execution.private_runs.play(oracle, NoWorld(), Quiet())
    assert house.runs.store.list() == ()


@pytest.mark.parametrize(("image", "agent"), [(None, None), ("i", "a")])
def test_one_thing_is_submitted(image, agent):
    with pytest.raises(Malformed):
        RunRequest(image, agent, "me", None)


def test_an_image_goes_to_the_engine_whatever_the_settings_say():
    assert RunRequest("i", None, "me", None).named_box == "docker"
    assert RunRequest(None, "a", "me", None).named_box is None
    assert RunRequest(None, "a", "me", "docker").named_box == "docker"


def test_an_image_is_known_by_what_the_engine_calls_its_content():
    class Engine(NoWorld):
        def digest(self, reference):
            assert str(reference) == "docker.io/agents/mine:2"
            return "sha256:" + "5" * 64

    submitted, _ = RunRequest("agents/mine:2", None, "me", None).submission(Engine)
    assert (submitted.kind, submitted.name, submitted.digest[-1]) == ("image", "mine", "5")


def test_a_box_that_holds_lets_a_run_begin(monkeypatch):
    blocked = Attempt("tcp", "network", "no route", "blocked", "")
    monkeypatch.setattr(private_runs, "selfcheck", lambda box: [blocked])
    private_runs.require_wall(NoWorld())
    escaped = Attempt("tcp", "network", "no route", "escaped", "")
    monkeypatch.setattr(private_runs, "selfcheck", lambda box: [blocked, escaped])
    with pytest.raises(Refused, match="No private task is run in it"):
        private_runs.require_wall(NoWorld())


@pytest.mark.box
@pytest.mark.slow
def test_the_dev_set_gives_everything_back(few, say, tmp_path):
    (tmp_path / "quiet").mkdir()
    agent = tmp_path / "quiet" / "agent.py"
    agent.write_text(f"{ASK}print('hello')\n")
    for folder in (tmp_path, tmp_path.parent):
        folder.chmod(0o755)
    said = say("run", "--as", "me", "--box", "bwrap", "--agent", f"python3 {agent}", "--dev-of", "few", "--json")
    assert said.code == 0, said.err
    assert said.data["score"]["success_rate"]["value"] == 0.0
    assert len(said.data["tasks"]) == 2
    assert {item["run"]["verdict"] for item in said.data["tasks"]} == {"false"}
    assert all(item["task"]["goal"] and item["run"]["evidence"] for item in said.data["tasks"])
    assert {item["run"]["output"] for item in said.data["tasks"]} == {"hello\n"}
    assert json.loads(said.out)["ok"] is True


@pytest.mark.box
@pytest.mark.slow
def test_a_dispatcher_is_offered_the_tools_of_all_servers_and_its_ranking_is_kept(few, say):
    command = ("--agent", f"python3 {AGENTS}/dispatcher/dispatcher.py 26", "--packages", AGENTS / "ladder")
    said = say("run", "--as", "me", "--box", "bwrap", *command, "--dev-of", "few", "--all-tools", "--json")
    assert said.code == 0, said.err
    assert said.data["offered_tools"] == names_of_tools(["filesystem", "git"])
    for item in said.data["tasks"]:
        assert {*item["task"]["available_tools"], *said.data["offered_tools"]} == {
            *item["run"]["transcript"]["shortlist"]
        }


@pytest.mark.box
@pytest.mark.full
def test_a_dev_run_is_shown_call_by_call_and_written_to_a_file(few, say, tmp_path):
    folder = agent_of(tmp_path, f"{ASK}import sys; print('no key', file=sys.stderr); sys.exit(3)\n")
    words = ("run", "--as", "me", "--box", "bwrap", "--agent", f"python3 {folder}/agent.py", "--dev-of", "few")
    whole = say(*words, "--json").data
    chosen = whole["tasks"][1]["run"]["task_id"]
    said = say(*words, "--task", chosen[:9], "--trace", "--out", tmp_path / "trace.txt")
    assert said.code == 0, said.err
    assert (tmp_path / "trace.txt").read_text(encoding="utf-8") == said.out
    for line in (f"FAIL  {chosen}", "agent-crashed", "ended           without an answer, exit status 3"):
        assert line in said.out
    assert "printed         no key" in said.out
    assert "by server: " in said.out
    assert "0 of 1 passed" in said.out
    assert say(*words, "--limit", "1", "--out", tmp_path / "run.json").code == 0
    written = json.loads((tmp_path / "run.json").read_bytes())
    assert [item["run"]["exit_code"] for item in written["tasks"]] == [3]
    unknown = say(*words, "--task", "t-zzz")
    assert (unknown.code, "no task of the dev set has the id 't-zzz'" in unknown.sentence) == (3, True)
    assert say(*words, "--set", "private", "--trace").code == 2
    missing = say("run", "--as", "me", "--box", "bwrap", "--agent", "no-such-program")
    assert (missing.code, "holds no program no-such-program" in missing.sentence) == (3, True), missing.err
    thrice = say(*words, "--limit", "1", "--trials", "3", "--out", tmp_path / "trials.json")
    assert "3 trials passed 0, 0, 0 of 1 tasks" in thrice.out
    assert len(json.loads((tmp_path / "trials.json").read_bytes())["later_trials"]) == 2


@pytest.mark.box
@pytest.mark.slow
def test_an_agent_that_never_asks_for_its_task_is_stopped_before_anything_is_spent(few, small, say, tmp_path):
    folder = agent_of(tmp_path, "raise RuntimeError('no key')\n")
    words = ("run", "--as", "me", "--box", "bwrap", "--agent", f"python3 {folder}/agent.py")
    said = say(*words, "--dev-of", "few", "--json")
    assert said.code == 1
    sentence = "never asked for its first task: it ended with status 1; it printed: RuntimeError"
    assert sentence in said.data["stopped"]
    assert [item["run"]["code"] for item in said.data["tasks"]] == ["agent-crashed"]
    private = say(*words, "--set", "private", "--home", small)
    assert (private.code, sentence in private.sentence) == (8, True), private.err
    house = Application(small, None)
    assert not house.runs.store.list()
    assert not house.benchmark.exposures.servings()
    house.close()


@pytest.mark.box
@pytest.mark.slow
def test_an_agent_on_public_tasks_has_the_time_that_the_home_gives(few, small, say, tmp_path):
    settings = small / "quarterturn.toml"
    settings.write_text(settings.read_text().replace("wall_seconds = 120.0", "wall_seconds = 0.5"))
    folder = agent_of(tmp_path, "import threading; threading.Event().wait()\n")
    words = ("run", "--as", "me", "--box", "bwrap", "--agent", f"python3 {folder}/agent.py", "--dev-of", "few")
    said = say(*words, "--home", small, "--json")
    assert [item["run"]["code"] for item in said.data["tasks"]] == ["time-exceeded"]


def agent_of(folder, source):
    """Write an agent's program where the box can read it."""
    (folder / "agent").mkdir()
    (folder / "agent" / "agent.py").write_text(source)
    for opened in (folder, folder.parent):
        opened.chmod(0o755)
    return folder / "agent"


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        (
            "Traceback:\n  import sympy\nModuleNotFoundError: No module named 'sympy'\n",
            "ModuleNotFoundError: No module named 'sympy'",
        ),
        (
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'\n  at resolve\n}\n\nNode.js v24.19.0\n",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'",
        ),
        ("Error: earlier\nTypeError: later\n", "TypeError: later"),
        ("one\nno key\n\n", "no key"),
        ("", ""),
    ],
)
def test_the_line_of_an_error_is_told_from_what_is_printed_after_it(printed, line):
    assert trace_text.error_line(printed) == line


def test_a_failed_task_of_the_dev_set_says_what_was_expected_what_was_seen_and_how_the_program_ended():
    kept = Evidence("filesystem.fileExists", Verdict.TRUE, {"path": "a.txt"}, '"a.txt" is there')
    gone = Evidence("not", Verdict.FALSE, children=(kept,))
    whole = Evidence("all", Verdict.FALSE, children=(kept, gone))
    call = CallRecord("filesystem.x", {"path": "a"}, listed=True, error=True, injected=True, result="busy", seconds=0.1)
    transcript = Transcript((call,), None, "agent-exited")
    run = TaskRun("t-1", "recovery", 3, Verdict.FALSE, whole, transcript, output="one\nno such file\n\n", exit_code=2)
    task = {"server": "filesystem", "category": "recovery", "difficulty": "easy", "goal": "Remove a.txt."}
    assert trace_text.headline(task, run.as_json()).split()[:5] == ["FAIL", "t-1", "filesystem", "recovery", "easy"]
    told = [
        "goal Remove a.txt.",
        'expected not (filesystem.fileExists {"path": "a.txt"})',
        'seen "a.txt" is there',
        "1 other condition holds",
    ]
    ended = ["ended without an answer, exit status 2", "printed one", "no such file"]
    squeezed = [" ".join(line.split()) for line in trace_text.failed(task, run.as_json())]
    assert squeezed == [*told, *ended]
    traced = [" ".join(line.split()) for line in trace_text.trace(task, run.as_json())]
    assert traced[1:5] == [told[0], 'call 1 filesystem.x {"path": "a"}', "scheduled error busy", "answer none"]
    assert "false: not" in traced
    assert traced.index("false: not") < traced.index(
        'true: filesystem.fileExists {"path": "a.txt"}; seen: "a.txt" is there'
    )
    assert trace_text.failure_sentence(run.as_json(), 3) == (
        "t-1, the first of 3 failed tasks, failed because its program ended with exit status 2 "
        "and printed: no such file."
    )
    assert trace_text.failure_sentence(replace(run, exit_code=0).as_json()) == (
        't-1 failed because not filesystem.fileExists is false: "a.txt" is there; 1 other condition holds.'
    )
    passed = replace(run, verdict=Verdict.TRUE).as_json()
    assert trace_text.subtotals([(task, run.as_json()), (task, passed)]) == [
        "by server: filesystem 1 of 2",
        "by category: recovery 1 of 2",
    ]
    german = {**task, "language": "de"}
    assert trace_text.subtotals([(task, run.as_json()), (german, passed)])[-1] == "by language: de 1 of 1, en 0 of 1"
