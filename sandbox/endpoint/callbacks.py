"""Runner's side of callbacks: starts the listening process (`forward`) and gives each run its own token.

That process can connect to nothing. A thread of the runner receives its requests for a run, by the digest of a token,
and hands it a connection to that run's gateway while the run is being played.
"""

from __future__ import annotations

import hashlib
import queue
import secrets
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from sandbox.boxes.box import SOCKET_NAME
from sandbox.endpoint.callback_listener import READY
from sandbox.errors import Lost, Malformed, Unavailable
from sandbox.isolation.forkserver import start_clean

LISTENER_TIMEOUT_SECONDS = 20


class Callbacks:
    """Callback listener process, from its runner's side.

    Args:
        listen: `ADDRESS:PORT` of this machine; an IPv6 address in brackets.
        base: the URL under which an endpoint reaches it, without a slash at its end.
        token: makes a token, 43 characters of base64url.

    Raises:
        Malformed: `listen` has another form.
        Unavailable: it cannot listen there.
    """

    def __init__(self, listen: str, base: str, token: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> None:
        self.base, self._token, self._listen_on = base, token, listen
        self._lock = threading.Lock()
        self._closed = False
        self._start()

    def _start(self) -> None:
        """Start the process; of the runs that another one before it knew, it knows none."""
        self._ways: dict[bytes, Path] = {}
        self._heard: queue.Queue[bytes] = queue.Queue()
        with _listener(self._listen_on) as listener:
            number = listener.fileno()
            program = ("-m", "sandbox.endpoint.callback_listener", str(number))
            self._process, self._control = start_clean(*program, pass_fds=[number])
        patience = struct.pack("@ll", LISTENER_TIMEOUT_SECONDS, 0)  # a process that reads no more shall not hold us up
        self._control.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
        self._thread = threading.Thread(target=self._listen, name="callbacks", daemon=True)
        self._thread.start()
        try:
            self._wait_for(READY)
        except Lost:
            self._end()
            raise Unavailable(
                f"the callback listener on {self._listen_on} did not start; try "
                "`python -m sandbox.endpoint.callback_listener`"
            ) from None

    def admit(self, sockets: Path) -> tuple[str, str]:
        """Open a route to `sockets`/gateway.sock; gives its token and its URL. A dead process is started again.

        Raises:
            Lost: the process is gone.
            Unavailable: it does not come up again.
        """
        with self._lock:
            if not self._closed and self._process.poll() is not None:
                self._end()
                self._start()
        token = self._token()
        digest = _digest(token)
        self._ways[digest] = sockets / SOCKET_NAME
        self._order(b"+" + digest)
        return token, f"{self.base}/run/{token}"

    def forget(self, token: str) -> None:
        """Close a route; when this returns no connection uses it any more.

        Raises:
            Lost: the process is gone, and all ways with it.
        """
        self._ways.pop(_digest(token), None)
        self._order(b"-" + _digest(token))

    def alive(self, token: str) -> bool:
        """Say whether what knew this token still listens; one that was started since then does not know it."""
        return self._process.poll() is None and _digest(token) in self._ways

    def close(self) -> None:
        """End it; safe to call twice."""
        with self._lock:
            self._closed = True
            self._end()

    def _end(self) -> None:
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._thread.join(LISTENER_TIMEOUT_SECONDS)
        self._control.close()
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _order(self, message: bytes) -> None:
        with self._lock:
            try:
                self._control.send(message)
            except OSError as error:
                raise Lost("the callback listener is gone") from error
            self._wait_for(message)

    def _wait_for(self, word: bytes) -> None:
        try:
            heard = self._heard.get(timeout=LISTENER_TIMEOUT_SECONDS)
        except queue.Empty:
            heard = b""
        if heard != word:
            self._process.kill()  # or a token that was to be forgotten would be good for as long as it lives
            self._process.wait()
            raise Lost("the callback listener is gone, or does not answer")

    # -- in the thread ------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        with suppress(OSError):
            while message := self._control.recv(64):
                if message[:1] == b"?":
                    self._connect(message[1:])
                else:
                    self._heard.put(message)
        self._heard.put(b"")

    def _connect(self, digest: bytes) -> None:
        """Hand over a connection to a run's gateway, or say that there is none."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as end:
            try:
                end.connect(str(self._ways[digest]))
            except (KeyError, OSError):
                self._control.send(b"=" + digest)
            else:
                socket.send_fds(self._control, [b"=" + digest], [end.fileno()])


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def listening(listen: str) -> tuple[str, int]:
    """Take `ADDRESS:PORT` apart; an IPv6 address loses its brackets.

    Raises:
        Malformed: it has another form.
    """
    host, colon, port = listen.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 65536):  # noqa: PLR2004 one past the last port
        raise Malformed(f"{listen!r} is no address to listen on; give ADDRESS:PORT, such as 127.0.0.1:8701")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _listener(listen: str) -> socket.socket:
    host, port = listening(listen)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise Unavailable(f"no callbacks on {listen}: {error.strerror or error}; choose another") from None
