"""Tests of the frame: what a reader reads is compared, and only what a selection names may change."""

import io
import json
import re
import zipfile
from dataclasses import replace
from typing import Any

import pytest

from verifiers.formats.snapshot import written
from verifiers.language.catalogue import CATALOGUE
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.normal_form import NormalState
from verifiers.predicates import namespaces
from verifiers.predicates.namespaces import known
from verifiers.states.changes import describe, list_changes
from verifiers.states.damage import list_damages
from verifiers.states.files.examples import files
from verifiers.states.forge.examples import forge as example_forge
from verifiers.states.forge.examples import repository_record
from verifiers.states.git.examples import repository
from verifiers.states.items import SORTS, Item, items_of
from verifiers.states.mailbox.writer import NewMessage, maildir
from verifiers.states.own_changes import is_server_change
from verifiers.states.postgres.examples import postgres_database
from verifiers.states.readers import read_all
from verifiers.states.sqlite.examples import database
from verifiers.states.workbook.examples import workbook
from verifiers.tree import FileTree, JudgeInput, Node, tree_of

BASE = [
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, n INT)",
    "INSERT INTO t VALUES (1, 'Ada', 5), (2, 'Bob', 6)",
]
LEFT_OUT = {
    "calendar": {"unread/*/1"},  # of what a line is a part, which its place says too
    # a message's file says when it was delivered, and its flags; what was sent has no folder, flags, or time of its own
    "email": {"kept/*/0", *(f"sent/*/{part}" for part in (0, 1, 2, 13))},
    "filesystem": {"entries/*/3"},  # of a folder, which holds nothing itself
    # a commit names its tree by a digest, so another tree is another commit
    "git": {f"repositories/*/trees/*/*/{part}" for part in range(3)},
    "github": {
        "forge/schema",
        "forge/repositories/*/issues/*/number",  # the key that the issue is under
        "forge/repositories/*/issues/*/pull/merged_at",  # another time is no other merge
        # where a branch was when somebody last looked
        *(f"forge/repositories/*/issues/*/pull/{end}/sha" for end in ("head", "base")),
        *(f"repositories/*/index/entries/*/{part}" for part in range(3)),  # its repositories are bare
        *(f"repositories/*/trees/*/*/{part}" for part in range(3)),
    },
    "postgres": {"sequences/*/1"},  # one value more: a rollback takes none back
    # what a formula shows follows from other cells, and who calculated it from the program that wrote the file
    "spreadsheet": {"books/*/sheets/*/cells/*/2", "books/*/sheets/*/cells/*/4"},
}
"""Places of a normal form that no item tells of, each with its reason."""


def framed(after, before, *excepted):
    (name,) = after.states
    document = {f"{name}.unchanged": {"except": list(excepted)} if excepted else {}}
    return judge(parse(document), replace(after, baseline=before.states))


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, (*path, place))
    else:
        yield path, value


def with_leaf(document, path, value):
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = with_leaf(document[path[0]], path[1:], value)
    return copy


def states(namespace):
    for name, entry in CATALOGUE.items():
        if name.partition(".")[0] == namespace:
            yield from read_all({namespace: entry.example.holds().states[namespace]}).values()


@pytest.mark.parametrize("namespace", known())
def test_every_value_that_a_reader_reads_is_in_an_item(namespace):
    unseen, looked_at = set(), 0
    for state in states(namespace):
        items = items_of(namespace, state)
        for path, value in leaves(state.document):
            other = value + 1 if isinstance(value, int) and not isinstance(value, bool) else f"{value}~"
            try:
                changed = items_of(namespace, replace(state, document=with_leaf(state.document, path, other)))
            except (LookupError, TypeError, ValueError):
                continue  # no reader writes this
            looked_at += 1
            if next(list_changes(items, changed), None) is None:
                unseen.add(place_of(path))
    assert looked_at
    assert unseen <= LEFT_OUT.get(namespace, set())


def place_of(path):
    """Write a path with stars for what tells things apart, and its last step as it is."""
    named = (step if isinstance(step, str) and not re.search(r"[^a-z_]|^site$", step) else "*" for step in path[:-1])
    return "/".join([*named, str(path[-1])])


@pytest.mark.parametrize("namespace", known())
def test_the_sorts_that_a_selection_can_name_are_those_that_there_are(namespace):
    sorts = {item.sort for state in states(namespace) for item in items_of(namespace, state).values()}
    assert sorts <= set(SORTS[namespaces.kind_of(namespace)])


def test_a_change_that_nobody_enumerated_is_noticed_and_named():
    before = database(BASE)
    for statement, named in (
        ("CREATE TABLE junk (a)", "table junk, added"),
        ("ALTER TABLE t ADD COLUMN extra TEXT", "table t, sql changed; column extra of t, added"),
        ("CREATE INDEX i ON t (n)", "index i, added"),
        ("CREATE VIEW v AS SELECT 1", "view v, added"),
        ("PRAGMA user_version = 7", "database, user_version changed"),
        ("PRAGMA application_id = 7", "database, application_id changed"),
        ("UPDATE t SET n = 'x' WHERE id = 1", "t row id = 1, n changed"),
        ("DELETE FROM t WHERE id = 2", "t row id = 2, removed"),
    ):
        evidence = framed(database([*BASE, statement]), before)
        assert evidence.verdict is Verdict.FALSE
        assert named in evidence.found


