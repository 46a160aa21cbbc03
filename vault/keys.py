"""Key rings: whoever can wrap and unwrap data keys, and nothing more.

`KeyRing` is the protocol that a file, a hardware token or a cloud service keeps alike. `FileKeyRing` is the embedded
one: a JSON file of mode 0600 with one or several 256-bit keys, wrapped under a key that Argon2id derives from a
passphrase. Without a passphrase the file holds the keys themselves, and its mode is all that protects them.

    wrapped data key = key name (8 bytes) || nonce (12) || AES-256-GCM(key, nonce, data key, key name and context)
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from vault import private_files
from vault.canonical import canonical, parse_object
from vault.errors import Broken, Locked, Malformed
from vault.schema import compiled, require

KEY_SIZE, NONCE_SIZE, TAG_SIZE, NAME_SIZE, SALT_SIZE = 32, 12, 16, 8, 16
FORMAT = "quarterturn/ring/v1"
SCHEMA: Mapping[str, Any] = json.loads(files("vault").joinpath("schemas/ring.json").read_bytes())
_WHAT = "key ring"
_WRAP, _FILE, _NAME = b"quarterturn/wrap/v1\n", b"quarterturn/ring/v1\n", b"quarterturn/key-name/v1\n"
_VALIDATOR, _PROTECTION = compiled(SCHEMA), compiled(SCHEMA["$defs"]["argon2id"])


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
        """Give back a wrapped data key.

        Raises:
            Locked: it was wrapped under a key that this ring does not hold.
            Broken: the blob or the context was changed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Cost:
    """Argon2id's parameters (RFC 9106); the default is its second recommended choice. Memory in KiB."""

    memory: int = 64 * 1024
    iterations: int = 3
    lanes: int = 4


DEFAULT_COST = Cost()


