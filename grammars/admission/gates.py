"""Admission gates: seven automatic checks, by execution, that a draft must pass before a person reviews it.

    1. The document is valid; every tool that it names exists on the pinned servers; it lists 12 to 18 tools, and needs
       as many of them as its category says.
    2. The null agent, which makes no call and gives no answer, gets *false*, though every frame holds: two worlds of
       the task are equal.
    3. Every reference solution gets *true* within max_steps, meets no error that is not scheduled, and in a
       recovery task at least one that is. The first one still gets *true* where harmless calls follow it, and so does
       each of its twins: what it made, in another way that a fair person accepts, but for those that the template names
       as ruled out by the goal. Reading the
       state that it leaves takes at most a quarter of the budget for reading a state (`verifiers.budget`), so that an
       agent that does more than it must is not cut off.
    4. Every mutant gets *false*: a correct final state with one thing changed, or a wrong answer. The template has
       some, and each conjunct of the predicate gives one. So does all damage: of each sort of thing in the state one
       changed, one taken away, one made twice. Typical mistakes of agents are tried too; the share of all these that
       fails is the mutation score.
    5. No value that the agent must produce appears in the state, in names, in history, in descriptions or in the goal.
    6. The task is no near-duplicate of another one, no other task's goal has the same words, and its skeleton is
       neither live nor seen.
    7. Its skeleton has so many instances that its tasks cannot be listed and looked up.

A draft with enough free parameters to trace a leak is tested as its base and in three more variants
(`grammars.draw.variants`); gates 1 to 5 must pass for each. In a variant, gate 3 tests the first solution only.

*Unknown* passes no gate. A gate's detail names gates, solutions, mutants, calls, predicates and places and quotes no
value of the task; the evidence quotes everything and is as secret as the task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from grammars.admission.prover import ExecutionResult, Prover
from grammars.admission.solution_failure import failure_of
from grammars.draw.leaks import leaks
from grammars.draw.variants import base, further
from grammars.language.checks import FEWEST_NEEDED, MOST_NEEDED
from grammars.language.grammar import FEWEST_MUTANTS, Draft
from vault.errors import kind_of
from vault.task.document import Task
from verifiers.language.verdict import Evidence, Verdict
from verifiers.twins import NAMES as NAMES_OF_TWINS

NAMES = {
    1: "validates",
    2: "null agent fails",
    3: "solutions pass",
    4: "mutants fail",
    5: "nothing leaks",
    6: "no near-duplicate",
    7: "enough left",
}
MOST_SPENT = 0.25
"""The largest share of a counted limit that reading a reference solution's final state may use."""
FEWEST_BITS = 24
"""log2 of the fewest instances of a skeleton: with fewer, its tasks could be listed and looked up."""


class ExistingTasks(Protocol):
    """The existing tasks that a new draft must differ from (`grammars.admission.existing_tasks`)."""

    def told(self, draft: Draft) -> str | None:
        """Name another task whose goal has the same words; if there is none, register the draft's words."""
        ...

    def trouble(self, draft: Draft) -> str | None:
        """Say in a sentence why a draft is refused beside the existing tasks, or add it to them."""
        ...


