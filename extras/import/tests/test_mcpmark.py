"""Tests of the importer of mcpmark: what it makes of a verifier agrees with the verifier, run on the same files."""

import os
import subprocess
import sys
from functools import partial

import pytest

from quarterturn_import.importers.conversion import convert
from quarterturn_import.importers.mcpmark import Place, read_task, read_verifier
from verifiers.language.in_process import judge
from verifiers.language.predicate import parse
from verifiers.language.verdict import Verdict
from verifiers.states.files.examples import files

VERIFIER = """
import os, re, sys
from pathlib import Path

def get_test_directory() -> Path:
    root = os.environ.get("FILESYSTEM_TEST_DIR")
    if not root:
        raise ValueError("no folder")
    return Path(root)

def verify_folder(test_dir):
    out = test_dir / "out"
    if not out.is_dir():
        print("no folder")
        return False
    missing = []
    for name in ["a.txt", "b.txt"]:
        if not (out / name).exists():
            missing.append(name)
    if missing:
        print(f"missing: {missing}")
        return False
    names = [f.name for f in out.iterdir() if f.is_file() and f.name not in [".DS_Store"]]
    return set(names) == {"a.txt", "b.txt"}

def verify_text(test_dir):
    try:
        content = (test_dir / "out" / "a.txt").read_text()
        lines = [line.strip() for line in content.split("\\n") if line.strip()]
        if len(lines) != 2:
            return False
        has_either = "alpha" in content.lower() or "beta" in content
        found = 0
        for word in ("one", "two", "three"):
            if word in content:
                found += 1
        return has_either and found >= 2 and bool(re.search(r"^total: \\d+$", content, re.MULTILINE))
    except Exception as error:
        print(error)
        return False

def verify_size(test_dir):
    return 2 <= (test_dir / "out" / "b.txt").stat().st_size < 5

def main():
    test_dir = get_test_directory()
    steps = [("Folder", verify_folder), ("Text", verify_text), ("Size", verify_size)]
    passed = True
    for name, check in steps:
        if not check(test_dir):
            passed = False
    sys.exit(0 if passed else 1)

if __name__ == "__main__":
    main()
"""
GOOD = {"out/a.txt": "ALPHA one two\n\n total: 12\ntotal: 12".replace("\n\n total: 12", ""), "out/b.txt": "xyz"}
STATES = {
    "right": GOOD,
    "a file to ignore": GOOD | {"out/.DS_Store": "", "out/in/c.txt": ""},
    "nothing": {},
    "a file too many": GOOD | {"out/c.txt": ""},
    "a file too few": {"out/a.txt": GOOD["out/a.txt"]},
    "beta": GOOD | {"out/a.txt": "beta two three\ntotal: 1\n"},
    "BETA": GOOD | {"out/a.txt": "BETA two three\ntotal: 1\n"},
    "one word": GOOD | {"out/a.txt": "alpha one\ntotal: 1\n"},
    "a line too many": GOOD | {"out/a.txt": "alpha one two\ntotal: 1\nx"},
    "no total": GOOD | {"out/a.txt": "alpha one two\ntotal: x"},
    "too large": GOOD | {"out/b.txt": "12345"},
    "too small": GOOD | {"out/b.txt": "1"},
}
PLACE = Place("made/up/task", "up/verify.py", "filesystem", "octo")


def both_pass(verifier, formula, left, folder):
    """Require that a verifier and its predicate agree about the files that are left, and return what they say."""
    for path, text in left.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    environment = os.environ | {"FILESYSTEM_TEST_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", verifier], env=environment, capture_output=True, check=False)
    assert (judge(parse(formula), files(left)).verdict is Verdict.TRUE) == (done.returncode == 0), left
    return done.returncode == 0


@pytest.mark.parametrize("state", STATES)
def test_the_predicate_says_what_the_verifier_says(tmp_path, state):
    formula, reasons = read_verifier(VERIFIER, PLACE)
    assert not reasons
    assert both_pass(VERIFIER, formula, STATES[state], tmp_path) == (state in {"right", "a file to ignore", "beta"})


