"""Tests of what an auditor needs: a release's own command opens a commitment (dependencies: `tests/test_floors.py`)."""

import json
import subprocess

from vault.ledger.release import contents


def test_the_command_of_the_readme_opens_a_commitment(month):
    folder = month.play().retire()
    opening = json.loads((folder / contents.OPENINGS).read_bytes().splitlines()[0])
    lines = (folder / contents.README).read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if "printf" in line)
    command = "\n".join(lines[start : start + 2]).replace("SALT", opening["salt"])
    said = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=True).stdout.decode()
    assert said.split()[-1] == opening["commitment"]