def test_a_selection_lets_through_what_it_names_and_as_often_as_it_says():
    before = database(BASE)
    added = {"item": "row", "where": {"table": "t", "name": "Cy"}, "add": 1}
    once, twice = "INSERT INTO t VALUES (3, 'Cy', 7)", "INSERT INTO t VALUES (4, 'Cy', 7)"
    assert framed(database([*BASE, once]), before, added).verdict is Verdict.TRUE
    assert framed(database([*BASE, once, twice]), before, added).verdict is Verdict.FALSE
    renamed = {"item": "row", "where": {"table": "t", "id": {"any": [2, 9]}}, "change": ["name"]}
    assert framed(database([*BASE, "UPDATE t SET name = 'B'  WHERE id = 2"]), before, renamed).verdict is Verdict.TRUE
    assert framed(database([*BASE, "UPDATE t SET name = 'B', n = 1"]), before, renamed).verdict is Verdict.FALSE
    assert framed(database([*BASE, "DELETE FROM t WHERE id = 2"]), before, renamed).verdict is Verdict.FALSE


def test_what_a_server_does_by_itself_is_no_change():
    keyed = ["CREATE TABLE k (id INTEGER PRIMARY KEY AUTOINCREMENT)", "INSERT INTO k VALUES (1)"]
    used_up = [*keyed, "INSERT INTO k DEFAULT VALUES", "DELETE FROM k WHERE id > 1", "ANALYZE"]
    assert framed(database(used_up), database(keyed)).verdict is Verdict.TRUE


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("INSERT INTO t VALUES (3, 'Cy', 5)", Verdict.TRUE),  # measured before
        ("DELETE FROM sqlite_stat1", Verdict.TRUE),
        ("UPDATE sqlite_stat1 SET stat = '900 1'", Verdict.FALSE),
        ("UPDATE sqlite_stat1 SET stat = '2 9' WHERE idx = 'i'", Verdict.FALSE),
        ("UPDATE sqlite_stat1 SET stat = 'x'", Verdict.FALSE),
        ("INSERT INTO sqlite_stat1 VALUES ('nothing', NULL, '2')", Verdict.FALSE),
    ],
)
def test_what_analyze_measured_is_no_change_and_what_was_set_by_hand_is(statement, verdict):
    indexed = [*BASE, "CREATE INDEX i ON t (n)"]
    row = {"item": "row", "where": {"table": "t", "id": 3}, "add": 1}
    assert framed(database([*indexed, "ANALYZE", statement]), database(indexed), row).verdict is verdict


def test_statistics_that_are_taken_away_are_a_change():
    measured = [*BASE, "ANALYZE"]
    assert "table t, statistics" in framed(database([*measured, "DELETE FROM sqlite_stat1"]), database(measured)).found


KEYED = ["CREATE TABLE k (id INTEGER PRIMARY KEY AUTOINCREMENT, v)", "INSERT INTO k VALUES (7, 'a')"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sqlite_sequence SET seq = 500",
        "UPDATE sqlite_sequence SET seq = 3",
        "UPDATE sqlite_sequence SET seq = 'x'",
        "DELETE FROM sqlite_sequence",
        "INSERT INTO sqlite_sequence VALUES ('nothing', 1)",
        "PRAGMA encoding = 'UTF-16'",
    ],
)
def test_a_key_counter_that_was_set_by_hand_is_a_change(statement):
    pragmas = [statement] if statement.startswith("PRAGMA") else []
    after = database([*pragmas, *KEYED, *([statement] if not pragmas else [])])
    assert framed(after, database(KEYED)).verdict is Verdict.FALSE


def test_keys_that_rows_used_up_are_no_change_of_their_table():
    row = {"item": "row", "where": {"table": "k", "id": 5000}, "add": 1}
    after = database(
        [*KEYED, "INSERT INTO k VALUES (5000, 'b')", "INSERT INTO k (v) VALUES ('c')", "DELETE FROM k WHERE id = 5001"]
    )
    assert framed(after, database(KEYED), row).verdict is Verdict.TRUE
    empty, emptied = JudgeInput({"sqlite": tree_of({"main.db": b""})}), ["CREATE TABLE t (a)", "DROP TABLE t"]
    assert framed(database(emptied), empty).verdict is Verdict.TRUE
    assert framed(database(["PRAGMA page_size = 1024", *emptied]), empty).verdict is Verdict.FALSE


def with_parts(run, edit):
    """Edit the text of each part of the one workbook in a state; parts that `edit` lists for "" are added."""
    (tree,) = run.states.values()
    (path,) = tree
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(tree[path].data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, edit(name, old.read(name).decode()))
        for name, text in edit("", "") or ():
            new.writestr(name, text)
    return replace(run, states={"spreadsheet": type(tree)({path: replace(tree[path], data=out.getvalue())})})