@dataclass(frozen=True, slots=True)
class Gate:
    """The result of one gate: its number, its name, whether it passed, and one sentence of detail."""

    number: int
    name: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Admission:
    """The results of all gates for one draft.

    Attributes:
        task_id: the draft's task.
        gates: in order; if gate 1 failed, it is the only one.
        evidence: plain JSON values for the reviewer: evidence trees, calls and results by gate.
    """

    task_id: str
    gates: tuple[Gate, ...]
    evidence: Mapping[str, Any] = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether all gates passed."""
        return len(self.gates) == len(NAMES) and all(gate.ok for gate in self.gates)

    @property
    def failed(self) -> tuple[Gate, ...]:
        """Return the gates that failed."""
        return tuple(gate for gate in self.gates if not gate.ok)


def admit(draft: Draft, prover: Prover, around: ExistingTasks) -> Admission:
    """Run all gates on a draft.

    Args:
        draft: the draft.
        prover: executes its solutions and mutants.
        around: the existing tasks; a draft that passes gate 6 is added to them.

    Raises:
        Exception: whatever the prover raises when its own machinery breaks; this says nothing about the draft.
    """
    if trouble := _trouble(draft, prover):
        return Admission(draft.id, (Gate(1, NAMES[1], ok=False, detail=trouble),), {})
    case = _Case(base(draft), prover, around, draft)
    gates = [Gate(1, NAMES[1], ok=True, detail="the document, its tools and its predicate are valid")]
    gates += [gate() for gate in case.gates()]
    variants = further(draft)
    if variants and all(gate.ok for gate in gates):
        for number, variant in enumerate(variants, 1):
            gates = [_both(gate, again, number) for gate, again in zip(gates, _again(variant, prover), strict=True)]
    return Admission(draft.id, tuple(gates), case.evidence)


def _again(variant: Draft, prover: Prover) -> list[Gate | None]:
    """Run on a variant the gates that test the task itself (1 to 5), not its relation to other tasks.

    The base was tested with every solution; its variants, which only use other names, with the first one.
    """
    if trouble := _trouble(variant, prover):
        return [Gate(1, NAMES[1], ok=False, detail=trouble), *([None] * (len(NAMES) - 1))]
    first = variant.provenance["solutions"][:1]
    variant = replace(variant, provenance={**variant.provenance, "solutions": first})
    case = _Case(variant, prover, None, variant)
    return [None, case.null_agent(), case.solutions(), case.mutants(), case.leaks(), None, None]


def _both(gate: Gate, again: Gate | None, number: int) -> Gate:
    """Fail a gate that the base passed and a variant failed."""
    if again is None or again.ok or not gate.ok:
        return gate
    return Gate(gate.number, gate.name, ok=False, detail=f"variant {number}: {again.detail}")


def needed_tools(draft: Draft) -> list[str]:
    """List the tools that the first reference solution uses."""
    solutions = draft.provenance["solutions"]
    return sorted({call["tool"] for call in solutions[0]["calls"]}) if solutions else []


def _trouble(draft: Draft, prover: Prover) -> str | None:
    """Say why gate 1 fails, or None."""
    try:
        Task.parse(draft.task, "the draft")
        draft = base(draft)
        prover.check(draft.task)
    except Exception as error:
        if kind_of(error) not in {"malformed", "not-found"}:
            raise
        return str(error)
    listed = set(draft.task["available_tools"])
    for solution in draft.provenance["solutions"]:
        if not {call["tool"] for call in solution["calls"]} <= listed:
            return f"solutions.{solution['name']}: it uses a tool that is not listed"
    needed, category = len(needed_tools(draft)), draft.task["category"]
    fewest, most = (1, 1) if category == "single-tool" else (FEWEST_NEEDED, MOST_NEEDED)
    if not fewest <= needed <= most:
        return f"{needed} tools are needed, and a {category} task wants {fewest} to {most}"
    if unknown := sorted(draft.provenance.get("exact", {}).keys() - NAMES_OF_TWINS):
        return f"exact: no twin is called {unknown[0]!r}; there are {', '.join(sorted(NAMES_OF_TWINS))}"
    if len(draft.provenance["mutants"]) < FEWEST_MUTANTS:
        return f"it has {len(draft.provenance['mutants'])} mutants; {FEWEST_MUTANTS} are the least"
    return None


def _faults_met(task: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> int:
    made = Counter(call["tool"] for call in calls)
    return sum(made[fault["tool"]] >= fault["call"] for fault in task.get("faults", []))


class _Case:
    """One draft under test in gates 2 to 7, with the original in which the free parameters are still placeholders."""

    def __init__(self, draft: Draft, prover: Prover, around: ExistingTasks | None, drawn: Draft) -> None:
        self.draft = draft
        self.drawn = drawn
        self.prover = prover
        self.around = around
        self.proved: list[ExecutionResult] = []
        self.evidence: dict[str, Any] = {}

    def gates(self) -> list[Callable[[], Gate]]:
        return [self.null_agent, self.solutions, self.mutants, self.leaks, self.new, self.enough]

    def null_agent(self) -> Gate:
        proved = self.prover.prove(self.draft.task, [], None)
        self.evidence["null"] = proved.evidence.as_json()
        if changed := [frame.op for frame in _frames(proved.evidence) if frame.verdict is not Verdict.TRUE]:
            return self._gate(2, ok=False, detail=f"two worlds of it differ: {changed[0]} fails where nothing is done")
        return self._gate(2, proved.verdict is Verdict.FALSE, f"doing nothing gets {proved.verdict.value}")

    def solutions(self) -> Gate:
        troubles: list[str] = []
        recorded: dict[str, Any] = {}
        for solution in self.draft.provenance["solutions"]:
            proved = self.prover.prove(self.draft.task, solution["calls"], solution["answer"])
            self.proved.append(proved)
            recorded[solution["name"]] = {
                "evidence": proved.evidence.as_json(),
                "spent": proved.spent,
                "log": list(proved.log),
            }
            if trouble := self._solution_trouble(solution["calls"], proved):
                failure = failure_of(proved.evidence, proved.log)
                recorded[solution["name"]]["failure"] = failure.as_json()
                why = f": {where}" if (where := failure.where()) else ""
                troubles.append(f"solutions.{solution['name']}: {trouble}{why}")
        if not troubles and self.around:
            troubles += [*self._check_harmless_calls(), *self._check_twins()]
        self.evidence["solutions"] = recorded
        return self._gate(3, not troubles, "; ".join(troubles) or f"{len(recorded)} pass within max_steps")

    def _check_harmless_calls(self) -> Iterator[str]:
        """Play the first solution with harmless calls after it; an honest agent may make them."""
        first = self.draft.provenance["solutions"][0]
        if more := self.prover.harmless_calls(self.draft.task, first["calls"]):
            proved = self.prover.prove(self.draft.task, [*first["calls"], *more], first["answer"])
            self.evidence["harmless"] = {"evidence": proved.evidence.as_json(), "log": list(proved.log)}
            if proved.verdict is not Verdict.TRUE:
                yield f"solutions.{first['name']}: it gets {proved.verdict.value} once harmless calls follow it"

    def _check_twins(self) -> Iterator[str]:
        """Judge the twins of each solution, but for those that the goal rules out; their names quote no value."""
        exact = self.draft.provenance.get("exact", {})
        self.evidence["exact"] = dict(exact)
        for solution, proved in zip(self.draft.provenance["solutions"], self.proved, strict=True):
            for twin in self.prover.twin_results(self.draft.task, proved):
                if twin.verdict is not Verdict.TRUE and twin.name.partition(" ")[0] not in exact:
                    yield f"solutions.{solution['name']}: its twin {twin.name} gets {twin.verdict.value}"

    def _solution_trouble(self, calls: Sequence[Mapping[str, Any]], proved: ExecutionResult) -> str | None:
        if proved.verdict is not Verdict.TRUE:
            return f"it gets {proved.verdict.value}"
        if proved.calls > self.draft.task["max_steps"]:
            return f"it takes {proved.calls} calls and {self.draft.task['max_steps']} are allowed"
        if proved.spent > MOST_SPENT:
            most = f"of what a state may cost, and {MOST_SPENT:.0%} are the most"
            return f"reading or judging what it leaves takes {proved.spent:.0%} {most}"
        met = _faults_met(self.draft.task, calls)
        if self.draft.task["category"] == "recovery" and not met:
            return "it meets none of the scheduled errors"
        return f"it meets {proved.errors} errors, {met} of them scheduled" if proved.errors != met else None

    def mutants(self) -> Gate:
        survivors: list[str] = []
        recorded: dict[str, Any] = {}
        mutants = self.draft.provenance["mutants"]
        if self.proved[0].verdict is not Verdict.TRUE:
            return self._gate(4, ok=False, detail="the first solution fails: no final state to mutate")
        found = self.prover.mutated(self.draft.task, self.proved[0], mutants)
        for mutant, evidence in zip(mutants, found, strict=True):
            recorded[mutant["name"]] = evidence.as_json()
            if evidence.verdict is not Verdict.FALSE:
                survivors.append(f"mutants.{mutant['name']} gets {evidence.verdict.value}")
        self.evidence["mutants"] = recorded
        made = self.prover.mutant_results(self.draft.task, self.proved[0])
        wide = [mutation.name for mutation in made if mutation.kind == "wide" and mutation.verdict is Verdict.TRUE]
        made = [mutation for mutation in made if mutation.kind != "wide"]
        missed = [mutation for mutation in made if mutation.verdict is not Verdict.FALSE]
        survived = [mutation.name for mutation in missed]
        self.evidence["mutation"] = {"made": len(made), "survived": survived, "let_through": wide}
        if broken := sum(mutation.kind == "broken" for mutation in missed):
            survivors.append(f"{broken} of the predicate's conjuncts can be broken unnoticed")
        if damage := sum(mutation.kind == "damage" for mutation in missed):
            survivors.append(f"{damage} of the changes that no solution makes go unnoticed")
        all_false = f"all {len(mutants)} get false, and {len(made) - len(missed)} of {len(made)} made from the state"
        return self._gate(4, not survivors, "; ".join(survivors) or all_false)

    def leaks(self) -> Gate:
        descriptions = self.prover.descriptions(self.draft.task["available_tools"])
        places = leaks(self.draft.task, self.draft.provenance["given"], descriptions)
        self.evidence["leaks"] = places
        detail = f"a value that must be produced lies in {', '.join(places)}" if places else "no value leaks"
        return self._gate(5, not places, detail)

    def new(self) -> Gate:
        trouble = self._beside(self.around) if self.around else None
        fine = "no near-duplicate, no other goal with the same words, and an unseen skeleton"
        return self._gate(6, not trouble, trouble or fine)

    def _beside(self, around: ExistingTasks) -> str | None:
        if other := around.told(self.drawn):
            return f"its goal is word for word that of task {other}"
        return around.trouble(self.draft)

    def enough(self) -> Gate:
        bits = self.draft.provenance.get("bits")
        if bits is None:
            return self._gate(7, ok=True, detail="written by hand: no template, so no count of instances")
        return self._gate(7, bits >= FEWEST_BITS, f"its skeleton has 2^{bits} instances; 2^{FEWEST_BITS} are the least")

    @staticmethod
    def _gate(number: int, ok: bool, detail: str) -> Gate:  # noqa: FBT001 - the verdict of the gate
        return Gate(number, NAMES[number], ok, detail)


def _frames(evidence: Evidence) -> Iterator[Evidence]:
    """List the frames of a verdict, one for each server of the world."""
    return (child for child in evidence.children if child.op.endswith(".unchanged"))
