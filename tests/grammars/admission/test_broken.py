"""Tests of proving a task again: a wrong verdict is found, and kept with all that gives it again."""

from __future__ import annotations

from grammars.admission.broken import wrong_verdict
from grammars.draw.variants import base
from verifiers.formats.state_document import tree_of
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.tree import JudgeInput

THERE = {"filesystem.directoryExists": {"path": "out"}}


def again(draft, wrong):
    """Judge the state that was kept."""
    states = {"filesystem": tree_of(wrong.state).below("filesystem")}
    return judge(parse(base(draft).task["success_predicate"]), JudgeInput(states, wrong.answer)).verdict


def test_a_task_that_works_shows_nothing(draft, prover):
    assert wrong_verdict(draft, prover) is None


def test_a_reference_solution_that_is_judged_false_shows_it(draft, prover, changed):
    solution = draft.provenance["solutions"][0]
    elsewhere = {"tool": "filesystem.write_file", "arguments": {"path": "/data/files/else.txt", "content": "x"}}
    other = {"name": "other", "calls": [elsewhere], "answer": "done"}
    draft = changed(draft, {}, {"solutions": [solution, other]})
    wrong = wrong_verdict(draft, prover)
    assert wrong.as_json() | {"state": None} == {
        "solution": "reference",
        "calls": [elsewhere],
        "answer": "done",
        "state": None,
        "verdict": False,
    }
    assert "else.txt" in wrong.state["filesystem"]
    assert again(draft, wrong) is Verdict.FALSE


def test_a_mutant_that_is_judged_true_shows_it_with_its_own_state(draft, prover, changed):
    draft = changed(draft, {"success_predicate": THERE}, {})
    wrong = wrong_verdict(draft, prover)
    solution = base(draft).provenance["solutions"][0]
    assert (wrong.solution, wrong.verdict, list(wrong.calls)) == ("mutant", True, list(solution["calls"]))
    written = solution["calls"][0]["arguments"]["path"].removeprefix("/data/files/")
    assert written not in wrong.state["filesystem"], "the first mutant takes it away"
    assert again(draft, wrong) is Verdict.TRUE


def test_a_mutant_that_is_another_answer_is_kept_with_that_answer(draft, prover, changed):
    draft = changed(draft, {}, {"mutants": [{"name": "wordy", "answer": "it is done"}]})
    wrong = wrong_verdict(draft, prover)
    assert (wrong.solution, wrong.answer) == ("mutant", "it is done")
    assert again(draft, wrong) is Verdict.TRUE


def test_a_verdict_that_is_unknown_shows_nothing(draft, prover, changed):
    nowhere = {"git.branchExists": {"repository": "site", "branch": "main"}}
    assert wrong_verdict(changed(draft, {"success_predicate": nowhere}, {}), prover) is None


def test_a_task_with_free_parameters_is_proven_in_its_base(draft, prover, changed):
    content = draft.provenance["solutions"][0]["calls"][0]["arguments"]["content"]
    free = {"free": {"word": {"from": [content, "something"]}}}
    other = {"success_predicate": {"filesystem.fileTextEquals": {"path": "else.txt", "text": "{{word}}"}}}
    draft = changed(draft, free | other, {})
    wrong = wrong_verdict(draft, prover)
    assert wrong.solution == "reference"
    assert again(draft, wrong) is Verdict.FALSE
