"""Tests of the importers of MCP-Universe and of plain rows, and of the drafts that come of them."""

import json

import pytest

from grammars.errors import Malformed
from quarterturn_import.importers.conversion import convert
from quarterturn_import.importers.mcp_universe import EVALUATORS, read_task
from quarterturn_import.importers.rows import read_rows
from vault.task.document import Task
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.states.forge.examples import ISSUE, PULL, forge

TOOLS = {"filesystem": [f"f{n}" for n in range(14)], "github": [f"g{n}" for n in range(26)]}
OWN = {"owner": "{{GITHUB_PERSONAL_ACCOUNT_NAME}}", "repo": "site"}
FILE = {**OWN, "path": "footer.html", "branch": "main"}
INDEX = {**OWN, "path": "index.html", "branch": "draft"}


def task(*evaluators):
    return json.dumps({"question": "Do it.", "evaluators": [{"func": "raw", **one} for one in evaluators]})


def verdict(view, operation, arguments, value=None):
    read = read_task(task({"op": f"github.{operation}", "op_args": arguments, "value": value}), "made-up", "acme")
    assert not read.reasons
    return judge(parse(read.formula), view).verdict is Verdict.TRUE


LABELLED = forge(
    {**ISSUE, "labels": ["bug", "ui"], "comments": [{"user": "ada", "body": "Hi @acme"}]},
    merged=True,
    extra={"empty": ""},
)
COUNTED = {"search_repo_owner": "acme", "search_repo_name": "si", "issue_state": "open", "issue_labels": []}
CASES = [
    ("check_repository", "acme/site", None, True),
    ("check_repository", "repo:acme/other fork:true", None, False),
    ("check_repository", "acme/Site", None, False),
    ("check_branches_exist", {**OWN, "branches": ["main", "draft"]}, None, True),
    ("check_branches_exist", {**OWN, "branches": ["main", "dev"]}, None, False),
    ("check_file_content", FILE, "bye", True),
    ("check_file_content", FILE, "by", False),
    ("check_file_content", {**FILE, "path": "index.html"}, INDEX, True),
    ("check_file_content", FILE, INDEX, False),
    ("check_file_content", {**FILE, "path": "empty"}, {**FILE, "path": "empty"}, False),
    ("check_file_exist", FILE, None, True),
    ("check_file_not_exist", FILE, None, False),
    ("check_file_not_exist", {**FILE, "branch": "nowhere"}, None, True),
    ("file_content_include", FILE, ["b", "ye"], True),
    ("file_content_include", FILE, ["b", "z"], False),
    ("check_number_of_issues", {**OWN, "title": "Menu", "labels": ["bug"], "state": "open"}, 1, True),
    ("check_number_of_issues", {**OWN, "title": "Men", "state": "all"}, 1, False),
    ("check_number_of_issues", {**OWN, "title": "Menu", "labels": ["Bug"]}, 1, False),
    ("check_number_of_issues", {**OWN, "comments": "Hi @[repo owner name]"}, 1, True),
    ("check_repository_with_fewest_issues", {**OWN, "repos": ["acme/site"], "issue_state": "open"}, None, True),
    ("check_file_content_and_issue_count", {**FILE, **COUNTED, "file_type": "json"}, None, False),
]


@pytest.mark.parametrize(("operation", "arguments", "value", "expected"), CASES)
def test_an_evaluator_becomes_a_predicate(operation, arguments, value, expected):
    assert verdict(LABELLED, operation, arguments, value) is expected


def test_a_pull_request_is_compared_by_what_the_original_compares():
    view = forge({**PULL, "title": "A footer", "body": "All of it"})
    ends = {**OWN, "base": "main", "head": "draft"}
    assert verdict(view, "check_pull_request", ends, {"title": "Else"}), "the original does not read `value`"
    assert verdict(view, "check_pull_request", {**ends, "title": "A footer", "body": "All of it"})
    assert not verdict(view, "check_pull_request", {**ends, "title": "A footer", "body": "All"})


