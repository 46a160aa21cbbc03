"""Tests of twins: what each one makes of a state, that fair ones pass, and that unfair ones do not."""

import io
import re
import zipfile

import pytest

from sandbox.mutations.answer_twins import answer_twins
from sandbox.mutations.mutators import mutate
from sandbox.mutations.twins import TWINS, list_twins
from sandbox.servers.registry import SERVERS
from verifiers import twins
from verifiers.language import predicate
from verifiers.language.in_process import judge
from verifiers.language.verdict import Verdict
from verifiers.tree import FileTree, JudgeInput, Node, tree_of


def seeded(server, state):
    return SERVERS[server].seed(state)


def test_the_list_of_names_is_that_of_the_twins():
    listed = {kind: set(names) for kind, names in twins.TWINS.items() if kind != "answer"}
    assert listed == {kind: set(made) for kind, made in TWINS.items()}
    answers = [({"answer.set": {"items": ["a", "b"]}}, "a, b"), ({"answer.number": {"value": 1234}}, "1234")]
    answers += [({"answer.json": {"value": {"a": 1, "b": 2}}}, '{"a": 1, "b": 2}')]
    made = {name for asked, text in answers for name, _ in answer_twins(predicate.parse(asked), text)}
    assert made == set(twins.TWINS["answer"])


def made(server, before, after, asked=None, answer=None):
    """Return the twins by name, each with its verdict."""
    asked = predicate.parse(asked or {"filesystem.fileExists": {"path": "x"}})
    found = {}
    for mutant, trees in list_twins(asked, {server: before}, {server: after}, answer):
        said = answer if mutant.answer is None else mutant.answer
        found[mutant.name] = judge(asked, JudgeInput(trees, said, baseline={server: before})).verdict, trees[server]
    return found


WORKBOOK = {"name": "Orders", "rows": [["item", "n"], ["tea", 2], ["milk", 3]]}
TOTALS = {"name": "Sums", "rows": [["item", "n"], ["all", "=SUM(Orders!B2:B3)"], ["tea", "=SUMIF(Orders!A2:A3,A2,B1)"]]}
EVENT = {"uid": "e1", "summary": "Plan", "start": "2026-07-06T10:00:00Z", "end": "2026-07-06T11:00:00Z"}
SERIES = {**EVENT, "uid": "e2", "summary": "Weekly", "repeats": {"FREQ": "WEEKLY", "COUNT": "3"}}
FIRST = {"branch": "main", "message": "Begin", "files": {"a": "1"}}
CASES = {
    "calendar": (
        tree_of({}),
        [{"calendar": "work", "add_event": EVENT}, {"calendar": "work", "add_event": SERIES}],
        {"calendar.eventExists": {"summary": "Plan", "start": "2026-07-06T10:00:00Z", "end": "2026-07-06T11:00:00Z"}},
    ),
    "filesystem": (
        tree_of({"a.csv": "n\n1\n"}),
        [{"write": {"path": "a.json", "text": '{"a": 1, "b": 2}'}}, {"write": {"path": "b.csv", "text": "n,m\n1,2\n"}}],
        {
            "all": [
                {"filesystem.fileJsonEquals": {"path": "a.json", "value": {"a": 1, "b": 2}}},
                {"filesystem.fileCsvRows": {"path": "b.csv", "rows": [["n", "m"], [1, 2]]}},
            ]
        },
    ),
    "memory": (
        seeded("memory", {"entities": [{"name": "Ada", "entityType": "person", "observations": ["old"]}]}),
        [
            {"observe": {"name": "Ada", "observation": "one"}},
            {"observe": {"name": "Ada", "observation": "two"}},
        ],
        {"memory.observationsEqual": {"name": "Ada", "observations": ["old", "one", "two"]}},
    ),
    "email": (
        seeded("email", {}),
        [{"send": {"to": ["bob@example.org"], "subject": "Plan", "text": "At 10, Zoë"}}],
        {"email.messageSent": {"to": ["bob@example.org"], "subject": "Plan", "contains": "At 10, Zoë"}},
    ),
    "sqlite": (
        seeded("sqlite", {"tables": {"old": {"columns": [["x", "TEXT"]], "rows": [["1"]]}}}),
        [
            {"sql": "CREATE TABLE sums (item TEXT NOT NULL, n INTEGER)"},
            {"sql": "INSERT INTO sums VALUES ('tea', 2), ('milk', 3)"},
        ],
        {"sqlite.tableEquals": {"table": "sums", "columns": ["item", "n"], "rows": [["tea", 2], ["milk", 3]]}},
    ),
    "git": (
        seeded("git", {"repositories": {"site": {"commits": [FIRST]}}}),
        [{"repository": "site", "commit": {"branch": "main", "message": "Go on", "files": {"b": "2"}}}],
        {"git.headMessage": {"repository": "site", "branch": "main", "equals": "Go on"}},
    ),
    "github": (
        seeded(
            "github",
            {
                "viewer": "ada",
                "users": [{"login": "ada"}],
                "repositories": {
                    "ada/site": {
                        "commits": [FIRST],
                        "issues": [{"title": "Menu", "body": "It is shut."}],
                    }
                },
            },
        ),
        [
            {"repository": "ada/site", "issue": {"number": 1, "body": "It is open.", "labels": ["bug", "ui"]}},
            {"repository": "ada/site", "commit": {"branch": "main", "message": "Go on", "files": {"b": "2"}}},
        ],
        {
            "all": [
                {"github.issueBody": {"repository": "ada/site", "issue": 1, "equals": "It is open."}},
                {"github.issueLabels": {"repository": "ada/site", "issue": 1, "labels": ["bug", "ui"]}},
                {
                    "github.fileAtBranch": {
                        "repository": "ada/site", "branch": "main", "path": "b", "text": "2", "trim": True,
                    }
                },
            ]
        },
    ),
}  # fmt: skip
"""Server to a state, what a solution changes in it, and a fair predicate."""


