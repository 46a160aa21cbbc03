"""Tests of the filesystem predicates, links and odd files included."""

import pytest

from verifiers.states.files.examples import files
from verifiers.tree import DIRECTORY, FileTree, JudgeInput, Node, tree_of

from .builders import Asked

holds = Asked("filesystem")


LINKED = JudgeInput(
    {
        "filesystem": FileTree(
            {
                "real": Node("file", b"hi"),
                "link": Node("symlink", target="real"),
                "out": Node("symlink", target="/etc"),
                "pipe": Node("other"),
                "empty": DIRECTORY,
            }
        )
    }
)


@pytest.mark.parametrize("name", ["fileExists", "directoryExists"])
@pytest.mark.parametrize("path", ["link", "out", "pipe", "out/passwd"])
def test_a_link_is_neither_a_file_nor_a_folder(name, path):
    assert not holds(LINKED, name, path=path)
    assert ("symbolic link" in holds.evidence(LINKED, name, path=path).found) == (path in {"link", "out"})


def test_a_link_does_not_lend_its_targets_content():
    assert not holds(LINKED, "fileTextEquals", path="link", text="hi")
    assert not holds(LINKED, "fileContains", path="link", text="hi")
    assert not holds(LINKED, "pathAbsent", path="link")
    assert not holds(LINKED, "directoryHasOnly", path="out", names=[])


def test_a_folder_is_there_also_where_only_its_files_were_archived():
    views = JudgeInput({"filesystem": FileTree({"a/b/c": Node("file")})})
    assert holds(views, "directoryExists", path="a/b")
    assert not holds(views, "pathAbsent", path="a")
    assert not holds(views, "directoryExists", path="a/b/c")
    assert not holds(views, "directoryExists", path="a/bb")


def test_the_root_folder_can_be_listed():
    assert holds(LINKED, "directoryHasOnly", path=".", names=["real", "link", "out", "pipe", "empty"])
    assert holds(LINKED, "directoryHasOnly", path="empty", names=[])
    assert holds(JudgeInput({"filesystem": FileTree({})}), "directoryHasOnly", path=".", names=[])


def test_a_folder_that_holds_too_much_or_too_little_says_which():
    views = files({"out/a": "", "out/x": "", "outside": ""})
    assert (
        holds.evidence(views, "directoryHasOnly", path="out", names=["a", "b"]).found
        == '"out" lacks "b" and has besides "x"'
    )


