"""Messages between the signer and those who have it append: canonical JSON behind its length, and a closed list.

    {"do": "append", "start": 7, "leaves": [STATEMENT, …]}      leaves as text; `start` is the index of the first
    {"do": "put-under", "note": NOTE, "lines": LINES}           signature lines of witnesses, below a head of the log

A reply is `{"checkpoint": TEXT}`, the last signed head, or `{"error": CLASS, "sentence": TEXT}`.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vault.errors import Broken, Malformed, NotFound, Refused, Unavailable, VaultError
from vault.ledger.statements.jcs import canonical, parse_canonical

MAX_MESSAGE_BYTES = 32 << 20
MAX_BATCH_BYTES = 4 << 20
"""Of the leaves of one request: JSON writes a byte with six characters at most."""
_LENGTH_BYTES = 4
_CHUNK_BYTES = 1 << 16
_ERRORS: Mapping[str, type[VaultError]] = {
    kind.__name__: kind for kind in (Broken, Malformed, NotFound, Refused, Unavailable)
}


@dataclass(frozen=True, slots=True)
class Append:
    """Request to append leaves from an index on, and to sign and publish the head over them."""

    start: int
    leaves: Sequence[bytes]

    def to_json(self) -> dict[str, Any]:
        """Write it.

        Raises:
            Malformed: a leaf is no UTF-8, so it is no statement.
        """
        try:
            return {"do": "append", "start": self.start, "leaves": [leaf.decode() for leaf in self.leaves]}
        except UnicodeDecodeError:
            raise Malformed("a leaf of the log is UTF-8; one that was to be appended is not") from None


@dataclass(frozen=True, slots=True)
class PutUnder:
    """Request to put signature lines of witnesses under a published head."""

    note: str
    lines: str

    def to_json(self) -> dict[str, Any]:
        """Write it."""
        return {"do": "put-under", "note": self.note, "lines": self.lines}


def read_request(message: Mapping[str, Any]) -> Append | PutUnder:
    """Read a request.

    Raises:
        Malformed: it is not of the closed list.
    """
    match dict(message):
        case {"do": "append", "start": int(start), "leaves": list(leaves), **others} if (
            not others and type(start) is int and start >= 0 and all(isinstance(leaf, str) for leaf in leaves)
        ):
            return Append(start, [leaf.encode() for leaf in leaves])
        case {"do": "put-under", "note": str(note), "lines": str(lines), **others} if not others:
            return PutUnder(note, lines)
    raise Malformed("the signer takes `append` and `put-under` with their fields, and this request is neither")


def error_reply(error: VaultError) -> dict[str, Any]:
    """Write an error as a reply."""
    return {"error": type(error).__name__, "sentence": str(error)}


def read_checkpoint(reply: Mapping[str, Any]) -> str:
    """Return the text of the head that a reply gives.

    Raises:
        VaultError: the reply is an error, which is raised here as it was there.
        Unavailable: it is no reply.
    """
    match dict(reply):
        case {"checkpoint": str(text)}:
            return text
        case {"error": str(kind), "sentence": str(sentence)}:
            raise _ERRORS.get(kind, Unavailable)(sentence)
    raise Unavailable("the log's signer ended in the middle of its answer; nothing is lost, call again")


def send(connection: socket.socket, message: Mapping[str, Any]) -> None:
    """Send one message.

    Raises:
        OSError: the other side is gone.
    """
    data = canonical(message)
    connection.sendall(len(data).to_bytes(_LENGTH_BYTES, "big") + data)


def receive(connection: socket.socket) -> dict[str, Any] | None:
    """Receive one message; None where the other side has closed, also in the middle of one.

    Raises:
        Malformed: it is too long, or no canonical JSON object.
    """
    header = _exactly(connection, _LENGTH_BYTES)
    if header is None:
        return None
    length = int.from_bytes(header, "big")
    if length > MAX_MESSAGE_BYTES:
        raise Malformed(f"a message to the signer has at most {MAX_MESSAGE_BYTES} bytes, this one {length}")
    data = _exactly(connection, length)
    if data is None:
        return None
    message = parse_canonical(data, "the message")
    if not isinstance(message, dict):
        raise Malformed("a message to the signer is a JSON object")
    return message


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        chunk = connection.recv(min(_CHUNK_BYTES, count - len(data)))
        if not chunk:
            return None
        data += chunk
    return bytes(data)
