"""Interoperability tests: Go's `x/mod/sumdb` reads the log, the npm package `canonicalize` our documents.

What `openssl`, `sha256sum`, `ssh-keygen` and `securesystemslib` say is in `test_standard_tools.py`, in
`test_signed_files.py`, and of what a home has published in `tests/quarterturn/test_verify_guide.py`. `test_merkle.py`
asks `pymerkle`.
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vault.ledger.signatures.proof import Proof
from vault.ledger.statements import jcs
from vault.ledger.write.append import LogWriter

from ...needs import CANONICALIZE, needing
from ..builders import ORIGIN, signer, turned

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


class Log:
    """A log on disk, an older head of it, and a proof of each kind."""

    def __init__(self, folder, size, old, index):
        self.folder, self.key = folder, signer().verifier.vkey
        writer = LogWriter(folder / "log", folder / "head" / "signed", signer(), ORIGIN)
        leaves = [b"leaf %d" % number for number in range(size)]
        writer.append(leaves[:old], 0)
        (folder / "old").write_text(writer.note())
        writer.append(leaves[old:], old)
        hashes = [base64.b64encode(item).decode() for item in writer.prove_consistency(old)]
        (folder / "consistency").write_text("\n".join(hashes) + "\n")
        proof = Proof(index, writer.prove_inclusion(index), writer.note())
        (folder / "proof").write_text(proof.format())
        (folder / "leaf").write_bytes(leaves[index])

    def arguments(self):
        named = [(f"-{name}", self.folder / name) for name in ("old", "consistency", "proof", "leaf")]
        return *(word for pair in named for word in pair), self.folder / "log", self.key


def test_go_reads_checkpoint_tiles_and_both_proofs(tlog, tmp_path):
    done = tlog(*Log(tmp_path, SIZE, OLD, INDEX).arguments())
    assert done.returncode == 0, done.stderr
    assert [line.partition(" under ")[0] for line in done.stdout.splitlines()] == [
        f"{SIZE} leaves stand",
        f"the log of {SIZE} leaves extends that of {OLD}",
        "the given proof says so too",
        f"the leaf is number {INDEX} of {SIZE}",
    ]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("log/checkpoint", "invalid signature"),
        ("log/tile/0/000", "tile/0/000 is not what the leaves give"),
        ("log/tile/0/001.p/44", "tile/0/001.p/44 is not"),
        ("log/tile/1/000.p/1", "tile/1/000.p/1 is not"),
        ("log/tile/entries/000", "the leaves give the root"),
        ("log/tile/entries/001.p/44", "the leaves give the root"),
        ("old", "invalid signature"),
        ("consistency", "invalid transparency proof"),
        ("proof", "malformed|invalid"),
        ("leaf", "invalid transparency proof"),
    ],
)
def test_go_refuses_what_was_changed(tlog, tmp_path, name, says):
    log = Log(tmp_path, 300, 200, 7)
    assert tlog(*log.arguments()).returncode == 0
    data = (tmp_path / name).read_bytes()
    place = 2 if "entries" in name else data.find(b"\n", 40) - 4  # no length, and in a text the last hash
    (tmp_path / name).write_bytes(turned(data, 8 * place % (8 * len(data))))
    done = tlog(*log.arguments())
    assert done.returncode == 1
    assert any(word in done.stderr for word in says.split("|")), done.stderr


def test_go_refuses_a_key_that_was_not_named(tlog, tmp_path):
    log = Log(tmp_path, 3, 2, 1)
    log.key = signer(1).verifier.vkey
    done = tlog(*log.arguments())
    assert (done.returncode, "no verifiable signatures" in done.stderr) == (1, True)


NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=6),
    max_leaves=20,
)


@pytest.fixture(scope="module")
@needing("canonicalize")
def canonicalize():
    """Give the package's canonical bytes of a JSON text."""
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


def test_the_npm_package_canonicalize_gives_the_bytes_of_a_release(canonicalize, month):
    folder = month.play().retire()
    lines = [line for path in folder.glob("*.json*") for line in path.read_bytes().splitlines()]
    assert len(lines) > 8
    for line in lines:
        shuffled = json.dumps(dict(reversed(json.loads(line).items())), indent=None).encode()
        assert canonicalize(shuffled) == line