@dataclass(frozen=True, slots=True)
class FileKeyRing:
    """A key ring in a file; its repr shows the key's name and the place."""

    path: Path
    key_id: str
    _keys: Mapping[str, bytes] = field(repr=False)
    _entropy: Callable[[int], bytes] = field(repr=False, default=os.urandom)

    @classmethod
    def create(
        cls,
        path: Path,
        passphrase: bytes | None,
        *,
        cost: Cost = DEFAULT_COST,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """Make a ring with one fresh key.

        Raises:
            Refused: there is a file at `path` already.
            Locked: the passphrase is empty.
            Malformed: the cost is outside what `open` accepts.
        """
        key = entropy(KEY_SIZE)
        name = _name(key)
        protection: dict[str, Any] = {"kind": "file-mode"}
        if passphrase is None:
            stored = key
        else:
            salt = base64.b64encode(entropy(SALT_SIZE)).decode()
            protection = {"kind": "argon2id", "salt": salt, **asdict(cost)}
            require(protection, _PROTECTION, f"the new {_WHAT}'s protection")
            wrapper = _derived(passphrase, protection)
            nonce = entropy(NONCE_SIZE)
            stored = nonce + wrapper.encrypt(nonce, key, _file_context(protection, name))
        entry = {"id": name, "key": base64.b64encode(stored).decode()}
        document = {"format": FORMAT, "protection": protection, "primary": name, "keys": [entry]}
        private_files.create(path, canonical(document) + b"\n", _WHAT)
        return cls(path, name, {name: key}, entropy)

    @classmethod
    def open(cls, path: Path, passphrase: bytes | None, *, entropy: Callable[[int], bytes] = os.urandom) -> Self:
        """Open a ring.

        Raises:
            Locked: it is missing, open to others, needs a passphrase or got a wrong one.
            Malformed: the file is not a key ring.
            Broken: a key in it is not the one that it is said to be.
        """
        what = f"the {_WHAT} at {path}"
        document = parse_object(private_files.read(path, _WHAT), what)
        require(document, _VALIDATOR, what)
        opened = _opener(document["protection"], passphrase, what)
        keys = {entry["id"]: opened(entry) for entry in document["keys"]}
        if any(name != _name(key) for name, key in keys.items()):
            raise Broken(f"{what} holds another key than it names: restore the file from a backup.")
        if document["primary"] not in keys:
            raise Malformed(f"{what} is malformed at $.primary: the ring holds no key of that name.")
        return cls(path, document["primary"], keys, entropy)

    def wrap(self, data_key: bytes, context: bytes) -> bytes:
        """Wrap under the primary key, with a fresh random nonce."""
        name, nonce = _raw(self.key_id), self._entropy(NONCE_SIZE)
        return name + nonce + AESGCM(self._keys[self.key_id]).encrypt(nonce, data_key, _WRAP + name + context)

    def unwrap(self, blob: bytes, context: bytes) -> bytes:
        """Unwrap under whichever key of the ring the blob names."""
        if len(blob) != NAME_SIZE + NONCE_SIZE + KEY_SIZE + TAG_SIZE:
            raise Malformed(f"A wrapped data key has another length than {len(blob)} bytes.")
        name, nonce, wrapped = blob[:NAME_SIZE], blob[NAME_SIZE:][:NONCE_SIZE], blob[NAME_SIZE + NONCE_SIZE :]
        key = self._keys.get(f"file:{name.hex()}")
        if key is None:
            raise Locked(
                f"This was sealed under key file:{name.hex()}, which the key ring at {self.path} does not hold."
            )
        try:
            return AESGCM(key).decrypt(nonce, wrapped, _WRAP + name + context)
        except InvalidTag:
            raise Broken("A data key does not unwrap: it, or what is recorded beside it, was changed.") from None


def protected(path: Path) -> bool:
    """Say whether a ring's file is of use to nobody without a passphrase.

    Raises:
        Locked, Malformed: it cannot be read, or is not one.
    """
    what = f"the {_WHAT} at {path}"
    document = parse_object(private_files.read(path, _WHAT), what)
    require(document, _VALIDATOR, what)
    return bool(document["protection"]["kind"] != "file-mode")


def _name(key: bytes) -> str:
    return f"file:{hashlib.sha256(_NAME + key).digest()[:NAME_SIZE].hex()}"


def _raw(key_id: str) -> bytes:
    return bytes.fromhex(key_id.removeprefix("file:"))


def _derived(passphrase: bytes, protection: Mapping[str, Any]) -> AESGCM:
    if not passphrase:
        raise Locked(f"A {_WHAT}'s passphrase must not be empty.")
    derivation = Argon2id(
        salt=base64.b64decode(protection["salt"]),
        length=KEY_SIZE,
        iterations=protection["iterations"],
        lanes=protection["lanes"],
        memory_cost=protection["memory"],
    )
    return AESGCM(derivation.derive(passphrase))


def _file_context(protection: Mapping[str, Any], name: str) -> bytes:
    return _FILE + canonical({"protection": protection, "id": name})


def _opener(protection: Mapping[str, Any], passphrase: bytes | None, what: str) -> Callable[[Mapping[str, str]], bytes]:
    """Give what turns an entry of the file into its key; the passphrase is stretched once."""
    if protection["kind"] == "file-mode":
        if passphrase is not None:
            raise Locked(f"{what} was made without a passphrase; open it without one.")
        return lambda entry: base64.b64decode(entry["key"])
    if passphrase is None:
        raise Locked(f"{what} is locked; give its passphrase.")
    wrapper = _derived(passphrase, protection)

    def opened(entry: Mapping[str, str]) -> bytes:
        stored, context = base64.b64decode(entry["key"]), _file_context(protection, entry["id"])
        try:
            return wrapper.decrypt(stored[:NONCE_SIZE], stored[NONCE_SIZE:], context)
        except InvalidTag:
            raise Locked(f"The passphrase does not open {what}, or the file was changed.") from None

    return opened
