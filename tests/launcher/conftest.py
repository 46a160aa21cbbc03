"""Fixtures for the launcher's tests: a package index on the loopback, and the small wheel that it serves."""

from __future__ import annotations

import base64
import hashlib
import io
import ssl
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ..certificates import make_certificate

WHEEL = "paperclip-1.0-py3-none-any.whl"


def make_wheel(name: str = "paperclip", version: str = "1.0", files: dict[str, bytes] | None = None) -> bytes:
    """Make a wheel of one module."""
    info = f"{name}-{version}.dist-info"
    content = files or {f"{name}.py": b"HOLDS = True\n"}
    content |= {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in (content | {f"{info}/RECORD": record.encode()}).items():
            entry = zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100755 << 16  # pip marks a program that is so in its wheel, and no other
            archive.writestr(entry, data)
    return buffer.getvalue()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Index:
    """A package index that serves only the HTML form, and records its requests.

    Attributes:
        url: its address.
        wheel: the bytes that it serves for the one file that it lists.
        claimed: the digest that its page claims, or None for none.
        login: the only `name:password` that it serves, or None for anybody.
        asked: the paths that it was asked for.
    """

    url: str = ""
    wheel: bytes = field(default_factory=make_wheel)
    claimed: str | None = None
    login: str | None = None
    asked: list[str] = field(default_factory=list)

    def answer(self, path: str, authorization: str | None) -> tuple[int, bytes]:
        self.asked.append(path)
        if self.login and authorization != "Basic " + base64.b64encode(self.login.encode()).decode():
            return 401, b"who are you?"
        if path.endswith("/simple/paperclip/"):
            fragment = f"#sha256={self.claimed}" if self.claimed else ""
            return 200, f'<!DOCTYPE html><a href="../../files/{WHEEL}{fragment}">{WHEEL}</a>'.encode()
        return (200, self.wheel) if path.endswith(f"/files/{WHEEL}") else (404, b"")


@contextmanager
def serving(index: Index, context: ssl.SSLContext | None = None) -> Iterator[Index]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = index.answer(self.path, self.headers.get("Authorization"))
            self.send_response(status)
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="index"')
            self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - http.server's own spelling

        def log_message(self, *_arguments: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_arguments: object) -> None:
            """Ignore a client that hangs up because it does not trust the certificate."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        index.url = f"http{'s' if context else ''}://127.0.0.1:{server.server_address[1]}/simple"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield index
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def index() -> Iterator[Index]:
    with serving(Index()) as started:
        yield started


@dataclass(frozen=True)
class Wheelhouse:
    """A folder of wheels, and locks for them."""

    folder: Path

    def add(self, name: str, version: str, files: dict[str, bytes] | None = None, platform: str = "any") -> str:
        """Put a wheel into the folder and give the line that locks it."""
        wheel = make_wheel(name, version, files)
        (self.folder / f"{name}-{version}-py3-none-{platform}.whl").write_bytes(wheel)
        return f"{name}=={version} --hash=sha256:{sha256(wheel)}\n"


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Wheelhouse:
    folder = tmp_path / "wheelhouse"
    folder.mkdir()
    return Wheelhouse(folder)


@dataclass(frozen=True)
class Secured:
    index: Index
    certificate: Path


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[Secured]:
    """Serve the index behind TLS, with a certificate that is not trusted yet."""
    certificate, context = make_certificate(tmp_path, "127.0.0.1")
    with serving(Index(), context) as started:
        yield Secured(started, certificate)
