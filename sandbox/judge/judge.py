"""Fork server and operations of judges: `python -I -m sandbox.judge.judge`.

A judge sees normal forms, a predicate and an answer. It reads no format that an agent wrote: what comes from a reader
is decoded as `verifiers.normal_form` writes it, or refused.

Operations, each with the parts of a reading (`sandbox.judge.reader`):

    judge    the verdict on its first case; a second case is the state as the agent found it, and so is the one case of
             a second reading, which is asked for where a probe broke
    cases    the evidence on each of its cases, with an answer for each; one case more is the state as it was found
    mutants  the verdict on each of its cases but the last two, which are what a solution left and what it found
    compare  the difference between its one case and that of a second reading, for people

Two more are asked of other children:

    own      the results of one server's own predicates on one normal form of its state. Only this one runs a server's
             `predicates.py`, so it is shown no answer, no other server's state and no other predicate.
    said     which choices of a task's free parameters an agent said in its session (`sandbox.judge.said_values`); it
             is shown no state
"""

from __future__ import annotations

import json
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
from verifiers.language.predicate import Predicate
from verifiers.language.verdict import Evidence, Verdict
from verifiers.normal_form import NormalState, decode
from verifiers.predicates import namespaces, own_predicates
from verifiers.predicates.own_predicates import OwnResult
from verifiers.states.difference import Comparison


