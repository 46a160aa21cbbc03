"""Builders that the vault's tests share: keys, changed files, flipped bits and frozen releases."""

import errno
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
from sqlalchemy import Engine

from vault.database import transaction
from vault.errors import Malformed, VaultError
from vault.keys.locks.passphrase import Cost
from vault.ledger.audit.report import AuditReport
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.cosignature import Cosigner
from vault.ledger.signatures.note import Signer, line

ORIGIN = "bench.example/log"
VECTORS = Path(__file__).parents[1] / "vectors" / "ledger"
RELEASE = "Historical-2026-12"

RESULT_ROW = {
    "run": 1,
    "task": "t-" + "a" * 16,
    "cohort": "cohort-2026-12",
    "category": "recovery",
    "verdict": "true",
    "passed": True,
    "calls": 7,
    "max_steps": 12,
    "unlisted": 1,
    "saw_error": True,
    "skeleton": "ab",
    "transcript": "cd" * 32,
}

CHEAP = Cost(memory=8 * 1024, iterations=1, lanes=1)
KEY = bytes(range(32))
NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)


def sql(engine: Engine, statement: str) -> None:
    with transaction(engine) as session:
        session.connection().exec_driver_sql(statement)


def rewrite(path: Path, change: Callable[[Any], object]) -> None:
    """Change the document of a ring's file in place."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def edwards(seed: int = 0) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes([seed] * 32))


def signer(seed: int = 0, name: str = ORIGIN) -> Signer:
    return Signer(name, edwards(seed))


WITNESSES = {
    "A": Cosigner("a.example/w", edwards(1)),
    "B": Cosigner("b.example/w", edwards(2)),
    "C": Cosigner("c.example/w", MLDSA44PrivateKey.from_seed_bytes(b"\3" * 32)),
}


def cosigned_at(cosigner: Cosigner, head: Checkpoint, seconds: int) -> str:
    """Cosign a checkpoint at any time, even one that no witness of ours would sign."""
    witness, time = cosigner.witness, seconds.to_bytes(8, "big")
    if isinstance(cosigner.key, Ed25519PrivateKey):
        message = f"cosignature/v1\ntime {seconds}\n{head.format()}".encode()
    else:
        names = [bytes([len(name)]) + name.encode() for name in (cosigner.name, head.origin)]
        message = b"subtree/v1\n\0" + names[0] + time + names[1] + bytes(8) + head.size.to_bytes(8, "big") + head.root
    return line(cosigner.name, witness.key_id, time + cosigner.key.sign(message))


def turned(data: bytes, *bits: int) -> bytes:
    """Flip some of the bits of data."""
    changed = bytearray(data)
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def flips(data: bytes, step: int = 1) -> Iterator[bytes]:
    """Return the data with one bit flipped, for every bit or for each of so many."""
    return (turned(data, bit) for bit in range(0, 8 * len(data), step))


PLACE_ALONE = {"cannot be read": "the file is missing, and the manifest or the log names it"}
"""Words of the errors that have nothing to compare, and why."""
OF_THE_CALLER = ("no key was given", "a verifier key reads")
"""Words of the errors about what the caller gave, which has no place in a release."""


def carries_evidence(error: VaultError) -> bool:
    """Whether an error names a place and, unless it has nothing to compare, gives two values that differ there."""
    if error.evidence is None or not error.evidence.where:
        return False
    if isinstance(error, Malformed) or any(words in str(error) for words in PLACE_ALONE):
        return True
    return error.evidence.expected != error.evidence.found


def refused(report: AuditReport, why: str, *words: str) -> None:
    """Require that an audit stopped at a step or under a rule, with such words in what it says, and names a place."""
    failed = report.failed
    assert failed is not None, list(report.lines())
    assert why in {failed.name, failed.rule}, (failed.name, failed.rule, failed.detail, failed.evidence)
    assert failed.evidence or failed.detail.startswith(OF_THE_CALLER), failed.detail
    text = f"{failed.detail} {json.dumps(failed.evidence.as_json()) if failed.evidence else ''}"
    for word in words:
        assert word in text, (word, text)


def said_by_the_page(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a report (JSON) what the page says too: not the caveats, nor how it words what breaks no rule."""
    steps = [
        {**step, "detail": "", "evidence": step["rule"] and step["evidence"]} if "rule" in step else step
        for step in report["steps"]
    ]
    return {name: value for name, value in report.items() if name != "caveats"} | {"steps": steps}


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


DISK_CALLS = ("open", "write", "fsync", "rename", "mkdir", "unlink")
STRIKES = [pytest.param(Killed(), id="kill"), pytest.param(OSError(errno.EIO, os.strerror(errno.EIO)), id="fail")]
"""What strikes a call to the disk: the process ends there, or the call fails alone."""


def struck(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], number: int, error: BaseException) -> bool:
    """Strike the work at its call to the disk of this number; return whether it made so many."""
    left = itertools.count(number, -1)

    def before(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **how: Any) -> Any:
            if (place := next(left)) == 0 or (place < 0 and isinstance(error, Killed)):
                raise error  # who is killed cleans nothing up either
            return real(*args, **how)

        return call

    with monkeypatch.context() as patch, suppress(Killed, VaultError):
        for name in DISK_CALLS:
            patch.setattr(os, name, before(getattr(os, name)))
        work()
    return next(left) < 0