def in_part(part, old, new):
    return lambda name, text: text.replace(old, new, 1) if name == part else text


SHEET, STYLES, BOOK = "xl/worksheets/sheet1.xml", "xl/styles.xml", "xl/workbook.xml"
VIEW = '<sheetViews><sheetView zoomScale="{}" showGridLines="{}" workbookViewId="0"/></sheetViews>'


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (in_part(SHEET, "</sheetData>", '</sheetData><sheetProtection sheet="1"/>'), "sheetProtection of A"),
        (in_part(SHEET, "<sheetData>", '<cols><col min="1" max="1" width="40"/></cols><sheetData>'), "column 1 of A"),
        (in_part(SHEET, '<row r="1"', '<row hidden="1" r="1"'), "row 1 of A"),
        (in_part(STYLES, "<fonts", '<numFmts count="0"/><fonts'), ""),
        (in_part(SHEET, '<c r="A1"', '<c s="1" r="A1"'), ""),  # a date's format says how its value is shown
        (in_part(BOOK, "</workbook>", '<calcPr calcId="1" fullCalcOnLoad="1"/></workbook>'), ""),
        (in_part(BOOK, "</workbook>", '<calcPr calcMode="manual"/></workbook>'), "calcPr"),
        (in_part(BOOK, "<sheets>", '<workbookPr date1904="1"/><sheets>'), "days"),
        (in_part(SHEET, "<sheetData>", f"{VIEW.format(100, 1)}<sheetData>"), ""),
        (in_part(SHEET, "<sheetData>", f"{VIEW.format(77, 1)}<sheetData>"), "sheetViews of A"),
        (in_part(SHEET, "<sheetData>", f"{VIEW.format(100, 0)}<sheetData>"), "sheetViews of A"),
        (
            in_part(SHEET, "<sheetData>", '<cols><col min="1" max="1" width="13" customWidth="1"/></cols><sheetData>'),
            "",
        ),
        (in_part(SHEET, "</sheetData>", '</sheetData><printOptions gridLines="0"/>'), ""),
        (lambda name, text: text if name else [("xl/charts/chart1.xml", "<c/>")], "part xl/charts/chart1.xml"),
        (lambda name, text: text if name else [("docProps/core.xml", "<dc:title>x</dc:title>")], "property title"),
    ],
)
def test_what_a_workbook_has_beside_values_is_compared(edit, named):
    before = workbook("a.xlsx", {"A": [["1", 2]]})
    evidence = framed(with_parts(before, edit), before)
    assert evidence.verdict is (Verdict.FALSE if named else Verdict.TRUE)
    assert f"{named}, added" in evidence.found or not named


AS_TEXT = workbook("a.xlsx", {"A": [["1", "2020-06-18"]]})
AS_DATE = with_parts(
    AS_TEXT,
    lambda name, text: re.sub('<c r="B1".*?</c>', '<c r="B1" s="1"><v>44000</v></c>', text) if name == SHEET else text,
)


def test_a_text_that_stands_in_the_place_of_a_date_is_a_change():
    assert framed(AS_TEXT, AS_DATE).found.endswith("A row 1, B changed")


def test_a_date_that_is_shown_as_a_time_is_a_change_and_a_time_is_none():
    as_time = with_parts(AS_DATE, in_part(STYLES, 'formatCode="yyyy\\-mm\\-dd"', 'formatCode="hh:mm:ss"'))
    assert framed(as_time, AS_DATE).found.endswith("format of A!B1, added")
    assert "format" not in framed(with_parts(as_time, in_part(SHEET, "44000", "0.5")), AS_DATE).found


def test_a_bold_cell_is_a_change():
    before = workbook("a.xlsx", {"A": [["1", 2]]})

    def bold(name, text):
        if name == STYLES:
            font, xf = "<font><b/></font></fonts>", '<xf numFmtId="0" fontId="1" fillId="0" borderId="0"/></cellXfs>'
            return text.replace("</fonts>", font).replace("</cellXfs>", xf)
        return text.replace('<c r="A1"', '<c s="3" r="A1"') if name == SHEET else text

    assert "format of A!A1, added" in framed(with_parts(before, bold), before).found


def test_a_file_beside_a_database_and_a_header_of_a_message_are_changes():
    before = database(BASE)
    (tree,) = before.states.values()
    run = replace(before, states={"sqlite": type(tree)({**tree, "copy.db": tree["main.db"]})})
    assert "file copy.db, added" in framed(run, before).found
    letter = NewMessage("a@example.org", "a@example.org", ["b@example.org"], "Hi", "Hello")
    before = JudgeInput({"email": maildir({}, [letter])})
    (tree,) = before.states.values()
    (path,) = (path for path, node in tree.items() if node.kind == "file" and path.startswith("outbox"))
    data = tree[path].data.replace(b"Subject:", b"Reply-To: c@example.org\nSubject:")
    run = replace(before, states={"email": type(tree)({**tree, path: replace(tree[path], data=data)})})
    assert "sent message a@example.org, headers changed" in framed(run, before).found