def test_what_has_no_predicate_is_told_by_its_place_and_the_rest_comes_partly():
    text = task({"op": "github.check_repository", "op_args": "acme/site"}, {"op": "github.stars", "op_args": {}})
    made = convert(read_task(text, "made-up", "acme"), TOOLS)
    assert (made.outcome, made.reasons) == ("partly", ("made-up: evaluators[1]: no predicate says github.stars",))
    assert made.missing == ("the initial state", "a reference solution")
    assert Task.parse(made.line["task"]).server == "github"
    assert convert(read_task(task({"op": "github.stars"}), "made-up", "acme"), TOOLS).outcome == "not"


def test_a_task_that_needs_another_server_too_comes_partly():
    document = json.loads(task({"op": "github.check_repository", "op_args": "acme/site"}))
    servers = [{"name": "playwright"}, {"name": "github"}]
    made = convert(read_task(json.dumps(document | {"mcp_servers": servers}), "made-up", "acme"), TOOLS)
    assert (made.outcome, made.reasons) == ("partly", ("made-up: mcp_servers: the task needs playwright, too",))
    assert not read_task(json.dumps(document | {"mcp_servers": servers[1:]}), "made-up", "acme").reasons


@pytest.mark.parametrize(
    "text", ["[]", "{}", "no", '{"question": 1, "evaluators": []}', '{"question": "a", "evaluators": [1]}']
)
def test_a_file_that_is_no_task_does_not_come(text):
    made = convert(read_task(text, "made-up", "acme"), TOOLS)
    assert (made.outcome, made.line) == ("not", None)
    assert "it is no task" in made.reasons[0]


def test_every_evaluator_says_what_it_lacks():
    for operation in EVALUATORS:
        assert read_task(task({"op": operation, "op_args": {}}), "made-up", "acme").reasons


ROW = {"goal": "Write a.", "predicate": {"filesystem.fileTextEquals": {"path": "out/a.txt", "text": "hi\n"}}}


def test_a_row_comes_whole_with_the_solution_that_its_predicate_implies():
    (source,) = read_rows(json.dumps(ROW | {"state": {"filesystem": {"files": {"b": "x"}}}}), "rows.jsonl")
    made = convert(source, TOOLS)
    assert (made.outcome, made.missing) == ("whole", ())
    (solution,) = made.line["provenance"]["solutions"]
    assert [call["tool"] for call in solution["calls"]] == ["filesystem.create_directory", "filesystem.write_file"]
    assert Task.parse(made.line["task"]).difficulty == "medium"


def test_no_solution_is_derived_that_does_not_certainly_hold():
    parts = [ROW["predicate"], {"filesystem.pathAbsent": {"path": "b"}}]
    (source,) = read_rows(
        json.dumps(ROW | {"predicate": {"all": parts}, "state": {"filesystem": {"files": {"b": ""}}}}), "r"
    )
    assert convert(source, TOOLS).missing == ("a reference solution",)


def test_rows_of_csv_hold_json_in_their_cells():
    cell = json.dumps(ROW["predicate"]).replace('"', '""')
    (source,) = read_rows(f'name,goal,predicate,difficulty\nfirst,Write a.,"{cell}",hard\n', "rows.csv")
    assert convert(source, TOOLS).line["task"]["difficulty"] == "hard"


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        ("", "a.jsonl", "has no rows"),
        ("{", "a.jsonl", "a.jsonl, line 1: it is not JSON"),
        ('{"goal": "a"}', "a.jsonl", "line 1: it lacks `predicate`"),
        ('{"goal": "a", "predicate": {}, "x": 1}', "a.jsonl", "line 1: unknown columns x"),
        ("goal,predicate\na\n", "a.csv", "line 2: it has another number of cells"),
        ("goal,predicate\na,{\n", "a.csv", "line 2: the column predicate is not JSON"),
    ],
)
def test_a_bad_row_is_told_by_its_line(text, name, says):
    with pytest.raises(Malformed, match=says):
        read_rows(text, name)


def test_a_row_with_a_bad_predicate_does_not_come():
    (source,) = read_rows(json.dumps(ROW | {"predicate": {"filesystem.nothing": {}}}), "a.jsonl")
    assert "there is no predicate of this name" in convert(source, TOOLS).reasons[0]
