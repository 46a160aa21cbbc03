"""HTTP servers of tests: each answers by a function of its test, on a loopback address, until the end of a block."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Request(BaseHTTPRequestHandler):
    """A request that waits for its answer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Let the test answer."""
        self.reply()

    do_POST = do_CONNECT = do_GET  # noqa: N815 - so the library has it

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send a whole answer; a `_` in the name of a header stands for `-`."""
        self.send_response(status)
        for name, value in {"content_length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing on standard error."""


@contextmanager
def serving(reply: Callable[[Request], object]) -> Iterator[str]:
    """Let a function answer every request, and give the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answering", (Request,), {"reply": reply}))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
