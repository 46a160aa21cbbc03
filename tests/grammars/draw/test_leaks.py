"""Tests of the check that no value that a solution must produce already stands in the task."""

import pytest

from grammars.draw import leaks as leak_check
from grammars.draw.leaks import leaks, produced
from verifiers.language.catalogue import CATALOGUE


def document(predicate, state=None, goal="Do it."):
    return {"goal": goal, "initial_state": state or {}, "success_predicate": {"all": [predicate]}}


ANSWER = {"answer.equals": {"text": "tulip-47"}}


@pytest.mark.parametrize(
    ("state", "place"),
    [
        ({"filesystem": {"files": {"a.txt": "it is Tulip-47, really"}}}, "initial_state.filesystem"),
        ({"filesystem": {"files": {"a/tulip-47.txt": ""}}}, "a name in initial_state.filesystem"),
        ({"git": {"repositories": {"r": {"commits": [{"message": "fix tulip-47"}]}}}}, "initial_state.git"),
        ({"git": {"repositories": {"r": {"branches": {"feature/tulip-47": "main"}}}}}, "a name in initial_state.git"),
        ({"sqlite": {"tables": {"t": {"rows": [[1, "tulip-47"]]}}}}, "initial_state.sqlite"),
    ],
)
def test_an_answer_that_lies_about_is_found_wherever_it_lies(state, place):
    assert leaks(document(ANSWER, state)) == [place]
    assert leaks(document(ANSWER, state), given=["tulip-47"]) == []
    assert leaks(document(ANSWER, state), given=[["x", "Tulip-47"]]) == []


def test_the_goal_and_the_descriptions_are_looked_at_too():
    assert leaks(document(ANSWER, goal="Say tulip-47.")) == ["the goal"]
    assert leaks(document(ANSWER), descriptions={"git.git_log": "Shows tulip-47"}) == ["the description of git.git_log"]


def test_only_whole_words_and_whole_numbers_count_and_very_short_values_do_not():
    number = {"answer.number": {"value": 471}}
    near = {"sqlite": {"tables": {"t": {"rows": [[4711, "x471", 47.1, "1471"]]}}}}
    assert leaks(document(number, near)) == []
    assert leaks(document(number, {"sqlite": {"tables": {"t": {"rows": [[471]]}}}})) == ["initial_state.sqlite"]
    assert leaks(document({"answer.number": {"value": 7}}, {"sqlite": {"tables": {"t": {"rows": [[7]]}}}})) == []
    assert leaks(document(ANSWER, {"filesystem": {"files": {"a": "xtulip-47"}}})) == []


def test_a_whole_text_that_is_moved_or_kept_is_not_produced():
    moved = {"filesystem.fileTextEquals": {"path": "b.txt", "text": "two words\n"}}
    assert leaks(document(moved, {"filesystem": {"files": {"a.txt": "two words\n"}}})) == []
    assert leaks(document(moved, {"filesystem": {"files": {"a.txt": "not two words, but more"}}})) != []
    kept = {"filesystem.fileTextEquals": {"path": "a.txt", "text": "471"}}
    assert leaks(document(kept, {"filesystem": {"files": {"a.txt": "471"}}})) == []


def test_values_of_negated_predicates_are_not_produced():
    predicate = {
        "any": [{"not": ANSWER}, {"filesystem.fileJsonEquals": {"path": "a", "value": {"k": ["deep", 12345]}}}]
    }
    assert produced(document(predicate)) == {"deep", "12345"}


REDIS = {"lists": {"queue": ["wolf", "1234"]}, "hashes": {"account": {"credits": "5678", "owner": "Vidal"}}}


@pytest.mark.parametrize(
    ("predicate", "made"),
    [
        ({"redis.hashEquals": {"key": "account", "fields": {"credits": "6000", "owner": "Vidal"}}}, {"6000"}),
        ({"redis.hashEquals": {"key": "account", "fields": {"credits": "5678", "owner": "Ortiz"}}}, {"Ortiz"}),
        ({"redis.listEquals": {"key": "queue", "values": ["1234", "wolf", "lily"]}}, {"lily"}),
        ({"redis.stringEquals": {"key": "total", "value": "5678"}}, {"5678"}),
        ({"redis.scoreEquals": {"key": "board", "member": "wolf", "score": 42.5}}, {"42.5"}),
        ({"redis.stringEquals": {"key": "first", "value": "wolf"}}, set()),
    ],
)
def test_only_the_new_values_of_a_whole_state_are_produced(predicate, made):
    assert produced(document(predicate, {"redis": REDIS})) == made


