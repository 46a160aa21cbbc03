"""Tests of what an auditor needs: a release's own command opens a commitment, and the ledger has few dependencies."""

import json
import subprocess
import sys

from vault.ledger.release import contents


def test_the_command_of_the_readme_opens_a_commitment(month):
    folder = month.play().retire()
    opening = json.loads((folder / contents.OPENINGS).read_bytes().splitlines()[0])
    lines = (folder / contents.README).read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if "printf" in line)
    command = "\n".join(lines[start : start + 2]).replace("SALT", opening["salt"])
    said = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=True).stdout.decode()
    assert said.split()[-1] == opening["commitment"]


def test_the_ledger_needs_only_the_standard_library_and_cryptography():
    program = (
        "import sys, pkgutil, importlib, vault.ledger as room\n"
        "found = pkgutil.walk_packages(room.__path__, 'vault.ledger.')\n"
        "[importlib.import_module(m.name) for m in found if not m.name.endswith('__main__')]\n"
        "ours = {'vault', 'cryptography', '_cffi_backend', '__main__', '__mp_main__', '_rust', 'typing_extensions'}\n"
        "site = [n for n, m in sys.modules.items() if 'site-packages' in (getattr(m, '__file__', None) or '')]\n"
        "print(sorted({n.partition('.')[0] for n in site} - ours))\n"
        "print(sorted(n for n in sys.modules if n.startswith('vault.') and not n.startswith('vault.ledger')))\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    third_party, ours = said.splitlines()
    assert [name for name in json.loads(third_party.replace("'", '"')) if not name.startswith(("_", "distutils"))] == []
    assert json.loads(ours.replace("'", '"')) == [
        "vault.commitment", "vault.errors", "vault.file_lock", "vault.files", "vault.task", "vault.task.variant",
    ]  # fmt: skip