def test_what_is_not_understood_is_named_by_its_line_and_never_guessed():
    verifier = VERIFIER.replace("return 2 <= (test_dir", "return checked(test_dir) and 2 <= (test_dir")
    formula, reasons = read_verifier(verifier, PLACE)
    assert "up/verify.py:43: `checked(test_dir)` is not understood" in " ".join(reasons)
    assert judge(parse(formula), files(STATES["right"])).verdict is Verdict.TRUE
    assert judge(parse(formula), files(STATES["nothing"])).verdict is Verdict.FALSE
    source = read_task(verifier, PLACE, "Do it.", {"difficulty": "L3"}, None)
    made = convert(source, {"filesystem": ["read_file", "write_file"], "git": [f"g{n}" for n in range(12)]})
    assert made.outcome == "partly"
    assert made.line["provenance"]["partial"] == list(made.reasons)


@pytest.mark.parametrize(
    "verifier",
    [
        "not Python (",
        "import sys\nsys.exit(1)\n",
        "raise SystemExit",
        "while True:\n    pass\n",
        "import x\nx.verify()\n",
    ],
)
def test_a_verifier_of_another_kind_does_not_come(verifier):
    made = convert(read_task(verifier, PLACE, "Do it.", {}, None), {})
    assert made.outcome == "not"
    assert made.reasons
    assert made.line is None


def test_an_issue_a_branch_and_a_file_on_github():
    verifier = """
import base64, os, sys, requests

def api(endpoint, org):
    response = requests.get(f"https://api.github.com/repos/{org}/site/{endpoint}", headers={})
    if response.status_code == 200:
        return True, response.json()
    return False, None

def main():
    org = os.environ.get("GITHUB_EVAL_ORG")
    found, issue = api("issues/1", org)
    if not found or sorted([label["name"] for label in issue.get("labels", [])]) != ["bug"]:
        sys.exit(1)
    found, file = api("contents/index.html?ref=main", org)
    if not found or not file:
        sys.exit(1)
    text = base64.b64decode(file.get("content", "")).decode("utf-8")
    if "hi" not in text:
        sys.exit(1)
    sys.exit(0)

main()
"""
    from verifiers.states.forge.examples import ISSUE, forge

    formula, reasons = read_verifier(verifier, Place("a", "verify.py", "github", "acme"))
    assert not reasons
    says = partial(judge, parse(formula))
    assert says(forge({**ISSUE, "labels": ["bug"]})).verdict is Verdict.TRUE
    assert says(forge()).verdict is Verdict.FALSE
    assert says(forge({**ISSUE, "labels": ["bug"]}, name="acme/other")).verdict is Verdict.FALSE


CONTENTS = """
import hashlib, os, sys
from pathlib import Path

def get_test_directory():
    return Path(os.environ["FILESYSTEM_TEST_DIR"])

def digest(path):
    try:
        with open(path, "rb") as f:
            return hashlib.md5(f.read()).hexdigest()
    except Exception as error:
        print(error)
        return None

def verify_copies(test_dir):
    first = digest(test_dir / "a.txt")
    if first is None:
        return False
    for name in ["b.txt", "c.txt"]:
        other = digest(test_dir / name)
        if other is None:
            return False
        if other != first:
            print(f"{name} differs")
            return False
    return True

def verify_again(test_dir):
    for names in [["a.txt", "b.txt"], ["parts/1.txt"]]:
        if len(names) < 2:
            continue
        path = test_dir / names[0]
        if not path.exists():
            return False
        known = digest(path)
        for name in names[1:]:
            if digest(test_dir / name) != known:
                return False
    return True

def verify_lines(test_dir):
    try:
        text = (test_dir / "whole.txt").read_text()
        lines = [line.strip().lower() for line in text.split("\\n") if line.strip()]
        if len(lines) != len(set(lines)):
            return False
        return text.strip().endswith("\u00fc") or not text.strip()
    except Exception:
        return False

def verify_parts(test_dir):
    lengths = []
    for i in range(1, 4):
        try:
            content = (test_dir / "parts" / f"{i}.txt").read_text()
            lengths.append(len(content))
        except Exception as error:
            return False
    if len(set(lengths)) != 1:
        return False
    shortest = min(lengths)
    longest = max(lengths)
    if longest - shortest > 2:
        return False
    try:
        whole = (test_dir / "whole.txt").read_text()
    except Exception:
        return False
    joined = ""
    for i in range(1, 4):
        try:
            joined += (test_dir / "parts" / f"{i}.txt").read_text()
        except Exception:
            return False
    if joined != whole:
        return False
    return True

def main():
    test_dir = get_test_directory()
    passed = True
    for check in [verify_copies, verify_again, verify_lines, verify_parts]:
        if not check(test_dir):
            passed = False
    sys.exit(0 if passed else 1)

main()
"""
RIGHT = {
    **dict.fromkeys(("a.txt", "b.txt", "c.txt"), "one"),
    "parts/1.txt": "ab\n",
    "parts/2.txt": "cd\n",
    "parts/3.txt": "\u00e4\u00f6\u00fc",
    "whole.txt": "ab\ncd\n\u00e4\u00f6\u00fc",
}
LEFT = {
    "right": RIGHT,
    "nothing": {},
    "a copy that differs": RIGHT | {"c.txt": "One"},
    "no copy": {path: text for path, text in RIGHT.items() if path != "b.txt"},
    "a part too long": RIGHT | {"parts/2.txt": "cd\ne", "whole.txt": "ab\ncd\ne\u00e4\u00f6\u00fc"},
    "another order": RIGHT | {"whole.txt": "cd\nab\n\u00e4\u00f6\u00fc"},
    "empty parts": RIGHT | dict.fromkeys(("parts/1.txt", "parts/2.txt", "parts/3.txt", "whole.txt"), ""),
    "a line twice": RIGHT | {"parts/2.txt": "AB\n", "whole.txt": "ab\nAB\n\u00e4\u00f6\u00fc"},
    "another end": RIGHT | {"parts/3.txt": "\u00e4\u00f6o", "whole.txt": "ab\ncd\n\u00e4\u00f6o"},
    "no whole": {path: text for path, text in RIGHT.items() if path != "whole.txt"},
}


