"""Signed notes: a text, an empty line, and lines `— <name> <base64(key id || signature)>`.

C2SP signed-note v1.0.0 (https://c2sp.org/signed-note@v1.0.0), with Ed25519 keys (type 0x01); the keys
of witnesses are in `cosignature.py`. A signature by a key that the caller named must verify or the
whole note fails, others are listed, and a note with none by a named key fails. Base64 must be the
one canonical form of its bytes, so that no byte of a line that counts can change unnoticed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Protocol, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from vault.errors import Broken, Malformed
from vault.ledger.signatures.strict_ed25519 import ED25519_BYTES, key_fault, verifies

LOG_ED25519 = b"\x01"
ID_BYTES = 4
MAX_NOTE = 1 << 20
MAX_SIGNATURES = 100
_DASH = "\u2014 "
_FIRST_PRINTABLE = " "
SPACES = " \t\r\n"  # around a key; more of them would be other ones in other languages


@dataclass(frozen=True)
class Verifier:
    """A public key with its name: what a caller trusts.

    Attributes:
        name: the key's name; a log's is its origin.
        public: its bytes.
        kind: its type, one byte.
    """

    KEY_BYTES: ClassVar[Mapping[bytes, int]] = {LOG_ED25519: 32}
    KINDS: ClassVar[str] = "Ed25519 (0x01)"

    name: str
    public: bytes
    kind: bytes = LOG_ED25519

    def __post_init__(self) -> None:
        require_name(self.name)
        where, size = f"the public key of {self.name}", len(self.public)
        if self.kind not in self.KEY_BYTES:
            raise Malformed(f"the verifier key of {self.name} is not of type {self.KINDS}")
        if size != (right := self.KEY_BYTES[self.kind]):
            raise Malformed(f"{where} has {size} bytes; one of its type has {right}", where=where)
        if size == ED25519_BYTES and (why := key_fault(self.public)):
            raise Malformed(f"{where} {why}", where=where)

    @classmethod
    def parse(cls, vkey: str) -> Self:
        """Read a verifier key `<name>+<key id in hex>+<base64(type || public key)>`.

        Raises:
            Malformed: it is no such text, is of another type, or its key id is not that of its key.
        """
        name, kind, public = read_vkey(vkey)
        return cls(name, public, kind)

    @cached_property
    def key_id(self) -> bytes:
        """The four bytes that stand before its signatures."""
        return key_id(self.name, self.kind, self.public)

    @cached_property
    def vkey(self) -> str:
        """The key as text, to be handed to others."""
        encoded = base64.b64encode(self.kind + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{encoded}"

    def accepts(self, text: bytes, signature: bytes) -> bool:
        """Tell whether `signature` is this key's over `text`."""
        return verifies(self.public, signature, text)


@dataclass(frozen=True)
class Signer:
    """A private key with its name."""

    name: str
    key: Ed25519PrivateKey = field(repr=False)

    @property
    def verifier(self) -> Verifier:
        """The public half."""
        return Verifier(self.name, self.key.public_key().public_bytes_raw())

    def sign(self, text: str) -> str:
        """Sign a text that ends in a newline; gives the whole note."""
        _require_text(text)
        return text + "\n" + line(self.name, self.verifier.key_id, self.key.sign(text.encode()))


class HeadSigner(Protocol):
    """The log's key; one that lies sealed is opened when a head is signed."""

    @property
    def name(self) -> str:
        """Its name, which is the log's origin."""
        ...

    @property
    def verifier(self) -> Verifier:
        """The public half."""
        ...

    def sign(self, text: str) -> str:
        """Sign a text that ends in a newline, and return the whole note."""
        ...


@dataclass(frozen=True)
class Note:
    """A note that was opened.

    Attributes:
        text: what was signed, with its final newline.
        verified: the signatures that verified, by the verifier key as text.
        ignored: names of keys that signed it too and that the caller did not name: proof of nothing.
    """

    text: str
    verified: Mapping[str, bytes]
    ignored: tuple[str, ...]


