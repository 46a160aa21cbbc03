"""Rotation of the log's signing key; a crash at any point leaves exactly one key that may sign.

1. the new key, sealed into a file of its own beside the old one
2. the row of the `key` statement, signed by both: from here on the old key signs nothing more
3. both public keys in `log.vkey`, the new one last
4. the new key's file takes the old one's place; the old key is gone
5. the head over the statement, signed by the new key, published, cosigned

`LogKeyChange` makes the steps 1 to 4 and, called again, resumes; its caller then opens the home again and publishes
(step 5). A process that was running keeps the old key in memory, and signs nothing with it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quarterturn.home.paths import HomePaths
from vault.files import sync, write_atomically
from vault.keys import private_files, signing
from vault.keys.ring import KeyRing
from vault.ledger.signatures.note import Signer, open_note
from vault.ledger.statements import leaf
from vault.ledger.write.log_files import LogFiles
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault


class LogKeyChange:
    """Change of one home's log key.

    Args:
        places: where the keys are.
        ring: under which they are sealed.
        writer: the log's writer, with the old key.
        ledger: the log's rows.
        vault: whose access log says who changed the key.
    """

    def __init__(self, places: HomePaths, ring: KeyRing, writer: LogFiles, ledger: PublicLog, vault: Vault) -> None:
        self._places, self._ring, self._writer, self._ledger, self._vault = places, ring, writer, ledger, vault

    def change(self, who: str) -> None:
        """Make the steps 1 to 4, or those of them that are left; the access log says who did, before they are made.

        Raises:
            NotAllowed: it was not said who.
            Unavailable: the disk failed, or too few witnesses cosigned; call again.
        """
        begun, taken = self._places.next_log_key.exists(), self._taken()
        why = f"log change-key: {'going on' if begun or taken else 'a new one'}"
        self._vault.note(who=who, what="log/key", why=why)
        if not taken:
            for step in self.STEPS:
                step(self)

    def _taken(self) -> bool:
        """Say whether a change went as far as step 4: the head is still signed by a key that the home has no more."""
        note = self._writer.note()
        return (
            note is not None
            and self._signer(self._places.log_key).verifier.vkey not in open_note(note, self._writer.verifiers).verified
        )

    def _make(self) -> None:
        if not self._places.next_log_key.exists():
            signing.store(self._places.next_log_key, Ed25519PrivateKey.generate(), self._ring)  # 1

    def _state(self) -> None:
        new = self._signer(self._places.next_log_key)
        if self._ledger.find(_row(new)) is None:
            self._ledger.publish()  # what the old key has promised it also signs
            old = self._signer(self._places.log_key)
            self._ledger.record_next(_row(new), partial(_statement, old, new))  # 2

    def _show(self) -> None:
        keys = [key.vkey for key in self._places.log_keys]
        if (vkey := self._signer(self._places.next_log_key).verifier.vkey) not in keys:
            path = self._places.log_vkey
            write_atomically(
                path, "".join(f"{line}\n" for line in [*keys, vkey]).encode(), path.with_name(".vkey")
            )  # 3

    def _take(self) -> None:
        folder = self._places.log_key.parent
        with private_files.exclusive_lock(folder, "log's key"):  # a rotation of the ring's key replaces these files too
            self._places.next_log_key.rename(self._places.log_key)  # 4
            sync(folder)

    STEPS = (_make, _state, _show, _take)

    def _signer(self, key: Path) -> Signer:
        return Signer(self._writer.origin, signing.load(key, self._ring))


def _row(new: Signer) -> str:
    return f"key/{new.verifier.key_id.hex()}"


def _statement(old: Signer, new: Signer, index: int) -> bytes:
    return leaf.key(old=old, new=new, size=index)
