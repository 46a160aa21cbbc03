"""Client of the signer: a log whose key lies in another process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Never

from vault.errors import Unavailable
from vault.keys import signing
from vault.keys.ring import KeyRing
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Verifier
from vault.ledger.write.log_files import LogFiles
from vault.signer import messages
from vault.signer.messages import MAX_BATCH_BYTES, Append, PutUnder

PROGRAM = (sys.executable, "-I", "-m", "vault.signer.process")
SOCKET = "signer.sock"
ANSWER_TIMEOUT_SECONDS = 120.0
ATTEMPTS = 2
"""A signer that was ended is connected to once more: an append that was begun is finished, not repeated."""


class SignerClient(LogFiles):
    """A log that a signer appends to.

    Args:
        folder: as of `LogFiles`, like the next three.
        head_file: where the signer keeps the last signed head.
        origin: the log's origin line.
        verifiers: the log's public keys.
        connect: starts the signer, or connects to one that runs.
    """

    def __init__(
        self,
        folder: Path,
        head_file: Path,
        origin: str,
        verifiers: Sequence[Verifier],
        connect: Callable[[LogFiles], socket.socket],
    ) -> None:
        super().__init__(folder, head_file, origin, verifiers)
        self._connect = connect
        self._connection: socket.socket | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._drop()

    def append(self, leaves: Sequence[bytes], start: int) -> Checkpoint:
        """Have leaves appended, signed and published; more than 4 MiB get a head for each part."""
        checkpoint = Checkpoint.empty(self.origin)
        for first, batch in _batches(leaves, start):
            checkpoint = self._ask(Append(first, batch))
        return checkpoint

    def recover(self) -> Checkpoint:
        """Return the last signed head; the signer finishes publications when it starts and before it appends."""
        return self.checkpoint()

    def put_under(self, note: str, lines: str) -> None:
        """Have signature lines of witnesses put under a published head."""
        self._ask(PutUnder(note, lines))

    def _ask(self, request: Append | PutUnder) -> Checkpoint:
        message = request.to_json()
        with self._lock:
            for _ in range(ATTEMPTS):
                try:
                    reply = self._exchange(message)
                except OSError:
                    reply = None
                if reply is not None:
                    return Checkpoint.parse(messages.read_checkpoint(reply))
                self._drop()
        raise Unavailable("the log's signer does not answer; nothing is lost, call again")

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        if self._connection is None:
            self._connection = self._connect(self)
        messages.send(self._connection, message)
        return messages.receive(self._connection)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class SignerStarter:
    """Starts a signer of this process's own, from a clean interpreter; it ends when the connection does.

    Args:
        key: the log's sealed key.
        ring: the key ring under which it is sealed.
    """

    def __init__(self, key: Path, ring: KeyRing) -> None:
        self._key, self._ring = key, ring
        self._process: subprocess.Popen[bytes] | None = None

    def connect(self, log: LogFiles) -> socket.socket:
        """Start a signer, after the one before it has ended, and return the connection to it.

        Raises:
            VaultError: it cannot open the key or the log, or ended before it had.
        """
        self.close()
        ours, theirs = socket.socketpair()
        with theirs:
            nowhere = subprocess.DEVNULL
            stdin = theirs.fileno()
            self._process = subprocess.Popen(
                PROGRAM, stdin=stdin, stdout=nowhere, stderr=nowhere, env={}, cwd="/", start_new_session=True
            )
        try:
            ours.settimeout(ANSWER_TIMEOUT_SECONDS)
            messages.send(ours, opening(log, self._key, self._ring))
            messages.read_checkpoint(messages.receive(ours) or {})
        except BaseException:
            ours.close()
            raise
        return ours

    def close(self) -> None:
        """End it, if it was started; an append in the middle is finished by whoever opens the log next."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def connect_to(folder: Path) -> Callable[[LogFiles], socket.socket]:
    """Return what connects to the signer that listens in a folder."""

    def connect(_log: LogFiles) -> socket.socket:
        path = folder / SOCKET
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(ANSWER_TIMEOUT_SECONDS)
        try:
            connection.connect(str(path))
        except OSError as error:
            connection.close()
            raise Unavailable(
                f"the log's signer does not listen at {path} ({error.strerror}): start it with `quarterturn signer "
                f"{folder}`, or have this user added to its group; nothing is lost, call again"
            ) from None
        return connection

    return connect


def become_signer(log: LogFiles, key: Path, ring: KeyRing, listen: Path) -> Never:
    """Execute a signer in this process's place, which listens at a socket and knows no key ring."""
    ours, theirs = socket.socketpair()
    messages.send(ours, opening(log, key, ring, listen))
    os.dup2(theirs.fileno(), 0)
    os.execve(PROGRAM[0], PROGRAM, {})  # noqa: S606 - our own interpreter


def opening(log: LogFiles, key: Path, ring: KeyRing, listen: Path | None = None) -> dict[str, Any]:
    """Return the first message to a signer: the log, and its sealed key with the data key that opens it alone.

    Args:
        log: the log.
        key: its sealed key, which is not opened here.
        ring: the key ring under which it is sealed.
        listen: the socket at which the signer shall listen, or None.
    """
    sealed, data_key = signing.hand_over(key, ring)
    return {
        "origin": log.origin,
        "verifiers": [verifier.vkey for verifier in log.verifiers],
        "folder": str(log.folder),
        "head": str(log.head_file),
        "listen": str(listen or ""),
        "sealed": sealed.decode(),
        "data_key": data_key.hex(),
    }


def _batches(leaves: Sequence[bytes], start: int) -> Iterator[tuple[int, Sequence[bytes]]]:
    """Divide leaves into requests; none are one request too, which finishes what was interrupted."""
    first, bytes_so_far = 0, 0
    for place, leaf in enumerate(leaves):
        bytes_so_far += len(leaf)
        if bytes_so_far > MAX_BATCH_BYTES:
            yield start + first, leaves[first:place]
            first, bytes_so_far = place, len(leaf)
    yield start + first, leaves[first:]