HOOK = "site/.git/hooks/pre-commit"


@pytest.mark.parametrize(
    ("name", "path", "data"),
    [
        ("git", HOOK, b"#!/bin/sh"),
        ("git", "site/.git/info/exclude", b"*.txt"),
        ("git", "site/.git/MERGE_HEAD", b"0" * 40),
        ("git", "junk.txt", b""),
        ("calendar", "collection-root/agent/work/.Radicale.props", b'{"D:displayname": "x"}'),
        ("memory", "other.jsonl", b""),
        ("email", "Maildir/.dovecot.sieve", b"discard;"),
        ("github", "repositories/acme/site.git/hooks/update", b"#!/bin/sh"),
    ],
)
def test_a_file_that_no_reader_reads_is_compared(name, path, data):
    before = JudgeInput({name: next(iter(CATALOGUE[f"{name}.unchanged"].example.holds().states.values()))})
    (tree,) = before.states.values()
    run = replace(before, states={name: FileTree({**dict(tree.items()), path: Node("file", data)})})
    assert f"file {path}, " in framed(run, before).found


@pytest.mark.parametrize("path", ["site/.git/logs/HEAD", "site/.git/COMMIT_EDITMSG", "site/.git/objects/info/packs"])
def test_a_file_that_git_keeps_for_itself_is_no_change(path):
    before = repository([("main", "First", {"a": "1\n"})])
    (tree,) = before.states.values()
    run = replace(before, states={"git": FileTree({**dict(tree.items()), path: Node("file", b"x")})})
    assert framed(run, before).verdict is Verdict.TRUE


def test_what_an_event_has_that_no_predicate_asks_for_is_compared_and_belongs_to_it():
    def calendar(*lines):
        item = ["BEGIN:VCALENDAR", "PRODID:-//x", "BEGIN:VEVENT", "UID:e1", "SUMMARY:Plan", "DTSTART:20260105T100000Z"]
        data = "\r\n".join([*item, *lines, "END:VEVENT", "END:VCALENDAR", ""]).encode()
        return JudgeInput({"calendar": tree_of({"collection-root/agent/work/e1.ics": data})})

    cache = "collection-root/agent/work/.Radicale.cache/item/e1.ics"
    cached = FileTree(
        {**dict(calendar().states["calendar"].items()), cache: Node("file", b"BEGIN:VEVENT\nUID:e1\nX-A:1")}
    )
    assert framed(JudgeInput({"calendar": cached}), calendar()).verdict is Verdict.TRUE
    alarm = ["BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:-PT15M", "END:VALARM"]
    for lines in (alarm, ["CLASS:PRIVATE"], ["X-NOTE:a", " b"], ["PERCENT-COMPLETE:50"]):
        assert "other lines of" in framed(calendar(*lines), calendar()).found
    own = ("SEQUENCE:2", "LAST-MODIFIED:20260105T100000Z", "PERCENT-COMPLETE:100")
    assert framed(calendar(*own), calendar()).verdict is Verdict.TRUE
    empty = JudgeInput({"calendar": tree_of({})})
    assert framed(calendar(*alarm), empty, {"item": "event", "add": 1}).verdict is Verdict.TRUE
    states = (read_all(run.states)["calendar"] for run in (empty, calendar(*alarm)))
    assert not [change for change, _ in list_damages("calendar", *states) if change.after.sort == "file"]


LETTER = NewMessage("a@example.org", "Ann <a@example.org>", ["b@example.org"], "Hi", "Hello")


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"Ann <", b"Anna <"), (b"Date: Mon, 05 Jan 2026", b"Date: Tue, 06 Jan 2026"), (b"text/plain", b"text/html")],
)
def test_what_is_written_of_a_kept_message_beside_its_text_is_compared(old, new):
    before = JudgeInput({"email": maildir({"INBOX": [LETTER]}, [])})
    (tree,) = before.states.values()
    data = {path: replace(node, data=node.data.replace(old, new)) for path, node in tree.items()}
    run = replace(before, states={"email": type(tree)(data)})
    assert "message a@example.org, source changed" in framed(run, before).found


def test_a_message_that_cannot_be_read_is_named_and_the_others_are_compared():
    before = JudgeInput({"email": maildir({"INBOX": [LETTER]}, [])})
    (tree,) = before.states.values()
    nodes = {path.replace(":2,", ":2,F"): node for path, node in tree.items()}
    run = replace(before, states={"email": FileTree({**nodes, "Maildir/cur/9:2,": Node("symlink", target="/x")})})
    found = framed(run, before).found
    assert found.endswith("file Maildir/cur/9:2,, added; message a@example.org, flagged changed")


