"""Witness cosignatures under checkpoints, C2SP tlog-cosignature v1.1 (https://c2sp.org/tlog-cosignature).

One more signature line: a key id, eight bytes of POSIX time (big-endian), and a signature over

- Ed25519 (type 0x04): the lines `cosignature/v1` and `time <seconds>`, then the checkpoint's text;
- ML-DSA-44 (type 0x06, FIPS 204): a `cosigned_message` of name, time, origin and tree.

One public key belongs to one witness name: the Ed25519 message does not hold the name. A cosigner may
write the time 0 if it does not say that the tree is the largest that it has seen; whoever asks for a
quorum asks for just that, so the time 0 is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey, MLDSA44PublicKey

from vault.errors import Broken, Malformed
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import (
    LOG_ED25519,
    Key,
    Verifier,
    key_id,
    line,
    read_line,
    read_vkey,
    require_name,
    take_apart,
    write_vkey,
)
from vault.ledger.signatures.strict_ed25519 import key_fault, verifies

COSIGNER_ED25519, MLDSA44 = b"\x04", b"\x06"
KEY_BYTES: Mapping[bytes, int] = {COSIGNER_ED25519: 32, MLDSA44: 1312}
SIGNATURE_BYTES: Mapping[bytes, int] = {COSIGNER_ED25519: 64, MLDSA44: 2420}
TIME_BYTES = 8
LATEST = 2**63 - 1
_LABEL = b"subtree/v1\n\0"
_LONGEST_NAME = 255


@dataclass(frozen=True)
class Witness:
    """A witness's public key with its name.

    Attributes:
        name: the key's name.
        kind: its type, 0x04 or 0x06.
        public: its bytes, 32 or 1,312.
    """

    name: str
    kind: bytes
    public: bytes

    def __post_init__(self) -> None:
        require_name(self.name)
        if len(self.public) != KEY_BYTES.get(self.kind):
            what = "is of 32 bytes and type 0x04 (Ed25519), or of 1,312 and type 0x06 (ML-DSA-44)"
            raise Malformed(f"the key of a witness {what}; that of {self.name} is neither")
        if self.kind == COSIGNER_ED25519 and (why := key_fault(self.public)):
            raise Malformed(f"the public key of witness {self.name} {why}")

    @classmethod
    def parse(cls, vkey: str) -> Witness:
        """Read a verifier key.

        Raises:
            Malformed: it is none, is of a type that does not cosign, or its key id is not that of its key.
        """
        return cls(*read_vkey(vkey))

    @property
    def key_id(self) -> bytes:
        """The four bytes that stand before its signatures."""
        return key_id(self.name, self.kind, self.public)

    @property
    def vkey(self) -> str:
        """The key as text."""
        return write_vkey(self.name, self.kind, self.public)

    def accepts(self, text: bytes, signature: bytes) -> bool:
        """Tell whether `signature`, with its time, is this witness's over a checkpoint's text.

        Raises:
            Broken: it is, but its time is 0.
        """
        seconds, signed = time_of(signature), signature[TIME_BYTES:]
        if len(signed) != SIGNATURE_BYTES[self.kind] or seconds > LATEST:
            return False
        try:
            message = _message(self.name, self.kind, text, seconds)
            if self.kind == MLDSA44:
                MLDSA44PublicKey.from_public_bytes(self.public).verify(signed, message)
            elif not verifies(self.public, signed, message):
                return False
        except (InvalidSignature, ValueError, Malformed):
            return False
        if seconds == 0:
            what = (
                f"the cosignature by {self.name} has the time 0, so it does not say that this was "
                "the largest tree that the witness had seen; ask the witness for one with a time"
            )
            where = f"the time of the cosignature by {self.name}"
            raise Broken(what, where=where, expected=f"1 to {LATEST}", found=0)
        return True


@dataclass(frozen=True)
class Cosigner:
    """A witness's private key with its name."""

    name: str
    key: Ed25519PrivateKey | MLDSA44PrivateKey = field(repr=False)

    @property
    def witness(self) -> Witness:
        """The public half."""
        kind = COSIGNER_ED25519 if isinstance(self.key, Ed25519PrivateKey) else MLDSA44
        return Witness(self.name, kind, self.key.public_key().public_bytes_raw())

    def cosign(self, checkpoint: Checkpoint, seconds: int) -> str:
        """Give the signature line, with its newline, that says: at this time, this was the largest tree I saw."""
        if not 0 < seconds <= LATEST:
            raise Malformed(f"a cosignature's time is 1 to {LATEST} seconds after 1970 began, not {seconds}")
        witness = self.witness
        message = _message(self.name, witness.kind, checkpoint.format().encode(), seconds)
        return line(self.name, witness.key_id, seconds.to_bytes(TIME_BYTES, "big") + self.key.sign(message))


def parse_key(vkey: str) -> Key:
    """Read a verifier key of any type that signs checkpoints: a log's or a witness's.

    Raises:
        Malformed: it is none.
    """
    return Verifier.parse(vkey) if read_vkey(vkey)[1] == LOG_ED25519 else Witness.parse(vkey)


def verifiable(key: Witness) -> bool:
    """Whether a cosignature can be verified here: without the package `cryptography` one of ML-DSA-44 cannot."""
    return key.kind == COSIGNER_ED25519 or MLDSA44PublicKey is not None


def time_of(signature: bytes) -> int:
    """Give the POSIX time, in seconds, of a cosignature."""
    return int.from_bytes(signature[:TIME_BYTES], "big")


def times(note: str | bytes, witnesses: Iterable[Witness]) -> dict[str, int]:
    """Give the time at which each witness, by its vkey, says that it saw a checkpoint; nothing is verified here.

    Raises:
        Malformed: it is no signed note.
    """
    known = {(witness.name, witness.key_id): witness.vkey for witness in witnesses}
    lines = map(read_line, take_apart(note)[1])
    return {known[name, identity]: time_of(signed) for name, identity, signed in lines if (name, identity) in known}


def _message(name: str, kind: bytes, text: bytes, seconds: int) -> bytes:
    if kind == COSIGNER_ED25519:
        return f"cosignature/v1\ntime {seconds}\n".encode() + text
    head = Checkpoint.parse(text.decode())
    named = _LABEL + _vector(name) + seconds.to_bytes(TIME_BYTES, "big") + _vector(head.origin)
    return named + bytes(8) + head.size.to_bytes(8, "big") + head.root


def _vector(text: str) -> bytes:
    """Write an `opaque<1..255>` (RFC 8446, section 3.4)."""
    data = text.encode()
    if not 0 < len(data) <= _LONGEST_NAME:
        raise Malformed(f"a name under an ML-DSA-44 cosignature has 1 to {_LONGEST_NAME} bytes")
    return bytes([len(data)]) + data
