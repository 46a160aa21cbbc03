"""Fixtures of a hosted endpoint: HTTPS on a documentation address, with a certificate authority of the test's own."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from sandbox.boxes.box import SOCKET_NAME
from sandbox.endpoint.address import Exceptions
from sandbox.endpoint.signature import Sender

from ...certificates import for_a_day

NAME, ADDRESS = "agent.example.org", "203.0.113.10"
Behaviour = Callable[[BaseHTTPRequestHandler, bytes], None]


@dataclass
class Authority:
    """A certificate authority of a test."""

    folder: Path
    name: str = "ours"
    key: EllipticCurvePrivateKey = field(default_factory=lambda: generate_private_key(SECP256R1()))

    def __post_init__(self) -> None:
        self.certificate = self._sign(self.name, self.key)
        self.pem.write_bytes(self.certificate.public_bytes(Encoding.PEM))

    @property
    def pem(self) -> Path:
        return self.folder / f"{self.name}.pem"

    @property
    def exceptions(self) -> Exceptions:
        return Exceptions((ip_network("203.0.113.0/24"), ip_network("2001:db8::/32")), self.pem)

    def server(self, *names: str) -> ssl.SSLContext:
        """Make the server's side of TLS for these names."""
        key = generate_private_key(SECP256R1())
        chain = self.folder / f"{self.name}-{names[0].replace(':', '-')}.pem"
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        chain.write_bytes(private + self._sign(names[0], key, names).public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context

    def _sign(self, subject: str, key: EllipticCurvePrivateKey, names: Sequence[str] = ()) -> x509.Certificate:
        return for_a_day(subject, self.name, key.public_key(), names).sign(self.key, hashes.SHA256())


@dataclass
class ReceivedRequests:
    """The requests that a served endpoint received."""

    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


class QuietHandler(BaseHTTPRequestHandler):
    """Handler that logs nothing."""

    def address_string(self) -> str:
        return "a client"

    def log_message(self, *_: Any) -> None:
        pass


class ForgivingServer(ThreadingHTTPServer):
    """Server that ignores clients that were cut off."""

    def handle_error(self, *_: Any) -> None:
        pass

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve in a thread for the block."""
        thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            thread.join()
            self.server_close()


@contextmanager
def serve(
    behave: Behaviour, context: ssl.SSLContext | None, address: str = ADDRESS, port: int = 443
) -> Iterator[ReceivedRequests]:
    """Serve an endpoint for the block."""
    heard = ReceivedRequests()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.requests.append((dict(self.headers), body))
            behave(self, body)

    class Server(ForgivingServer):
        address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

    server = Server((address, port), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with server.serving():
        yield heard


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"), "theirs")


@pytest.fixture(scope="session")
def context(authority: Authority) -> ssl.SSLContext:
    return authority.server(NAME, ADDRESS, "2001:db8::10")


@pytest.fixture
def sender() -> Sender:
    return Sender(Ed25519PrivateKey.generate())


@contextmanager
def stand_in(folder: Path, behave: Behaviour | None = None) -> Iterator[ReceivedRequests]:
    """Stub of a run's gateway on `folder`/gateway.sock: it gives the task, and echoes other requests."""
    heard = ReceivedRequests()

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            heard.requests.append((dict(self.headers) | {":": f"{self.command} {self.path}"}, body))
            if behave is not None and self.path != "/task":
                behave(self, body)
                return
            said = json.dumps(TASK).encode() if self.path == "/task" else body
            self.send_response(200)
            for name, value in (("Content-Type", "text/x"), ("Mcp-Session-Id", "s"), ("X-Inner", "secret")):
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

    class Server(ForgivingServer):
        address_family = socket.AF_UNIX

        def server_bind(self) -> None:
            self.socket.bind(str(folder / SOCKET_NAME))

    with Server(("", 0), Handler).serving():
        yield heard


TASK = {"alias": "r-1", "goal": "Make the folder x.", "max_steps": 8, "tools": [{"name": "filesystem__x"}]}


@pytest.fixture
def hosted(context: ssl.SSLContext) -> Callable[[Behaviour], Any]:
    """Serve an endpoint with a valid certificate."""
    return lambda behave: serve(behave, context)
