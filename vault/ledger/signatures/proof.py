"""Inclusion proof files, C2SP tlog-proof (https://c2sp.org/tlog-proof), with the extension `.tlog-proof`.

    c2sp.org/tlog-proof@v1
    [extra <base64>]
    index <decimal>
    <base64 of a hash>...

    <the checkpoint, a signed note>

A proof is self-contained: with the leaf and a policy it needs nothing else. `extra` is not authenticated.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vault.errors import Malformed
from vault.ledger.signatures.note import decode_base64
from vault.ledger.signatures.policy import Cosigned, Policy
from vault.ledger.tree.merkle import HASH_BYTES, leaf_hash, verify_inclusion

HEADER = "c2sp.org/tlog-proof@v1"
MOST_HASHES = 63
_INDEX = re.compile(r"index (0|[1-9][0-9]{0,18})", re.ASCII)


@dataclass(frozen=True)
class Proof:
    """A proof that a leaf is in a log.

    Attributes:
        index: the leaf's, from 0.
        hashes: from the leaf's sibling up to the root's child, 32 bytes each.
        checkpoint: the head, a signed note.
        extra: bytes of the application's, or None.
    """

    index: int
    hashes: Sequence[bytes]
    checkpoint: str
    extra: bytes | None = None

    @classmethod
    def parse(cls, text: str | bytes) -> Proof:
        """Read a proof, without verifying anything.

        Raises:
            Malformed: it is none; the message says where.
        """
        try:
            text = text if isinstance(text, str) else text.decode()
        except UnicodeDecodeError as error:
            raise Malformed("a proof is UTF-8; this one is not") from error
        head, empty, checkpoint = text.partition("\n\n")
        lines = head.split("\n")
        if lines[0] != HEADER or not empty:
            raise Malformed(f"a proof begins with the line {HEADER}, and an empty line stands before its checkpoint")
        extra = None
        if len(lines) > 1 and lines[1].startswith("extra "):
            extra = decode_base64(lines.pop(1).removeprefix("extra "), "the proof's extra data")
        index = _INDEX.fullmatch(lines[1]) if len(lines) > 1 else None
        if index is None:
            raise Malformed("a proof names its leaf with a line `index NUMBER`, without leading zeros")
        if len(lines) - 2 > MOST_HASHES:
            raise Malformed(f"a proof has at most {MOST_HASHES} hashes")
        hashes = [decode_base64(line, f"hash {number} of the proof") for number, line in enumerate(lines[2:], 1)]
        for number, digest in enumerate(hashes, 1):
            if len(digest) != HASH_BYTES:
                raise Malformed(f"hash {number} of the proof has {len(digest)} bytes in place of {HASH_BYTES}")
        return cls(int(index[1]), hashes, checkpoint, extra)

    def format(self) -> str:
        """Write the proof."""
        extra = [] if self.extra is None else [f"extra {base64.b64encode(self.extra).decode()}"]
        hashes = [base64.b64encode(digest).decode() for digest in self.hashes]
        return "\n".join([HEADER, *extra, f"index {self.index}", *hashes, "", self.checkpoint])

    def verify(self, leaf: bytes, policy: Policy) -> Cosigned:
        """Verify that `leaf` stands at the proof's index under a checkpoint that the policy accepts.

        Raises:
            Malformed: the checkpoint is none.
            Broken: a signature, the quorum or the path does not hold.
        """
        head = policy.open(self.checkpoint)
        verify_inclusion(leaf_hash(leaf), self.index, head.checkpoint.size, list(self.hashes), head.checkpoint.root)
        return head