@pytest.mark.parametrize(
    ("copies", "flags", "fine"), [(1, "S", True), (0, "", False), (1, "FS", False), (2, "S", False)]
)
def test_a_sent_message_has_one_copy_without_marks_in_the_folder_for_them(copies, flags, fine):
    before = JudgeInput({"email": maildir({"INBOX": [LETTER], "Sent": []}, [])})
    sent = replace(LETTER, id="b@example.org")
    after = JudgeInput({"email": maildir({"INBOX": [LETTER], "Sent": [replace(sent, flags=flags)] * copies}, [sent])})
    assert framed(after, before, {"item": "sent message", "add": 1}).verdict is (
        Verdict.TRUE if fine else Verdict.FALSE
    )


@pytest.mark.parametrize(
    ("sort", "field", "before", "after", "by_itself"),
    [
        ("sequence", "last", [None, None], [1, 1], True),  # documents of before 1.0
        ("sequence", "last", [3, 3], [9, 4], True),
        ("sequence", "last", [3, 3], [1, 3], False),
        ("sequence", "last", ["starts at 1000", None], ["1000, 32 logged", 1000], True),
        ("sequence", "last", ["starts at 1", None], ["starts at 50", None], False),
        ("sequence", "last", ["3, 0 logged", 3], ["starts at 4", 3], False),
        ("sequence", "last", ["3, 0 logged", 3], ["5000, 9 logged", 4], False),
        ("sequence", "last", ["3, 0 logged", 3], ["5, 31 logged", 5], True),
        ("sequence", "last", ["3, 0 logged", 3], ["36, 0 logged", 4], True),  # all that was logged ahead is given out
        ("sequence", "last", ["3, 0 logged", 3], ["5, 0 logged", 5], True),  # set, to go on behind rows with numbers
        ("sequence", "last", ["3, 0 logged", 3], ["50, 0 logged", 5], False),
        ("sequence", "last", ["3, 0 logged", 3], ["2, 0 logged", 2], False),
    ],
)
def test_what_a_server_does_is_told_by_its_values(sort, field, before, after, by_itself):
    assert is_server_change(sort, field, before, after) is by_itself
    items = ({"x": Item("x", sort, {}, {field: value})} for value in (before, after))
    assert bool([*list_changes(*items)]) is not by_itself


def test_a_file_that_was_made_again_with_its_bytes_is_no_change_and_its_mode_is_one():
    before = files({"a.txt": "one\n"})
    assert framed(files({"a.txt": "one\n"}), before).verdict is Verdict.TRUE
    (tree,) = before.states.values()
    run = replace(before, states={"filesystem": type(tree)({"a.txt": replace(tree["a.txt"], mode=0o755)})})
    assert "file a.txt, mode changed" in framed(run, before).found


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("labels/bug/color", "000000", "repository acme/site, labels changed"),
        ("labels/new", {"color": "ededed", "description": None}, "repository acme/site, labels changed"),
        ("milestones/1/due_on", "2026-01-01T00:00:00Z", "milestone 1, due_on changed"),
        ("collaborators", [], "collaborators changed"),
        ("archived", True, "archived changed"),
        ("issues/2/pull/requested_reviewers", [], "pull request #2, requested_reviewers changed"),
        ("issues/2/pull/merged_by", "bob", "end of pull request #2, added"),
        ("issues/1/closed_by", "bob", "end of issue #1, added"),
    ],
)
def test_what_a_forge_keeps_beside_issues_is_compared(path, value, named):
    before = example_forge()
    (tree,) = before.states.values()
    data = json.loads(tree["state.json"].data)
    *steps, last = path.split("/")
    place = data["repositories"]["acme/site"]
    for step in steps:
        place = place[step]
    place[last] = value
    state = replace(tree["state.json"], data=json.dumps(data).encode())
    assert named in framed(JudgeInput({"github": type(tree)({**tree, "state.json": state})}), before).found


def test_a_view_of_a_postgres_database_is_noticed():
    before = postgres_database({"t": [["id", "integer"]]})
    document = read_all(before.states)["postgres"].document
    after = JudgeInput({"postgres": written({**document, "objects": [["view v", "SELECT 1"]]})})
    assert "view v, added" in framed(after, before).found


def with_part(book, name, old, new):
    """Write another text into one part of a workbook, or add the part."""
    (data,) = [node.data for _, node in book.states["spreadsheet"].items() if node.kind == "file"]
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w") as target:
        parts = {entry: source.read(entry).decode() for entry in source.namelist()}
        for entry, text in {**parts, name: parts.get(name, old).replace(old, new)}.items():
            target.writestr(entry, text)
    return JudgeInput({"spreadsheet": tree_of({"a.xlsx": out.getvalue()})})


SHEET, STYLES, BOOK = "xl/worksheets/sheet1.xml", "xl/styles.xml", "xl/workbook.xml"


