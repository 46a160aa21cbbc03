"""Tests of the ladder of scripted agents: each rung passes more of the public dev set than the one below it."""

import importlib
import re
import sys
from contextlib import suppress

import pytest

from rotation.generation import shipped_dev_sets
from rotation.month.sets import MCPBENCH, SETS
from verifiers.tree import Node

from ..builders import AGENTS, Hands, in_memory, run_set
from ..memory_box import ToolError

LADDER = AGENTS / "ladder"
RUNGS = range(6)


@pytest.fixture(scope="module")
def ladder():
    """Import the ladder's modules as they are imported when it is started."""
    before = set(sys.modules)
    sys.path.insert(0, str(LADDER))
    try:
        yield importlib.import_module("ladder")
    finally:
        sys.path.remove(str(LADDER))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(LADDER)):
                del sys.modules[name]


@pytest.fixture(scope="module")
def tasks():
    """Return the dev sets' tasks that take files alone: one or two for each of the rungs 1 and 4."""
    drawn = {task.id: task for spec in SETS.values() for task in shipped_dev_sets.tasks(spec)}
    return [task for task in drawn.values() if set(task.document["initial_state"]) == {"filesystem"}]


def read(world, path):
    try:
        return world.nodes[path.removeprefix("/data/")].data.decode()
    except KeyError as error:
        raise ToolError(f"ENOENT: no such file, {path}") from error


def move(world, source, destination):
    node: Node = world.nodes.pop(source.removeprefix("/data/"))
    world.nodes[destination.removeprefix("/data/")] = node
    return f"Successfully moved {source} to {destination}"


def passed(ladder, tasks, rung):
    """Play a rung in memory; give the number of tasks that it passes."""

    class Gateway(ladder.Gateway):
        def __init__(self, agent):
            self.http, self.headers, self.number = Hands(agent).http, dict(Hands(agent).headers), 0

    def story(agent):
        try:
            ladder.work(Gateway(agent), rung)
        except (ladder.Stuck, ladder.ToolFailed):
            return

    box, agent = in_memory(story, filesystem__read_text_file=read, filesystem__move_file=move)
    return sum(run.passed for run in run_set(tasks, agent, box))


@pytest.mark.slow
@pytest.mark.full
def test_each_rung_passes_more_than_the_one_below_it(ladder, tasks):
    counts = [passed(ladder, tasks, rung) for rung in RUNGS]
    assert counts == sorted(counts)
    assert 0 == counts[0] < counts[1] <= counts[2] < counts[4]  # no task of files alone is of rung 2


@pytest.mark.full
def test_every_task_of_the_benchmarks_dev_set_has_a_rule_and_each_rung_has_rules_for_more(ladder):
    goals = [task.goal for task in shipped_dev_sets.tasks(MCPBENCH)]
    known = []
    for rung in RUNGS:
        with_rule = 0
        for goal in goals:
            with suppress(ladder.Stuck):
                ladder.find(goal, [module.__name__ for module in ladder.SKILLS[:rung]])
                with_rule += 1
        known.append(with_rule)
    assert known == sorted(set(known))
    assert known[-1] == len(goals)


def test_no_rule_knows_a_task():
    text = "".join(path.read_text() for path in LADDER.glob("*.py"))
    words = {
        word
        for spec in SETS.values()
        for task in shipped_dev_sets.tasks(spec)
        for word in (task.id, *re.findall(r"/data/\S+\w|\w+-\w+/\S+|\w+:\w+-\w+|\S+@\S+\w|[a-z]+_[a-z]+", task.goal))
    }
    known = {"time_zone", "media_type"}  # columns that goals of this kind always name
    assert len(words) > 100
    assert {word for word in words if word in text} <= known


@pytest.mark.parametrize("words", [[], ["6"], ["-1"], ["x"], ["1", "2"]])
def test_a_rung_that_there_is_not_is_refused(ladder, words):
    with pytest.raises(SystemExit, match="a number from 0 to 5"):
        ladder.main(words)


def test_the_table_counts_tasks_of_each_kind(ladder):
    measure = importlib.import_module("measure")

    def entry(server, difficulty, passed):
        return {
            "task": {"server": server, "difficulty": difficulty, "category": "recovery"},
            "run": {"passed": passed},
        }

    played = [entry("git", "hard", True), entry("git", "easy", False), entry("email", "easy", True)]
    assert measure.table({3: measure.counts(played)}) == [
        "| rung | all (3) | git (2) | email (1) | easy (2) | hard (1) | recovery (3) |",
        "|---|---|---|---|---|---|---|",
        "| 3 | 2 | 1 | 1 | 1 | 1 | 2 |",
    ]
