"""Tests of the lines by package that `./run check` shows beside those of the last version."""

import json
import subprocess

from .notes import line_counts


def test_lines_of_rooms_extras_and_tests_are_beside_those_of_the_last_version(tmp_path):
    for path, lines in {
        "vault/keys/ring.py": 3,
        "vault/keys/ring.json": 9,
        "extras/export/quarterturn_export/verbs.py": 5,
        "extras/export/tests/test_verbs.py": 2,
        "tests/test_all.py": 1,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("\n" * lines)
    last = tmp_path / "counts.json"
    last.write_text(json.dumps({"version": "0.1.0", "counts": {"core": {"vault": 7}, "tests": {"tests": 1}}}))
    head, core, extras, tests = line_counts.report(tmp_path, last)
    assert head.endswith("in 0.1.0:")
    assert core.startswith("core 3 (-4): vault 3 (-4), verifiers 0 (+0), ")
    assert extras == "extras 5 (+5): export 5 (+5)"
    assert tests == "tests 3 (+2): tests 1 (+0), extras 2 (+2)"


def test_the_last_version_is_the_newest_of_the_changelog():
    changes = (line_counts.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    last = json.loads(line_counts.LAST.read_text(encoding="utf-8"))
    assert changes.split("\n## ")[2].split()[0] == last["version"]


def test_a_change_that_adds_many_lines_is_asked_what_it_removed(tmp_path):
    def git(*words):
        named = ("-c", "user.name=a", "-c", "user.email=a@b.test", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *named, *words], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "a.py").write_text("x\n" * 9)
    git("init")
    git("add", ".")
    git("commit", "-m", "a")
    (tmp_path / "a.py").write_text("y\n" * line_counts.MAX_UNEXPLAINED_LINES)
    assert not list(line_counts.growth(tmp_path))
    (tmp_path / "a.py").write_text("y\n" * (line_counts.MAX_UNEXPLAINED_LINES + 1))
    (note,) = line_counts.growth(tmp_path)
    assert note.startswith("this change adds 501 lines of Python and removes 9: ")