@pytest.mark.parametrize(
    ("part", "old", "new", "place"),
    [
        (SHEET, "</sheetData>", '</sheetData><dataValidations count="1"/>', "dataValidations of S"),
        (SHEET, "</sheetData>", '</sheetData><conditionalFormatting sqref="A1"/>', "conditionalFormatting of S"),
        (SHEET, "</sheetData>", '</sheetData><autoFilter ref="A1:B2"/>', "autoFilter of S"),
        (SHEET, '<row r="2"', '<row r="2" hidden="1"', "row 2 of S"),
        (SHEET, '<c r="A1"', '<c r="A1" s="1"', "format of S!A1"),
        (BOOK, "</workbook>", '<workbookProtection lockStructure="1"/></workbook>', "workbookProtection"),
        (
            BOOK,
            "</sheets>",
            '</sheets><definedNames><definedName name="n" localSheetId="0">1</definedName></definedNames>',
            "name n of sheet 0",
        ),
        ("xl/comments1.xml", "x", "<comments/>", "part xl/comments1.xml"),
    ],
)
def test_what_a_workbook_has_besides_cells_is_noticed(part, old, new, place):
    plain = workbook("a.xlsx", {"S": [["n", "x"], [1, 2]]})
    fonts = with_part(plain, STYLES, "</font></fonts>", "</font><font><b/></font></fonts>")
    styled = with_part(fonts, STYLES, '<xf numFmtId="164" fontId="0" ', '<xf numFmtId="0" fontId="1" ')
    assert f"{place}, added" in framed(with_part(styled, part, old, new), styled).found


def test_the_formats_of_a_new_sheet_belong_to_it():
    before = workbook("a.xlsx", {"S": [["n"]]})
    made = with_part(
        workbook("a.xlsx", {"S": [["n"]], "T": [["sum"]]}),
        STYLES,
        "</font></fonts>",
        "</font><font><b/></font></fonts>",
    )
    bold = with_part(made, STYLES, '<xf numFmtId="164" fontId="0" ', '<xf numFmtId="0" fontId="1" ')
    allowed = [{"item": "sheet", "add": 1}, {"item": "row", "where": {"sheet": "T"}, "add": 1}]
    for sheet, outcome in (("xl/worksheets/sheet2.xml", Verdict.TRUE), (SHEET, Verdict.FALSE)):
        after = with_part(bold, sheet, '<c r="A1"', '<c r="A1" s="1"')
        assert framed(after, before, *allowed).verdict is outcome


def test_what_a_program_writes_into_each_workbook_is_no_change():
    before = workbook("a.xlsx", {"S": [["n", "x"], [1, 2]]})
    for old, new in (
        (
            "<sheetData>",
            "<sheetPr><pageSetUpPr/></sheetPr><sheetViews><sheetView><selection/></sheetView></sheetViews><sheetData>",
        ),
        (
            "</sheetData>",
            '</sheetData><pageMargins left="0.75" right="0.75" top="1" bottom="1" header="0.5" footer="0.5"/>',
        ),
        ('<c r="A2"', '<c r="A2" s="0"'),
    ):
        assert framed(with_part(before, SHEET, old, new), before).verdict is Verdict.TRUE


def test_a_commit_on_another_branch_is_noticed_and_a_clean_tree_is_listed_once():
    first = ("main", "First", {"a": "1\n"})
    before, after = repository([first]), repository([first, ("other", "Second", {"b": "2\n"})])
    found = framed(after, before).found
    assert "refs/heads/other, added" in found
    items = items_of("git", next(iter(read_all(before.states).values())))
    assert sorted(item.sort for item in items.values()) == ["branch file", "commit", "head", "ref"]


def test_without_a_baseline_nobody_can_tell_and_a_wrecked_state_counts_against_the_agent():
    before = database(BASE)
    evidence = judge(parse({"sqlite.unchanged": {}}), before)
    assert (evidence.verdict, "give the task" in evidence.found) == (Verdict.UNKNOWN, True)
    wrecked = replace(before, states={"sqlite": files({"main.db": "no database"}).states["filesystem"]})
    assert framed(wrecked, before).verdict is Verdict.FALSE


def test_an_issue_that_somebody_else_had_closed_is_another_once_the_agent_has():
    others, own = (example_forge({"number": 1, "state": "closed", "closed_by": login}) for login in ("bob", "ada"))
    closing = {"item": "issue", "where": {"number": 1}, "change": ["state"]}
    assert framed(own, example_forge(), closing).verdict is Verdict.TRUE
    assert "end of issue #1, removed" in framed(own, others).found


def test_an_issue_that_was_closed_and_opened_again_is_open_as_before():
    issues = (example_forge({"number": 1, "state_reason": reason}) for reason in (None, "reopened", "completed"))
    never, again, closed = (items_of("github", read_all(run.states)["github"]) for run in issues)
    assert never == again != closed


def test_damage_has_each_sort_of_thing_changed_taken_away_and_made_twice():
    before, after = (read_all(database(sql).states)["sqlite"] for sql in (BASE, [*BASE, "UPDATE t SET n = 9"]))
    said = [describe(change) for change, _ in list_damages("sqlite", before, after)]
    assert {"t row id = 1, n changed", "t row id = 1, removed", "t row id = 1 (2), added"} <= set(said)
    assert "table t, removed" in said


