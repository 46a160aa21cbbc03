"""Tests of the auditor as one file: generated from the modules, and run with or without the package.

That it says what the modules say of every release is in `tests/quarterturn/audit/test_auditors.py`.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vault.ledger.audit.single_file import write
from vault.ledger.audit.verify import audit

from ..builders import RELEASE, VECTORS
from .lies import LIES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "docs" / "audit.py"
GOOD, CHANGED = (VECTORS / name / RELEASE for name in ("good", "key-changed"))
KEY, OLDER = VECTORS / "log.vkey", VECTORS / "older-checkpoint"
ALONE = ("-I", "-S")  # of what is installed nothing is found
BOTH = pytest.mark.parametrize("python", [("-I",), ALONE], ids=["with the package", "with none"])


def run(python: tuple[str, ...], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *python, FILE, *arguments]
    return subprocess.run([str(one) for one in command], capture_output=True, text=True, check=False)


def test_the_file_is_what_the_modules_make():
    assert FILE.read_text() == write(), "python -m vault.ledger.audit.single_file > docs/audit.py"


def test_without_what_is_installed_there_is_no_package():
    command = [sys.executable, *ALONE, "-c", "import cryptography"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


@BOTH
def test_it_says_of_a_good_release_what_the_modules_say(python):
    said = run(python, GOOD, "--key", KEY, "--previous", OLDER, "--json")
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout) == audit(GOOD, [KEY.read_text().strip()], OLDER.read_text()).as_json()
    assert "yes" in run(python, GOOD, "--key", KEY).stdout.splitlines()
    assert run(python, CHANGED, "--key", CHANGED.parent / "log.vkey").returncode == 0


def test_it_shows_what_disagrees_beneath_the_step_that_failed(month):
    folder = LIES["a flipped bit"].play(month)
    report = audit(folder, month.keys)
    said = run(ALONE, folder, "--key", KEY)
    assert said.stdout.splitlines() == list(report.lines())
    assert [f"    {line}" for line in report.failed.evidence.lines()] == said.stdout.splitlines()[2:5]


def test_a_changed_signature_is_a_no_without_a_package_too(tmp_path):
    folder = shutil.copytree(GOOD, tmp_path / "bundle")
    checkpoint = folder / "log" / "checkpoint"
    name, _, signature = checkpoint.read_text().rpartition(" ")
    other = "B" if signature[20] == "A" else "A"
    checkpoint.write_text(f"{name} {signature[:20]}{other}{signature[21:]}")
    said = run(ALONE, folder, "--key", KEY)
    assert said.returncode == 1
    assert "does not verify" in said.stdout


def test_an_argument_that_is_missing_or_unusable_is_named():
    for arguments, code, says in (((GOOD,), 2, "--key"), (("nothing", "--key", KEY), 3, "there is no release folder")):
        said = run(ALONE, *arguments)
        assert (said.returncode, said.stdout) == (code, "")
        assert says in said.stderr
        assert "Traceback" not in said.stderr
