"""Tests of several processes on one home: they share one log, one chain and one key, and nothing is lost or doubled.

What a killed one leaves is in `ledger/test_append.py`, `store/test_rewrap.py` and `tests/quarterturn/test_faults.py`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vault.ledger.write.append import LogWriter
from vault.store.public_log import PublicLog

from ..patience import PATIENCE
from .builders import ORIGIN, signer

pytestmark = pytest.mark.slow

WORK = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from tests.vault.builders import ORIGIN, signer
from vault import database
from vault.database import open_engine
from vault.keys.ring import FileKeyRing
from vault.ledger.write.append import LogWriter
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault

database.WAIT = 300.0  # what is shown is that they take turns, however slow the disk is
home, who = Path(sys.argv[1]), sys.argv[2]
clock = lambda: datetime.now(UTC)
engine = open_engine(f"sqlite:///{home / 'quarterturn.db'}")
writer = LogWriter(home / "public" / "log", home / "head" / "signed", signer(), ORIGIN, patience=300.0)
vault = Vault(engine, FileKeyRing.open(home / "keys" / "ring.json", None), clock)
ledger = PublicLog(engine, writer, clock)
tag, indexes = vault.tag("skeleton", "shared"), []
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
print(json.dumps({"tag": tag, "indexes": indexes, "admitted": admitted}))
"""


def test_three_processes_on_one_home_share_one_log_one_chain_and_one_index_key(vault, add, engine, clock, tmp_path):
    add(0)
    vault.seal_blob("trace", b"...")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-W", "error", "-c", WORK, tmp_path]
    processes = [subprocess.Popen([*command, who], cwd=Path(__file__).parents[2], **pipes) for who in "abc"]
    said = [process.communicate(timeout=PATIENCE) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], said
    results = [json.loads(out) for out, _ in said]
    assert len({result["tag"] for result in results}) == 1
    assert sum(result["admitted"] for result in results) == 1
    own = [index for result in results for index in result["indexes"][::2]]
    shared = [result["indexes"][1::2] for result in results]
    assert shared[0] == shared[1] == shared[2]
    assert sorted([*own, *shared[0]]) == list(range(48))
    vault.verify_access_log()
    assert len(vault.access_log()) == 36
    writer = LogWriter(tmp_path / "public" / "log", tmp_path / "head" / "signed", signer(), ORIGIN)
    ledger = PublicLog(engine, writer, clock)
    assert (ledger.size, ledger.published.size) == (48, 48)
    ledger.verify()