UNMERGED = {"merge_commit": None, "merge_method": None, "maintainer_can_modify": False, "requested_reviewers": []}
START = {"c1": ["t1", [], "Start"], "c2": ["t2", ["c1"], "Page"]}
TREES = {"t1": [["100644", "a.txt", "b1"]], "t2": [["100644", "a.txt", "b1"], ["100644", "page.txt", "b1"]]}


def pull(**otherwise: Any) -> dict[str, Any]:
    ends = {
        "head": {"repository": "acme/site", "branch": "draft", "sha": "c2"},
        "base": {"branch": "main", "sha": "c1"},
    }
    return {**ends, "draft": False, "merged_at": None, **UNMERGED, "reviews": [], "review_comments": [], **otherwise}


def issue(**otherwise: Any) -> dict[str, Any]:
    empty = {"body": None, "state_reason": None, "labels": [], "assignees": [], "milestone": None, "comments": []}
    return {"number": 1, "title": "Page", "user": "ada", "state": "open", **empty, **otherwise}


def forge(refs: dict[str, str], **of_pull: Any) -> NormalState:
    record = repository_record({"1": issue(pull=pull(**of_pull))})
    git = {"head": "ref: refs/heads/main", "refs": refs, "commits": START, "trees": TREES, "blobs": {"b1": 0}}
    document = {
        "forge": {"viewer": "ada", "users": {}, "repositories": {"acme/site": record}},
        "repositories": {"repositories/acme/site.git": {**git, "index": {"entries": []}, "files": []}},
    }
    return NormalState(document, (b"A\n",))


def changed(before: NormalState, after: NormalState) -> list[str]:
    return [describe(change) for change in list_changes(items_of("github", before), items_of("github", after))]


BRANCHES = {"refs/heads/main": "c1", "refs/heads/draft": "c2"}


def test_nothing_of_a_forge_is_staged():
    assert not [item for item in items_of("github", forge(BRANCHES)).values() if item.sort == "staged file"]


def test_looking_at_a_pull_request_changes_nothing():
    seen = forge({**BRANCHES, "refs/pull/1/head": "c2"}, base={"branch": "main", "sha": "c2"})
    assert changed(forge(BRANCHES), seen) == []


def test_commits_that_a_forge_fetched_to_show_a_pull_request_are_no_change():
    main = {"refs/heads/main": "c1"}
    assert changed(forge(main), forge({**main, "refs/pull/1/head": "c2"})) == []


def test_another_base_is_a_change():
    assert changed(forge(BRANCHES), forge(BRANCHES, base={"branch": "draft", "sha": "c1"})) == [
        "acme/site: pull request #1, base changed"
    ]


def test_a_merge_is_a_change_at_whatever_time():
    first, later = (forge(BRANCHES, merged_at=f"2024-07-01T0{hour}:00:00Z") for hour in (8, 9))
    assert changed(forge(BRANCHES), first) == ["acme/site: pull request #1, merged_at changed"]
    assert changed(first, later) == []


def test_a_label_twice_is_one_label():
    labels = [
        [item.fields["labels"] for item in items_of("github", labelled(*names)).values() if item.sort == "issue"]
        for names in (["bug"], ["bug", "bug"])
    ]
    assert labels[0] == labels[1] == [["bug"]]


def labelled(*names: str) -> NormalState:
    state = forge(BRANCHES)
    state.document["forge"]["repositories"]["acme/site"]["issues"]["2"] = issue(number=2, labels=[*names], pull=None)
    return state


def test_a_repository_without_its_git_part_is_another():
    bare = forge(BRANCHES)
    bare.document["repositories"].clear()
    assert "repository acme/site, git changed" in changed(forge(BRANCHES), bare)


def test_a_field_that_no_reader_writes_is_none_of_an_item():
    odd = labelled()
    odd.document["forge"]["repositories"]["acme/site"]["issues"]["2"]["title~"] = "Page"
    assert changed(labelled(), odd) == []


def test_an_issue_is_told_by_the_number_that_it_is_under():
    twice = labelled()
    twice.document["forge"]["repositories"]["acme/site"]["issues"]["3"] = issue(number=2, pull=None)
    assert changed(labelled(), twice) == ["acme/site: issue #3, added"]


def test_what_is_unstaged_is_in_the_work_tree_as_it_was():
    start = ("main", "Start", {"a.txt": "A\n"})
    new = {"b.txt": "B\n"}
    work = {"a.txt": "A\n", **new}
    staged, unstaged = repository([start], worktree=work, staged=new), repository([start], worktree=work)
    assert framed(unstaged, staged).found.endswith("staged b.txt, removed")


FOLDER, FILE = ["out", "directory", 0o755, ""], ["out/a.txt", "file", 0o644, 0]


def test_a_folder_that_holds_a_file_is_there_without_an_entry_of_its_own():
    listed, implied = (NormalState({"entries": entries}, (b"a",)) for entries in ([FOLDER, FILE], [FILE]))
    assert [*items_of("filesystem", implied).items()] == [*items_of("filesystem", listed).items()]