@pytest.mark.parametrize("state", LEFT)
def test_digests_and_parts_of_files_are_compared_as_the_verifier_does(tmp_path, state):
    formula, reasons = read_verifier(CONTENTS, PLACE)
    assert not reasons
    assert both_pass(CONTENTS, formula, LEFT[state], tmp_path) == (state in {"right", "empty parts"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if other != first:", 'if other != "d41d8cd98f00b204e9800998ecf8427e":'),
        ("if len(set(lengths)) != 1:", "if len(set(lengths)) > 2:"),
        ("if longest - shortest > 2:", "if shortest - longest > 2:"),
        ("if longest - shortest > 2:", "if longest > 2:"),
        ("if joined != whole:", "if joined.lower() != whole:"),
        ("if first is None:", "if not first or len(first) != 31:"),
    ],
)
def test_what_is_done_with_a_digest_or_a_length_besides_is_not_understood(old, new):
    assert old in CONTENTS
    assert read_verifier(CONTENTS.replace(old, new), PLACE)[1]


def test_a_task_of_postgresql_that_asks_for_a_view_comes_partly():
    verifier = "import psycopg2, sys\ncur = psycopg2.connect().cursor()\ncur.execute('SELECT a FROM t')\n"
    verifier += "sys.exit(0 if cur.fetchall() else 1)\n"
    place = Place("made/up", "verify.py", "postgres", "octo")
    assert not read_task(verifier, place, "Create a table t.", {}, None).reasons
    assert (
        "views of the end state are not read"
        in read_task(verifier, place, "Create a materialized view t.", {}, None).reasons[0]
    )


def test_lengths_may_differ_by_so_much(tmp_path):
    similar = CONTENTS.replace("    if len(set(lengths)) != 1:\n        return False\n", "")
    formula, reasons = read_verifier(similar, PLACE)
    assert not reasons
    for third, right in (
        ("\u00e4\u00f6\u00fc", True),
        ("\u00e4\u00f6xx\u00fc", True),
        ("\u00e4\u00f6xxx\u00fc", False),
    ):
        left = RIGHT | {"parts/3.txt": third, "whole.txt": f"ab\ncd\n{third}"}
        assert (judge(parse(formula), files(left)).verdict is Verdict.TRUE) is right


def test_a_file_that_cannot_be_read_inside_a_condition_raises_an_exception(tmp_path):
    verifier = """
import os, sys
from pathlib import Path
root = Path(os.environ["FILESYSTEM_TEST_DIR"])
note = root / "note"
try:
    found = note.exists() and "x" in note.read_text()
    text = note.read_text() if note.exists() else ""
except Exception:
    sys.exit(1)
sys.exit(0 if found or text == "" else 1)
"""
    formula, reasons = read_verifier(verifier, PLACE)
    assert not reasons
    for number, left in enumerate([{"note": "x"}, {"note": "y"}, {"note": ""}, {}, {"note/x": "x"}]):
        both_pass(verifier, formula, left, tmp_path / str(number))
