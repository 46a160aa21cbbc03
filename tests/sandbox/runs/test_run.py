"""Tests of whole runs: a real gateway around a box in memory, and once real servers in a real box."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import secrets
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.boxes.box import ExitFacts, ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.box import DockerBox
from sandbox.errors import Lost, NotAllowed, Refused
from sandbox.image_reference import ImageReference
from sandbox.results.failure import PREPARATIONS, RETRIES
from sandbox.results.outcome import TaskRun
from sandbox.runs import submission
from sandbox.runs.run import Solution, Terms
from sandbox.servers.registry import names_of_tools, wire_name
from sandbox.servings.kept_worlds import KeptWorlds
from verifiers.language.verdict import Verdict

from ..builders import (
    AGENTS,
    RIGHT,
    SOLVED,
    WRITE,
    Hands,
    a_folder_task,
    a_git_task,
    a_task,
    an_agent,
    an_sqlite_task,
    in_memory,
    null,
    oracle,
    run,
    run_set,
)

# ---- in a real box ----


@pytest.fixture(scope="module")
def box():
    made = BwrapBox()
    made.check()
    return made


@pytest.fixture
def nothing_left():
    """Require that no folder, process or thread of a test's runs outlives it."""
    yield
    assert not list(Path("/dev/shm").glob(f"quarterturn-{os.getpid()}-*"))
    assert not worlds()
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("run")] == []


def worlds() -> list[int]:
    """Find the descendants of this process that are a world's PID 1, or the bwrap around it."""
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


@pytest.mark.box
@pytest.mark.parametrize(
    "made",
    [
        pytest.param((a_task(), SOLVED), id="filesystem"),
        pytest.param(a_git_task(), id="git", marks=pytest.mark.full),
        pytest.param(an_sqlite_task(), id="sqlite", marks=pytest.mark.full),
    ],
)
def test_the_oracle_passes_a_task_of_every_server(box, made, nothing_left):
    task, solution = made
    outcome = run(task, oracle(), box, solution=solution)
    assert outcome.passed, outcome.as_json()
    assert (outcome.calls, outcome.code, outcome.attempts) == (len(solution.calls), "finished", 1)
    assert list(outcome.phases) == [
        *("seed", "world", "gateway", "place", "start", "agent", "transcript", "freeze", "removal", "verdict")
    ]


@pytest.mark.engine
def test_an_agent_that_is_an_image_is_bound_by_its_digest_and_runs():
    engine = DockerBox()
    rulebook = submission.image("quarterturn-agent-rulebook:latest", submitter="ada", resolve=engine.digest)
    assert rulebook.digest == engine.digest(ImageReference.parse("quarterturn-agent-rulebook:latest"))
    done, undone = run(a_folder_task(), rulebook, engine), run(a_task(), rulebook, engine)
    assert (done.passed, done.calls) == (True, 1)
    assert (undone.verdict, undone.calls) == (Verdict.FALSE, 0)
    assert "no rule" in undone.output


@pytest.mark.engine
@pytest.mark.exhaustive
def test_the_oracle_passes_in_the_official_box_too():
    engine = DockerBox()
    for task, solution in ((a_task(), SOLVED), a_git_task(), an_sqlite_task()):
        assert run(task, oracle(), engine, solution=solution).passed


@pytest.mark.full
@pytest.mark.box
@pytest.mark.parametrize(("times", "passed"), [(1, True), (2, False)])
def test_the_rulebook_asks_once_more_after_an_error_and_gives_up_after_two(box, nothing_left, times, passed):
    faults = [{"tool": "filesystem.create_directory", "call": call + 1, "error": "busy"} for call in range(times)]
    rulebook = submission.command(f"python3 {AGENTS / 'rulebook' / 'agent.py'}", submitter="ada")
    outcome = run(a_folder_task(category="recovery", faults=faults), rulebook, box)
    assert (outcome.passed, outcome.calls, outcome.transcript.errors) == (passed, 2, times)
    assert ("failed twice" in outcome.output) is not passed


@pytest.mark.box
def test_the_null_agent_fails(box, nothing_left):
    outcome = run(a_task(), null(), box)
    assert (outcome.verdict, outcome.passed, outcome.failure, outcome.calls) == (Verdict.FALSE, False, None, 0)


@pytest.mark.box
def test_an_agent_that_does_not_end_is_ended_by_our_clock(box, tmp_path, nothing_left):
    terms = Terms(agent=ResourceLimits(wall=1.0))
    outcome = run(a_task(), an_agent(tmp_path / "ada", "time.sleep(600)"), box, terms=terms)
    assert (outcome.passed, outcome.failure, outcome.code) == (False, "theirs", "time-exceeded")


@pytest.mark.box
def test_an_interrupted_set_leaves_nothing_behind(box, tmp_path, nothing_left):
    def interrupt(_):
        raise KeyboardInterrupt

    agent = an_agent(tmp_path / "ada", RIGHT)
    with pytest.raises(KeyboardInterrupt):
        run_set([a_task(number=number) for number in range(2, 6)], agent, box, record_outcome=interrupt)


