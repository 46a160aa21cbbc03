"""Envelope encryption: one fresh AES-256-GCM data key for each sealed item.

    data key  = 32 random bytes, used once          ciphertext = AES-256-GCM(data key, nonce, plaintext, context)
    wrapped   = the ring's wrapping of the data key, bound to the same context

The context names what is sealed and everything about it that must not change; opening under another context fails, so
a row that was moved or edited does not open. Rotating the ring's key wraps the data key again and leaves the ciphertext
as it is. AES-GCM does not commit to its key, so `vault.commitment` binds what a plaintext was promised to be.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from vault.canonical import canonical, parse_object
from vault.errors import Broken, Malformed

if TYPE_CHECKING:
    from vault.keys.ring import KeyRing

KEY_SIZE, NONCE_SIZE, TAG_SIZE = 32, 12, 16
MAX_KEY_ID, MAX_WRAPPED = 200, 4096
FORMAT = "quarterturn/sealed/v1"
_DOMAIN = b"quarterturn/seal/v1\n"
_FIELDS = {"format", "key_id", "wrapped_key", "nonce", "ciphertext"}

Entropy = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Sealed:
    """Something sealed; its repr shows the key's name and the size.

    Attributes:
        key_id: the ring's key that wrapped the data key.
        wrapped_key: the wrapped data key.
        nonce: NONCE_SIZE bytes.
        ciphertext: as long as the plaintext, and TAG_SIZE bytes more.
    """

    key_id: str
    wrapped_key: bytes = field(repr=False)
    nonce: bytes = field(repr=False)
    ciphertext: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not 0 < len(self.key_id) <= MAX_KEY_ID:
            raise Malformed("A sealed item must name the key that it was sealed under.")
        if not 0 < len(self.wrapped_key) <= MAX_WRAPPED:
            raise Malformed(f"A sealed item's wrapped key has 1 to {MAX_WRAPPED} bytes, not {len(self.wrapped_key)}.")
        if len(self.nonce) != NONCE_SIZE:
            raise Malformed(f"A sealed item's nonce has {NONCE_SIZE} bytes, not {len(self.nonce)}.")
        if len(self.ciphertext) < TAG_SIZE:
            raise Malformed(f"A sealed item's ciphertext has at least {TAG_SIZE} bytes, not {len(self.ciphertext)}.")

    def __repr__(self) -> str:
        return f"Sealed(key_id={self.key_id!r}, {len(self.ciphertext)} bytes)"

    def columns(self) -> dict[str, Any]:
        """Return the four parts by name, for a row."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def to_json(self) -> bytes:
        """Write it as canonical JSON, for files."""
        return canonical(
            {
                "format": FORMAT,
                "key_id": self.key_id,
                "wrapped_key": base64.b64encode(self.wrapped_key).decode(),
                "nonce": base64.b64encode(self.nonce).decode(),
                "ciphertext": base64.b64encode(self.ciphertext).decode(),
            }
        )

    @classmethod
    def from_json(cls, data: bytes, what: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            Malformed: a field is missing, unknown, of a wrong length or not base64.
        """
        document = parse_object(data, what)
        if document.keys() != _FIELDS or document["format"] != FORMAT:
            raise Malformed(f"{what} is not in the format {FORMAT}.")
        if not isinstance(document["key_id"], str):
            raise Malformed(f"{what} is malformed at $.key_id: it must be text.")
        return cls(
            key_id=document["key_id"],
            wrapped_key=decoded(document, "wrapped_key", what),
            nonce=decoded(document, "nonce", what),
            ciphertext=decoded(document, "ciphertext", what),
        )


def decoded(document: dict[str, Any], name: str, what: str) -> bytes:
    """Return a base64 field's bytes; only the one canonical spelling is taken."""
    text = document.get(name)
    try:
        value = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        value = None
    if value is None or base64.b64encode(value).decode() != text:
        raise Malformed(f"{what} is malformed at $.{name}: it must be base64.")
    return value


def seal(plaintext: bytes, context: bytes, ring: KeyRing, entropy: Entropy = os.urandom) -> Sealed:
    """Seal bytes under the ring's present key, bound to `context`.

    Raises:
        Locked: the ring cannot wrap now.
    """
    data_key, nonce = entropy(KEY_SIZE), entropy(NONCE_SIZE)
    ciphertext = AESGCM(data_key).encrypt(nonce, plaintext, _DOMAIN + context)
    return Sealed(*_wrapped(data_key, context, ring), nonce, ciphertext)


def unseal(sealed: Sealed, context: bytes, ring: KeyRing) -> bytes:
    """Open what `seal` made.

    Raises:
        Locked: it was sealed under a key that this ring does not hold.
        Broken: the bytes or the context are not those that were sealed.
    """
    return unseal_with(sealed, context, data_key_of(sealed.wrapped_key, context, ring))


def unseal_with(sealed: Sealed, context: bytes, data_key: bytes) -> bytes:
    """Open what `seal` made with its data key alone; the ring is not needed, as of `data_key_of`.

    Raises:
        Broken: the bytes, the context or the key are not those that were sealed.
    """
    try:
        return AESGCM(data_key).decrypt(sealed.nonce, sealed.ciphertext, _DOMAIN + context)
    except InvalidTag:
        raise Broken("A sealed item does not open: it, or the record that it is bound to, was changed.") from None


def rewrap(wrapped_key: bytes, context: bytes, ring: KeyRing) -> tuple[str, bytes]:
    """Wrap a data key again under the ring's present key, and give that key's name and the new wrapping.

    Raises:
        Locked: it was wrapped under a key that this ring does not hold.
        Broken: it, or the context, is not what was sealed.
    """
    return _wrapped(data_key_of(wrapped_key, context, ring), context, ring)


def _wrapped(data_key: bytes, context: bytes, ring: KeyRing) -> tuple[str, bytes]:
    while True:  # a ring follows its file: a name that differs before and after may not be the one that wrapped
        key_id, wrapped = ring.key_id, ring.wrap(data_key, context)
        if ring.key_id == key_id:
            return key_id, wrapped


def data_key_of(wrapped_key: bytes, context: bytes, ring: KeyRing) -> bytes:
    """Unwrap the key that opens one sealed item and nothing else.

    Raises:
        Locked: it was wrapped under a key that this ring does not hold.
        Broken: it, or the context, is not what was sealed.
    """
    data_key = ring.unwrap(wrapped_key, context)
    if len(data_key) != KEY_SIZE:
        raise Broken(f"The key ring gave a data key of {len(data_key)} bytes instead of {KEY_SIZE}.")
    return data_key
