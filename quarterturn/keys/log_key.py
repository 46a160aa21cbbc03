"""Rotation of the log's signing key; a crash at any point leaves exactly one key that may sign.

1. the new key, sealed into a file of its own beside the old one
2. the row of the `key` statement, signed by both: from here on the old key signs nothing more
3. both public keys in `log.vkey`, the new one last
4. the new key's file takes the old one's place; the old key is gone
5. the head over the statement, signed by the new key, published, cosigned

Called again, it resumes. A process that was running keeps the old key in memory, and signs nothing with it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quarterturn.app import Application
from vault.files import sync_folder, write_atomically
from vault.keys import private_files, signing
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Signer, open_note
from vault.ledger.statements import leaf

Open = Callable[[], Application]


def change(opened: Open, who: str) -> tuple[str, Checkpoint]:
    """Change the key, or finish a change that was broken off; gives the new public key and the head that it signed.

    The access log says who did, before anything is done.

    Args:
        opened: opens the home; asked before the new key takes the old one's place, and again after. Whoever gave it
            closes what it opened.
        who: who does it.

    Raises:
        NotAllowed: it was not said who.
        Unavailable: the disk failed, or too few witnesses cosigned; call again.
    """
    before = opened()
    _ = before.ledger  # refuses an older state of the log, before anything is said or done
    begun, taken = before.places.next_log_key.exists(), _taken(before)
    before.vault.note(who=who, what="log/key", why=f"log change-key: {'going on' if begun or taken else 'a new one'}")
    if not taken:
        for step in STEPS:
            step(before)
    after = opened()
    return after.writer.verifier.vkey, after.ledger.publish()  # 5


def _taken(house: Application) -> bool:
    """Tell whether a change went as far as step 4: the head is still signed by a key that the home holds no more."""
    note = house.writer.note()
    return note is not None and house.writer.verifier.vkey not in open_note(note, house.writer.verifiers).verified


def _make(house: Application) -> None:
    if not house.places.next_log_key.exists():
        signing.store(house.places.next_log_key, Ed25519PrivateKey.generate(), house.ring)  # 1


def _state(house: Application) -> None:
    new = _next(house)
    if house.ledger.find(_row(new)) is None:
        house.ledger.publish()  # what the old key has promised it also signs
        old = Signer(new.name, signing.load(house.places.log_key, house.ring))
        house.ledger.record_next(_row(new), partial(_statement, old, new))  # 2


def _show(house: Application) -> None:
    keys = [key.vkey for key in house.places.log_keys]
    if (vkey := _next(house).verifier.vkey) not in keys:
        path = house.places.log_vkey
        write_atomically(path, "".join(f"{line}\n" for line in [*keys, vkey]).encode(), path.with_name(".vkey"))  # 3


def _take(house: Application) -> None:
    folder = house.places.log_key.parent
    with private_files.exclusive_lock(folder, "log's key"):  # a rotation of the ring's key replaces these files too
        house.places.next_log_key.rename(house.places.log_key)  # 4
        sync_folder(folder)


STEPS = (_make, _state, _show, _take)


def _next(house: Application) -> Signer:
    return Signer(house.settings.benchmark.origin, signing.load(house.places.next_log_key, house.ring))


def _row(new: Signer) -> str:
    return f"key/{new.verifier.key_id.hex()}"


def _statement(old: Signer, new: Signer, index: int) -> bytes:
    return leaf.key(old=old, new=new, size=index)
