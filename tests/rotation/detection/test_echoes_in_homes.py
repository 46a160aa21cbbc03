"""Tests of echoes from end to end: drawn tasks of all servers in a home, real gateways and judges, and its scan.

A leaker plays the memorised solutions of what another party was served; an honest agent guesses from the very lists.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from grammars.draw.sample import sample
from grammars.language.load import library, load
from rotation.detection.served_choices import ServedChoices
from rotation.exposure.store import ExposureLimits
from rotation.findings.store import Finding
from rotation.month.sets import SetSpec, Stratum
from rotation.runs.run_tasks import OpenRun
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.memory_box import MemoryAgent
from sandbox.judge import Judgement, StateJudge
from sandbox.results.outcome import TaskRun
from sandbox.results.said import SaidChoices
from sandbox.runs.run import Terms, run_set
from sandbox.servers.registry import wire_name
from vault.task.document import Task
from vault.task.variant import assigned, filled, words
from verifiers.language.verdict import Evidence, Verdict

from ...sandbox.builders import Hands, an_agent, in_memory
from ..conftest import BEFORE, FIRST, Benchmark, document

pytestmark = pytest.mark.slow

GUESSES = 12  # of each list, in each task
FILLERS = 3  # cohorts whose tasks nobody plays


@dataclass(frozen=True)
class Drawn:
    """A drawn task with the calls and the answer that solve it; both still have placeholders."""

    task: Task
    solution: Mapping[str, Any]

    def page(self, values: Mapping[str, str]) -> dict[str, Any]:
        """Give what somebody wrote down who was shown these values."""
        return {"goal": filled(self.task.goal, values), **filled(dict(self.solution), values)}


class SaidOnly(StateJudge):
    """A judge of sessions alone: whether a task passes has no part in this, and backends need more than memory."""

    def verdict(self, *_: Any) -> Judgement:
        return Judgement(Evidence("nothing", Verdict.FALSE), 0.0, 0.0)


@pytest.fixture(scope="module")
def drawn() -> list[Drawn]:
    dice, made = Random(20261125), []
    for name in library():
        draft = sample(load(name), dice)
        made.append(Drawn(Task.parse(draft.task), draft.provenance["solutions"][0]))
    return made


@pytest.fixture
def home(drawn: Sequence[Drawn], tmp_path: Path) -> Iterator[Benchmark]:
    """Give a home with one drawn task of each server, and plain ones beside them, in its first month."""
    strata = [Stratum(one.task.server, one.task.category, one.task.difficulty) for one in drawn]
    made = Benchmark(tmp_path, f"sqlite:///{tmp_path / 'quarterturn.db'}", SetSpec("ten", dict.fromkeys(strata, 1)))
    for number, one in enumerate(drawn):
        made.add(one.task.document, f"s-{number}")
    for number in range(FILLERS * len(strata)):
        made.add(document(number, strata[number % len(strata)]), f"plain-{number}")
    made.rotation.run(BEFORE)
    yield made
    made.engine.dispose()


def echoes(home: Benchmark) -> dict[str, Finding]:
    home.scanner(ExposureLimits()).run("test")
    return {one.subject: one for one in home.findings.all() if one.kind == "echo"}


def played(home: Benchmark, name: str, story: Any) -> OpenRun:
    """Play a run: the drawn tasks by an agent in a box, the plain ones not at all."""
    run = home.open(name)
    opened = home.run_tasks.open(run)
    free = {task.id: task.free for task in opened if task.variant_key}
    served = home.run_tasks.variants(run, opened)
    home.run_tasks.serve(run, *(task.id for task in served))
    box, agent = in_memory(story)
    tasks, terms = [task for task in served if task.id in free], Terms(judging=SaidOnly())
    for outcome in run_set(tasks, agent, box, free=free, terms=terms):
        assert outcome.transcript.calls
        home.run_tasks.record(run, outcome)
    for task in served:
        if task.id not in free:
            home.run_tasks.record(run, home.done(task.id))
    home.official.close(run)
    return run


def notebook_agent(pages: Sequence[Mapping[str, Any]]):
    """Give an agent that looks its goal up in a notebook, and does what stands there to the letter."""

    def story(agent: MemoryAgent) -> None:
        hands = Hands(agent)
        goal = set(words(hands.get("/task")["goal"]))
        page = max(pages, key=lambda page: len(goal & set(words(page["goal"]))) / len(goal | set(words(page["goal"]))))
        for step in page["calls"]:
            hands.call(wire_name(step["tool"]), **step["arguments"])
        if page["answer"] is not None:
            hands.answer(page["answer"])

    return story


def guessing_agent(pages: Sequence[Mapping[str, Any]], lists: Sequence[Mapping[str, Sequence[str]]]):
    """Give an agent that solves its tasks, and tries names from the very lists beside what it was told."""
    solve, dice = notebook_agent(pages), Random(7)

    def story(agent: MemoryAgent) -> None:
        hands = Hands(agent)
        tool = hands.get("/task")["tools"][0]["name"]
        guesses = [dice.choice(choices) for free in lists for choices in free.values() for _ in range(GUESSES)]
        hands.call(tool, path=" ".join(guesses))
        solve(agent)

    return story


def test_who_plays_from_a_notebook_of_another_is_found_in_the_first_month_and_who_guesses_is_not(home, drawn):
    month = str(FIRST)
    for name in ("ada", "bob", "carol"):
        home.finish(home.open(name))

    def pages(name):
        keys = [home.vault.variant_key(one.task.id) for one in drawn]
        return [one.page(assigned(key, name, month, one.task.free)) for key, one in zip(keys, drawn, strict=True)]

    played(home, "mallory", notebook_agent(pages("bob")))
    played(home, "dave", guessing_agent(pages("dave"), [one.task.free for one in drawn]))
    found = echoes(home)
    assert found.keys() == {"mallory", "dave"}, "nobody else said anything that they were not shown"
    assert (found["mallory"].status, found["mallory"].state) == ("review", "open")
    assert found["mallory"].detail.startswith(f"bob|{month}, with probability ")
    assert found["mallory"].p_value < 1e-10
    assert (found["dave"].status, found["dave"].detail) == ("clean", "")