@pytest.mark.box
def test_no_process_shows_the_goal_while_it_runs(box, nothing_left):
    """Arguments and variables of every process on the machine are read during the run."""
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
    write = replace(WRITE, arguments={**WRITE.arguments, "content": word})
    seen, stop = set(), threading.Event()

    def watch():
        while not stop.wait(0.02):
            for file in [*Path("/proc").glob("[0-9]*/cmdline"), *Path("/proc").glob("[0-9]*/environ")]:
                with contextlib.suppress(OSError):
                    seen.add(file.read_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert run(task, oracle(), box, solution=Solution([write])).passed
    finally:
        stop.set()
        watcher.join()
    text = b"\n".join(seen)
    assert b"/init.py" in text, "the watcher saw the world"
    for secret in (task.id, word, phrase, name, wanted):
        assert secret.encode() not in text


# ---- what a run comes to ----


def played(story, task=None, **more):
    """Play a function that is given the oracle's client, in memory."""
    box, agent = in_memory(lambda made: story(Hands(made)))
    return run(task or a_task(), agent, box, **more)


def test_an_honest_agent_passes_by_the_same_way():
    assert played(Hands.solve).passed


def test_a_wrong_agent_fails_and_the_evidence_says_why():
    def wrong(hands):
        hands.write("mauve")
        hands.answer("2")

    outcome = played(wrong)
    assert (outcome.verdict, outcome.passed) == (Verdict.FALSE, False)
    assert [child.verdict for child in outcome.evidence.children] == [Verdict.FALSE, Verdict.TRUE]


def test_an_answer_of_the_wrong_number_fails():
    box, agent = in_memory()
    assert not run(a_task(), agent, box, solution=replace(SOLVED, answer="3")).passed


def test_a_call_too_many_is_a_fail_whatever_was_done():
    def greedy(hands):
        hands.write()
        for _ in range(4):
            hands.call("filesystem__list_allowed_directories")

    outcome = played(greedy, a_task(success_predicate={"filesystem.fileExists": {"path": "colour.txt"}}))
    assert (outcome.verdict, outcome.passed) == (Verdict.TRUE, False)
    assert (outcome.failure, outcome.code, outcome.budget_exceeded) == ("theirs", "steps-exceeded", True)


def test_a_program_that_crashes_has_simply_not_done_the_task():
    def crash(_):
        raise SystemExit("oh dear")

    outcome = played(crash)
    assert (outcome.verdict, outcome.failure, outcome.code) == (Verdict.FALSE, None, "agent-crashed")
    assert (outcome.exit_code, outcome.never_asked, outcome.transcript.asked) == (1, True, False)
    assert "oh dear" in outcome.output
    assert TaskRun.from_json(json.loads(json.dumps(outcome.to_sealed_json()))) == outcome


def test_calls_to_tools_that_are_not_listed_are_counted():
    def reaching(hands):
        hands.call("filesystem__rewrite_history")
        hands.solve()

    outcome = played(reaching)
    assert outcome.passed
    assert (outcome.calls, outcome.transcript.unlisted) == (3, 1)


def test_a_run_may_offer_tools_beside_the_tasks_own_and_nothing_tells_which_those_are():
    offered = names_of_tools(["redis", "sqlite"])
    listings = []

    def choosing(hands):
        listings.append([tool["name"] for tool in hands.get("/task")["tools"]])
        hands.send("POST", "/shortlist", {"tools": ["sqlite__read_query", "filesystem__write_file"]})
        hands.call("sqlite__list_tables")  # of a server of which the task lists no tool
        hands.solve()

    box, agent = in_memory(
        lambda made: choosing(Hands(made)), sqlite__list_tables=lambda world: str("sqlite/main.db" in world.nodes)
    )
    outcome = run(a_task(), agent, box, terms=Terms(offered_tools=offered))
    own = a_task().available_tools
    assert listings == [sorted(wire_name(tool) for tool in {*own, *offered})]
    look, *others = outcome.transcript.calls
    assert (look.tool, look.listed, look.error, look.result) == ("sqlite.list_tables", True, False, "True")
    assert outcome.passed, others
    assert outcome.transcript.unlisted == 0
    read = TaskRun.from_json(outcome.as_json()).transcript
    assert read.shortlist == ("sqlite.read_query", "filesystem.write_file")
    assert len(box.worlds) == 1, "no reader is started for a backend that no verdict looks at"


@pytest.mark.parametrize(("calls", "passed"), [([WRITE, WRITE], True), ([WRITE], False)])
def test_a_scheduled_fault_is_met_and_survived(calls, passed):
    fault = {"tool": WRITE.tool, "call": 1, "error": "the disk is busy; try again"}
    box, agent = in_memory()
    outcome = run(a_task(category="recovery", faults=[fault]), agent, box, solution=Solution(calls, "2"))
    assert outcome.passed is passed
    assert [call.injected for call in outcome.transcript.calls] == [True, False][: len(calls)]
    assert outcome.transcript.errors == 1
    assert "the disk is busy" in outcome.transcript.calls[0].result


def test_a_repr_shows_nothing_of_the_task():
    outcome = played(Hands.solve)
    assert not re.search("heliotrope|colour|one.txt", repr(outcome))
    assert "heliotrope" in json.dumps(outcome.as_json())


# ---- what is played again ----


def dying(*alive):
    """Make a box in memory whose first worlds may die as they are made: one per word, which says whether it lives."""
    box, agent = in_memory(lambda made: Hands(made).solve())
    lives, world = iter(alive), box.world

    def fragile(servers, state, limits):
        made = world(servers, state, limits)
        if not next(lives, True):
            made.die()
        return made

    box.world = fragile
    return box, agent


def test_a_world_that_never_came_up_is_ours_and_played_again():
    box, agent = dying(False, False, False, False)  # each attempt's, and that of its check
    outcome = run(a_task(), agent, box)
    assert outcome.passed
    assert (outcome.attempts, [one.failure for one in outcome.earlier]) == (3, ["ours", "ours"])
    assert type(outcome).from_json(json.loads(json.dumps(outcome.to_sealed_json()))) == outcome


def test_after_the_retries_of_a_run_it_stays_unknown():
    box, agent = dying(*[False] * 2 * (RETRIES + 1))
    outcome = run(a_task(), agent, box)
    assert (outcome.verdict, outcome.passed, outcome.failure) == (Verdict.UNKNOWN, False, "ours")
    assert outcome.attempts == RETRIES + 1


# ---- what is refused ----


def test_no_submission_is_ever_handed_a_solution():
    with pytest.raises(Refused, match="no submission"):
        run(a_task(), null(), None, solution=SOLVED)


def test_a_task_with_free_parameters_is_not_served_as_it_stands():
    task = a_task(goal="Write {{colour}} into colour.txt.", free={"colour": {"from": ["red", "blue"]}})
    with pytest.raises(Refused, match="free parameters"):
        run(task, null(), None)


# ---- sets ----


def test_a_set_gives_its_results_in_the_order_of_its_tasks():
    tasks = [a_task(number=number) for number in range(2, 7)]
    done = []
    solutions = {task.id: SOLVED for task in tasks[::2]}
    box, agent = in_memory()
    results = run_set(tasks, agent, box, solutions=solutions, record_outcome=done.append)
    assert [result.task_id for result in results] == [task.id for task in tasks]
    assert [result.passed for result in results] == [True, False, True, False, True]
    assert sorted(done, key=lambda one: one.task_id) == results


def test_the_reference_agent_goes_on_in_a_world_that_holds_the_next_tasks_data_alone():
    tasks, (box, agent) = [a_task(number=number) for number in (2, 3, 4)], in_memory()
    solutions = {task.id: SOLVED for task in tasks[::2]}
    with closing(KeptWorlds(box)) as kept:
        results = run_set(tasks, agent, box, workers=1, solutions=solutions, kept=kept)
    assert [result.passed for result in results] == [True, False, True], "the second one finds nothing of the first"
    assert len(box.worlds) <= 2, "one is prepared while another is played"


def test_a_submission_has_a_fresh_world_for_each_task():
    box, agent = in_memory(Hands.solve)
    with closing(KeptWorlds(box)) as kept, pytest.raises(Refused, match="each of its worlds is a fresh one"):
        run_set([a_task()], agent, box, kept=kept)


def test_a_box_that_is_lost_in_the_middle_of_a_set_is_reported_not_raised():
    def lost(program, sockets, limits):
        raise Lost("the engine went away")

    box, agent = in_memory(Hands)
    box.place = lost
    reported: list[str] = []
    results = run_set(
        [a_task()],
        agent,
        box,
        record_serving=reported.append,
        record_outcome=lambda run: reported.append(f"{run.task_id} is done"),
    )
    assert reported == [f"{results[0].task_id} is done"], "it was never served"
    (one,) = results
    assert (one.failure, one.code, one.verdict, one.attempts) == (
        "ours",
        "place-not-ready",
        Verdict.UNKNOWN,
        PREPARATIONS,
    )


def test_a_task_is_written_down_as_served_before_its_agent_is_let_go():
    order: list[str] = []
    box, agent = in_memory(lambda made: order.append("played"))
    run_set([a_task()], agent, box, record_serving=lambda *_: order.append("served"))
    assert order == ["served", "played"]


def test_a_task_that_may_not_be_served_ends_the_set_before_its_agent_starts():
    def refuse(task_id, handle):
        raise NotAllowed(f"{task_id} was served already")

    box, agent = in_memory(lambda made: Hands(made).solve())
    with pytest.raises(NotAllowed, match="served already"):
        run_set([a_task()], agent, box, record_serving=refuse)
    assert not box.agents


def test_whether_a_task_is_served_again_is_not_the_sets_to_decide():
    asked: list[tuple[str, str]] = []

    def again(task_id, code):
        asked.append((task_id, code))
        return len(asked) < 2

    box, agent = in_memory(lambda made: made.die(ExitFacts(running=False, lost=True)))
    (outcome,) = run_set([a_task()], agent, box, allow_retry=again)
    assert asked == [(outcome.task_id, "engine-lost")] * 2
    assert (outcome.verdict, outcome.attempts) == (Verdict.UNKNOWN, 2)
