"""Tests of the example release: made again byte for byte; one is proved, its twin and other forgeries are refused."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from freezing.example_release import COMMAND, EXAMPLE, GUIDE, RELEASE, TAMPERED, log_again, relist
from vault.ledger.audit.verify import audit

ROOT = EXAMPLE.parents[1]
KEY = EXAMPLE / "log.vkey"
RAISED = (b'"success_rate":"0.3333"', b'"success_rate":"0.8333"')
LARGEST = 500 << 10


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.full
def test_the_example_is_what_its_command_makes(tmp_path):
    command = [sys.executable, "-m", "freezing.example_release", "--to", str(tmp_path)]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    there, again = files(EXAMPLE), files(tmp_path)
    del there[GUIDE]
    different = sorted(name for name in there.keys() | again.keys() if there.get(name) != again.get(name))
    assert not different, f"if this was meant, make it again: {COMMAND}"


def test_the_example_is_small():
    assert sum(map(len, files(EXAMPLE).values())) <= LARGEST


BARE = [sys.executable, "-I", "-S", "docs/audit.py"]  # no package of anybody, as on a machine that has only Python


def test_the_readme_shows_what_the_second_audit_prints():
    words = [str(EXAMPLE / TAMPERED / RELEASE), "--key", str(KEY)]
    printed = subprocess.run([*BARE, *words], check=False, cwd=ROOT, capture_output=True, text=True)
    block = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    shown = [line.rstrip("…") for line in block[1].splitlines()]
    lines = iter(printed.stdout.splitlines())
    assert all(any(line.startswith(one) for line in lines) for one in shown)


def test_the_audit_names_the_result_that_was_turned_into_a_pass():
    lines = [(folder / RELEASE / "results.jsonl").read_text().splitlines() for folder in (EXAMPLE, EXAMPLE / TAMPERED)]
    pairs = enumerate(zip(*lines, strict=True), 1)
    ((number, honest, forged),) = [(number, json.loads(a), json.loads(b)) for number, (a, b) in pairs if a != b]
    assert (honest["result"]["passed"], forged["result"]["passed"]) == (False, True)
    failed = audit(EXAMPLE / TAMPERED / RELEASE, [KEY.read_text().strip()]).failed
    assert (failed.name, failed.rule) == ("results", "result.bound")
    assert failed.evidence.where == f"line {number} of results.jsonl"
    assert failed.evidence.expected != failed.evidence.found


def fenced(language=""):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", (EXAMPLE / GUIDE).read_text(), re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


def test_the_readme_shows_what_its_commands_say(tmp_path):
    for name in ("docs", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    codes, said = [], ""
    for line in "".join(fenced()).splitlines():
        words = shlex.split(line)
        program = [*BARE, *words[2:]] if words[:2] == ["python3", "docs/audit.py"] else words
        done = subprocess.run(program, check=False, cwd=tmp_path, capture_output=True, text=True)
        codes.append(done.returncode)
        said += done.stdout
    assert codes == [0, 1, 0, 0, 1], said
    missing = [line for block in fenced("text") for line in block.splitlines() if line not in said.splitlines()]
    assert not missing


def relisted(release, beside):
    relist(release, "aggregate.json")


def with_its_leaf(release, beside):
    digests = relist(release, "aggregate.json")
    (entries,) = (path for path in (release / "log/tile/entries").rglob("*") if path.is_file())
    entries.write_bytes(entries.read_bytes().replace(*(digest.encode() for digest in digests)))


def signed_by_another(release, beside):
    log_again(release, relist(release, "aggregate.json"), beside, Ed25519PrivateKey.from_private_bytes(bytes(32)))


@pytest.mark.parametrize(
    ("forge", "step"),
    [(lambda *_: None, 1), (relisted, 6), (with_its_leaf, 3), (signed_by_another, 2)],
    ids=["one byte", "manifest", "leaf", "another key"],
)
def test_whoever_has_no_key_gets_no_further_than_the_readme_says(forge, step, tmp_path):
    release = Path(shutil.copytree(EXAMPLE / RELEASE, tmp_path / "copy"))
    figures = (release / "aggregate.json").read_bytes()
    assert figures.count(RAISED[0]) == 1
    (release / "aggregate.json").write_bytes(figures.replace(*RAISED))
    forge(release, tmp_path / "forged")
    assert audit(release, [KEY.read_text().strip()]).failed.number == step
