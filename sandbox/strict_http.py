"""HTTP/1.1 protocol of every server of ours: uvicorn's, which refuses requests that two readers could take differently.

h11 takes a few requests that RFC 9112 lets a server refuse, and that a proxy in front of it may read in another way:
behind such a request, one of the two sees a second one. Each gets a single 400 here, and its connection is closed.
"""

from __future__ import annotations

from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEAD_BYTES = 16 * 1024  # where a server sets no cap of its own
MAX_FIELDS = 100  # in one request's head; h11's cap counts bytes only while a head is incomplete


class StrictConnection(h11.Connection):
    """h11's reader of requests, with the refusals of this module."""

    def next_event(self) -> Any:
        """Return the next event; a request that is refused raises what h11 raises for a malformed one."""
        event = super().next_event()
        if isinstance(event, h11.Request) and (fault := request_fault(event)):
            raise h11.RemoteProtocolError(fault)
        return event


class StrictProtocol(H11Protocol):
    """One connection of a server."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = StrictConnection(h11.SERVER, self.config.h11_max_incomplete_event_size or MAX_HEAD_BYTES)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request and close; one that was answered before it broke gets no second answer."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.close()


def request_fault(request: h11.Request) -> str:
    """Return why a request is refused, in a sentence, or nothing."""
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" in names and b"content-length" in names:  # RFC 9112, section 6.1: request smuggling
        return "the body's length is declared in two ways"
    if b"transfer-encoding" in names and request.http_version < b"1.1":  # the same section: the framing is faulty
        return "HTTP/1.0 has no transfer coding"
    if not request.http_version.startswith(b"1."):
        return "the version is not HTTP/1"
    if len(request.headers) > MAX_FIELDS:
        return f"the head has more than {MAX_FIELDS} fields"
    return ""
