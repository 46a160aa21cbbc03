"""Check before a server starts that it can listen; uvicorn logs the reason and exits with a number of its own."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from quarterturn.errors import Unavailable

_REASONS = {
    errno.EADDRINUSE: "another program listens there: end it, or name another port with {option}",
    errno.EADDRNOTAVAIL: "this machine has no such address: name one of its own with {option}",
    errno.EACCES: "this user may not listen there: name a port from 1024 on with {option}",
}


@contextmanager
def serving_at(host: str, port: int, option: str) -> Iterator[None]:
    """Refuse an address at which nobody could listen now; in the block, one that fails to listen is refused too.

    Args:
        host: a name or an address.
        port: 0 takes any.
        option: the option that chooses them, for the message.

    Raises:
        Unavailable: it cannot be listened there; the message names address, port and what to do.
    """
    place = f"{host} port {port}"
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(address)
                probe.listen(1)
    except (socket.gaierror, UnicodeError):
        raise Unavailable(f"cannot listen on {place}: {host} is no known address; name one with {option}") from None
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"{error.strerror}; name another with {{option}}").format(option=option)
        raise Unavailable(f"cannot listen on {place}: {reason}") from None
    try:
        yield
    except SystemExit:
        raise Unavailable(f"the server on {place} did not start; the line above says why") from None
