"""Interoperability tests: `openssl` opens a commitment and checks the head, and the auditor has few dependencies."""

import base64
import json
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from vault.ledger.release import contents


def run(*command, data=b""):
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode()


@pytest.mark.needs("openssl")
def test_openssl_opens_a_commitment(month):
    folder = month.play().retire()
    task = (folder / contents.TASKS).read_bytes().splitlines()[0]
    opening = json.loads((folder / contents.OPENINGS).read_bytes().splitlines()[0])
    said = run("openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{opening['salt']}",
               data=b"quarterturn/commit/v1\n" + task)  # fmt: skip
    assert said.split()[-1] == opening["commitment"]


def test_the_command_of_the_readme_opens_a_commitment(month):
    folder = month.play().retire()
    opening = json.loads((folder / contents.OPENINGS).read_bytes().splitlines()[0])
    lines = (folder / contents.README).read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if "printf" in line)
    command = "\n".join(lines[start : start + 2]).replace("SALT", opening["salt"])
    said = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=True).stdout.decode()
    assert said.split()[-1] == opening["commitment"]


@pytest.mark.needs("openssl")
def test_openssl_checks_the_signature_of_the_head(month, tmp_path):
    folder = month.play().retire()
    text, _, line = (folder / "log/checkpoint").read_text().rpartition("\n\n")
    signature = base64.b64decode(line.split()[-1])[4:]
    public = month.signer.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "log.pem").write_bytes(public)
    (tmp_path / "body").write_text(text + "\n")
    (tmp_path / "signature").write_bytes(signature)
    said = run("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", tmp_path / "log.pem", "-rawin",
               "-in", tmp_path / "body", "-sigfile", tmp_path / "signature")  # fmt: skip
    assert "Verified Successfully" in said


def test_sha256sum_gives_the_hash_that_was_attested(month):
    folder = month.play().retire()
    task = (folder / contents.TASKS).read_bytes().splitlines()[0]
    subject = json.loads((folder / contents.ATTESTATION).read_bytes())["subject"][0]
    assert run("sha256sum", data=task).split()[0] == subject["digest"]["sha256"]
    assert json.loads(task)["id"] == subject["name"]


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
    third_party, ours = run(sys.executable, "-c", program).splitlines()
    assert [name for name in json.loads(third_party.replace("'", '"')) if not name.startswith(("_", "distutils"))] == []
    assert json.loads(ours.replace("'", '"')) == [
        "vault.commitment", "vault.errors", "vault.file_lock", "vault.files", "vault.task", "vault.task.variant",
    ]  # fmt: skip
