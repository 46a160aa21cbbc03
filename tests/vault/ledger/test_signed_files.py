"""Tests of DSSE envelopes and SSH signatures: other programs accept ours, and refuse changed ones."""

import base64
import json
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.exceptions import VerificationError

from vault.errors import Broken, VaultError
from vault.ledger.signatures import sshsig
from vault.ledger.statements import dsse
from vault.ledger.statements.jcs import canonical

from ...envelopes import opened
from ...ssh_keys import make_ssh_key
from ..builders import edwards, flips

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
OTHER = edwards().public_key().public_bytes_raw()
STATEMENT = canonical({"_type": "https://in-toto.io/Statement/v1", "subject": []})
ENVELOPE = dsse.sign(STATEMENT, KEY)
FILE, SPACE = b"bench.example/log\n42\nroot\n", "checkpoint@bench.example"
SIGNATURE = sshsig.sign(FILE, SPACE, KEY)


def test_a_dsse_library_verifies_an_envelope_and_refuses_a_changed_one():
    assert opened(ENVELOPE, PUBLIC) == STATEMENT
    with pytest.raises(VerificationError):
        opened(ENVELOPE, OTHER)
    changed = json.loads(ENVELOPE) | {"payload": base64.b64encode(STATEMENT + b" ").decode()}
    with pytest.raises(VerificationError):
        opened(canonical(changed), PUBLIC)


def test_a_statement_has_one_envelope():
    assert canonical(json.loads(ENVELOPE)) == ENVELOPE == dsse.sign(STATEMENT, KEY)


OPENSSH = pytest.mark.needs("ssh-keygen")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a file with its signature, and the list of its permitted signers."""
    (tmp_path / "file").write_bytes(FILE)
    (tmp_path / "file.sig").write_text(SIGNATURE)
    (tmp_path / "allowed").write_text(f"log {sshsig.public_line(PUBLIC)}\n")
    return tmp_path


def ssh_keygen(folder: Path, space: str) -> int:
    command = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "log", "-n", space, "-s", "file.sig"]
    with (folder / "file").open("rb") as message:
        return subprocess.run(command, cwd=folder, stdin=message, capture_output=True, check=False).returncode


@OPENSSH
def test_openssh_verifies_a_signature_for_its_namespace_and_its_file_alone(folder):
    assert ssh_keygen(folder, SPACE) == 0
    assert ssh_keygen(folder, "file") != 0
    (folder / "file").write_bytes(FILE + b"\n")
    assert ssh_keygen(folder, SPACE) != 0


@OPENSSH
def test_we_verify_what_openssh_signed(folder):
    make_ssh_key(folder / "test-key")
    (folder / "other").write_bytes(FILE)
    sign = ["ssh-keygen", "-Y", "sign", "-f", "test-key", "-n", SPACE, "other"]
    subprocess.run(sign, cwd=folder, capture_output=True, check=True)
    blob = base64.b64decode((folder / "test-key.pub").read_text().split()[1])
    sshsig.verify(FILE, SPACE, (folder / "other.sig").read_text(), blob[-32:])


def test_a_signature_is_for_one_file_one_namespace_and_one_key():
    sshsig.verify(FILE, SPACE, SIGNATURE, PUBLIC)
    for message, space, public, says in (
        (FILE + b"\n", SPACE, PUBLIC, "does not verify"),
        (FILE, "file", PUBLIC, "namespace"),
        (FILE, SPACE, OTHER, "another key"),
    ):
        with pytest.raises(Broken, match=says):
            sshsig.verify(message, space, SIGNATURE, public)


def test_every_flipped_bit_and_every_cut_of_a_signature_is_noticed():
    for bad in flips(SIGNATURE.encode()):
        with pytest.raises(VaultError):
            sshsig.verify(FILE, SPACE, bad.decode("latin-1"), PUBLIC)
    for end in range(len(SIGNATURE)):
        with pytest.raises(VaultError):
            sshsig.verify(FILE, SPACE, SIGNATURE[:end], PUBLIC)
