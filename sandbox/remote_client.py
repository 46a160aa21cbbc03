"""HTTP client for remotes that may be hostile: one exchange at a time, each with a deadline.

1. No redirect is followed and no cookie kept; no proxy or other variable of the environment counts, unless asked for.
2. An answer is asked for unencoded, so that few bytes cannot become many (`sandbox.remote_document`).
3. At its deadline an exchange's connection is shut down. A client's timeout is for one read, and each byte starts it
   anew: a byte a second, or interim answers (`100 Continue`) without end, would hold the client for ever.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Self
from weakref import WeakSet

import httpx2

from sandbox.errors import Unavailable

REASONS = {
    "ConnectError": "no connection",
    "ReadError": "the connection broke off",
    "RemoteProtocolError": "what answers is no HTTP, or breaks off",
}
"""What an error of the HTTP library means; its own text may quote the request."""


class NoAnswer(Unavailable):
    """A remote gave no whole answer; the message says in a few words why."""


class RemoteClient:
    """A client of one remote, with connections that are kept for its next exchange.

    Args:
        seconds: for each step of an exchange: connecting, one read, one write.
        options: `httpx2.Client`'s; they come before those above.
    """

    def __init__(self, seconds: float, **options: Any) -> None:
        options = {"follow_redirects": False, "trust_env": False, "timeout": seconds} | options
        if options.get("transport") is None:
            options.setdefault("verify", ssl.create_default_context())
        self._http = httpx2.Client(cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])), **options)
        self._http.headers["accept-encoding"] = "identity"
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self.is_over = False
        """Whether the last exchange was still under way at its deadline."""

    def __enter__(self) -> Self:
        """Return the client; its connections are closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        self._http.close()

    @contextmanager
    def exchange(self, method: str, url: str, seconds: float, **options: Any) -> Iterator[httpx2.Response]:
        """Send a request and give its answer, whose head has come in; its body is read in the block.

        Args:
            method: the request's.
            url: likewise.
            seconds: until the deadline.
            options: `httpx2.Client.stream`'s.

        Raises:
            NoAnswer: nobody answers in HTTP, the answer breaks off, or the deadline has passed.
        """
        self.is_over = False
        timer = threading.Timer(seconds, self.end)
        timer.daemon = True
        timer.start()
        why = ""
        try:
            with self._http.stream(method, url, extensions={"trace": self._trace}, **options) as response:
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            why = REASONS.get(type(error).__name__, type(error).__name__)
        finally:
            timer.cancel()
            timer.join()
        if self.is_over:  # also where the body seems to have ended: it may be cut off
            why = f"no whole answer within {seconds:g} s"
        if why:
            raise NoAnswer(why)

    def _trace(self, event: str, values: Mapping[str, Any]) -> None:
        """Note each connection as it is made: nothing else gives it out before an answer has a head."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._sockets.add(values["return_value"].get_extra_info("socket"))
        if self.is_over:
            self.end()

    def end(self) -> None:
        """End the exchange that is under way."""
        self.is_over = True
        for connection in list(self._sockets):
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)  # TLS's own would race with its reader
