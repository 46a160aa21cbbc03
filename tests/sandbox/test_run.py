"""Stories of whole runs: real servers, a real gateway, a real wall of bubblewrap."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import secrets
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import submission
from sandbox.box import Limits
from sandbox.bwrap_box import BwrapBox
from sandbox.docker_box import DockerBox
from sandbox.errors import Lost, Refused
from sandbox.failure import RETRIES
from sandbox.run import Solution, Terms, run_set, run_task
from sandbox.servers import SERVERS
from sandbox.transcript import Call
from vault.task import Task
from verifiers.verdict import Verdict

from .sabotage import WAIT, Saboteur

pytestmark = pytest.mark.box

AGENTS = Path(__file__).parents[2] / "examples" / "agents"
GOAL = (
    "Write the word heliotrope into colour.txt in /data/files, and answer with the number of files there were before."
)


def a_task(server="filesystem", *, number=2, **changes) -> Task:
    document = {
        "schema": "quarterturn/task/v1",
        "spec": "1.0.0",
        "id": f"t-aaaaaaaaaaaaaaa{number}",
        "server": server,
        "category": "composition",
        "difficulty": "easy",
        "max_steps": 4,
        "goal": GOAL,
        "initial_state": {"filesystem": {"files": {"one.txt": "1", "two.txt": "2"}}},
        "available_tools": tools("filesystem", 12),
        "success_predicate": {
            "all": [
                {"filesystem.fileTextEquals": {"path": "colour.txt", "text": "heliotrope"}},
                {"answer.number": {"value": 2}},
            ]
        },
    }
    return Task.parse(document | changes)


def tools(server: str, count: int) -> list[str]:
    return [f"{server}.{tool}" for tool in sorted(SERVERS[server].tools, reverse=True)][:count]


WRITE = Call("filesystem.write_file", {"path": "/data/files/colour.txt", "content": "heliotrope"})
SOLVED = Solution([Call("filesystem.list_directory", {"path": "/data/files"}), WRITE], "2")


def a_git_task() -> tuple[Task, Solution]:
    commits = [{"branch": "main", "message": "Begin", "files": {"a.txt": "one\n"}}]
    task = a_task(
        "git",
        goal="In the repository site, make a branch called spare from main.",
        initial_state={"git": {"repositories": {"site": {"commits": commits, "checkout": "main"}}}},
        available_tools=tools("git", 12),
        success_predicate={"git.branchAt": {"repository": "site", "branch": "spare", "same_as": "main"}},
    )
    arguments = {"repo_path": "/data/repos/site", "branch_name": "spare", "base_branch": "main"}
    return task, Solution([Call("git.git_create_branch", arguments)])


def an_sqlite_task() -> tuple[Task, Solution]:
    table = {"columns": [["id", "INTEGER PRIMARY KEY"], ["name", "TEXT NOT NULL"]], "rows": [[1, "Ada"]]}
    task = a_task(
        "sqlite",
        goal="Add Grace to the people, with the id 2.",
        initial_state={"sqlite": {"tables": {"people": table}}},
        available_tools=tools("sqlite", 6) + tools("filesystem", 8),
        success_predicate={"sqlite.rowExists": {"table": "people", "where": {"id": 2, "name": "Grace"}}},
    )
    query = "INSERT INTO people (id, name) VALUES (2, 'Grace')"
    return task, Solution([Call("sqlite.write_query", {"query": query})])


@pytest.fixture(scope="module")
def box():
    made = BwrapBox()
    made.check()
    return made


@pytest.fixture(scope="module")
def engine():
    made = DockerBox()
    made.check()
    return made


@pytest.fixture
def nothing_left():
    """Whatever a story does, no folder, process or thread of its runs outlives it."""
    yield
    assert not list(Path("/dev/shm").glob(f"quarterturn-{os.getpid()}-*"))
    assert not worlds()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("run")] == []


def worlds() -> list[int]:
    """Find the processes below this one that are a world's PID 1, or the bwrap around it."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
    ours, found = {os.getpid()}, True
    while found:
        found = {pid for pid, parent in parents.items() if parent in ours} - ours
        ours |= found
    with contextlib.suppress(OSError):
        return [pid for pid in sorted(ours) if b"/init.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return worlds()


def oracle() -> submission.Submission:
    return submission.reference(f"python3 {AGENTS / 'oracle' / 'agent.py'}")


def null() -> submission.Submission:
    return submission.command(f"python3 {AGENTS / 'null' / 'agent.py'}", submitter="ada")


def an_agent(folder: Path, story: str) -> submission.Submission:
    """Make an agent of a few lines; it has the oracle's MCP client as `gateway`, and no solution."""
    client, _, _ = (AGENTS / "oracle" / "agent.py").read_text().partition("def main()")
    folder.mkdir(exist_ok=True)
    (folder / "agent.py").write_text(client + BEGIN + story)
    return submission.command(f"python3 {folder / 'agent.py'}", submitter="ada", name="ada")


BEGIN = """
import time

gateway = Gateway(os.environ["QUARTERTURN_URL"])
gateway.initialize()


def call(name, **arguments):
    return gateway.request("tools/call", {"name": name, "arguments": arguments})


"""

RIGHT = """
call("filesystem__list_directory", path="/data/files")
call("filesystem__write_file", path="/data/files/colour.txt", content="heliotrope")
gateway.send("POST", "/answer", {"answer": "2"})
"""


def run(task, agent, box, **more):
    return run_task(task, agent, box, alias="r-1", **more)


@pytest.mark.parametrize(
    "made", [(a_task(), SOLVED), a_git_task(), an_sqlite_task()], ids=["filesystem", "git", "sqlite"]
)
def test_the_oracle_passes_a_task_of_every_server(box, made, nothing_left):
    task, solution = made
    outcome = run(task, oracle(), box, solution=solution)
    assert outcome.passed, outcome.as_json()
    assert (outcome.calls, outcome.code, outcome.attempts) == (len(solution.calls), "finished", 1)
    assert list(outcome.phases) == [
        *("seed", "world", "gateway", "place", "start", "agent", "transcript", "freeze", "verdict", "removal")
    ]


@pytest.mark.engine
def test_the_oracle_passes_behind_the_official_wall_too(engine):
    for task, solution in ((a_task(), SOLVED), a_git_task(), an_sqlite_task()):
        assert run(task, oracle(), engine, solution=solution).passed


def a_folder_task(**changes) -> Task:
    """A task that the shipped rulebook has a rule for."""
    goal = "Please create the folder /data/files/kept/2012. Nothing else may change."
    predicate = {"filesystem.directoryExists": {"path": "kept/2012"}}
    return a_task(goal=goal, available_tools=tools("filesystem", 14), success_predicate=predicate, **changes)


@pytest.mark.engine
def test_an_agent_that_is_an_image_is_bound_by_its_digest_and_runs(engine):
    rulebook = submission.image("quarterturn-agent-rulebook:latest", submitter="ada", resolve=engine.digest)
    assert rulebook.digest == engine.digest("quarterturn-agent-rulebook:latest")
    done, undone = run(a_folder_task(), rulebook, engine), run(a_task(), rulebook, engine)
    assert (done.passed, done.calls) == (True, 1)
    assert (undone.verdict, undone.calls) == (Verdict.FALSE, 0)
    assert "no rule" in undone.output


def test_the_rulebook_asks_once_more_after_an_error_and_gives_up_after_two(box, nothing_left):
    faults = [{"tool": "filesystem.create_directory", "call": call, "error": "busy"} for call in (1, 2)]
    rulebook = submission.command(f"python3 {AGENTS / 'rulebook' / 'agent.py'}", submitter="ada")
    once = run(a_folder_task(category="recovery", faults=faults[:1]), rulebook, box)
    twice = run(a_folder_task(category="recovery", faults=faults), rulebook, box)
    assert (once.passed, once.calls, once.transcript.errors) == (True, 2, 1)
    assert (twice.passed, twice.calls, twice.transcript.errors) == (False, 2, 2)
    assert "failed twice" in twice.output


def test_the_null_agent_fails(box, nothing_left):
    outcome = run(a_task(), null(), box)
    assert (outcome.verdict, outcome.passed, outcome.failure, outcome.calls) == (Verdict.FALSE, False, None, 0)


def test_an_honest_agent_passes_by_the_same_way(box, tmp_path, nothing_left):
    assert run(a_task(), an_agent(tmp_path / "ada", RIGHT), box).passed


def test_a_wrong_agent_fails_and_the_evidence_says_why(box, tmp_path, nothing_left):
    agent = an_agent(tmp_path / "ada", RIGHT.replace("heliotrope", "mauve"))
    outcome = run(a_task(), agent, box)
    assert (outcome.verdict, outcome.passed) == (Verdict.FALSE, False)
    assert [child.verdict for child in outcome.evidence.children] == [Verdict.FALSE, Verdict.TRUE]


def test_an_answer_of_the_wrong_number_fails(box, nothing_left):
    assert not run(a_task(), oracle(), box, solution=replace(SOLVED, answer="3")).passed


def test_a_call_too_many_is_a_fail_whatever_was_done(box, tmp_path, nothing_left):
    written, _, _ = RIGHT.partition("gateway.send")
    agent = an_agent(tmp_path / "ada", written + "for _ in range(3): call('filesystem__list_allowed_directories')")
    outcome = run(a_task(success_predicate={"filesystem.fileExists": {"path": "colour.txt"}}), agent, box)
    assert (outcome.verdict, outcome.passed) == (Verdict.TRUE, False)
    assert (outcome.failure, outcome.code, outcome.budget_exceeded) == ("theirs", "steps-exceeded", True)


def test_an_agent_that_does_not_end_is_ended_by_our_clock(box, tmp_path, nothing_left):
    terms = Terms(agent=Limits(wall=3.0))
    started = time.monotonic()
    outcome = run(a_task(), an_agent(tmp_path / "ada", "time.sleep(600)"), box, terms=terms)
    assert time.monotonic() - started < 300
    assert (outcome.passed, outcome.failure, outcome.code) == (False, "theirs", "time-exceeded")


def test_a_program_that_crashes_has_simply_not_done_the_task(box, tmp_path, nothing_left):
    outcome = run(a_task(), an_agent(tmp_path / "ada", "raise SystemExit('oh dear')"), box)
    assert (outcome.verdict, outcome.failure, outcome.code) == (Verdict.FALSE, None, "finished")
    assert "oh dear" in outcome.output


def test_calls_to_tools_that_are_not_listed_are_counted(box, tmp_path, nothing_left):
    agent = an_agent(tmp_path / "ada", "call('filesystem__rewrite_history')\n" + RIGHT)
    outcome = run(a_task(), agent, box)
    assert outcome.passed
    assert (outcome.calls, outcome.transcript.unlisted) == (3, 1)


def test_a_scheduled_fault_is_met_and_survived(box, nothing_left):
    fault = {"tool": WRITE.tool, "call": 1, "error": "the disk is busy; try again"}
    task = a_task(category="recovery", faults=[fault])
    outcome = run(task, oracle(), box, solution=Solution([WRITE, WRITE], "2"))
    assert outcome.passed
    assert [call.injected for call in outcome.transcript.calls] == [True, False]
    assert outcome.transcript.errors == 1
    assert "the disk is busy" in outcome.transcript.calls[0].result
    assert not run(task, oracle(), box, solution=Solution([WRITE], "2")).passed


def test_no_process_shows_the_goal_while_it_runs(box, tmp_path, nothing_left):
    """Arguments and variables of every process on the machine are read all the while."""
    own = base64.b32encode(secrets.token_bytes(10)).decode().lower()  # no other test's process can hold such words
    word, phrase, name, wanted = (secrets.token_hex(8) for _ in range(4))
    task = a_task(
        id=f"t-{own}",
        goal=f"Write the word {word} into colour.txt in /data/files. {phrase}",
        initial_state={"filesystem": {"files": {f"{name}.txt": "1"}}},
        success_predicate={
            "any": [
                {"filesystem.fileTextEquals": {"path": "colour.txt", "text": word}},
                {"filesystem.fileExists": {"path": wanted}},
            ]
        },
    )
    write = Call(WRITE.tool, {"path": "/data/files/colour.txt", "content": word})
    seen, stop = [], threading.Event()

    def watch():
        while not stop.is_set():
            for file in [*Path("/proc").glob("[0-9]*/cmdline"), *Path("/proc").glob("[0-9]*/environ")]:
                try:
                    seen.append(file.read_bytes())
                except OSError:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert run(task, oracle(), box, solution=Solution([write])).passed
    finally:
        stop.set()
        watcher.join()
    text = b"\n".join(set(seen))
    assert b"/init.py" in text, "the watcher saw the world"
    for secret in (task.id, word, phrase, name, wanted):
        assert secret.encode() not in text


class Fragile(BwrapBox):
    """A box some of whose worlds are killed from outside, `after` so many seconds."""

    def __init__(self, *deaths: float | None) -> None:
        super().__init__()
        self.deaths = list(deaths)

    def world(self, servers, state, limits):
        before = set(worlds())
        world = super().world(servers, state, limits)
        if (after := self.deaths.pop(0) if self.deaths else None) is not None:
            threading.Timer(after, kill, [before]).start()
        return world


def kill(spared):
    for pid in set(worlds()) - spared:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


LATE = "time.sleep(3)" + RIGHT
SOON = 0.3  # after its init runs, and long before a late agent calls
SLOW = RIGHT.replace("gateway.send", f"{WAIT}gateway.send")


def test_a_world_that_never_came_up_is_ours_and_played_again(tmp_path, nothing_left):
    outcome = run(a_task(), an_agent(tmp_path / "ada", LATE), Fragile(SOON, SOON))
    assert outcome.passed
    assert (outcome.attempts, [one.failure for one in outcome.earlier]) == (3, ["ours", "ours"])
    assert type(outcome).from_json(json.loads(json.dumps(outcome.as_json()))) == outcome


def test_after_three_tries_it_stays_unknown_and_is_never_a_fail(tmp_path, nothing_left):
    outcome = run(a_task(), an_agent(tmp_path / "ada", LATE), Fragile(SOON, SOON, SOON))
    assert (outcome.verdict, outcome.passed, outcome.failure) == (Verdict.UNKNOWN, False, "ours")
    assert outcome.attempts == 3


@pytest.mark.slow
def test_a_world_that_dies_once_after_a_call_is_ours(box, tmp_path, nothing_left):
    def deed() -> bool:
        kill(set())
        return True

    with Saboteur(deed):
        outcome = run(a_task(), an_agent(tmp_path / "ada", SLOW), box)
    assert (outcome.passed, outcome.attempts) == (True, 2)
    (first,) = outcome.earlier
    assert (first.code, len(first.transcript.calls)) == ("world-killed", 2), "what was seen of it is kept"


def test_no_submission_is_ever_handed_a_solution(box):
    with pytest.raises(Refused, match="no submission"):
        run(a_task(), null(), box, solution=SOLVED)


def test_a_task_with_free_parameters_is_not_served_as_it_stands(box):
    task = a_task(goal="Write {{colour}} into colour.txt.", free={"colour": {"from": ["red", "blue"]}})
    with pytest.raises(Refused, match="free parameters"):
        run(task, null(), box)


def test_a_set_gives_its_results_in_the_order_of_its_tasks(box, nothing_left):
    tasks = [a_task(number=number) for number in range(2, 7)]
    done = []
    solutions = {task.id: SOLVED for task in tasks[::2]}
    results = run_set(tasks, oracle(), box, solutions=solutions, on_done=done.append)
    assert [result.task_id for result in results] == [task.id for task in tasks]
    assert [result.passed for result in results] == [True, False, True, False, True]
    assert sorted(done, key=lambda one: one.task_id) == results


def test_an_interrupted_set_leaves_nothing_behind(box, tmp_path, nothing_left):
    def interrupt(_):
        raise KeyboardInterrupt

    tasks = [a_task(number=number) for number in range(2, 6)]
    agents = an_agent(tmp_path / "ada", RIGHT)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_set(tasks, agents, box, on_done=interrupt)
    assert time.monotonic() - started < 300


def test_a_box_that_is_lost_in_the_middle_of_a_set_is_told_not_raised(nothing_left):
    class Lossy(BwrapBox):
        def place(self, program, sockets, limits):
            raise Lost("the engine went away")

    told: list[str] = []
    results = run_set(
        [a_task()], null(), Lossy(), on_retry=told.append, on_done=lambda run: told.append(f"{run.task_id} is done")
    )
    assert told == [results[0].task_id] * RETRIES + [f"{results[0].task_id} is done"]
    assert [(one.failure, one.code, one.verdict) for one in results] == [("ours", "agent-not-started", Verdict.UNKNOWN)]


def test_a_repr_shows_nothing_of_the_task(box, nothing_left):
    outcome = run(a_task(), oracle(), box, solution=SOLVED)
    assert not re.search("heliotrope|colour|one.txt", repr(outcome))
    assert "heliotrope" in json.dumps(outcome.as_json())