@pytest.mark.parametrize("server", CASES)
def test_every_twin_of_a_kind_is_made_and_a_fair_predicate_accepts_it(server):
    before, changes, asked = CASES[server]
    after = before
    for change in changes:
        after = mutate(server, after, change)
    found = made(server, before, after, asked)
    kind = SERVERS[server].kind
    assert {name for name in found if name.startswith(kind)} == {f"{kind}/{name}" for name in twins.TWINS[kind]}
    assert {name: verdict for name, (verdict, _) in found.items()} == dict.fromkeys(found, Verdict.TRUE)
    assert not made(server, after, after)


def test_formulas_are_written_in_other_ways_and_lose_the_value_that_the_file_remembers():
    before = seeded("spreadsheet", {"workbooks": {"a.xlsx": {"sheets": [WORKBOOK]}}})
    after = seeded(
        "spreadsheet", {"workbooks": {"a.xlsx": {"sheets": [WORKBOOK, TOTALS, {"name": "N", "rows": [[7]]}]}}}
    )
    found = made(
        "spreadsheet",
        before,
        after,
        {"spreadsheet.cellEquals": {"path": "a.xlsx", "sheet": "Sums", "cell": "B2", "value": 5}},
    )
    assert {name: verdict for name, (verdict, _) in found.items()} == dict.fromkeys(found, Verdict.TRUE)
    assert formulas(found["workbook/absolute"][1]) == ["SUM(Orders!$B$2:$B$3)", "SUMIF(Orders!$A$2:$A$3,$A$2,$B$1)"]
    assert formulas(found["workbook/whole-columns"][1])[0] == "SUM(Orders!B:B)"
    assert formulas(found["workbook/other-function"][1])[0] == "SUMPRODUCT(Orders!B2:B3)"
    assert formulas(found["workbook/formula"][1])[2:] == ["SUM(7)"]


def formulas(tree):
    archive = zipfile.ZipFile(io.BytesIO(tree["a.xlsx"].data))
    parts = [archive.read(name).decode() for name in sorted(archive.namelist()) if "worksheets" in name]
    return re.findall("<f>(.*?)</f>", "".join(parts))


def test_what_was_there_is_no_twins_to_change():
    """A text that was moved, and a file whose last line was there before, stay as they are."""
    before = tree_of({"a.txt": "one\n", "b.txt": "one\ntwo\n"})
    after = tree_of({"moved/a.txt": "one\n", "b.txt": "ONE\ntwo\n"})
    assert not made("filesystem", before, after)


UNFAIR = [
    ({"answer.equals": {"text": "Blue"}}, ["Blue or Red", "`Blue` `Red`", "**Blue** or **Red**", "Blue, Red", "Blue?"]),
    ({"answer.set": {"items": ["a", "b"]}}, ["a, b, c", "a", "a or b", "a, b and c", '["a", "b", "c"]']),
    ({"answer.number": {"value": 1234}}, ["1234 or 1235", "1234.4", "1.234", "-1234", "1,2,3,4", "12,34"]),
    ({"answer.json": {"value": {"a": 1}}}, ['{"a": 1, "b": 2}', '{"a": "1"}', '[{"a": 1}]', '{"A": 1}']),
]


@pytest.mark.parametrize(("asked", "answer"), [(asked, answer) for asked, answers in UNFAIR for answer in answers])
def test_an_answer_that_hedges_or_says_more_is_false(asked, answer):
    assert judge(predicate.parse(asked), JudgeInput({}, answer)).verdict is Verdict.FALSE


def test_a_wall_clock_of_another_zone_is_another_moment():
    line = b"DTSTART;TZID=America/New_York:20260706T100000"
    item = mutate("calendar", FileTree({}), {"calendar": "work", "add_event": EVENT})
    tree = FileTree(
        {path: Node("file", data=node.data.replace(b"DTSTART:20260706T100000Z", line)) for path, node in item.items()}
    )
    asked = predicate.parse({"calendar.eventExists": {"summary": "Plan", "start": EVENT["start"]}})
    assert judge(asked, JudgeInput({"calendar": item})).verdict is Verdict.TRUE
    assert judge(asked, JudgeInput({"calendar": tree})).verdict is Verdict.FALSE
