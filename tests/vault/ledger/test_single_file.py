"""Tests of the auditor as one file: generated from the modules, with the same answers, with or without the package."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vault.ledger.audit.single_file import write
from vault.ledger.audit.verify import audit
from vault.ledger.signatures.policy import Policy

from ..builders import RELEASE, VECTORS
from .bad_releases import BAD, bad_release
from .lies import LIES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "docs" / "audit.py"
GOOD, CHANGED, LEFT = (VECTORS / name / RELEASE for name in ("good", "key-changed", "withdrawn"))
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


def test_a_doubt_is_a_no_until_its_number_is_accepted():
    words = (ALONE, LEFT, "--key", LEFT.parent / "log.vkey")
    said = run(*words)
    assert (said.returncode, said.stderr) == (1, "")
    assert "yes with doubts" in said.stdout.splitlines()
    assert "Accept each doubt that has a good reason by its number (--accept 1)." in said.stdout
    said = run(*words, "--accept", 1, "--json")
    assert said.returncode == 0
    keys = (LEFT.parent / "log.vkey").read_text().split()
    assert json.loads(said.stdout) == audit(LEFT, keys, accepted=[1]).as_json()


@pytest.mark.parametrize("name", BAD)
def test_it_says_of_a_bad_release_what_the_modules_say(name, tmp_path):
    folder, key = bad_release(name, tmp_path / "bundle")
    said = run(ALONE, folder, "--key", key, "--json")
    assert said.returncode == 1
    assert json.loads(said.stdout) == audit(folder, key.read_text().split()).as_json()


@pytest.fixture(scope="module")
def alone():
    """Give the file as a module that finds no package."""
    spec = importlib.util.spec_from_file_location("audit_alone", FILE)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "audit_alone", module)
        patch.setitem(sys.modules, "cryptography", None)
        patch.setitem(sys.modules, "cryptography.exceptions", None)
        spec.loader.exec_module(module)
    assert module.MLDSA44PublicKey is None
    return module


@pytest.mark.parametrize("name", LIES)
def test_it_says_of_a_lie_what_the_modules_say(name, month, alone):
    lie = LIES[name]
    folder, policy = lie.play(month), lie.policy or "quorum none\n"
    expected = audit(folder, month.keys, policy=Policy.parse(policy))
    assert expected.answer != "yes"
    assert alone.audit(folder, month.keys, policy=alone.Policy.parse(policy)).as_json() == expected.as_json()


def test_it_shows_what_disagrees_beneath_the_step_that_failed(tmp_path):
    folder, key = bad_release("flipped-bit", tmp_path / "bundle")
    report = audit(folder, key.read_text().split())
    said = run(ALONE, folder, "--key", key)
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


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((GOOD,), 2, "--key"),
        ((GOOD, "--key", OLDER), 2, "cannot be used"),
        ((GOOD, "--key", "nothing"), 3, "there is no file nothing"),
        (("nothing", "--key", KEY), 3, "there is no release folder"),
        ((GOOD, "--key", KEY, "--previous", KEY), 2, "holds no checkpoint"),
    ],
)
def test_unusable_arguments_are_named(arguments, code, says):
    said = run(ALONE, *arguments)
    assert (said.returncode, said.stdout) == (code, "")
    assert says in said.stderr
    assert "Traceback" not in said.stderr
