"""One POST to a pinned address: the request is exact, the response is capped in size and time and not trusted.

1. the connection goes to the pinned address; name, certificate and Host are the URL's;
2. nothing of the environment counts: no proxy, no cookie, no redirect is followed, nothing is decompressed;
3. only the status line is ever acted on; the rest is kept up to a cap, to be shown;
4. the exchange ends at its deadline by our own clock, whatever the other side does, and at once when it is cancelled.

A failure is ours only where our own kernel could not send. Everything else, from a name that the certificate lacks to
a silent server, is for the endpoint's owner to fix.
"""

from __future__ import annotations

import errno
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import h11

from sandbox.endpoint.address import Exceptions, Pinned
from sandbox.errors import Malformed

CONNECT_SECONDS = 10.0
MAX_HEAD = 16 * 1024
CHUNK = 16 * 1024
OK, ACCEPTED = 200, 202
NOT_SENT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""What the kernel says where this machine could not even open a connection, whatever the address."""
NO_ROUTE = frozenset({errno.ENETUNREACH, errno.ENETDOWN})
"""What it says where there is no way to an address: the address may be at fault, or this machine's network."""
ELSEWHERE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses of nobody's (RFC 5737, RFC 3849), to one of which this machine has a route if it has any to the outside."""


@dataclass(frozen=True, slots=True)
class ExchangeOutcome:
    """Result of an exchange.

    Attributes:
        status: the response's status, or None where none came.
        ours: whether nothing could be sent, for a reason that lies with this machine.
        said: for people: the body as far as it was kept, or what went wrong.
    """

    status: int | None
    ours: bool = False
    said: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Caps:
    """Seconds until the exchange is over, and bytes of the response's body that are kept."""

    seconds: float
    kept: int


class Exchange:
    """A POST that is under way in a thread of its own.

    Args:
        pinned: where to.
        headers: the fields beside those that HTTP itself needs.
        body: what is sent.
        caps: when it ends.
        context: for TLS; None for plain HTTP.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        pinned: Pinned,
        headers: Mapping[str, str],
        body: bytes,
        caps: Caps,
        *,
        context: ssl.SSLContext | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pinned, self._headers, self._body, self._caps = pinned, headers, body, caps
        self._context, self._clock, self._deadline = context, clock, clock() + caps.seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cancelled = False
        self._outcome: ExchangeOutcome | None = None
        self._thread = threading.Thread(target=self._run, name="endpoint", daemon=True)
        self._thread.start()

    def wait(self, timeout: float) -> ExchangeOutcome | None:
        """Wait for its end, at most `timeout` seconds."""
        self._thread.join(timeout)
        return self._outcome

    def cancel(self) -> None:
        """Cut it off and wait until nothing of it is left; safe to call twice."""
        with self._lock:
            self._cancelled = True
            if self._socket is not None:
                with suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # TLS's own would race with its reader
        self._thread.join(CONNECT_SECONDS)

    # -- in the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        connected = False  # from there on, whoever is there may have brought about whatever comes
        try:
            with self._connected() as connection:
                connected = True
                self._outcome = self._exchanged(connection)
        except OSError as error:  # one of TLS's has a number too, of another list
            sentence = f"no answer: {error.strerror or error}"
            self._outcome = ExchangeOutcome(None, not connected and _is_ours(error.errno), sentence.encode())
        except h11.RemoteProtocolError as error:
            self._outcome = ExchangeOutcome(None, said=f"no answer in HTTP: {error}".encode())
        finally:
            self._outcome = self._outcome or ExchangeOutcome(None, not connected, b"a mistake of ours")

    def _connected(self) -> socket.socket:
        """Connect to the pinned address and nowhere else; with TLS, to whoever can prove the URL's name."""
        address, target = self._pinned.address, self._pinned.target
        raw = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6)  # noqa: PLR2004 IP's version
        try:
            self._hold(raw)
            raw.settimeout(min(CONNECT_SECONDS, self._left()))
            raw.connect((str(address), target.port))
            if self._context is None:
                return raw
            secured = self._context.wrap_socket(raw, server_hostname=target.host, do_handshake_on_connect=False)
        except BaseException:
            raw.close()
            raise
        try:
            self._hold(secured)
            secured.do_handshake()
        except OSError as error:  # from here on there is a connection: whatever breaks it is not our kernel
            secured.close()
            raise ConnectionError(f"TLS: {error}") from None
        return secured

    def _hold(self, connection: socket.socket) -> None:
        with self._lock:
            if self._cancelled:
                raise ConnectionError("cancelled")
            self._socket = connection

    def _exchanged(self, connection: socket.socket) -> ExchangeOutcome:
        wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        request = h11.Request(method="POST", target=self._pinned.target.target, headers=self._fields())
        connection.settimeout(self._left())
        connection.sendall(
            (wire.send(request) or b"")
            + (wire.send(h11.Data(self._body)) or b"")
            + (wire.send(h11.EndOfMessage()) or b"")
        )
        status, body = None, bytearray()
        try:
            for event in self._events(connection, wire):
                if isinstance(event, h11.Response):
                    status = event.status_code
                elif isinstance(event, h11.Data):
                    body += event.data
        except (OSError, h11.RemoteProtocolError):
            if status is None:
                raise
        return ExchangeOutcome(status, said=bytes(body[: self._caps.kept]))

    def _events(self, connection: socket.socket, wire: h11.Connection) -> Iterator[h11.Event]:
        """Read up to the response's end, or as much as is kept of it."""
        received = 0
        while received <= self._caps.kept + MAX_HEAD:
            event = wire.next_event()
            if isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                return
            if event is h11.NEED_DATA:
                connection.settimeout(self._left())
                data = connection.recv(CHUNK)
                received += len(data)
                wire.receive_data(data)
            elif isinstance(event, h11.Event):
                yield event

    def _fields(self) -> list[tuple[str, str]]:
        return [
            ("Host", self._pinned.target.authority),
            ("User-Agent", "quarterturn"),
            ("Accept-Encoding", "identity"),
            ("Connection", "close"),
            ("Content-Length", str(len(self._body))),
            *self._headers.items(),
        ]

    def _left(self) -> float:
        left = self._deadline - self._clock()
        if left <= 0:
            raise TimeoutError("its time ran out")
        return left


def tls(exceptions: Exceptions) -> ssl.SSLContext:
    """Make what checks certificates: the machine's authorities, and a test's own if there is one.

    Made by hand: the library's default would write session keys to a file that the environment names.

    Raises:
        Malformed: the test's file holds no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_default_certs()
    if exceptions.authority is not None:
        try:
            context.load_verify_locations(exceptions.authority)
        except ssl.SSLError:
            raise Malformed(f"{exceptions.authority} holds no certificates; give some as PEM") from None
    return context


def _is_ours(error: int | None) -> bool:
    """Say whether a connection failed for this machine's reasons; an address without a route is its owner's affair."""
    return error in NOT_SENT or (error in NO_ROUTE and not any(map(_has_route, ELSEWHERE)))


def _has_route(family: socket.AddressFamily) -> bool:
    """Say whether this machine has a route to the outside; connecting a datagram socket sends nothing."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((ELSEWHERE[family], 9))
        return True
    return False
