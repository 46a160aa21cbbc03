"""HTTP on a unix socket: requests in, answers out, one at a time.

The only client is the preload in the server's own process, so a request is answered before the next is read, and
nothing that one request does can be seen half done by another.
"""

from __future__ import annotations

import json
import signal
import socketserver
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

MAX_BODY = 32 << 20


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; `path` has no percent-escapes left, `headers` have lower-case names."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    data: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One answer; a body of None is sent as no body."""

    status: int
    body: Any = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """Return the body's bytes."""
        return b"" if self.body is None else json.dumps(self.body, ensure_ascii=False).encode("utf-8", "replace")


Application = Callable[[HttpRequest], HttpResponse]


def serve(application: Application, place: str, ready: Callable[[], object]) -> None:
    """Answer requests on a unix socket for ever, and say when it begins.

    SIGTERM ends it, but not before a request that is being answered: what that changes is whole, in git and beside it.
    """
    with socketserver.UnixStreamServer(place, _handler(application)) as server:
        ready()
        server.serve_forever()


def _handler(application: Application) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Reads one request, has it answered, and closes."""

        def address_string(self) -> str:
            return "the server"

        def log_message(self, *_: Any) -> None:
            """Keep quiet: what is asked is as secret as the task."""

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > MAX_BODY:
                self.send_error(413)
                return
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            headers = {name.lower(): value for name, value in self.headers.items()}
            data = self.rfile.read(length)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            try:
                self._send(application(HttpRequest(self.command, unquote(parts.path), query, headers, data)))
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

        def _send(self, answer: HttpResponse) -> None:
            data = answer.encoded()
            self.send_response_only(answer.status)
            for name, value in {
                "Content-Type": "application/json; charset=utf-8",
                "Content-Length": str(len(data)),
                "X-GitHub-Media-Type": "github.v3; format=json",
                **answer.headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - the base class asks for these names

    return Handler