def open_note(note: str | bytes, keys: Sequence[Verifier]) -> Note:
    """Verify a note.

    Raises:
        Malformed: it is no signed note.
        Broken: a named key's signature does not verify, or no named key signed.
    """
    text, lines = take_apart(note)
    by_id = {(key.name, key.key_id): key for key in keys}
    verified: dict[str, bytes] = {}
    ignored: list[str] = []
    for name, identity, signature in map(read_line, lines):
        key, where = by_id.get((name, identity)), f"the signature by {name}"
        if key is None:
            ignored.append(name)
        elif key.accepts(text.encode(), signature):
            verified[key.vkey] = signature
        else:
            what = f"{where}+{identity.hex()} does not verify over the text of the note"
            expected = {"key": key.vkey, "text": text}
            raise Broken(what, where=where, expected=expected, found={"signature": signature})
    if not verified:
        signers = [f"{name}+{identity.hex()}" for name, identity, _ in map(read_line, lines)]
        what = f"no given key signed the note; it is signed by {', '.join(sorted(signers))}"
        what += ". A log that changed its key has several: give each"
        known = [key.vkey for key in keys]
        raise Broken(what, where="the signatures", expected=known, found=signers)
    return Note(text, verified, tuple(ignored))


def key_id(name: str, kind: bytes, public: bytes) -> bytes:
    """Return a key's id: the first four bytes of SHA-256(name || newline || type || key)."""
    return hashlib.sha256(name.encode() + b"\n" + kind + public).digest()[:ID_BYTES]


def read_vkey(vkey: str) -> tuple[str, bytes, bytes]:
    """Read a verifier key as (name, type, public key).

    Raises:
        Malformed: it is no such text, or its key id is not that of its key.
    """
    name, _, rest = vkey.strip(SPACES).partition("+")
    stated, _, encoded = rest.partition("+")
    if not (name and stated and encoded):
        raise Malformed("a verifier key reads NAME+ID+KEY; this one does not")
    data = decode_base64(encoded, "the verifier key")
    require_name(name)
    computed = key_id(name, data[:1], data[1:]).hex()
    if computed != stated:
        what = f"the verifier key of {name} says id {stated[:16]}, its key has id {computed}"
        where = f"the id of the verifier key of {name}"
        raise Malformed(what, where=where, expected=computed, found=stated)
    return name, data[:1], data[1:]


def decode_base64(text: str, what: str) -> bytes:
    """Decode standard base64 (RFC 4648, section 4) and refuse any but the canonical form."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise Malformed(f"{what} is not base64", where=what) from error
    if base64.b64encode(data).decode() != text:
        raise Malformed(f"{what} is not canonical base64", where=what)
    return data


def take_apart(note: str | bytes) -> tuple[str, list[str]]:
    """Split a note into its text and its signature lines, without verifying anything.

    Raises:
        Malformed: it is no signed note.
    """
    try:
        decoded = note if isinstance(note, str) else note.decode()
        size = len(decoded.encode())
    except UnicodeError as error:
        raise Malformed("a note is UTF-8; this one is not") from error
    if size > MAX_NOTE:
        raise Malformed(f"a note has at most {MAX_NOTE} bytes, this one {size}")
    text, separator, signatures = decoded.rpartition("\n\n")
    if not separator or not signatures.endswith("\n"):
        raise Malformed("a signed note is a text, an empty line, and lines that end in a newline")
    _require_text(text + "\n")
    lines = signatures[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise Malformed(f"a note has at most {MAX_SIGNATURES} signatures")
    return text + "\n", lines


def line(name: str, identity: bytes, signature: bytes) -> str:
    """Write a signature line, with its newline."""
    return f"{_DASH}{name} {base64.b64encode(identity + signature).decode()}\n"


def read_line(line: str) -> tuple[str, bytes, bytes]:
    """Read a signature line, without its newline, as (name, key id, signature).

    Raises:
        Malformed: it is none.
    """
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space:
        raise Malformed("a signature line reads '\u2014 NAME SIGNATURE'; one in the note does not")
    require_name(name)
    data = decode_base64(encoded, "a signature in the note")
    if len(data) <= ID_BYTES:
        raise Malformed("a signature in the note is too short")
    return name, data[:ID_BYTES], data[ID_BYTES:]


def require_name(name: str) -> None:
    """Refuse what cannot stand as a key's name.

    Raises:
        Malformed: it is empty, has a space, a plus sign or a control character, or is no UTF-8.
    """
    if not name or "+" in name or any(map(str.isspace, name)) or min(name) < _FIRST_PRINTABLE:
        raise Malformed("a key's name is not empty and has neither spaces nor a plus sign")
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise Malformed("a key's name is UTF-8; this one is not")


def _require_text(text: str) -> None:
    if not text.endswith("\n") or min(text.replace("\n", ""), default=" ") < _FIRST_PRINTABLE:
        raise Malformed("a note's text ends in a newline and has no other control characters")
