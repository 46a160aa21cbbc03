"""A request that a proxy and a server could end in different places, sent to a server that is a process."""

from __future__ import annotations

import re
import socket
from urllib.parse import urlsplit

from .patience import PATIENCE

REFUSED = re.compile(rb"HTTP/1.1 400 (?!.*HTTP/1.1).*", re.DOTALL)


def spoken(url: str) -> bytes:
    """Return all that a server answers to a request of two lengths with another one behind it, until it closes."""
    address, host, answer = urlsplit(url), b"Host: x\r\n", b""
    first = b"POST / HTTP/1.1\r\n" + host + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE) as connection:
        connection.sendall(first + b"GET / HTTP/1.1\r\n" + host + b"\r\n")
        while data := connection.recv(65536):
            answer += data
    return answer