@pytest.mark.parametrize(
    ("data", "count"),
    [(b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (b"a\r\nb\r\n", 2), (b"a\x0cb", 1)],
)
def test_lines_are_counted_by_their_line_feeds(data, count):
    views = JudgeInput({"filesystem": tree_of({"a": data})})
    assert holds(views, "fileLineCount", path="a", count=count)
    assert not holds(views, "fileLineCount", path="a", count=count + 1)


def test_text_is_exact_unless_it_is_trimmed():
    views = files({"a": "hi\r\n"})
    assert not holds(views, "fileTextEquals", path="a", text="hi")
    assert holds(views, "fileTextEquals", path="a", text="hi\n", trim=True)
    assert holds.evidence(views, "fileTextEquals", path="a", text="h", trim=True).found.startswith(
        '"a" differs: from byte 1 on'
    )


def test_lines_mind_their_order_unless_told_not_to():
    views = files({"a": "y  \nx\n\n"})
    assert holds(views, "fileLines", path="a", lines=["y", "x"])
    assert not holds(views, "fileLines", path="a", lines=["x", "y"])
    assert holds(views, "fileLines", path="a", lines=["x", "y"], any_order=True)
    assert not holds(views, "fileLines", path="a", lines=["x", "y", "y"], any_order=True)
    assert holds(files({"a": "\n"}), "fileLines", path="a", lines=[])


@pytest.mark.parametrize(
    ("text", "pointer", "value", "same"),
    [
        ('{"a": {"b/c": [1, 2]}}', "/a/b~1c/1", 2, True),
        ('{"a": {"b/c": [1, 2]}}', "/a/b~1c/01", 2, False),
        ('{"a": {"b/c": [1, 2]}}', "/a/b~1c/2", 2, False),
        ('{"a": {"b/c": [1, 2]}}', "/a/b~1c/-", 2, False),
        ('{"b": 1, "a": 2.0}', "", {"a": 2, "b": 1}, True),
        ('{"": 1}', "/", 1, True),
        ("[1, true]", "", [1, 1], False),
        ("[1, null]", "", [1, 0], False),
        ("[NaN]", "", [0], False),
        ("{", "", {}, False),
        ("", "", None, False),
        ("[" * 100_000, "", [], False),
        ('"\\ud800"', "", "x", False),
    ],
)
def test_json_is_compared_by_value_and_type(text, pointer, value, same):
    assert holds(files({"a": text}), "fileJsonEquals", path="a", pointer=pointer, value=value) is same


def test_json_that_nests_as_deep_as_python_reads_is_still_a_verdict():
    for depth in range(900, 1000, 7):
        assert not holds(files({"a": "[" * depth + "]" * depth}), "fileJsonEquals", path="a", value=[])


def test_letters_lines_and_names_can_be_compared_more_loosely():
    views = files({"d/a": "  One \n\nTWO\n", "d/.DS_Store": "", "d/in/b": ""})
    assert holds(views, "fileTextEquals", path="d/a", text="one \n\ntwo", trim=True, ignore_case=True)
    assert not holds(views, "fileTextEquals", path="d/a", text="one \n\ntwo", trim=True)
    assert holds(views, "fileContains", path="d/a", text="two", ignore_case=True)
    assert holds(views, "fileLines", path="d/a", lines=["one", "two"], ignore_case=True, skip_blank=True)
    assert not holds(views, "fileLines", path="d/a", lines=["one", "two"], ignore_case=True)
    assert holds(views, "fileLineCount", path="d/a", count=2, skip_blank=True)
    assert holds(views, "fileLineCount", path="d/a", count=1, at_least=True)
    assert not holds(views, "fileLineCount", path="d/a", count=4, at_least=True)
    assert holds(views, "directoryHasOnly", path="d", names=["a"], kind="file", ignore=[".DS_Store"])
    assert not holds(views, "directoryHasOnly", path="d", names=["a"], kind="file")
    assert holds(views, "directoryHasOnly", path="d", names=["in"], kind="directory")


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ({"rows": [["id", "n"], ["1", "x"], ["2", "Y"]]}, True),
        ({"rows": [["2", "y"], ["1", "x"]], "columns": ["id", "n"]}, False),
        ({"rows": [["2", "y"], ["1", "x"]], "columns": ["id", "n"], "any_order": True}, False),
        ({"rows": [["2", "y"], ["1", "x"]], "columns": ["id", "n"], "any_order": True, "ignore_case": True}, True),
        ({"rows": [["Y"]], "columns": ["n"]}, False),
        ({"rows": [["Y"]], "columns": ["n"], "extra_rows": True}, True),
        ({"rows": [[1.1], [2]], "columns": ["id"], "tolerance": 0.1}, True),
        ({"rows": [["1"], ["1"]], "columns": ["id"], "extra_rows": True}, False),
        ({"rows": [["1"]], "columns": ["sum"]}, False),
    ],
)
def test_rows_of_a_csv_file(arguments, result):
    assert holds(files({"a.csv": "id,n\n1, x\n2,Y\n"}), "fileCsvRows", path="a.csv", **arguments) is result


def test_entries_are_counted_by_name_kind_and_depth():
    views = files({"a.py": "", "b.py": "", "c/d.py": "", "c/e.md": ""})
    assert holds(views, "entryCount", path=".", count=2, glob="*.py")
    assert holds(views, "entryCount", path=".", count=3, glob="?.py", deep=True)
    assert holds(views, "entryCount", path=".", count=1, kind="directory")
    assert holds(views, "entryCount", path=".", count=3, kind="file", deep=True, ignore=["a.py"])
    assert holds(views, "entryCount", path="c", count=1, at_least=True)
    assert not holds(views, "entryCount", path="c", count=3, at_least=True)