def test_no_damage_takes_away_a_folder_and_leaves_the_file_in_it():
    baseline, final = NormalState({"entries": []}, ()), NormalState({"entries": [FOLDER, FILE]}, (b"a",))
    assert "folder out, removed" not in [describe(change) for change, _ in list_damages("filesystem", baseline, final)]


def test_a_selection_of_merged_cells_lets_through_one_area_and_no_other():
    before, after, other = (workbook("a.xlsx", {"s": [["x"]]}, merged=area) for area in (None, "C1:D2", "C1:D3"))
    merged = {"item": "merged cells", "where": {"workbook": "a.xlsx", "sheet": "s", "area": "C1:D2"}, "add": 1}
    assert [framed(state, before, merged).verdict for state in (after, other)] == [Verdict.TRUE, Verdict.FALSE]


EVENT = ["work", "event", "e1", "Plan", "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z", "", "", "", {}, []]


def test_what_a_server_calls_a_new_item_can_be_another_name_and_what_it_called_an_old_one_cannot():
    made = [*EVENT[:2], "4f1c", "Review", *EVENT[4:]]
    states = NormalState({"items": [EVENT]}), NormalState({"items": [EVENT, made]})
    damaged = [change.after.label for change, _ in list_damages("calendar", *states)]
    assert "work: event e1~" in damaged
    assert "work: event 4f1c~" not in damaged
    assert damaged.count("work: event 4f1c") > 1  # its other fields, and the event itself


def message(folder, flags="S", name="m1@example.org"):
    told = ["", "a@example.org", "b@example.org", "", "", "Plan", "At 10?"]
    return [f"Maildir/{folder}", folder, flags, name, *told, [], [], ""]


def changes_of_mail(before, after):
    states = (NormalState({"folders": ["Archive", "INBOX"], "kept": kept, "sent": []}) for kept in (before, after))
    return [(change.kind, change.fields) for change in list_changes(*(items_of("email", state) for state in states))]


def test_a_message_that_was_moved_is_the_same_one_in_another_folder():
    assert changes_of_mail([message("INBOX")], [message("Archive")]) == [("changed", ("folder",))]
    ((kind, _),) = changes_of_mail([message("INBOX")], [message("INBOX"), message("Archive")])
    assert kind == "added"


def test_each_mark_of_a_message_is_a_field_of_its_own():
    assert changes_of_mail([message("INBOX")], [message("INBOX", "FS")]) == [("changed", ("flagged",))]
    assert changes_of_mail([message("INBOX")], [message("INBOX", "a")]) == [("changed", ("read", "flag a"))]


def test_the_copy_of_a_sent_message_is_its_servers_and_another_one_is_not():
    def state(*kept):
        return NormalState({"folders": ["INBOX", "Sent"], "kept": [*kept], "sent": [message("")]})

    def labels(mail):
        return [*items_of("email", mail)][2:]

    alone = ["sent message m1@example.org"]
    assert labels(state(message("Sent"))) == alone
    assert labels(state(message("Sent", "S"), message("Sent", "S"))) == ["message m1@example.org", *alone]
    other = [*message("Sent")[:10], "At 11?", [], [], ""]
    assert labels(state(other)) == ["message m1@example.org", *labels(state())]


def test_a_mail_folder_that_holds_a_message_is_there_without_an_entry_of_its_own():
    listed, implied = (
        NormalState({"folders": folders, "kept": [message("Desk")], "sent": []}) for folders in (["Desk"], [])
    )
    assert [*items_of("email", implied).items()] == [*items_of("email", listed).items()]


def test_a_set_has_each_member_once():
    keys = ({"s": {"type": "set", "value": members, "left": None}} for members in (["a"], ["a", "a"]))
    once, twice = (items_of("redis", NormalState({"keys": part})) for part in keys)
    assert once == twice


@pytest.mark.parametrize(("before", "after", "same"), [(9000, 9001, True), (9000, 8000, True), (9000, 10_000, False)])
def test_the_time_that_a_key_has_left_runs_down_and_is_read_to_the_second(before, after, same):
    assert is_server_change("key", "expires", before, after) is same


def test_a_sequence_is_held_against_the_column_that_it_is_named_after():
    (state,) = read_all(postgres_database({"t": [["id", "integer"]]}, {"t": [["7"], ["12"]]}).states).values()
    state.document["sequences"] = [["sequence t_id_seq", "12, 5 logged"]]
    (item,) = (item for item in items_of("postgres", state).values() if item.sort == "sequence")
    assert item.fields == {"last": ["12, 5 logged", 12]}


def test_a_schema_that_has_a_table_is_there_without_an_entry_of_its_own():
    table = {"schema": "attic", "name": "t", "columns": [], "constraints": [], "indexes": [], "rows": []}
    listed, implied = (NormalState({"schemas": schemas, "tables": [table]}) for schemas in (["attic"], []))
    assert items_of("postgres", listed) == items_of("postgres", implied)
