"""Second signatures of withdrawals: collects them from a second person, whose key a `set` statement named.

Each withdrawal is a text of its own, which is signed as OpenSSH signs files, so a second person signs on a machine of
their own and needs no part of this program. Nothing is kept: a signature goes into the `withdraw` leaf, for everybody
to verify.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from quarterturn.approvals import signatures
from quarterturn.errors import Malformed, NotAllowed, Unapproved
from rotation.runs.withdrawal import UnsignedWithdrawal
from vault.errors import Broken
from vault.errors import Malformed as NoSignature
from vault.ledger.signatures import sshsig
from vault.ledger.signatures.note import Verifier
from vault.ledger.statements.log_state import WITHDRAWAL


@dataclass(frozen=True, slots=True)
class SecondPerson:
    """Where the signatures of a second person come from.

    Attributes:
        folder: gets the texts that are to be signed, and has their signatures beside them, as `ssh-keygen` writes them.
        key: the person's OpenSSH key, where they are at this machine.
    """

    folder: Path | None = None
    key: Path | None = None

    def sign(self, withdrawals: Sequence[UnsignedWithdrawal]) -> dict[str, dict[str, str]]:
        """Return the second signature of each withdrawal, by task.

        Raises:
            Unapproved: there is none yet; the message says who signs, and how.
            NotAllowed: one is of nobody who may sign, or over something else.
            Malformed: a file is no key, or no text.
            Locked: the key's file is missing, or open to others.
        """
        if not withdrawals:
            return {}
        names = " or ".join(sorted({key.partition("+")[0] for item in withdrawals for key in item.keys}))
        if self.key is not None:
            armored = [signatures.sign(item.text, self.key, WITHDRAWAL) for item in withdrawals]
        elif self.folder is not None:
            armored = _read(withdrawals, self.folder, names)
        else:
            raise Unapproved(
                f"this takes the signature of {names} as well: do the same again with --to-sign FOLDER, into which the "
                "texts to sign are written, or with their --second-key"
            )
        pairs = zip(withdrawals, armored, strict=True)
        return {item.task: _accepted(item, text, names) for item, text in pairs}


NOBODY = SecondPerson()


def _read(withdrawals: Sequence[UnsignedWithdrawal], folder: Path, names: str) -> list[str]:
    """Write each text that is to be signed, and read the signatures that lie beside them."""
    folder.mkdir(exist_ok=True)
    files = [folder / f"{item.task}.json" for item in withdrawals]
    for file, item in zip(files, withdrawals, strict=True):
        file.write_bytes(item.text)
    signed = [file.with_name(f"{file.name}.sig") for file in files]
    if not all(file.is_file() for file in signed):
        raise Unapproved(
            f"this takes the signature of {names} as well, who looks at the files in {folder} and signs each with "
            f"`ssh-keygen -Y sign -n {WITHDRAWAL} -f KEY FILE`. Then do the same again"
        )
    try:
        return [file.read_text(encoding="ascii") for file in signed]
    except UnicodeDecodeError:
        raise Malformed(f"a file in {folder} that ends in .sig is no text, so it holds no signature") from None


def _accepted(withdrawal: UnsignedWithdrawal, armored: str, names: str) -> dict[str, str]:
    """Return a signature as the leaf has it."""
    for key in withdrawal.keys:
        with suppress(NoSignature, Broken):
            signature = sshsig.verify(withdrawal.text, WITHDRAWAL, armored, Verifier.parse(key).public)
            return {"key": key, "signature": base64.b64encode(signature).decode()}
    raise NotAllowed(
        f"the second signature for {withdrawal.task} is not by {names}, or not over what would be recorded now, or not "
        f"for the namespace {WITHDRAWAL}: nothing was done. Sign the present text"
    )
