"""Rotation of the log's signing key; a crash at any point leaves exactly one key that may sign.

1. the new key, sealed into a file of its own beside the old one
2. the row of the `key` statement, signed by both: from here on the old key signs nothing more
3. both public keys in `log.vkey`, the new one last
4. the new key's file takes the old one's place; the old key is gone
5. the head over the statement, signed by the new key, published, cosigned

`LogKeyChange` makes the steps 1 to 4 and, called again, resumes; its caller then opens the home again and publishes
(step 5). A process that was running keeps the old key in memory, and signs nothing with it.

The new key may lie in another folder than the old one, that of a signer with a user of its own: then step 4 copies the
signed head there first, since only its owner may say what was signed last.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quarterturn.home.paths import HomePaths
from vault.errors import Locked, reason_and_step
from vault.files import make_folder, sync, write_atomically
from vault.keys import private_files, signing
from vault.keys.ring import FileKeyRing, KeyRing
from vault.ledger.audit.command import read_keys
from vault.ledger.signatures.note import Signer, open_note
from vault.ledger.statements import leaf
from vault.ledger.write.log_files import LogFiles
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault


@dataclass(frozen=True)
class KeyFolder:
    """Folder of a log's key: a home, or what a signer with a user of its own has.

    Attributes:
        places: its paths.
        ring: under which its key is sealed.
    """

    places: HomePaths
    ring: KeyRing

    @classmethod
    def of_signer(cls, folder: Path) -> Self:
        """Open the folder of a signer, or make it, with a key ring that its file's mode protects.

        Raises:
            Locked: it belongs to another user.
        """
        places = HomePaths(folder)
        try:
            make_folder(places.head.parent)
            places.ring.parent.mkdir(mode=private_files.FOLDER_MODE, exist_ok=True)
            opened = FileKeyRing.open if places.ring.exists() else FileKeyRing.create
        except OSError as error:
            raise Locked(f"the signer's folder {folder} cannot be used: {reason_and_step(error)}") from None
        return cls(places, opened(places.ring, None))


class LogKeyChange:
    """Change of one home's log key.

    Args:
        old: where the key is.
        new: where the new key shall be.
        log: the log, under the old key.
        ledger: the log's rows.
        vault: whose access log says who changed the key.
    """

    def __init__(self, old: KeyFolder, new: KeyFolder, log: LogFiles, ledger: PublicLog, vault: Vault) -> None:
        self._old, self._new, self._log, self._ledger, self._vault = old, new, log, ledger, vault
        self._next = new.places.next_log_key
        self._vkeys = log.folder.parent / "log.vkey"

    def change(self, who: str) -> None:
        """Make the steps 1 to 4, or those of them that are left; the access log says who did, before they are made.

        Raises:
            NotAllowed: it was not said who.
            Unavailable: the disk failed, or too few witnesses cosigned; call again.
        """
        begun, taken = self._next.exists(), self._taken()
        why = f"log change-key: {'going on' if begun or taken else 'a new one'}"
        self._vault.note(who=who, what="log/key", why=why)
        if not taken:
            for step in self.STEPS:
                step(self)
        elif self._moves:
            self._take()

    def _taken(self) -> bool:
        """Say whether a change went as far as step 4: the head is still signed by a key that the home has no more."""
        note, key = self._log.note(), self._old.places.log_key
        if self._moves and not key.exists():
            return True
        vkey = self._signer(self._old, key).verifier.vkey
        return note is not None and vkey not in open_note(note, self._log.verifiers).verified

    @property
    def _moves(self) -> bool:
        return self._old.places.home != self._new.places.home

    def _make(self) -> None:
        if not self._next.exists():
            signing.store(self._next, Ed25519PrivateKey.generate(), self._new.ring)  # 1

    def _state(self) -> None:
        new = self._signer(self._new, self._next)
        if self._ledger.find(_row(new)) is None:
            self._ledger.publish()  # what the old key has promised it also signs
            old = self._signer(self._old, self._old.places.log_key)
            self._ledger.record_next(_row(new), partial(_statement, old, new))  # 2

    def _show(self) -> None:
        keys = read_keys(self._vkeys)
        if (vkey := self._signer(self._new, self._next).verifier.vkey) not in keys:
            lines = "".join(f"{line}\n" for line in [*keys, vkey])
            write_atomically(self._vkeys, lines.encode(), self._vkeys.with_name(".vkey"))  # 3

    def _take(self) -> None:
        folder, old = self._new.places.log_key.parent, self._old.places
        with private_files.exclusive_lock(folder, "log's key"):  # a rotation of the ring's key replaces these files too
            if self._moves and old.log_key.exists():
                if (note := self._log.note()) is not None:
                    write_atomically(self._new.places.head, note.encode(), self._new.places.head.with_name(".new"))
                old.log_key.unlink()
                sync(old.log_key.parent)
            if self._next.exists():
                self._next.rename(self._new.places.log_key)  # 4
                sync(folder)

    STEPS = (_make, _state, _show, _take)

    def _signer(self, folder: KeyFolder, key: Path) -> Signer:
        return Signer(self._log.origin, signing.load(key, folder.ring))


def _row(new: Signer) -> str:
    return f"key/{new.verifier.key_id.hex()}"


def _statement(old: Signer, new: Signer, index: int) -> bytes:
    return leaf.key(old=old, new=new, size=index)
