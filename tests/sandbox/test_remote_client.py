"""Tests of the client of remotes: whatever is sent, and however slowly, an exchange ends at its deadline."""

from __future__ import annotations

import itertools
import socket
import threading
from contextlib import suppress

import pytest

from sandbox.remote_client import NoAnswer, RemoteClient

from ..patience import PATIENCE

OK = b"HTTP/1.1 200 OK\r\n"
ENDLESS = {
    "nothing": (b"", b""),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a head, byte by byte": (OK, b"a"),
    "a body, byte by byte": (OK + b"content-length: 100000000\r\n\r\n", b" "),
    "a body without a length": (OK + b"\r\n", b" "),
    "a chunk's extension": (OK + b"transfer-encoding: chunked\r\n\r\n1;", b"a"),
}


@pytest.fixture
def endless():
    """Serve a beginning, and then a piece again and again until the client is gone; gives the address."""
    beginning, piece = [b""], [b""]
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                connection.sendall(beginning[0])
                while not over.wait(0.01) and (piece[0] or not connection.recv(1)):
                    connection.sendall(piece[0] or b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        yield f"http://127.0.0.1:{port}", beginning, piece
        over.set()
        socket.create_connection(("127.0.0.1", port)).close()
        thread.join(PATIENCE)


@pytest.mark.parametrize("case", ENDLESS)
def test_an_exchange_without_an_end_is_over_at_its_deadline(endless, case):
    url, beginning, piece = endless
    beginning[0], piece[0] = ENDLESS[case]
    with RemoteClient(PATIENCE) as client:
        with (
            pytest.raises(NoAnswer, match=r"no whole answer within 0\.1 s"),
            client.exchange("GET", url, 0.1) as answer,
        ):
            list(answer.iter_raw())
        assert client.is_over
        beginning[0] = OK + b"content-length: 2\r\n\r\n{}"
        with client.exchange("GET", url, PATIENCE) as answer:
            assert b"".join(itertools.islice(answer.iter_raw(), 1)) == b"{}"
        assert not client.is_over


def test_what_is_no_address_is_no_answer():
    with RemoteClient(PATIENCE) as client, pytest.raises(NoAnswer), client.exchange("GET", "http://[::1", PATIENCE):
        pass
