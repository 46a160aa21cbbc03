"""Witness cosignatures under checkpoints, C2SP tlog-cosignature v1.1 (https://c2sp.org/tlog-cosignature).

One more signature line: a key id, eight bytes of POSIX time (big-endian), and a signature over

- Ed25519 (type 0x04): the lines `cosignature/v1` and `time <seconds>`, then the checkpoint's text;
- ML-DSA-44 (type 0x06, FIPS 204): a `cosigned_message` of name, time, origin and tree.

One public key belongs to one witness name: the Ed25519 message does not hold the name. A cosigner may
write the time 0 if it does not say that the tree is the largest that it has seen; whoever asks for a
quorum asks for just that, so the time 0 is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from vault.errors import Broken, Malformed
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.library import mldsa44_holds
from vault.ledger.signatures.note import LOG_ED25519, Verifier, line, read_vkey
from vault.ledger.signatures.strict_ed25519 import verifies

COSIGNER_ED25519, MLDSA44 = b"\x04", b"\x06"
TIME_BYTES = 8
LATEST = 2**63 - 1
_LABEL = b"subtree/v1\n\0"
_LONGEST_NAME = 255


class Witness(Verifier):
    """A witness's public key with its name; each of its signatures begins with a time."""

    KEY_BYTES = {COSIGNER_ED25519: 32, MLDSA44: 1312}  # noqa: RUF012 - the annotation is the base class's
    KINDS = "Ed25519 (0x04) or ML-DSA-44 (0x06) of a witness"

    def accepts(self, text: bytes, signature: bytes) -> bool:
        """Tell whether `signature`, with its time, is this witness's over a checkpoint's text.

        Raises:
            Broken: it is, but its time is 0.
        """
        seconds, signed = time_of(signature), signature[TIME_BYTES:]
        if seconds > LATEST:
            return False
        try:
            message = _message(self.name, self.kind, text, seconds)
        except Malformed:  # no checkpoint
            return False
        verify = mldsa44_holds if self.kind == MLDSA44 else verifies
        if not verify(self.public, signed, message):
            return False
        if seconds == 0:
            where, right = f"the time of the cosignature by {self.name}", f"1 to {LATEST}"
            what = f"the cosignature by {self.name} has the time 0, which dates nothing"
            raise Broken(what, where=where, expected=right, found=0)
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
        return Witness(self.name, self.key.public_key().public_bytes_raw(), kind)

    def cosign(self, checkpoint: Checkpoint, seconds: int) -> str:
        """Return the signature line, with its newline, that says: at this time, this was the largest tree I saw."""
        if not 0 < seconds <= LATEST:
            raise Malformed(f"a cosignature's time is 1 to {LATEST} seconds after 1970 began, not {seconds}")
        witness = self.witness
        message = _message(self.name, witness.kind, checkpoint.format().encode(), seconds)
        return line(self.name, witness.key_id, seconds.to_bytes(TIME_BYTES, "big") + self.key.sign(message))


def parse_key(vkey: str) -> Verifier:
    """Read a verifier key of any type that signs checkpoints: a log's or a witness's.

    Raises:
        Malformed: it is none.
    """
    return Verifier.parse(vkey) if read_vkey(vkey)[1] == LOG_ED25519 else Witness.parse(vkey)


def time_of(signature: bytes) -> int:
    """Return the POSIX time, in seconds, of a cosignature."""
    return int.from_bytes(signature[:TIME_BYTES], "big")


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
