"""Test of the runner's end of a relayed language model: which certificate it shows, and which authority it trusts."""

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sandbox.errors import Malformed
from sandbox.servings.relayed_model import RelayedModel, ServiceAddress, model_token

from ...certificates import make_certificate
from ...patience import PATIENCE

HANDLE, KEY = "s-" + "1" * 32, b"test-key-of-a-serving"


class Service(BaseHTTPRequestHandler):
    """A service that takes what is sent to a model, and has no more to give."""

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.server.seen.append((self.headers["authorization"], body))
        self.send_response(204)
        self.end_headers()
        self.server.arrived.set()

    def do_GET(self):
        self.server.arrived.wait(PATIENCE)
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def folders(tmp_path):
    for name in ("service", "runner"):
        (tmp_path / name).mkdir()
        certificate, _ = make_certificate(tmp_path / name, "127.0.0.1")
        key = tmp_path / name / "key.pem"
        (tmp_path / name / "both.pem").write_bytes(key.read_bytes() + certificate.read_bytes())
    return tmp_path / "service", tmp_path / "runner"


@pytest.fixture
def service(folders):
    own, runner = folders
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=runner / "certificate.pem")
    context.load_cert_chain(own / "both.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        server.seen, server.arrived = [], threading.Event()
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_supervisor_reaches_a_service_that_asks_for_a_certificate(service, folders):
    own, runner = folders
    url = f"https://127.0.0.1:{service.server_address[1]}"
    address = ServiceAddress(url, str(own / "certificate.pem"), str(runner / "both.pem"))
    session = RelayedModel(address, HANDLE, KEY).open()
    session.gateway_end.sendall(b"a question")
    assert service.arrived.wait(PATIENCE)
    session.finish()
    assert service.seen == [(f"Bearer {model_token(KEY)}", b"a question")]


def test_a_file_without_a_certificate_is_named(folders):
    with pytest.raises(Malformed, match=r"certificate.pem is no PEM file of a certificate and its key.*--certificate"):
        ServiceAddress("https://bench.example", certificate=str(folders[1] / "certificate.pem")).tls()
