"""Tests of the auditor as one file: generated from the modules, and run with Python alone.

That it says what the modules say of every release is in `tests/quarterturn/audit/test_auditors.py`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from freezing.single_file import write
from vault.ledger.audit.command import main
from vault.ledger.audit.verify import audit

from ..builders import RELEASE, VECTORS

pytestmark = pytest.mark.slow

FILE = Path(__file__).resolve().parents[3] / "docs" / "audit.py"
GOOD, KEY, OLDER = VECTORS / "good" / RELEASE, VECTORS / "log.vkey", VECTORS / "older-checkpoint"
ALONE = (sys.executable, "-I", "-S")  # of what is installed nothing is found


def test_the_file_is_what_the_modules_make():
    assert FILE.read_text() == write(), "python -m freezing.single_file > docs/audit.py"


def test_it_says_what_the_modules_say_where_nothing_is_installed():
    assert subprocess.run([*ALONE, "-c", "import cryptography"], capture_output=True, check=False).returncode == 1
    command = [*ALONE, FILE, GOOD, "--key", KEY, "--previous", OLDER, "--json"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout) == audit(GOOD, [KEY.read_text().strip()], OLDER.read_text()).as_json()


def test_an_audit_without_a_key_is_not_begun(capsys):
    with pytest.raises(SystemExit) as ended:
        main([str(GOOD)])
    assert ended.value.code == 2
    assert "--key" in capsys.readouterr().err
