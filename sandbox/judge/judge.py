"""Fork server and operations of judges: `python -I -m sandbox.judge.judge`.

A judge sees normal forms, a predicate and an answer. It reads no format that an agent wrote: what comes from a reader
is decoded as `verifiers.normal_form` writes it, or refused.

Operations, each with a reading (`sandbox.judge.reader`) as its first part:

    judge    the verdict on its one case; with a second part, the reading of the untouched seed
    mutants  the verdict on each of its cases
    compare  the difference between its one case and that of a second reading, for people

One more has no reading, and is asked of another child, which is shown no state:

    said     which choices of a task's free parameters an agent said in its session (`sandbox.judge.said_values`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.isolation.forking import serve
from sandbox.judge import differences, evidence, message, said_values
from sandbox.judge.child import JUDGE_USER, run
from sandbox.judge.loading import prepare
from sandbox.transcript import Transcript
from verifiers.budget import MAX_BYTES, MAX_JUDGED, MAX_STEPS, ReadingBudget
from verifiers.language import predicate as predicates
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.evaluate import evaluate
from verifiers.normal_form import NormalState, decode
from verifiers.predicates import namespaces
from verifiers.states.difference import Comparison


def judge(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Judge one case."""
    namespaces.learn(header["namespaces"], run=True)
    readings = [_Reading(part) for part in parts]
    states, *seeds = [reading.states(reading.cases[0]) for reading in readings]
    predicate = predicates.parse(header["predicate"])
    seed = seeds[0] if seeds else None
    budget = ReadingBudget(MAX_JUDGED, what="judging")
    tree = evaluate(predicate, states, header["answer"], seed, header["replies"], budget=budget)
    unreadable = any(state.unreadable for state in states.values())
    reply_part = evidence.written(probes=evidence.leaves(tree), spent=_spent(states, budget), unreadable=unreadable)
    return message.answer("done", part=reply_part)


def _spent(states: Mapping[str, NormalState], judging: ReadingBudget) -> float:
    """Return the largest of the shares of steps and bytes that reading took, of all namespaces, and of judging."""
    steps, size = (sum(state.steps for state in states.values()), sum(state.bytes for state in states.values()))
    return min(max(steps / MAX_STEPS, size / MAX_BYTES, judging.steps / judging.max_steps), 1.0)


def mutants(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Judge every case."""
    namespaces.learn(header["namespaces"], run=True)
    reading, predicate = _Reading(parts[0]), predicates.parse(header["predicate"])
    lines = []
    for case in reading.cases:
        same = case["answer"] is None
        answer, replies = (header["answer"], header["replies"]) if same else (case["answer"], None)
        verdict = evaluate(predicate, reading.states(case), answer, replies=replies).verdict
        lines.append([evidence.plain(case["name"]), case["kind"], verdict.value])
    return message.answer("done", part=evidence.written(mutants=lines))


def compare(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Compare two readings, the earlier one first."""
    namespaces.learn(header["namespaces"], run=False)
    before, after = (reading.states(reading.cases[0]) for reading in map(_Reading, parts))
    comparison, unread = Comparison(), NormalState(missing="no reader knows its kind")
    made = {
        name: comparison.difference(name, before.get(name, unread), after.get(name, unread))
        for name in header["looked_at"]
    }
    return message.answer("done", part=differences.written(made))


def said(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:  # noqa: ARG001 - as the others
    """Search a session for choices that its agent said."""
    return message.answer("done", part=said_values.searched(parts[0]))


class _Reading:
    """What a reader says: cases, and the normal forms that they are made of."""

    def __init__(self, data: bytes) -> None:
        header, self._parts = message.unpack(data)
        self.cases: list[Any] = header["cases"]
        self._decoded: dict[int, Mapping[str, NormalState]] = {}

    def states(self, case: Mapping[str, Any]) -> dict[str, NormalState]:
        """Give the normal form of each namespace of a case."""
        return {name: self._form(number)[name] for name, number in case["states"].items()}

    def _form(self, number: int) -> Mapping[str, NormalState]:
        if number not in self._decoded:
            self._decoded[number] = decode(self._parts[number])
        return self._decoded[number]


OPERATIONS = {"judge": judge, "mutants": mutants, "compare": compare, "said": said}


def _prepare() -> None:
    """Judge every predicate once, of no state, so that all that any of them needs is loaded."""
    reading = message.pack({"cases": [{"states": {}}]})
    probes = [{name: dict(entry.example.arguments)} for name, entry in CATALOGUE.items()]
    replies = {"who": '{"outcome": "correct", "justification": ""}'}
    judge({"namespaces": {}, "predicate": {"all": probes}, "answer": "42", "replies": replies}, [reading, reading])
    compare({"namespaces": {}, "looked_at": []}, [reading, reading])
    said_values.searched(said_values.request({"name": ["one"]}, ["two"], Transcript((), "one", "answered")))
    prepare()


if __name__ == "__main__":
    serve(_prepare, lambda descriptors: run(JUDGE_USER, OPERATIONS, descriptors))
