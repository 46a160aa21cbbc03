"""Interoperability tests: Go's `x/mod/sumdb` reads the log, the npm package `canonicalize` our documents.

What `ssh-keygen` and `securesystemslib` say is in `test_signed_files.py`, and what they, `openssl` and `sha256sum` say
of what a home has published in `tests/quarterturn/test_verify_guide.py`. `test_merkle.py` asks `pymerkle`.
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given

from vault.ledger.signatures.proof import Proof
from vault.ledger.statements import jcs
from vault.ledger.write.append import LogWriter

from ...needs import CANONICALIZE, needing
from ..builders import ORIGIN, signer
from .test_jcs import VALUES

pytestmark = pytest.mark.slow

THIRD_PARTY = Path(__file__).with_name("third_party")
NODE = Path(sys.prefix, "world", "node", "bin", "node")
OLD, SIZE = 300, 65_800  # three levels of tiles, each with a last one that is not full
INDEX = 65_790


@pytest.fixture(scope="module")
@needing("go")
def tlog(tmp_path_factory):
    """Build the Go program from Debian's packages."""
    folder = tmp_path_factory.mktemp("go")
    settings = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(folder / "cache")}
    build = ["go", "build", "-o", folder / "tlog", THIRD_PARTY / "tlog.go"]
    subprocess.run(build, env=os.environ | settings, check=True)

    def run(*arguments):
        return subprocess.run([folder / "tlog", *arguments], capture_output=True, text=True, check=False)

    return run


def test_go_reads_checkpoint_tiles_and_both_proofs(tlog, tmp_path):
    """That the program refuses what was changed is in `tests/quarterturn/test_verify_guide.py`."""
    writer = LogWriter(tmp_path / "log", tmp_path / "head" / "signed", signer(), ORIGIN)
    leaves = [b"leaf %d" % number for number in range(SIZE)]
    writer.append(leaves[:OLD], 0)
    older = writer.note()
    writer.append(leaves[OLD:], OLD)
    hashes = [base64.b64encode(item).decode() + "\n" for item in writer.prove_consistency(OLD)]
    given = {
        "old": older.encode(),
        "consistency": "".join(hashes).encode(),
        "proof": Proof(INDEX, writer.prove_inclusion(INDEX), writer.note()).format().encode(),
        "leaf": leaves[INDEX],
    }
    for name, data in given.items():
        (tmp_path / name).write_bytes(data)
    named = [word for name in given for word in (f"-{name}", tmp_path / name)]
    done = tlog(*named, tmp_path / "log", signer().verifier.vkey)
    assert done.returncode == 0, done.stderr
    assert [line.partition(" under ")[0] for line in done.stdout.splitlines()] == [
        f"{SIZE} leaves stand",
        f"the log of {SIZE} leaves extends that of {OLD}",
        "the given proof says so too",
        f"the leaf is number {INDEX} of {SIZE}",
    ]


@pytest.fixture(scope="module")
@needing("canonicalize")
def canonicalize():
    """Yield the package's canonical bytes of a JSON text."""
    command = [NODE, THIRD_PARTY / "canonicalize.mjs", CANONICALIZE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as node:

        def ask(line):
            node.stdin.write(line + b"\n")
            node.stdin.flush()
            return node.stdout.readline()[:-1]

        yield ask
        node.stdin.close()


@given(VALUES)
def test_the_npm_package_canonicalize_gives_the_same_bytes(canonicalize, value):
    assert canonicalize(json.dumps(value).encode()) == jcs.canonical(value)
