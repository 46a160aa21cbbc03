"""Tests of the report on wording: each kind of note has an example that is noted and one that is not."""

import pytest

from .notes import wording

ALL = range(1 << 20)
LONG = " ".join(["word"] * 36)
FITTING = " ".join(["word"] * 35)


@pytest.mark.parametrize(
    ("noted", "passed"),
    [
        ("def _settled(): ...", "def settle(): ..."),
        ("async def held(): ...", "def listen(): ..."),
        ("class A:\n    def dated(self): ...", "class A:\n    @property\n    def dated(self): ..."),
        ("def guaranteed(): ...", "def proceed(): ..."),
        ("def asked(): ...", "def asked_twice(): ..."),
        ('def f():\n    """Give it."""', 'def f():\n    """Return what they give."""'),
        ("PATIENCE = 3.0", "START_SECONDS = 3.0"),
        ("_CHUNK: int = 64 * 1024", "_CHUNK_BYTES: int = 64 * 1024"),
        ("MAX = 3", "MAX_DEPTH = 3"),
        ("DAY = -1", "IS_OPEN = True\nCLONE_NEWNET = 0x40000000\nTABLE = (1, 2)\nNAME = 'a'\nlocal = 3"),
        (f'"""{LONG}."""', f'"""{FITTING}. And more.\n\nRaises:\n    {FITTING}"""'),
        (f"# {LONG[:80]}\n# {LONG[80:]}", f"# {LONG[:80]}\na = 1  # {LONG[80:]}"),
    ],
)
def test_python_is_noted_for_what_a_reader_would_stop_at(noted, passed):
    assert len(wording.notes_on("a.py", noted, ALL)) == 1
    assert wording.notes_on("a.py", passed, ALL) == []


@pytest.mark.parametrize("frame", ["{}.", "Short.\n{}.", "- {}", "> {}"])
def test_a_long_sentence_of_markdown_is_noted(frame):
    ((_, note),) = wording.notes_on("a.md", frame.format(LONG), ALL)
    assert "36 words" in note
    assert wording.notes_on("a.md", frame.format(FITTING), ALL) == []


@pytest.mark.parametrize("frame", ["```\n{}\n```", "| {} |", "# {}", "A `{}`.", "A [link]({})."])
def test_code_tables_headings_and_targets_are_no_sentences(frame):
    assert wording.notes_on("a.md", frame.format(LONG), ALL) == []


def test_only_touched_lines_are_noted_and_a_sentence_is_touched_on_any_of_its_lines():
    assert wording.notes_on("a.py", "def held(): ...\ndef kept(): ...\n", {2}) == [
        (2, "kept() is named by a participle; name it by a verb")
    ]
    text = f"Short.\n{LONG[:80]}\n{LONG[80:]}.\nShort.\n"
    assert [line for line, _ in wording.notes_on("a.md", text, {3})] == [2]
    assert wording.notes_on("a.md", text, {1, 4}) == []


def test_what_does_not_parse_is_left_to_the_linter():
    assert wording.notes_on("a.py", "def held(:\n", ALL) == []


def test_a_diff_names_the_added_lines():
    diff = (
        "--- a/a b.py\t\n+++ b/a b.py\t\n@@ -1,2 +1 @@ def f():\n-x\n+y\n@@ -9,0 +9,2 @@\n+x\n+y\n"
        "--- /dev/null\n+++ b/c.md\n@@ -0,0 +1,2 @@\n+x\n+y\n--- a/d.md\n+++ b/d.md\n@@ -3 +2,0 @@\n-x\n"
    )
    assert wording.lines_of(diff) == {"a b.py": {1, 9, 10}, "c.md": {1, 2}, "d.md": set()}


def test_a_report_is_cut_and_counts_the_rest(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("def held(): ...\n" * (wording.MAX_NOTES + 2))
    monkeypatch.setattr(wording, "changed_lines", lambda _root: {"a.py": ALL})
    notes = wording.report(tmp_path)
    assert notes[0].startswith("a.py:1: held()")
    assert notes[wording.MAX_NOTES :] == ["(2 more)"]


def test_a_folder_that_git_does_not_know_has_no_notes(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "a.py").write_text("def held(): ...\n")
    assert wording.report(tmp_path) == []
