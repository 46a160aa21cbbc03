"""Checkpoints: the signed head of a log, C2SP tlog-checkpoint v1.0.0 (https://c2sp.org/tlog-checkpoint@v1.0.0).

The note's text is three lines: the origin, the size in decimal without leading zeros, the root in base64. Extension
lines may follow; this log writes none and ignores other logs'. A log's own signature counts only where the key's name
is the origin.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vault.errors import Broken, Malformed
from vault.ledger.signatures.note import HeadSigner, Note, Verifier, decode_base64, open_note
from vault.ledger.tree.merkle import EMPTY_ROOT, HASH_BYTES

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_MAX_SIZE = 2**53 - 1  # as of all whole numbers in JSON, so that every language reads the same one
_LINES = 3


@dataclass(frozen=True)
class Checkpoint:
    """The head of a log: its origin, its number of leaves, its root (32 bytes), and extension lines."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    @classmethod
    def empty(cls, origin: str) -> Checkpoint:
        """Return the head of a log without leaves."""
        return cls(origin, 0, EMPTY_ROOT)

    @classmethod
    def parse(cls, text: str) -> Checkpoint:
        """Read a note's text.

        Raises:
            Malformed: it is no checkpoint; the message says which line.
        """
        lines = text.split("\n")
        if len(lines) <= _LINES or lines.pop() or not all(lines):
            what = "a checkpoint has at least three lines, ends in a newline, and has no empty line"
            raise Malformed(what, where="the lines of the checkpoint")
        origin, size, encoded, *extensions = lines
        if not _DECIMAL.fullmatch(size) or int(size) > _MAX_SIZE:
            what = "line 2 of a checkpoint is its size in decimal, at most 2^53 - 1, without leading zeros"
            raise Malformed(what, where="line 2 of the checkpoint")
        root = decode_base64(encoded, where := "line 3 of the checkpoint")
        if len(root) != HASH_BYTES or (size == "0" and root != EMPTY_ROOT):
            what = f"line 3 of a checkpoint is a root of {HASH_BYTES} bytes; the empty one of none"
            raise Malformed(what, where=where, found=root)
        return cls(origin, int(size), root, tuple(extensions))

    def format(self) -> str:
        """Write the note's text."""
        root = base64.b64encode(self.root).decode()
        return "".join(f"{line}\n" for line in (self.origin, self.size, root, *self.extensions))

    def sign(self, signer: HeadSigner) -> str:
        """Sign it; the signer's name must be the origin."""
        if signer.name != self.origin:
            raise Malformed(f"the log {self.origin} is signed by a key of its name, not by {signer.name}")
        return signer.sign(self.format())


def open_checkpoint(
    note: str | bytes, verifiers: Sequence[Verifier], witnesses: Sequence[Verifier] = ()
) -> tuple[Checkpoint, Note]:
    """Verify a signed checkpoint: at least one given key that bears the origin's name signed it.

    Args:
        note: the checkpoint with its signatures.
        verifiers: the keys of logs.
        witnesses: other keys of which each signature must verify.

    Raises:
        Malformed: it is no signed checkpoint.
        Broken: no such signature, or one that does not verify.
    """
    opened = open_note(note, [*verifiers, *witnesses])
    checkpoint = Checkpoint.parse(opened.text)
    names = [key.name for key in verifiers if key.vkey in opened.verified]
    if checkpoint.origin not in names:
        what = f"the checkpoint of {checkpoint.origin} is signed by no given key of that name"
        where = "line 1 of the checkpoint"
        raise Broken(what, where=where, expected=names, found=checkpoint.origin)
    return checkpoint, opened
