"""Witness that cosigns a log's checkpoint only if it extends the last one that it cosigned (C2SP tlog-witness v1.0.0).

The specification is https://c2sp.org/tlog-witness@v1.0.0; HTTP is left to the caller. A request is:

    old <size>                     the size that the log believes this witness to have cosigned last
    <base64 of a hash>...          a consistency proof from there, at most 63 lines
                                   an empty line
    <the checkpoint>               a signed note

The checks of a request, in this order; the first that fails decides the answer:

1. 400  the request can be read, strictly
2. 404  the checkpoint's origin is a log that this witness knows
3. 403  that log's key signed it; a known key's signature that does not verify fails it too
4. 400  `old` is no larger than the checkpoint
5. 409  `old` is the size that was cosigned last; otherwise the body names that size, as `text/x.tlog.size`
6. 422  the proof leads from there to the checkpoint; from size 0 on it is empty
7. 409  at equal sizes the roots are equal
8. 200  the new checkpoint is on disk, and the body is a signature line of each of its keys

Steps 5 to 8 are made under a lock of the origin's, which other threads and processes wait for: no answer is given
over a state that somebody else replaced meanwhile. The state of an origin is one file, named after its SHA-256.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vault.errors import Broken, Malformed, Unavailable
from vault.file_lock import locked
from vault.files import write_atomically
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.cosignature import Cosigner
from vault.ledger.signatures.note import Verifier, decode_base64, open_note, read_line, take_apart
from vault.ledger.tree.merkle import HASH_BYTES, verify_consistency

MAX_BODY = 128 * 1024
MOST_HASHES = 63
TEXT, SIZE = "text/plain; charset=utf-8", "text/x.tlog.size"
_OLD = re.compile(r"old (0|[1-9][0-9]{0,18})", re.ASCII)


@dataclass(frozen=True)
class WitnessReply:
    """HTTP answer of a witness: the status, and the body with its type."""

    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True)
class AddCheckpointRequest:
    """A parsed `add-checkpoint` request: the checkpoint, its note, and the proof that it extends the tree of `old`."""

    old: int
    proof: list[bytes]
    note: str
    checkpoint: Checkpoint

    @classmethod
    def parse(cls, body: bytes) -> AddCheckpointRequest:
        """Read a request, without verifying anything.

        Raises:
            Malformed: it is none; the message says where.
        """
        if len(body) > MAX_BODY:
            raise Malformed(f"a request has at most {MAX_BODY} bytes")
        try:
            head, empty, note = body.decode().partition("\n\n")
        except UnicodeDecodeError as error:
            raise Malformed("a request is UTF-8; this one is not") from error
        first, *lines = head.split("\n")
        old = _OLD.fullmatch(first)
        if old is None or not empty:
            raise Malformed("a request begins with the line `old SIZE`, and an empty line stands before its checkpoint")
        if len(lines) > MOST_HASHES:
            raise Malformed(f"a request has at most {MOST_HASHES} hashes")
        proof = [decode_base64(line, f"hash {number} of the request") for number, line in enumerate(lines, 1)]
        if any(len(digest) != HASH_BYTES for digest in proof):
            raise Malformed(f"a hash has {HASH_BYTES} bytes; one of the request has not")
        text, signatures = take_apart(note)
        for line in signatures:
            read_line(line)
        return cls(int(old[1]), proof, note, Checkpoint.parse(text))


class LocalWitness:
    """A witness that keeps its state in a folder.

    Args:
        folder: where the last cosigned checkpoints are kept; nobody else writes there.
        logs: the keys of the logs that it knows; a key's name is the log's origin, and an origin may have several.
        cosigners: its own keys, one signature line each.
        clock: the present moment, in whole seconds from 1970 on.
        patience: seconds to wait for another thread or process.

    Raises:
        Malformed: it has no key, or knows no log.
    """

    def __init__(
        self,
        folder: Path,
        logs: Sequence[Verifier],
        cosigners: Sequence[Cosigner],
        clock: Callable[[], int],
        patience: float = 10.0,
    ) -> None:
        if not cosigners or not logs:
            raise Malformed("a witness has a key, and knows a log: name both")
        self._folder, self._logs, self._cosigners = folder, logs, cosigners
        self._clock, self._patience = clock, patience

    def add_checkpoint(self, body: bytes) -> WitnessReply:
        """Answer `POST <prefix>/add-checkpoint`; every defect of the request becomes an HTTP status.

        Raises:
            Unavailable, Malformed, Broken: what was cosigned last cannot be read or replaced; nothing is signed.
        """
        try:
            request = AddCheckpointRequest.parse(body)  # 1
        except Malformed as error:
            return _no(400, str(error))
        asked = request.checkpoint
        keys = [key for key in self._logs if key.name == asked.origin]
        if not keys:
            return _no(404, f"this witness knows no log {asked.origin}")  # 2
        try:
            open_note(request.note, keys)
        except Broken as error:
            return _no(403, str(error))  # 3
        if request.old > asked.size:
            return _no(400, f"the old size {request.old} is beyond the checkpoint's, {asked.size}")  # 4
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = self._path(asked.origin).with_suffix(".lock")
            with locked(lock, self._patience, f"cosigning {asked.origin}"):
                return self._decide(request, _without_strangers(request.note, keys))
        except OSError as error:
            raise Unavailable(f"what this witness saw cannot be kept in {self._folder}: {error.strerror}") from error

    def last(self, origin: str) -> Checkpoint:
        """Return the last cosigned checkpoint of a log (size 0 if there is none).

        Raises:
            Malformed, Broken: the file is not what was written.
        """
        path = self._path(origin)
        if not path.exists():
            return Checkpoint.empty(origin)
        keys: list[Verifier] = [*self._logs, *(cosigner.witness for cosigner in self._cosigners)]
        checkpoint = Checkpoint.parse(open_note(path.read_bytes(), keys).text)
        if checkpoint.origin != origin:
            raise Broken(
                f"{path} holds a checkpoint of {checkpoint.origin}, not of {origin}",
                where=f"{path}: the origin",
                expected=origin,
                found=checkpoint.origin,
            )
        return checkpoint

    def _decide(self, request: AddCheckpointRequest, note: str) -> WitnessReply:
        asked, last = request.checkpoint, self.last(request.checkpoint.origin)
        if request.old != last.size:
            return WitnessReply(409, SIZE, f"{last.size}\n".encode())  # 5
        if reason := _astray(last, asked, request.proof):
            return _no(422, reason)  # 6
        if last.size == asked.size and last.root != asked.root:
            return _no(
                409, f"size {last.size} was cosigned with the root {last.root.hex()}, not {asked.root.hex()}"
            )  # 7
        lines = "".join(cosigner.cosign(asked, now) for now in [self._clock()] for cosigner in self._cosigners)
        path = self._path(asked.origin)
        write_atomically(path, (note + lines).encode(), path.with_suffix(".new"))
        return WitnessReply(200, TEXT, lines.encode())  # 8

    def _path(self, origin: str) -> Path:
        return self._folder / hashlib.sha256(origin.encode()).hexdigest()


def _astray(last: Checkpoint, asked: Checkpoint, proof: Sequence[bytes]) -> str:
    """Say why the proof does not lead from one tree to the other; empty if it does, or if the sizes are equal."""
    if last.size in {0, asked.size}:
        return f"from size {last.size} to {asked.size} a proof is empty; this one is not" if proof else ""
    try:
        verify_consistency(last.size, asked.size, last.root, asked.root, proof)
    except Broken as error:
        return str(error)
    return ""


def _without_strangers(note: str, keys: Sequence[Verifier]) -> str:
    """Drop the signature lines of unknown keys, so that a requester does not decide how long a file of ours is."""
    text, lines = take_apart(note)
    known = {(key.name, key.key_id) for key in keys}
    return "\n".join([text, *(line for line in lines if read_line(line)[:2] in known), ""])


def _no(status: int, reason: str) -> WitnessReply:
    return WitnessReply(status, TEXT, f"{reason}\n".encode())
