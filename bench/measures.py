"""Measures all measures of a run of 200 tasks, beside reading the same run from its JSON.

The tasks are those of the shipped benchmark's dev set, four times. Each is played as its reference solution says, every
other one with an error at the end and half of its calls again, with a model's reply for each call, results of 2 KB, and
an answer that cites places. Figures, failure classes, graphs and each group of tasks are computed. Times are of the
processor: measuring waits for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from time import process_time

from measure import compare
from report import Failed, Found, Line

from quarterturn.public_records import sources
from quarterturn.public_records.records import PublicRecords, PublicRun, PublicTask
from quarterturn_measures.run_measures import measure
from rotation.generation import shipped_dev_sets
from rotation.month.sets import MCPBENCH
from sandbox.results.outcome import TaskRun
from sandbox.transcript import CallRecord, ModelCall, Transcript
from verifiers.language.verdict import Evidence, Verdict

ROUNDS = 7
TIMES = 4
RESULT = "A line of a result, with some words in it.\n" * 45
ANSWER = "See plan/todo.md:3 and src/main.py:12:main. " * 10


def bench(rounds: int = 0) -> Found:
    """Measure a run."""
    public = sources.dev_set("bench", shipped_dev_sets.drafts(MCPBENCH))
    outcomes = [_played(task, solved=place % 2 == 0) for place, task in enumerate(public.tasks)]
    run = [PublicRun(number, "agent", number, {}, list(map(sources.played, outcomes))) for number in range(TIMES)]
    records = replace(public, runs=run)
    text = json.dumps([outcome.as_json() for outcome in outcomes] * TIMES)
    if not _measured(records):
        raise Failed("no failure of the run has a class")
    read = lambda: list(map(TaskRun.from_json, json.loads(text)))  # noqa: E731 - beside the other side
    seen = compare(lambda: _measured(records), read, rounds or ROUNDS, clock=process_time)
    calls = TIMES * sum(outcome.calls for outcome in outcomes)
    what = f"a run of {TIMES * len(outcomes)} tasks with {calls:,} calls"
    lines = [Line(what, "reading it from its JSON", seen, "runs")]
    return Found("All measures of a run, beside reading that run.", lines)


def _measured(records: PublicRecords) -> int:
    """Measure the run, and count the failures that got a class."""
    runs = measure(records)
    json.dumps([run.as_json("server") for run in runs])
    return sum(run.diagnosed for run in runs)


def _played(task: PublicTask, *, solved: bool) -> TaskRun:
    calls = list(_calls(task))
    if not solved:
        calls = [*calls[:-1], replace(calls[-1], error=True, result="ENOENT: no such file"), *calls[: len(calls) // 2]]
    verdict = Verdict.TRUE if solved else Verdict.FALSE
    parts = task.task.document["success_predicate"].get("all", ())
    nodes = [next(iter(part.items())) for part in parts]
    children = tuple(Evidence(op, verdict, of if isinstance(of, dict) else {}) for op, of in nodes)
    transcript = Transcript(tuple(calls), ANSWER, "answered", model_calls=tuple(map(_reply, calls)))
    evidence, names = Evidence("all", verdict, children=children), (task.task.id, task.task.category, len(calls))
    return TaskRun(*names, verdict, evidence, transcript, goal=task.task.document["goal"])


def _calls(task: PublicTask) -> Iterator[CallRecord]:
    for call in task.solutions[0]["calls"]:
        yield CallRecord(call["tool"], call["arguments"], True, False, False, RESULT, 0.1)


def _reply(call: CallRecord) -> ModelCall:
    pieces = (("content", "I look at it. " * 20), ("tool", call.tool), ("arguments", json.dumps(call.arguments)))
    return ModelCall("chat", "m", 0, {}, pieces, read=3000, written=200, outcome="ok")
