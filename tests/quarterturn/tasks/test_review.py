"""Tests of the review verb: what a second person is shown, and that a decision holds for all named tasks or none."""

import io
import sys
from pathlib import Path

import pytest

from grammars.admission.gates import NAMES, Admission, Gate
from grammars.admission.review import CHECKLIST
from grammars.language.grammar import Draft
from quarterturn.cli.daily import review_text
from rotation.month.sets import DEMO, Stratum

from ...terminals import environment, on_a_terminal

pytestmark = pytest.mark.slow

QUARTERTURN = Path(sys.executable).parent / "quarterturn"

GOAL = "Make the folder number-"
GONE = {"op": "filesystem.fileExists", "verdict": "true", "found": "there is something at a"}


@pytest.fixture
def waiting(home, document, opened):
    """Return a home with three tasks of ada and one of grace that wait for a review."""
    house = opened(home)
    ids = []
    for number, stratum in enumerate(list(DEMO.per_cohort)[:4]):
        task = document(stratum, number)
        provenance = {
            "template": "t",
            "skeleton": f"s/{number}",
            "solutions": [{"name": "direct", "calls": [{"tool": "filesystem.x", "arguments": {}}], "answer": None}],
            "mutants": [
                {"name": "gone", "server": "filesystem", "change": {"remove": "a"}},
                {"name": "kept", "answer": "x"},
            ],
        }
        gates = tuple(Gate(place, name, ok=True, detail="it holds") for place, name in NAMES.items())
        evidence = {
            "solutions": {"direct": {"evidence": {"op": "all", "verdict": "true"}, "log": [{}]}},
            "mutants": {
                "gone": {
                    "op": "all",
                    "verdict": "false",
                    "children": [
                        {"op": "answer.none", "verdict": "true", "found": "there is none"},
                        {"op": "not", "verdict": "false", "children": [GONE]},
                    ],
                },
                "kept": {"op": "answer.equals", "verdict": "true", "found": "it is x"},
            },
        }
        admission = Admission(task["id"], gates, evidence)
        author = "grace" if number == 3 else "ada"
        ids.append(house.tasks.drafts.keep(Draft(task, provenance), admission, author=author, public_grammar=False).id)
    return home, ids


def states(say, home) -> dict[str, str]:
    return {row["id"]: row["state"] for row in say("task", "list", "--home", home, "--json").data}


def openings(say, home) -> list[str]:
    return [row["what"] for row in say("access", "log", "--home", home, "--json").data]


def test_waiting_tasks_are_listed_and_nothing_is_opened(waiting, say):
    home, ids = waiting
    assert sorted(say("task", "review", "--as", "grace", "--home", home, "--json").data) == sorted(ids)
    assert "here, quarterturn task review ID --home" in say("task", "review", "--as", "grace", "--home", home).err
    assert openings(say, home) == []


def test_a_task_is_shown_with_its_evidence_and_the_questions(waiting, say):
    home, ids = waiting
    said = say("task", "review", ids[0], "--as", "grace", "--home", home)
    assert said.code == 0
    shown = [GOAL, "Budget     8 calls", "Gate 5     ok", *CHECKLIST.values()]
    shown += ["Solution   direct: executed with 1 call, passes", "1. filesystem.x {}", "State      empty"]
    shown += ['Mutant     gone (filesystem: {"remove": "a"})', "ok: it gets false, as it has to"]
    shown += ["not (filesystem.fileExists): there is something at a", "Mutant     kept (answer: x)", "NO: it gets true"]
    assert not [part for part in shown if part not in said.out]
    assert openings(say, home) == [f"task/{ids[0]}", f"blob/admission/{ids[0]}"]


def test_a_task_whose_branch_is_a_free_parameter_is_shown_with_its_placeholder(home, document, say, opened):
    task = document(Stratum("git", "single-tool", "easy"), 1)
    task |= {
        "goal": "Commit twice on {{topic}}.",
        "success_predicate": {"git.commitCount": {"repository": "r", "branch": "{{topic}}", "count": 2}},
        "free": {"topic": {"from": ["apple-lane", "birch-lane"]}},
    }
    solution = {"name": "direct", "calls": [], "answer": None}
    provenance = {"template": "t", "skeleton": "s/1", "solutions": [solution], "mutants": []}
    house = opened(home)
    gates = tuple(Gate(place, name, ok=True, detail="it holds") for place, name in NAMES.items())
    house.tasks.drafts.keep(
        Draft(task, provenance), Admission(task["id"], gates, {}), author="ada", public_grammar=False
    )
    for verb in ("review", "show"):
        shown = say("task", verb, task["id"], "--as", "grace", "--home", home)
        assert (shown.code, '"{{topic}}"' in shown.out) == (0, True), shown.err


def test_many_tasks_are_one_object_too(waiting, say):
    home, ids = waiting
    data = say("task", "review", "--batch", "--as", "grace", "--home", home, "--json").data
    assert sorted(item["task"]["id"] for item in data) == sorted(ids)
    assert all(item["task"]["goal"].startswith(GOAL) for item in data)
    assert all([gate["number"] for gate in item["gates"]] == [1, 2, 3, 4, 5, 6, 7] for item in data)


