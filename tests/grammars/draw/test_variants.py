"""Tests of drafts with free parameters: the base and three more variants must all pass admission."""

import json

import pytest

from grammars.admission.duplicates import Sketch
from grammars.admission.existing_tasks import TaskIndex
from grammars.admission.gates import admit
from grammars.draw.variants import base, further
from grammars.language.grammar import Draft
from vault.task.document import Task

FREE = {name: {"from": [f"{name} {n}" for n in range(1024)]} for name in ("ledge", "barn")}
PLACE = "out/{{ledge}} and {{barn}}.txt"


@pytest.fixture
def free(draft):
    """Return the small draft, whose file has a name of two free parts."""
    path = draft.provenance["solutions"][0]["calls"][0]["arguments"]["path"].removeprefix("/data/files/")
    task, provenance = (json.loads(json.dumps(part).replace(path, PLACE)) for part in (draft.task, draft.provenance))
    return Draft({**task, "free": FREE}, provenance)


class Counted:
    """Counts the plays of another prover."""

    def __init__(self, prover):
        self.prover, self.played = prover, []

    def __getattr__(self, name):
        return getattr(self.prover, name)

    def prove(self, document, calls, answer):
        self.played.append(json.dumps(document))
        return self.prover.prove(document, calls, answer)


def test_the_base_has_the_first_choices_in_task_solutions_and_mutants_alike(free):
    plain = base(free)
    assert "free" not in plain.task
    assert "{{" not in json.dumps([plain.task, plain.provenance])
    assert "out/ledge 0 and barn 0.txt" in json.dumps(plain.task["success_predicate"])
    assert plain.provenance["solutions"][0]["calls"][0]["arguments"]["path"].endswith("/ledge 0 and barn 0.txt")
    assert base(plain) is plain


def test_the_base_of_a_task_that_the_vault_bound_to_a_variant_key_is_a_task(free):
    bound = Task.parse(free.task).keyed("0" * 64)
    plain = base(Draft(bound.document, free.provenance)).task
    assert Task.parse(plain).document == base(free).task


def test_three_variants_beside_the_base_are_played_and_no_two_are_alike(free, prover):
    counted = Counted(prover)
    admission = admit(free, counted, TaskIndex())
    assert admission.ok, admission.failed
    assert len(counted.played) == 2 * len(set(counted.played)) == 8  # doing nothing, and the solution, of each
    assert "ledge 1023" in counted.played[-1]


def test_a_variant_that_cannot_be_solved_keeps_its_gate_shut(free, prover):
    calls = json.loads(json.dumps(base(free).provenance["solutions"]))
    admission = admit(Draft(free.task, {**free.provenance, "solutions": calls}), prover, TaskIndex())
    assert {gate.number for gate in admission.failed} == {3, 4}
    assert admission.failed[0].detail.startswith("variant 1: solutions.reference: it gets false")


def test_with_too_few_variants_the_base_alone_is_played_for_all_are_served_that(free, prover):
    few = {name: {"from": choice["from"][:8]} for name, choice in FREE.items()}
    counted = Counted(prover)
    assert further(Draft({**free.task, "free": few}, free.provenance)) == []
    assert admit(Draft({**free.task, "free": few}, free.provenance), counted, TaskIndex()).ok
    assert len(counted.played) == 2


def test_choices_that_could_be_confused_stop_at_the_first_gate(free, prover):
    twice = {**FREE, "barn": {"from": [*FREE["barn"]["from"][:-1], "ledge 7"]}}
    admission = admit(Draft({**free.task, "free": twice}, free.provenance), prover, TaskIndex())
    assert [gate.number for gate in admission.failed] == [1]
    assert "a choice is another one" in admission.failed[0].detail


def test_a_task_with_other_names_is_near_its_own_base(free, prover):
    around = TaskIndex({"known": Sketch.of(base(free).task)})
    details = {gate.number: gate.detail for gate in admit(free, prover, around).failed}
    assert "near-duplicate of task known" in details[6]
