"""Process that holds the log's signing key: `python -I -m vault.signer.process`.

Its first message, on standard input, names the log and brings the sealed key with the data key that opens it and
nothing else: the process never holds a key ring. It answers with the last signed head. After that it takes the requests
of `vault.signer.messages`, there or on a socket at which it listens, and reads nothing else. It opens no database: what
was signed lies in the log's own entry bundles, and each leaf must be a statement that an audit accepts after them.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from vault.core_dumps import disable_core_dumps
from vault.errors import VaultError
from vault.keys.signing import load_handed_over
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Signer, Verifier
from vault.ledger.write.append import LogWriter
from vault.ledger.write.log_guard import LogGuard
from vault.signer import messages
from vault.signer.messages import Append, PutUnder

_SOCKET_UMASK = 0o117  # the signer's user and group may connect
_BACKLOG = 16


class StatementSigner:
    """Signs heads over statements that follow the rules of the ledger.

    Args:
        writer: the log, with its key.
    """

    def __init__(self, writer: LogWriter) -> None:
        self._writer = writer
        self._guard = LogGuard(writer.origin)
        self._lock = threading.Lock()

    def carry_out(self, request: Append | PutUnder) -> Checkpoint:
        """Carry out a request, and return the last signed head.

        Raises:
            VaultError: it was refused or failed; the next request finishes what a failing disk interrupted.
        """
        with self._lock:
            if isinstance(request, PutUnder):
                self._writer.put_under(request.note, request.lines)
                return self._writer.checkpoint()
            self._require_rules(request.start, request.leaves)
            head = self._writer.append(request.leaves, request.start)
            self._guard.settle(head.size, self._writer.leaves)
            return head

    def _require_rules(self, start: int, leaves: Sequence[bytes]) -> None:
        """Refuse leaves beyond the signed head that an audit would refuse; `append` compares the others."""
        signed = self._writer.size

        def rows(first: int, end: int) -> Iterator[bytes]:
            yield from self._writer.leaves(first, min(end, signed))
            yield from leaves[max(first, signed) - start : max(end, signed) - start]

        if start <= signed:
            for index in range(signed, start + len(leaves)):
                self._guard.require(leaves[index - start], index, rows)


def main() -> None:
    """Take the key, then requests until the other side closes or the process is ended."""
    disable_core_dumps()
    control = socket.socket(fileno=os.dup(0))
    opening = messages.receive(control)
    if opening is None:
        return
    listen = opening["listen"]
    try:
        writer = _writer(opening)
        head = writer.recover()
    except VaultError as error:
        if listen:
            raise  # the verb `signer` opened the log a moment before
        messages.send(control, messages.error_reply(error))
        return
    if listen:
        _listen(Path(listen), StatementSigner(writer))
    else:
        messages.send(control, {"checkpoint": head.format()})
        serve(control, StatementSigner(writer))


def serve(connection: socket.socket, signer: StatementSigner) -> None:
    """Answer requests until the other side closes; what is no message ends the connection."""
    with connection, suppress(OSError):
        while True:
            try:
                message = messages.receive(connection)
            except VaultError as error:  # where the next message begins is not known any more
                messages.send(connection, messages.error_reply(error))
                return
            if message is None:
                return
            try:
                reply = {"checkpoint": signer.carry_out(messages.read_request(message)).format()}
            except VaultError as error:
                reply = messages.error_reply(error)
            messages.send(connection, reply)


def _writer(opening: Mapping[str, Any]) -> LogWriter:
    verifiers = [Verifier.parse(vkey) for vkey in opening["verifiers"]]
    key = load_handed_over(opening["sealed"].encode(), bytes.fromhex(opening["data_key"]))
    folder, head, origin = Path(opening["folder"]), Path(opening["head"]), opening["origin"]
    return LogWriter(folder, head, Signer(origin, key), origin, verifiers=verifiers)


def _listen(path: Path, signer: StatementSigner) -> None:
    path.unlink(missing_ok=True)
    os.umask(_SOCKET_UMASK)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        os.umask(0o022)
        listening.listen(_BACKLOG)
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=serve, args=(connection, signer), daemon=True).start()


if __name__ == "__main__":
    main()
