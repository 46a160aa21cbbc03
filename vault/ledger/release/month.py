"""Signed files of a monthly turn, which standard tools can verify: checkpoint, SSH signature, attestation.

    checkpoint              the head that covers the turn's `set` statement, under the log's signature alone
    checkpoint.sig          an SSH signature over that file, for `ssh-keygen -Y verify`
    attestation.dsse.json   an in-toto Statement (v1) about the month, in a DSSE envelope

Both signatures are made with the month's key, which is not the log's: the `set` statement names it, and
`allowed_signers` lists it in OpenSSH's format. All three files are functions of the log and the key, so that making
them again gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.ledger.signatures import sshsig
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import take_apart
from vault.ledger.statements import dsse
from vault.ledger.statements.jcs import canonical
from vault.ledger.statements.statement import TYPE, LoggedStatement

CHECKPOINT, SIGNATURE, ATTESTATION = "checkpoint", "checkpoint.sig", "attestation.dsse.json"
FILES = (CHECKPOINT, SIGNATURE, ATTESTATION)
NAMESPACE = "quarterturn-checkpoint"
KIND = "urn:quarterturn:month:v1"


@dataclass(frozen=True)
class MonthAttestation:
    """A monthly turn, as its attestation states it.

    Attributes:
        month: `YYYY-MM` that it ended.
        note: the signed head that covers its `set` statement.
        promised: that statement, which is for the month after.
        retired: its `retire` statement; None in the turn that opened the benchmark.
    """

    month: str
    note: str
    promised: LoggedStatement
    retired: LoggedStatement | None


def files(month: MonthAttestation, key: Ed25519PrivateKey) -> dict[str, bytes]:
    """Sign a month; gives its files by name."""
    note = month.note.encode()
    return {
        CHECKPOINT: note,
        SIGNATURE: sshsig.sign(note, NAMESPACE, key).encode(),
        ATTESTATION: dsse.sign(statement(month), key),
    }


def statement(month: MonthAttestation) -> bytes:
    """Build the in-toto Statement of a turn: its subjects are the head and the release, its predicate the month."""
    head, release = Checkpoint.parse(take_apart(month.note)[0]), _release(month.retired)
    subject = [{"name": CHECKPOINT, "digest": {"sha256": hashlib.sha256(month.note.encode()).hexdigest()}}]
    if release is not None:
        subject.append({"name": release["name"], "digest": {"sha256": release["manifest"]}})
    promised = month.promised.statement.predicate["month"]
    predicate = {
        "month": month.month,
        "origin": head.origin,
        "checkpoint": {"size": head.size, "root": head.root.hex()},
        "set": {"month": promised, "leaf": month.promised.index, "root": month.promised.digest},
        "release": release,
        "next": {"month": promised, "due": _day_after(promised)},
    }
    return canonical({"_type": TYPE, "subject": subject, "predicateType": KIND, "predicate": predicate})


def allowed_signers(origin: str, keys: Iterable[tuple[bytes, date]]) -> str:
    """Write the months' keys as an OpenSSH `allowed_signers` file, each valid from the day before its first turn.

    The day before, because `ssh-keygen` reads dates in the local time zone.

    Args:
        origin: the log's, as whom they sign.
        keys: public keys (32 bytes) with the days of these turns, in UTC.
    """
    return "".join(
        f'{origin} namespaces="{NAMESPACE}",valid-after="{day - timedelta(days=1):%Y%m%d}" {sshsig.public_line(key)}\n'
        for key, day in keys
    )


def _release(retired: LoggedStatement | None) -> Mapping[str, Any] | None:
    if retired is None:
        return None
    return {"name": retired.statement.name, "leaf": retired.index, "manifest": retired.digest}


def _day_after(month: str) -> str:
    """Return the first day after a month; a log monitor calls its turn overdue a week later."""
    year, number = map(int, month.split("-"))
    return str(date(year + number // 12, number % 12 + 1, 1))