def test_a_sum_that_lies_under_another_key_is_found():
    predicate = {"redis.stringEquals": {"key": "total", "value": "5678"}}
    assert leaks(document(predicate, {"redis": REDIS})) == ["initial_state.redis"]


def test_words_for_people_must_not_lie_in_the_graph_or_in_the_forge():
    graph = {"entities": [{"name": "Ann", "observations": ["lives in Cork", "was told: badge 940"]}]}
    noted = {"memory.observationsEqual": {"name": "Ann", "observations": ["lives in Cork", "badge 940"]}}
    assert leaks(document(noted, {"memory": graph})) == ["initial_state.memory"]
    forge = {"repositories": {"a/b": {"issues": [{"title": "Old title", "body": "the text is Otter creek"}]}}}
    said = {"github.issueCommented": {"repository": "a/b", "number": 1, "equals": "Otter creek"}}
    assert leaks(document(said, {"github": forge})) == ["initial_state.github"]
    kept = {"github.issueTitle": {"repository": "a/b", "number": 1, "equals": "Old title"}}
    assert produced(document(kept, {"github": forge})) == set()


CELL = {"table": "t", "where": {"id": 1}, "column": "c", "value": 4711}
LEAKING = {
    "answer": {"answer.number": {"value": 4711}},
    "calendar": {"calendar.eventExists": {"summary": "Plan", "description": "badge 4711"}},
    "email": {"email.attachmentExists": {"recipient": "a@b.example", "name": "a.txt", "text": "badge 4711"}},
    "filesystem": {"filesystem.fileLines": {"path": "a.txt", "lines": ["4711"]}},
    "git": {"git.fileAtRef": {"repository": "r", "ref": "main", "path": "a.txt", "text": "badge 4711\n"}},
    "github": {"github.issueBody": {"repository": "a/b", "issue": 1, "contains": "badge 4711"}},
    "json_document": {"json_document.textContains": {"pointer": "/title", "text": "badge 4711"}},
    "memory": {"memory.observationExists": {"name": "Ann", "observation": "badge 4711"}},
    "postgres": {"postgres.cellEquals": CELL},
    "redis": {"redis.scoreEquals": {"key": "board", "member": "Ann", "score": 4711}},
    "spreadsheet": {"spreadsheet.columnSum": {"path": "a.xlsx", "sheet": "S", "column": "n", "sum": 4711}},
    "sqlite": {"sqlite.rowExists": {"table": "t", "where": {"c": 4711}}},
}
"""A predicate of each namespace that wants 4711 produced."""


@pytest.mark.parametrize("space", LEAKING)
def test_a_leak_is_found_whatever_kind_of_predicate_wants_the_value(space):
    lying = {"filesystem": {"files": {"notes/b.txt": "they say: badge 4711."}}}
    assert leaks(document(LEAKING[space], lying)) == ["initial_state.filesystem"]
    assert leaks(document(LEAKING[space], lying), given=[4711, "badge 4711"]) == []


def test_every_namespace_has_a_predicate_that_produces_something():
    assert {name.partition(".")[0] for name, entry in CATALOGUE.items() if entry.produces} == set(LEAKING)
    assert {name.partition(".")[0] for name in CATALOGUE} == set(LEAKING)


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.produces])
def test_the_check_asks_each_predicate_what_it_produces(name):
    arguments = dict(CATALOGUE[name].example.arguments)
    shown = {key: ["tulip-47"] for key in CATALOGUE[name].produces}
    assert leaks(document({name: arguments | shown}, goal="Say tulip-47.")) == ["the goal"]
    assert not leaks(document({name: arguments}, goal="Say tulip-47."))


def test_the_check_keeps_no_table_of_predicates_of_its_own():
    kept = [value for value in vars(leak_check).values() if value is not CATALOGUE and not callable(value)]
    assert not [value for value in kept if isinstance(value, dict) and set(value) & set(CATALOGUE)]


def test_a_text_that_a_commit_only_takes_in_is_not_produced():
    taken = {"git.fileAtRef": {"repository": "r", "ref": "main", "path": "a.txt", "text": "badge 4711\n"}}
    tree = {"git": {"repositories": {"r": {"files": {"a.txt": "badge 4711\n"}}}}}
    assert leaks(document(taken, tree)) == []
    message = {"git.headMessage": {"repository": "r", "branch": "main", "equals": "badge 4711"}}
    assert leaks(document(message, tree)) == ["initial_state.git"]
