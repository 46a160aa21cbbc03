"""Key rings: they wrap and unwrap data keys, and do nothing else.

`KeyRing` is the protocol; `FileKeyRing` implements it with one file, `vault.keys.ring_file`. The file holds several
256-bit *ring keys*: the primary one wraps, all of them unwrap. Each is wrapped under one root key; the root key
is sealed once for each *lock* (`vault.keys.locks`): a passphrase, a hardware token, custodians, a command. Any one lock
opens the ring, so the slowest of them is used once and not for every task.

    wrapped data key = key name (8 bytes) || nonce (12) || AES-256-GCM(key, nonce, data key, key name and context)

An open ring follows its file: when another process added or dropped a key, the next wrap or unwrap knows it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vault.errors import Broken, Locked, Malformed, NotFound, Refused
from vault.keys import private_files, ring_file
from vault.keys.locks.file_mode import FileMode
from vault.keys.locks.lock import Maker, Opener
from vault.keys.locks.passphrase import DEFAULT_COST, Cost, Passphrase
from vault.keys.ring_file import NAME_SIZE, WHAT, Entropy, RingContent, RingKey
from vault.keys.unlocking import free_name, root_of, sealed_again

KEY_SIZE, NONCE_SIZE, TAG_SIZE = 32, 12, 16
MAX_KEYS, MAX_LOCKS = 64, 16
_WRAP = b"quarterturn/wrap/v1\n"


class KeyRing(Protocol):
    """Wraps data keys under a key that never leaves it."""

    @property
    def key_id(self) -> str:
        """The name of the key that `wrap` uses now."""
        ...

    def wrap(self, data_key: bytes, context: bytes) -> bytes:
        """Wrap a data key so that only `unwrap` with the same context gives it back.

        Raises:
            Locked: the ring's key cannot be used now.
        """
        ...

    def unwrap(self, blob: bytes, context: bytes) -> bytes:
        """Return back a wrapped data key.

        Raises:
            Locked: it was wrapped under a key that this ring does not hold.
            Broken: the blob or the context was changed.
        """
        ...


class FileKeyRing:
    """An open key ring; its repr shows the key's name and the place."""

    def __init__(self, path: Path, root: bytes, entropy: Entropy) -> None:
        self.path, self._entropy = path, entropy
        self._held = ring_file.hold(path, root)
        self._former: Mapping[str, RingKey] = {}

    def __repr__(self) -> str:
        return f"FileKeyRing({self.path}, {self._held.primary})"

    # -- making and opening -------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: Path,
        passphrase: bytes | None,
        *,
        cost: Cost = DEFAULT_COST,
        at: datetime | None = None,
        entropy: Entropy = os.urandom,
    ) -> Self:
        """Make a ring with one fresh key, locked by a passphrase, or by nothing but the file's mode.

        Raises:
            Refused: there is a file at `path` already.
            Locked: the passphrase is empty.
            Malformed: the cost is outside what `open` accepts.
        """
        lock = FileMode() if passphrase is None else Passphrase(passphrase, cost, entropy)
        root, key = entropy(KEY_SIZE), RingKey.of(entropy(KEY_SIZE), at)
        locks = [lock.seal(root, lock.kind, ring_file.ring_name(root))]
        private_files.create(path, ring_file.written(root, [key], key.key_id, locks, entropy), WHAT)
        return cls(path, root, entropy)

    @classmethod
    def open(cls, path: Path, passphrase: bytes | None) -> Self:
        """Open a ring by its passphrase, or by the file's mode alone; raises what `open_by` does."""
        return cls.open_by(path, [FileMode() if passphrase is None else Passphrase(passphrase)])

    @classmethod
    def open_by(cls, path: Path, openers: Sequence[Opener], entropy: Entropy = os.urandom) -> Self:
        """Open a ring by the first of its locks that opens.

        Args:
            path: the ring's file.
            openers: what may open it, in the order in which to try.
            entropy: the source of keys and nonces.

        Raises:
            Locked: the file is missing or open to others, no lock was opened, or a secret was wrong.
            Unavailable: what keeps the root key cannot be reached.
            Malformed: the file is not a key ring.
            Broken: the file was changed.
        """
        return cls(path, root_of(path, openers), entropy)

    # -- wrapping -----------------------------------------------------------------------------------------------------

    @property
    def key_id(self) -> str:
        """The name of the primary key."""
        return self._now().primary

    def wrap(self, data_key: bytes, context: bytes) -> bytes:
        """Wrap under the primary key, with a fresh random nonce."""
        held, nonce = self._now(), self._entropy(NONCE_SIZE)
        key = held.keys[held.primary]
        name = _raw(key.key_id)
        return name + nonce + AESGCM(key.secret).encrypt(nonce, data_key, _WRAP + name + context)

    def unwrap(self, blob: bytes, context: bytes) -> bytes:
        """Unwrap under whichever key of the ring the blob names, or one that another process dropped from it.

        So a row that was read just before it was wrapped again still opens.
        """
        if len(blob) != NAME_SIZE + NONCE_SIZE + KEY_SIZE + TAG_SIZE:
            raise Malformed(f"A wrapped data key has another length than {len(blob)} bytes.")
        name, nonce, wrapped = blob[:NAME_SIZE], blob[NAME_SIZE:][:NONCE_SIZE], blob[NAME_SIZE + NONCE_SIZE :]
        key_id = f"file:{name.hex()}"
        key = self._now().keys.get(key_id) or self._former.get(key_id)
        if key is None:
            raise Locked(f"This was sealed under key {key_id}, which the key ring at {self.path} does not hold.")
        try:
            return AESGCM(key.secret).decrypt(nonce, wrapped, _WRAP + name + context)
        except InvalidTag:
            raise Broken("A data key does not unwrap: it, or what is recorded beside it, was changed.") from None

    # -- keys ---------------------------------------------------------------------------------------------------------

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The names of all keys, oldest first."""
        return tuple(self._now().keys)

    def made(self, key_id: str) -> datetime | None:
        """Say when a key was made, where that is known.

        Raises:
            NotFound: the ring holds no such key.
        """
        return _known(self._now(), key_id).made

    def add_key(self, at: datetime) -> None:
        """Make a fresh key the primary one; the others go on unwrapping.

        Raises:
            Refused: the ring is full.
        """

        def added(held: RingContent) -> RingContent:
            if len(held.keys) == MAX_KEYS:
                raise Refused(f"The key ring holds {MAX_KEYS} keys already: drop those that nothing needs.")
            key = RingKey.of(self._entropy(KEY_SIZE), at)
            return replace(held, primary=key.key_id, keys={**held.keys, key.key_id: key})

        self._change(added)

    def drop_key(self, key_id: str) -> None:
        """Destroy a key. What is still wrapped under it never opens again: the caller has proved that nothing is.

        Raises:
            NotFound: the ring holds no such key.
            Refused: it is the primary one.
        """

        def dropped(held: RingContent) -> RingContent:
            if _known(held, key_id).key_id == held.primary:
                raise Refused(f"{key_id} is the primary key and cannot be dropped: rotate to another key first.")
            return replace(held, keys={name: key for name, key in held.keys.items() if name != key_id})

        self._change(dropped)

    # -- locks --------------------------------------------------------------------------------------------------------

    @property
    def locks(self) -> tuple[Mapping[str, Any], ...]:
        """The documents of all locks, in the order in which they were made."""
        return self._now().locks

    def lock(self, name: str) -> Mapping[str, Any]:
        """Return the document of a lock.

        Raises:
            NotFound: there is none of that name.
        """
        return _lock(self._now(), name)

    def add_lock(self, maker: Maker, name: str | None = None) -> str:
        """Add a lock and give its name. The first one takes the place of the file's mode, with a fresh root key.

        Raises:
            Refused: there is a lock of that name, or there are too many.
            Locked, Unavailable, Malformed: the lock cannot be made.
        """
        chosen = ""

        def added(held: RingContent) -> RingContent:
            nonlocal chosen
            rest = tuple(lock for lock in held.locks if lock["kind"] != FileMode.kind)
            root = held.root if len(rest) == len(held.locks) else self._entropy(KEY_SIZE)
            chosen = free_name(name, maker.kind, {lock["name"] for lock in rest})
            if len(rest) == MAX_LOCKS:
                raise Refused(f"The key ring has {MAX_LOCKS} locks already: remove one first.")
            return replace(held, root=root, locks=(*rest, maker.seal(root, chosen, ring_file.ring_name(root))))

        self._change(added)
        return chosen

    def remove_lock(self, name: str, openers: Sequence[Opener] = ()) -> bool:
        """Remove a lock, and say whether the root key is a fresh one now.

        It is, where `openers` open all the locks that are left. Else whoever opened the removed lock in an older copy
        of the file has this file's root key too.

        Raises:
            NotFound: there is none of that name.
            Refused: it is the only one.
        """
        fresh = False

        def removed(held: RingContent) -> RingContent:
            nonlocal fresh
            removed_lock = _lock(held, name)
            rest = tuple(lock for lock in held.locks if lock is not removed_lock)
            if not rest:
                raise Refused(f"{name} is the only lock, and without one nobody opens the ring: add another first.")
            root = self._entropy(KEY_SIZE)
            again = [
                resealed for lock in rest if (resealed := sealed_again(lock, held.root, root, openers)) is not None
            ]
            fresh = len(again) == len(rest)
            return replace(held, root=root, locks=tuple(again)) if fresh else replace(held, locks=rest)

        self._change(removed)
        return fresh

    # -- the file -----------------------------------------------------------------------------------------------------

    def _now(self) -> RingContent:
        if ring_file.stamp(self.path) != self._held.stamp:
            self._former = {**self._former, **self._held.keys}
            self._held = ring_file.hold(self.path, self._held.root, again=True)
        return self._held

    def _change(self, change: Callable[[RingContent], RingContent]) -> None:
        """Read, change and replace the file, under the exclusive lock of its folder."""
        with private_files.exclusive_lock(self.path.parent, WHAT):
            new = change(ring_file.hold(self.path, self._held.root, again=True))
            data = ring_file.written(new.root, list(new.keys.values()), new.primary, new.locks, self._entropy)
            private_files.replace(self.path, data, WHAT)
            self._held = ring_file.hold(self.path, new.root)


def _known(held: RingContent, key_id: str) -> RingKey:
    if key_id not in held.keys:
        raise NotFound(f"The key ring holds no key {key_id}.")
    return held.keys[key_id]


def _raw(key_id: str) -> bytes:
    return bytes.fromhex(key_id.removeprefix("file:"))


def _lock(held: RingContent, name: str) -> Mapping[str, Any]:
    for lock in held.locks:
        if lock["name"] == name:
            return lock
    raise NotFound(f"The key ring has no lock {name}; it has {', '.join(lock['name'] for lock in held.locks)}.")
