"""Tests of the seven gates of admission: which drafts pass, and at which gate a bad one stops."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from grammars.admission import gates
from grammars.admission.duplicates import Sketch, wording
from grammars.admission.existing_tasks import TaskIndex
from grammars.admission.gates import needed_tools
from sandbox.errors import Lost
from sandbox.runs.prover import MutantResult
from verifiers.language.verdict import Evidence, Verdict

TRUE_FOR_ALL = {"any": [{"filesystem.fileExists": {"path": "none"}}, {"filesystem.directoryExists": {"path": "out"}}]}


def admit(draft, prover, around=None):
    return gates.admit(draft, prover, around or TaskIndex())


def shut(admission):
    return {gate.number: gate.detail for gate in admission.failed}


def test_a_good_draft_passes_all_seven_gates_with_its_evidence(draft, prover):
    admission = admit(draft, prover)
    assert admission.ok
    assert [gate.number for gate in admission.gates] == [1, 2, 3, 4, 5, 6, 7]
    assert json.loads(json.dumps(admission.evidence))["null"]["verdict"] == "false"
    assert set(admission.evidence["mutants"]) == {"removed", "emptied"}
    assert needed_tools(draft) == ["filesystem.write_file"]


def test_a_task_that_passes_by_doing_nothing_stops_at_the_second_gate(draft, prover, changed):
    admission = admit(changed(draft, {"success_predicate": TRUE_FOR_ALL}, {}), prover)
    assert shut(admission)[2] == "doing nothing gets true"
    assert "mutants.removed gets true" in shut(admission)[4]


def test_a_solution_that_does_not_solve_stops_at_the_third(draft, prover, changed):
    wrong = [{"name": "idle", "calls": [], "answer": None}]
    admission = admit(changed(draft, {}, {"solutions": wrong}), prover)
    assert not admission.ok
    assert "0 tools are needed" in shut(admission)[1]
    solution = draft.provenance["solutions"][0]
    other = {"tool": "filesystem.write_file", "arguments": {"path": "/data/files/x", "content": "x"}}
    admission = admit(changed(draft, {}, {"solutions": [{**solution, "calls": [other]}]}), prover)
    place = "filesystem.fileTextEquals at $.success_predicate.all[0]"
    assert shut(admission) == {
        3: f"solutions.reference: it gets false: {place} is false",
        4: "the first solution fails: no final state to mutate",
    }


def test_a_failed_solution_names_its_first_failed_call_and_what_keeps_it_from_being_true(draft, prover, changed):
    wanted = draft.task["success_predicate"]
    spoiling = {"not": {"any": [{"filesystem.fileExists": {"path": "gone"}}, {"filesystem.fileExists": {"path": "x"}}]}}
    call = {"tool": "filesystem.write_file", "arguments": {"path": "/data/files/x", "content": "secret"}}
    unknown = {"tool": "filesystem.move_file", "arguments": {"source": "secret"}}
    first = draft.provenance["solutions"][0]
    second = {"name": "two", "calls": [*first["calls"], call, unknown], "answer": None}
    tools = dict.fromkeys(["filesystem.move_file", *draft.task["available_tools"]])
    task = {"success_predicate": {"all": [wanted, spoiling]}, "max_steps": 9, "available_tools": [*tools]}
    admission = admit(changed(draft, task, {"solutions": [first, second]}), prover)
    place = "$.success_predicate.all[1].not.any[1]"
    assert "call 3 of 3 (filesystem.move_file) ends in an error and filesystem.fileExists at " in shut(admission)[3]
    assert f"{place} is true" in shut(admission)[3]
    assert "secret" not in shut(admission)[3]
    failure = admission.evidence["solutions"]["two"]["failure"]
    assert failure["call"] == {"number": 3, "of": 3, "tool": "filesystem.move_file", "error": "no such tool"}
    assert failure["leaf"]["looked_at"] == {"path": "x"}
    assert (failure["leaf"]["expected"], failure["leaf"]["place"]) == ("false", place)
    assert json.loads(json.dumps(failure)) == failure


def test_a_solution_that_takes_too_long_or_meets_an_error_stops_at_the_third(draft, prover, changed):
    solution = draft.provenance["solutions"][0]
    long = [{**solution, "calls": solution["calls"] * 4}]
    assert "takes 4 calls and 3 are allowed" in shut(admit(changed(draft, {}, {"solutions": long}), prover))[3]
    assert "4 errors" not in str(shut(admit(changed(draft, {}, {"solutions": long}), prover)))
    prover.known.clear()
    assert "it gets false" in shut(admit(draft, prover))[3]


def test_a_solution_whose_end_state_is_dear_to_read_stops_at_the_third(draft, prover):
    assert admit(draft, prover).evidence["solutions"]["reference"]["spent"] == 0.25
    prover.spent = 0.26
    assert shut(admit(draft, prover))[3] == (
        "solutions.reference: reading or judging what it leaves takes 26% of what a state may cost, "
        "and 25% are the most"
    )


def test_a_recovery_task_whose_solution_meets_no_scheduled_error_stops_at_the_third(draft, prover, changed):
    fault = [{"tool": "filesystem.write_file", "call": 2, "error": "busy"}]
    calls = [{"tool": tool, "arguments": {}} for tool in ("filesystem.read_text_file", "filesystem.move_file")]
    solution = draft.provenance["solutions"][0]
    prover.known.add("filesystem.move_file")
    tools = sorted({*draft.task["available_tools"], "filesystem.read_text_file", "filesystem.move_file"})
    task = {"category": "recovery", "faults": fault, "available_tools": tools}
    recovery = changed(draft, task, {"solutions": [{**solution, "calls": calls + solution["calls"]}]})
    assert shut(admit(recovery, prover)) == {3: "solutions.reference: it meets none of the scheduled errors"}


def test_a_world_that_is_not_the_same_twice_stops_at_the_second(draft, prover, monkeypatch):
    moved = Evidence("all", Verdict.FALSE, children=(Evidence("filesystem.unchanged", Verdict.FALSE),))
    prove, null = prover.prove, {"evidence": moved}
    monkeypatch.setattr(
        prover, "prove", lambda task, calls, answer: replace(prove(task, calls, answer), **({} if calls else null))
    )
    expected = "two worlds of it differ: filesystem.unchanged fails where nothing is done"
    assert shut(admit(draft, prover)) == {2: expected}


def test_a_solution_that_harmless_calls_spoil_stops_at_the_third(draft, prover):
    (call, *_) = draft.provenance["solutions"][0]["calls"]
    prover.harmless = [{"tool": "filesystem.read_text_file", "arguments": {"path": "a"}}]
    assert admit(draft, prover).ok
    prover.harmless = [{**call, "arguments": {**call["arguments"], "content": "other"}}]
    expected = "solutions.reference: it gets false once harmless calls follow it"
    assert shut(admit(draft, prover)) == {3: expected}


def test_a_solution_whose_twin_fails_stops_at_the_third_unless_the_goal_rules_it_out(draft, prover, changed):
    prover.twins = [MutantResult("files/line-endings", "twin", Verdict.TRUE)]
    assert admit(draft, prover).ok
    prover.twins.append(MutantResult("files/final-newline (filesystem.fileTextEquals)", "twin", Verdict.FALSE))
    failed = "its twin files/final-newline (filesystem.fileTextEquals) gets false"
    assert shut(admit(draft, prover)) == {3: f"solutions.reference: {failed}"}
    exact = {"files/final-newline": "the goal says: no line end behind it"}
    admission = admit(changed(draft, {}, {"exact": exact}), prover)
    assert admission.ok
    assert admission.evidence["exact"] == exact
    exact = {"files/newline": "why"}
    assert "exact: no twin is called 'files/newline'" in shut(admit(changed(draft, {}, {"exact": exact}), prover))[1]


def test_a_mutant_that_survives_stops_at_the_fourth_and_so_does_an_unknown(draft, prover, changed, monkeypatch):
    harmless = {"name": "harmless", "server": "filesystem", "change": {"mkdir": "elsewhere"}}
    admission = admit(changed(draft, {}, {"mutants": [*draft.provenance["mutants"], harmless]}), prover)
    assert shut(admission) == {4: "mutants.harmless gets true"}
    monkeypatch.setattr(
        prover, "mutated", lambda _document, _proved, mutants: [Evidence("all", Verdict.UNKNOWN) for _ in mutants]
    )
    assert shut(admit(draft, prover)) == {4: "mutants.removed gets unknown; mutants.emptied gets unknown"}


def test_a_conjunct_broken_unnoticed_stops_at_the_fourth_and_a_surviving_mutation_lowers_the_score(draft, prover):
    prover.more = [MutantResult("wrong case", "mistake", Verdict.TRUE)]
    admission = admit(draft, prover)
    assert admission.ok
    assert admission.evidence["mutation"] == {"made": 2, "survived": ["wrong case"], "let_through": []}
    prover.more.append(MutantResult("conjunct 0 broken", "broken", Verdict.UNKNOWN))
    assert shut(admit(draft, prover)) == {4: "1 of the predicate's conjuncts can be broken unnoticed"}
    prover.more = [MutantResult("a comment, added", "damage", Verdict.TRUE), MutantResult("x", "wide", Verdict.TRUE)]
    admission = admit(draft, prover)
    assert shut(admission) == {4: "1 of the changes that no solution makes go unnoticed"}
    assert admission.evidence["mutation"]["let_through"] == ["x"]


def test_a_description_that_says_the_result_stops_at_the_fifth(draft, prover):
    prover.text = draft.provenance["solutions"][0]["calls"][0]["arguments"]["content"]
    assert "the description of filesystem.write_file" in shut(admit(draft, prover))[5]


def test_a_near_duplicate_stops_at_the_sixth_and_the_other_task_is_named(draft, prover, changed):
    around = TaskIndex({"t-other": Sketch.of(draft.task)})
    assert shut(admit(draft, prover, around))[6] == "near-duplicate of task t-other: 100% of the text is the same"
    again = TaskIndex()
    assert admit(draft, prover, again).ok
    twin = changed(draft, {"id": "t-bbbbbbbbbbbbbbbb", "goal": f"Once more: {draft.task['goal']}"}, {})
    assert f"near-duplicate of task {draft.id}" in shut(admit(twin, prover, again))[6]


def elsewhere(draft, changed):
    """Return the same wording in another world, where another text must be written."""
    state = {"filesystem": {"files": {"in/report.txt": " ".join(f"word{n}" for n in range(200))}, "directories": []}}
    return changed(draft, {"id": "t-cccccccccccccccc", "initial_state": state}, {})


def test_a_goal_that_another_task_has_word_for_word_stops_at_the_sixth(draft, prover, changed):
    around, twin = TaskIndex(), elsewhere(draft, changed)
    assert around.trouble(draft) is None
    assert around.trouble(twin) is None, "the two are not near each other"
    around = TaskIndex()
    assert admit(draft, prover, around).ok
    assert shut(admit(twin, prover, around)) == {6: f"its goal is word for word that of task {draft.id}"}
    louder = changed(twin, {"goal": twin.task["goal"].upper()}, {})
    assert 6 in shut(admit(louder, prover, around))
    assert admit(changed(twin, {"goal": "Write something else."}, {}), prover, around).ok


def test_a_goal_of_the_dev_set_or_of_the_home_stops_at_the_sixth(draft, prover):
    public = TaskIndex(said={wording(draft.task): "t-public"})
    assert shut(admit(draft, prover, public)) == {6: "its goal is word for word that of task t-public"}
    home = TaskIndex(told=lambda one: "t-live" if one.id == draft.id else None)
    assert shut(admit(draft, prover, home)) == {6: "its goal is word for word that of task t-live"}


def test_goals_are_compared_as_they_were_drawn_with_their_free_values_open(draft, prover, changed):
    around, goal = TaskIndex(), "Write to {{folder}} what it asks for."
    choices = [f"one {letter}" for letter in "abc"], [f"two {letter}" for letter in "xyz"]
    first, second = (
        changed(elsewhere(draft, changed), {"id": f"t-{n}", "goal": goal, "free": {"folder": {"from": values}}}, {})
        for n, values in enumerate(choices)
    )
    assert around.told(first) is None
    assert around.told(first) is None, "a draft is never in its own way"
    assert around.told(second) == "t-0"


def test_of_two_concurrent_drafts_with_the_same_wording_one_is_admitted(draft, changed):
    around, start = TaskIndex(), Barrier(8)
    twins = [changed(draft, {"id": f"t-{number}"}, {}) for number in range(8)]

    def asks(twin):
        start.wait()
        return around.told(twin)

    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(asks, twins))
    assert said.count(None) == 1


def test_a_skeleton_that_is_live_or_was_seen_stops_at_the_sixth(draft, prover):
    around = TaskIndex(barred=[draft.skeleton.upper()], tag=str.upper)
    assert shut(admit(draft, prover, around)) == {6: "its skeleton is live in a cohort, or was seen"}


def test_a_skeleton_whose_tasks_could_be_listed_stops_at_the_seventh(draft, prover, changed):
    few = changed(draft, {}, {"bits": 23})
    assert shut(admit(few, prover)) == {7: "its skeleton has 2^23 instances; 2^24 are the least"}
    by_hand = changed(draft, {}, {"bits": None})
    assert admit(by_hand, prover).ok


INVALID = {
    "available_tools": ({"available_tools": ["filesystem.write_file"]}, {}),
    "success_predicate|all": ({"success_predicate": {"all": []}}, {}),
    "nosuch": ({"success_predicate": {"filesystem.nosuch": {}}}, {}),
    "0 mutants; 2 are the least": ({}, {"mutants": []}),
    "1 tools are needed, and a composition task wants 3 to 7": ({"category": "composition"}, {}),
}


@pytest.mark.parametrize("says", INVALID)
def test_an_invalid_draft_stops_at_the_first_gate(draft, prover, changed, says):
    admission = admit(changed(draft, *INVALID[says]), prover)
    assert [gate.number for gate in admission.gates] == [1]
    assert not admission.ok
    assert re.search(says, admission.gates[0].detail)


def test_a_broken_machine_says_nothing_about_the_draft(draft, prover, monkeypatch):
    def broken(*_):
        raise Lost("the world ended")

    monkeypatch.setattr(prover, "check", broken)
    with pytest.raises(Lost):
        admit(draft, prover)


def test_no_gate_quotes_the_task(draft, prover, changed):
    text = draft.provenance["solutions"][0]["calls"][0]["arguments"]["content"]
    for admission in (admit(draft, prover), admit(changed(draft, {"success_predicate": TRUE_FOR_ALL}, {}), prover)):
        assert text.strip() not in repr(admission)
        assert draft.task["goal"] not in repr(admission)
