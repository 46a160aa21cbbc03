"""Signed notes, C2SP signed-note v1.0.0 (https://c2sp.org/signed-note@v1.0.0), with Ed25519 keys (type 0x01).

A note is a text, an empty line, and signature lines `— <name> <base64(key id || signature)>`. `open_note` is strict: a
signature by a key that the caller named must verify or the whole note fails, signatures by other keys are ignored and
listed, and a note with no signature by a named key fails. Base64 must be the one canonical form of its bytes, so that
no byte of a line that counts can change unnoticed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from vault.errors import Broken, Malformed

ED25519 = b"\x01"
KEY_BYTES = 32
ID_BYTES = 4
MAX_NOTE = 1 << 20
MAX_SIGNATURES = 100
_DASH = "\u2014 "
_FIRST_PRINTABLE = 0x20


@dataclass(frozen=True)
class Verifier:
    """A public key with its name: what a caller trusts.

    Attributes:
        name: the key's name; a log's is its origin.
        public: the 32 bytes of the Ed25519 public key.
    """

    name: str
    public: bytes

    def __post_init__(self) -> None:
        _require_name(self.name)
        if len(self.public) != KEY_BYTES:
            raise Malformed(f"an Ed25519 public key has {KEY_BYTES} bytes, this one {len(self.public)}")

    @classmethod
    def parse(cls, vkey: str) -> Verifier:
        """Read a verifier key `<name>+<key id in hex>+<base64(0x01 || public key)>`.

        Raises:
            Malformed: it is no such text, names another algorithm, or its key id is not that of its key.
        """
        name, _, rest = vkey.strip().partition("+")
        key_id, _, encoded = rest.partition("+")
        if not (name and key_id and encoded):
            raise Malformed("a verifier key reads NAME+ID+KEY; this one does not")
        data = decode_base64(encoded, "the verifier key")
        if data[:1] != ED25519:
            raise Malformed(f"the verifier key of {name} is not of type Ed25519 (0x01)")
        found = cls(name, data[1:])
        if found.key_id.hex() != key_id:
            raise Malformed(f"the verifier key of {name} says id {key_id[:16]}, its key has id {found.key_id.hex()}")
        return found

    @property
    def key_id(self) -> bytes:
        """The key id: the first four bytes of SHA-256(name || newline || type || key)."""
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.public).digest()[:ID_BYTES]

    @property
    def vkey(self) -> str:
        """The key as text, to be handed to others."""
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(ED25519 + self.public).decode()}"

    def accepts(self, text: bytes, signature: bytes) -> bool:
        """Tell whether `signature` is this key's over `text`."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text)
        except (InvalidSignature, ValueError):
            return False
        return True


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
        signature = self.verifier.key_id + self.key.sign(text.encode())
        return f"{text}\n{_DASH}{self.name} {base64.b64encode(signature).decode()}\n"


@dataclass(frozen=True)
class Note:
    """A note that was opened.

    Attributes:
        text: what was signed, with its final newline.
        verified: verifier keys (as text) whose signatures verified.
        ignored: names of keys that signed it too and that the caller did not name: proof of nothing.
    """

    text: str
    verified: tuple[str, ...]
    ignored: tuple[str, ...]


def open_note(note: str | bytes, verifiers: Sequence[Verifier]) -> Note:
    """Verify a note.

    Raises:
        Malformed: it is no signed note.
        Broken: a named key's signature does not verify, or no named key signed.
    """
    text, lines = take_apart(note)
    verified: list[str] = []
    ignored: list[str] = []
    for line in lines:
        name, key_id, signature = _signature(line)
        key = next((v for v in verifiers if v.name == name and v.key_id == key_id), None)
        if key is None:
            ignored.append(name)
        elif key.accepts(text.encode(), signature):
            verified.append(key.vkey)
        else:
            raise Broken(f"the signature by {name}+{key_id.hex()} does not verify over the text of the note")
    if not verified:
        raise Broken(f"no given key signed the note; it is signed by {', '.join(map(repr, sorted(set(ignored))))}")
    return Note(text, tuple(verified), tuple(ignored))


def decode_base64(text: str, what: str) -> bytes:
    """Decode standard base64 (RFC 4648, section 4) and refuse any but the canonical form."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise Malformed(f"{what} is not base64") from error
    if base64.b64encode(data).decode() != text:
        raise Malformed(f"{what} is not canonical base64")
    return data


def take_apart(note: str | bytes) -> tuple[str, list[str]]:
    """Split a note into its text and its signature lines, and verify nothing.

    Raises:
        Malformed: it is no signed note.
    """
    try:
        whole = note if isinstance(note, str) else note.decode()
        size = len(whole.encode())
    except UnicodeError as error:
        raise Malformed("a note is UTF-8; this one is not") from error
    if size > MAX_NOTE:
        raise Malformed(f"a note has at most {MAX_NOTE} bytes, this one {size}")
    text, separator, signatures = whole.rpartition("\n\n")
    if not separator or not signatures.endswith("\n"):
        raise Malformed("a signed note is a text, an empty line, and signature lines that end in a newline")
    _require_text(text + "\n")
    lines = signatures[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise Malformed(f"a note has at most {MAX_SIGNATURES} signatures")
    return text + "\n", lines


def _signature(line: str) -> tuple[str, bytes, bytes]:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space:
        raise Malformed("a signature line reads '\u2014 NAME SIGNATURE'; one in the note does not")
    _require_name(name)
    data = decode_base64(encoded, "a signature in the note")
    if len(data) <= ID_BYTES:
        raise Malformed("a signature in the note is too short")
    return name, data[:ID_BYTES], data[ID_BYTES:]


def _require_name(name: str) -> None:
    if not name or "+" in name or any(letter.isspace() or ord(letter) < _FIRST_PRINTABLE for letter in name):
        raise Malformed("a key's name is not empty and has neither spaces nor a plus sign")


def _require_text(text: str) -> None:
    if not text.endswith("\n") or any(ord(letter) < _FIRST_PRINTABLE and letter != "\n" for letter in text):
        raise Malformed("a note's text ends in a newline and has no other control characters")
