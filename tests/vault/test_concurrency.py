"""Tests of several processes on one home, some of them killed: nothing is lost, doubled or half-written."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ..patience import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

OPEN = """
import json, os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from vault import database
from vault.database import open_engine, transaction
from vault.keys.ring import FileKeyRing
from vault.ledger.write.append import LogWriter
from vault.ledger.signatures.note import Signer
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault

database.WAIT = 300.0  # what is shown is that they take turns, however slow the disk is
home, who = Path(sys.argv[1]), sys.argv[2]
clock = lambda: datetime.now(UTC)

def opened():
    engine = open_engine(f"sqlite:///{home / 'quarterturn.db'}")
    signer = Signer("vault.example/b", Ed25519PrivateKey.from_private_bytes(b"7" * 32))
    writer = LogWriter(home / "public" / "log", home / "head" / "signed", signer, "vault.example/b", patience=300.0)
    vault = Vault(engine, FileKeyRing.open(home / "keys" / "ring.json", None), clock)
    return engine, vault, PublicLog(engine, writer, clock)
"""


def started(code: str, home: Path, who: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", OPEN + code, str(home), who],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> dict[str, object]:
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return json.loads(out)


WORK = """
engine, vault, ledger = opened()
tags, indexes = {vault.tag("skeleton", "shared")}, []
for n in range(12):
    indexes.append(ledger.record(f"{who}/{n}", f"{who} {n}".encode()))
    indexes.append(ledger.record(f"shared/{n}", f"shared {n}".encode()))
    vault.open_blob("trace", who=who, why=f"reading {n}")
    ledger.publish()
try:
    vault.advance("t-zzzzzzzzzzzzzzaa", "admit")
    admitted = 1
except Exception as error:
    assert type(error).__name__ == "NotAllowed", error
    admitted = 0
print(json.dumps({"tags": sorted(tags), "indexes": indexes, "admitted": admitted}))
"""


def test_three_processes_on_one_home_share_one_log_one_chain_and_one_index_key(vault, add, tmp_path):
    add(0)
    vault.seal_blob("trace", b"...")
    results = [finished(process) for process in [started(WORK, tmp_path, who) for who in ("ada", "bea", "cyd")]]
    assert len({tag for result in results for tag in result["tags"]}) == 1
    assert sum(result["admitted"] for result in results) == 1
    own = [index for result in results for index in result["indexes"][::2]]
    shared = [result["indexes"][1::2] for result in results]
    assert shared[0] == shared[1] == shared[2]
    assert sorted([*own, *shared[0]]) == list(range(48))
    vault.verify_access_log()
    assert len(vault.access_log()) == 36
    check = finished(started(CHECK, tmp_path, "check"))
    assert check == {"rows": 48, "signed": 48}


CHECK = """
engine, vault, ledger = opened()
rows = ledger.size
head = ledger.publish()
ledger.verify()
vault.verify_access_log()
print(json.dumps({"rows": rows, "signed": head.size}))
"""

KILLED_INSIDE = """
engine, vault, ledger = opened()
ledger.record("before", b"before")
with transaction(engine) as session:
    ledger.record("lost", b"lost", session=session)
    vault.seal_blob("lost", b"lost", session=session)
    vault.tag("skeleton", "lost", session=session)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_killed_inside_a_transaction_leaves_what_was_before(vault, tmp_path):
    process = started(KILLED_INSIDE, tmp_path, "ada")
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -9
    assert not vault.has_blob("lost")
    assert finished(started(CHECK, tmp_path, "check")) == {"rows": 1, "signed": 1}


# Forks once for each call that changes a disk during a publication, and is killed just before that call.
KILLED_AT_EACH_STEP = """
import vault.ledger.tree.tiles as tiles

engine, vault, ledger = opened()
ledger.record("first", b"first")
ledger.publish()
engine.dispose()
NAMES = ("fsync", "replace", "rename", "link", "open")
real = {name: getattr(os, name) for name in NAMES}

def child(limit):
    engine, vault, ledger = opened()
    done = 0
    def counted(name):
        def call(*args, **kwargs):
            nonlocal done
            done += 1
            if done == limit:
                os.kill(os.getpid(), signal.SIGKILL)
            return real[name](*args, **kwargs)
        return call
    vault.seal_blob(f"blob/{limit}", b"x")
    for n in range(3):
        ledger.record(f"leaf/{limit}/{n}", f"{limit} {n}".encode())
    for name in NAMES:
        setattr(os, name, counted(name))
    ledger.publish()

sizes, killed, limit = [], 0, 0
while True:
    limit += 1
    pid = os.fork()
    if not pid:
        try:
            child(limit)
        finally:
            os._exit(0)
    status = os.waitpid(pid, 0)[1]
    engine, vault, ledger = opened()
    assert ledger.size == 1 + 3 * limit, (ledger.size, limit)
    assert vault.has_blob(f"blob/{limit}")
    sizes.append(ledger.published.size)
    ledger.publish()
    ledger.verify()
    engine.dispose()
    if os.WIFEXITED(status):
        break
    killed += 1
checkpoints = {path.name: path.read_bytes() for path in (home / "public" / "log" / "checkpoints").iterdir()}
print(json.dumps({"killed": killed, "sizes": sizes, "published": sorted(map(int, checkpoints))}))
"""


def test_a_process_killed_at_any_step_of_a_publication_is_made_good_by_the_next(vault, tmp_path):
    result = finished(started(KILLED_AT_EACH_STEP, tmp_path, "ada"))
    assert result["killed"] >= 5, "the steps of a publication were not met"
    before, after = ({1 + 3 * n for n in range(start, len(result["sizes"]) + start)} for start in (0, 1))
    assert set(result["sizes"]) <= before | after
    assert result["published"] == [1 + 3 * n for n in range(len(result["sizes"]) + 1)]