def judge(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Judge one case."""
    namespaces.learn(header["namespaces"])
    predicate, readings = predicates.parse(header["predicate"]), _readings(header, parts)
    cases = [(reading, case) for reading in readings for case in reading.cases]
    states, *seeds = [reading.states(case) for reading, case in cases]
    own_results = [reading.own_results(case, predicate) for reading, case in cases]
    seed = seeds[0] if seeds else None
    budget = ReadingBudget(MAX_JUDGED, what="judging")
    tree = evaluate(
        predicate, states, header["answer"], seed, header["replies"], own_results=own_results, budget=budget
    )
    unreadable = any(state.unreadable for state in states.values())
    reply_part = evidence.written(probes=evidence.leaves(tree), spent=_spent(states, budget), unreadable=unreadable)
    return message.answer("done", part=reply_part)


def cases(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Return the evidence on every case."""
    namespaces.learn(header["namespaces"])
    predicate, (reading,) = predicates.parse(header["predicate"]), _readings(header, parts)
    answers = header["answers"]
    untouched = reading.cases[len(answers) :]
    before = reading.states(untouched[0]) if untouched else None
    trees = []
    for case, answer, reply in zip(reading.cases[: len(answers)], answers, header["replies"], strict=True):
        own_results = [reading.own_results(state, predicate) for state in (case, *untouched)]
        trees.append(evaluate(predicate, reading.states(case), answer, before, reply, own_results=own_results))
    return message.answer("done", part=evidence.written(cases=[evidence.leaves(tree) for tree in trees]))


def _spent(states: Mapping[str, NormalState], judging: ReadingBudget) -> float:
    """Return the largest of the shares of steps and bytes that reading took, of all namespaces, and of judging."""
    steps, size = (sum(state.steps for state in states.values()), sum(state.bytes for state in states.values()))
    return min(max(steps / MAX_STEPS, size / MAX_BYTES, judging.steps / judging.max_steps), 1.0)


def mutants(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Judge every case."""
    namespaces.learn(header["namespaces"])
    predicate, (reading,) = predicates.parse(header["predicate"]), _readings(header, parts)
    *cases, _, untouched = reading.cases
    before = reading.states(untouched) if predicates.needs_baseline(predicate) else None
    lines = []
    for case in cases:
        same = case["answer"] is None
        answer, replies = (header["answer"], header["replies"]) if same else (case["answer"], None)
        own_results = [reading.own_results(state, predicate) for state in (case, untouched)]
        tree = evaluate(predicate, reading.states(case), answer, before, replies, own_results=own_results)
        shown = case["name"]
        if case["kind"] == "twin" and tree.verdict is not Verdict.TRUE:
            shown += f" ({_failing_probe(tree)})"
        lines.append([evidence.plain(shown), case["kind"], tree.verdict.value])
    return message.answer("done", part=evidence.written(mutants=lines))


def _failing_probe(tree: Evidence) -> str:
    """Name the first probe that keeps a verdict from being true."""
    while tree.children:
        tree = next((child for child in tree.children if child.verdict is not Verdict.TRUE), tree.children[0])
    return tree.op


def compare(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Compare two readings, the earlier one first."""
    namespaces.learn(header["namespaces"])
    before, after = (reading.states(reading.cases[0]) for reading in _readings(header, parts))
    comparison, unread = Comparison(), NormalState(missing="no reader knows its kind")
    made = {
        name: comparison.difference(name, before.get(name, unread), after.get(name, unread))
        for name in header["looked_at"]
    }
    return message.answer("done", part=differences.written(made))


def own(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:
    """Run a server's module, and give the result of each of its probes."""
    state = decode(parts[0])[header["namespace"]]
    results = own_predicates.results(header["source"], header["probes"], state)
    return message.answer(
        "done", part=evidence.written(own=[[value, evidence.plain(found)] for value, found in results])
    )


def said(header: Mapping[str, Any], parts: Sequence[bytes]) -> bytes:  # noqa: ARG001 - as the others
    """Search a session for choices that its agent said."""
    return message.answer("done", part=said_values.searched(parts[0]))


class _Reading:
    """Cases, and the normal forms and results of own predicates that they are made of.

    Args:
        cases: as a reader writes them.
        forms: each namespace's normal forms, framed.
        own: for namespaces with own predicates, their results on each of these normal forms; None where there is none.
    """

    def __init__(
        self, cases: bytes, forms: Mapping[str, bytes], own: Mapping[str, Sequence[Sequence[OwnResult] | None]]
    ) -> None:
        self.cases: list[Any] = json.loads(cases)
        self._forms = {name: message.unframed(framed) for name, framed in forms.items()}
        self._own = own
        self._decoded: dict[tuple[str, int], NormalState] = {}

    def states(self, case: Mapping[str, Any]) -> dict[str, NormalState]:
        """Return the normal form of each namespace of a case."""
        return {name: self._form(name, number) for name, number in case["states"].items()}

    def own_results(self, case: Mapping[str, Any], predicate: Predicate) -> dict[str, OwnResult]:
        """Return the results of own predicates on a case's states, by their keys."""
        return {
            own_predicates.key(probe.name, probe.arguments): result
            for name, probes in predicates.own_probes(predicate).items()
            if name in self._own and name in case["states"]
            for probe, result in zip(probes, self._own[name][case["states"][name]] or (), strict=False)
        }

    def _form(self, name: str, number: int) -> NormalState:
        if (name, number) not in self._decoded:
            self._decoded[name, number] = decode(self._forms[name][number])[name]
        return self._decoded[name, number]


def _readings(header: Mapping[str, Any], parts: Sequence[bytes]) -> list[_Reading]:
    """Put the parts of one or two readings together, each of which has its cases and then a part a namespace."""
    names, size = header["looked_at"], 1 + len(header["looked_at"])
    return [
        _Reading(parts[at], dict(zip(names, parts[at + 1 : at + size], strict=True)), own)
        for at, own in zip(range(0, len(parts), size), header["own"], strict=True)
    ]


OPERATIONS = {"judge": judge, "cases": cases, "mutants": mutants, "compare": compare, "own": own, "said": said}


def _prepare() -> None:
    """Judge every predicate once, of no state, so that all that any of them needs is loaded."""
    reading = b'[{"states": {}}]'
    places: dict[str, Any] = {"namespaces": {}, "looked_at": [], "own": [{}, {}]}
    probes = [{name: dict(entry.example.arguments)} for name, entry in CATALOGUE.items()]
    replies = {"who": '{"outcome": "correct", "justification": ""}'}
    judge({**places, "predicate": {"all": probes}, "answer": "42", "replies": replies}, [reading, reading])
    compare(places, [reading, reading])
    said_values.searched(said_values.request({"name": ["one"]}, ["two"], Transcript((), "one", "answered")))
    prepare()


if __name__ == "__main__":
    serve(_prepare, lambda descriptors: run(JUDGE_USER, OPERATIONS, descriptors))
