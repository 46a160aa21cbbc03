"""Language model of a serving that a runner plays: the gateway's link to it, carried to the service over HTTP.

    PUT /runner/v1/servings/HANDLE/model?at=N    bytes from position N of what the gateway sends
    GET /runner/v1/servings/HANDLE/model?at=N    bytes from position N of what the model process sends, as they come

1. The model process, with its provider's key, counts and caps, is the service's. Nothing on the way reads a message.
2. The token is made of the serving's key. It opens this serving's model and nothing else, while the serving is played.
3. A request names its position and may be sent again, so a connection that breaks off loses and doubles nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from sandbox.errors import Lost, Malformed
from sandbox.model_gateway.link import CHUNK
from sandbox.remote_client import NoAnswer, RemoteClient
from sandbox.transcript import ModelCall

EXCHANGE_SECONDS = 60.0
"""For a request; the service ends its answer after twenty."""
STEP_SECONDS = 40.0
PAUSE_SECONDS = 1.0
"""Before a service that did not answer is asked again."""
PASSING = frozenset((429, 500, 502, 503, 504))
"""Statuses of a service that may answer later."""
_USE = b"quarterturn/relayed-model/v1"


def model_token(key: bytes) -> str:
    """Return the token of a serving's model, which whoever has the serving's key can make."""
    return hmac.new(key, _USE, hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """Where a runner reaches its service, and what TLS needs for that.

    Attributes:
        url: `https://NAME`, or http on this machine.
        authority: a PEM file with the authorities to trust; empty: those of this machine.
        certificate: a PEM file with a certificate to show and its key, or empty.
    """

    url: str
    authority: str = ""
    certificate: str = ""

    def tls(self) -> ssl.SSLContext | None:
        """Return what trusts and shows these, or None where the usual will do.

        Raises:
            Malformed: the file holds no certificate with its key.
        """
        if not self.authority and not self.certificate:
            return None
        context = ssl.create_default_context(cafile=self.authority or None)
        if self.certificate:
            try:
                context.load_cert_chain(self.certificate)
            except OSError as error:
                message = f"{self.certificate} is no PEM file of a certificate and its key: {error} (--certificate)"
                raise Malformed(message) from None
        return context


class RelayedModel:
    """Model of one serving (`sandbox.model_gateway.process.ModelLinks`), whose log the service keeps.

    Args:
        service: the service's address.
        handle: of the serving.
        key: of the serving.
    """

    calls: tuple[ModelCall, ...] = ()

    def __init__(self, service: ServiceAddress, handle: str, key: bytes) -> None:
        self._service, self._path = service, f"/runner/v1/servings/{handle}/model"
        self._headers = {"authorization": f"Bearer {model_token(key)}"}
        self._is_over = threading.Event()
        self._received = 0
        self.lost = False
        """Whether a request had to be sent again, or the service has this model no more."""

    def open(self) -> RelayedModel:
        """Begin to carry bytes, and return the session."""
        self._tls = self._service.tls()
        self.gateway_end, self._link = socket.socketpair()
        for carry in (self._send, self._receive):
            threading.Thread(target=self._carried, args=(carry,), name="model-relay", daemon=True).start()
        return self

    def finish(self) -> None:
        """Carry nothing more; the service closes its session when the serving is handed in. Safe to call twice."""
        self._is_over.set()
        self.gateway_end.close()
        self._shut()

    def _carried(self, carry: Callable[[RemoteClient], None]) -> None:
        url, verify = self._service.url.rstrip("/"), {"verify": self._tls} if self._tls else {}
        with RemoteClient(STEP_SECONDS, base_url=url, headers=self._headers, **verify) as client:
            try:
                carry(client)
            except (OSError, Lost):
                self.lost = self.lost or not self._is_over.is_set()
            finally:
                self._shut()  # an agent that waits for an answer hears that the model is gone

    def _shut(self) -> None:
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)

    def _send(self, client: RemoteClient) -> None:
        position = 0
        with self._link:  # nobody is left to receive for
            while data := self._link.recv(CHUNK):
                while not self._is_over.is_set() and not self._exchange(client, "PUT", position, data):
                    pass
                position += len(data)

    def _receive(self, client: RemoteClient) -> None:
        while not self._is_over.is_set():
            self._exchange(client, "GET", self._received)

    def _exchange(self, client: RemoteClient, method: str, position: int, content: bytes | None = None) -> bool:
        """Send a request, hand what is answered to the gateway, and say whether the answer came whole.

        Raises:
            Lost: the service does not have this model, or not any more.
        """
        query = {"at": str(position)}
        try:
            with client.exchange(method, self._path, EXCHANGE_SECONDS, params=query, content=content) as response:
                if response.is_success:
                    for data in response.iter_raw():
                        self._link.sendall(data)
                        self._received += len(data)
                    return True
                if response.status_code not in PASSING:
                    raise Lost(f"the service refuses this serving its model (status {response.status_code})")
        except NoAnswer:
            pass
        self.lost = self.lost or not self._is_over.is_set()
        self._is_over.wait(PAUSE_SECONDS)
        return False