def test_one_decision_stands_for_all_or_for_none(waiting, say):
    home, ids = waiting
    before = states(say, home)
    refused = say("task", "review", "--batch", "--approve", "--as", "grace", "--home", home, "--json")
    assert refused.code == 4
    assert f"grace wrote task {ids[3]}" in refused.data["error"]
    assert states(say, home) == before
    approved = say("task", "review", "--batch", "--approve", "--as", "hedy", "--home", home, "--json")
    assert {row["state"] for row in approved.data} == {"reviewed"}
    assert set(states(say, home).values()) == {"reviewed"}


def test_nobody_reviews_alone_what_they_wrote_under_any_spelling(waiting, say):
    home, ids = waiting
    for name in ("ada", "ADA", " Ada "):
        assert say("task", "review", ids[0], "--approve", "--as", name, "--home", home).code == 4
    assert states(say, home)[ids[0]] == "admitted"


def test_a_rejection_needs_a_reason_and_keeps_it_sealed(waiting, say):
    home, ids = waiting
    assert say("task", "review", ids[0], "--reject", " ", "--as", "grace", "--home", home).code == 2
    assert states(say, home)[ids[0]] == "admitted"
    said = say("task", "review", ids[0], "--reject", "the amaranth is ambiguous", "--as", "grace", "--home", home)
    assert (said.code, states(say, home)[ids[0]]) == (0, "rejected")
    assert not any(b"amaranth" in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_a_task_is_reviewed_once(waiting, say):
    home, ids = waiting
    words = ["task", "review", ids[0], "--approve", "--as", "hedy", "--home", home]
    assert say(*words).code == 0
    assert say(*words).code == 4


def test_when_nothing_waits_it_is_said(home, say):
    for words in (["--batch"], [], ["--batch", "--approve"]):
        assert say("task", "review", *words, "--as", "grace", "--home", home).out == "nothing waits for a review\n"


def test_a_shown_task_is_logged_with_who_and_why(waiting, say):
    home, ids = waiting
    assert say("task", "show", ids[0], "--as", "hedy", "--home", home, "--json").data["task"]["id"] == ids[0]
    entry = say("access", "log", "--home", home, "--json").data[0]
    assert (entry["who"], entry["what"], entry["why"]) == ("hedy", f"task/{ids[0]}", "task show")


def test_a_starting_state_is_shown_in_short():
    files = {f"{name}.txt": "x" * 100 for name in "abcde"}
    shown = "\n".join(review_text._state({"filesystem": {"files": files}, "redis": {"keys": [1, 2, 3]}}))
    assert f'"a.txt": "{"x" * 60}… (100 characters)"' in shown
    assert "d.txt" not in shown
    assert '"…": "2 more"' in shown
    assert shown.endswith('State      redis: {"keys": [1, 2, 3]}')


def test_on_a_terminal_each_task_is_approved_rejected_or_left(waiting, say):
    home, ids = waiting
    listed = say("task", "review", "--as", "grace", "--home", home, "--json").data
    first, second, third = (name for name in listed if name != ids[3])
    words = (QUARTERTURN, "task", "review", "--as", "grace", "--home", home)
    code, shown = on_a_terminal(*words, env=environment(), typed=b"what?\na\nr\ntwo readings\nl\n")
    assert code == 0
    after = states(say, home)
    assert [after[name] for name in (first, second, third)] == ["reviewed", "rejected", "admitted"]
    assert [f"Task {number} of 3" in shown for number in (1, 2, 3)] == [True] * 3
    assert "1 approved, 1 rejected, 1 left to review" in shown
    assert "1 waiting tasks are grace's own: somebody else reviews them" in shown
    assert after[ids[3]] == "admitted"
    code, shown = on_a_terminal(*words, env=environment(), typed=b"q\n")
    assert (code, "Task 1 of 1" in shown, "0 approved, 0 rejected, 1 left to review" in shown) == (0, True, True)
    assert states(say, home) == after


@pytest.fixture
def answer(say, monkeypatch):
    def run(home, *lines):
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return say("task", "review", "--one-by-one", "--as", "grace", "--home", home)

    return run


def test_a_person_goes_through_what_others_wrote_question_by_question(waiting, say, answer, opened):
    home, ids = waiting
    before = list(say("task", "review", "--as", "grace", "--home", home, "--json").data)
    first, second, third = (name for name in before if name != ids[3])
    said = answer(home, "y", "y", "y", "what?", "y", "no", "y", "two readings", "s")
    assert said.code == 0, said.err
    assert said.out.count(GOAL) == 3
    after = states(say, home)
    assert [after[name] for name in (first, second, third)] == ["reviewed", "rejected", "admitted"]
    assert after[ids[3]] == "admitted"
    (review,) = opened(home).tasks.drafts.reviews(second)
    assert [review.checklist[key] for key in CHECKLIST] == [True, False, True]


def test_a_person_who_has_had_enough_keeps_what_was_decided(waiting, say, answer):
    home, _ = waiting
    assert answer(home, "y", "y", "y", "y", "q").code == 0
    assert sorted(states(say, home).values()) == ["admitted", "admitted", "admitted", "reviewed"]


def test_one_by_one_takes_no_decision_beforehand(waiting, say):
    home, _ = waiting
    say("task", "review", "--one-by-one", "--approve", "--batch", "--as", "grace", "--home", home).refuses(
        2, "--one-by-one asks a person"
    )
