"""Relays between runners and model processes: the bytes of a serving's link, by their positions, read by nobody here.

A relay lives from the moment in which its serving is granted until that is handed in, in the process of its run. What
an agent asked for, and what came of it, is in the log of the model process, which a runner does not see.
"""

from __future__ import annotations

import hmac
import socket
import struct
import threading
from contextlib import suppress

from quarterturn.errors import NotAllowed, NotFound
from sandbox.model_gateway.link import CHUNK
from sandbox.model_gateway.process import ModelLink

MAX_AHEAD_BYTES = 1 << 20
"""Of what the model process sent and the runner has not asked beyond; meanwhile the process waits."""
WRITE_SECONDS = 10
"""For a model process to take what it is sent; one that does not is stuck."""


class ModelRelay:
    """One serving's link to a model process.

    Args:
        session: with the model process; it is this relay's own.
        token: of the serving's model.
    """

    def __init__(self, session: ModelLink, token: str) -> None:
        self.session = session
        self._token, self._link = token.encode("ascii"), session.gateway_end
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", WRITE_SECONDS, 0))
        self._writing, self._changed = threading.Lock(), threading.Condition()
        self._written = 0
        self._first, self._ahead = 0, bytearray()
        self._is_over = False
        self._thread = threading.Thread(target=self._keep_reading, name="model-relay", daemon=True)
        self._thread.start()

    def is_for(self, token: str) -> bool:
        """Say whether a token is this relay's."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self._token)

    def write(self, position: int, data: bytes) -> None:
        """Send what the model process has not been sent yet.

        Raises:
            NotAllowed: bytes before these are missing.
            NotFound: the model process is gone.
        """
        with self._writing:
            if position > self._written:
                raise NotAllowed(f"the bytes from {self._written} to {position} are missing", state="gap")
            fresh = data[self._written - position :]
            try:
                self._link.sendall(fresh)
            except OSError:
                self._end()
                raise NotFound("the model process is gone") from None
            self._written += len(fresh)

    def forget(self, position: int) -> None:
        """Forget what came before a position: the runner has it.

        Raises:
            NotAllowed: it was forgotten before, or has not come yet.
        """
        with self._changed:
            if not self._first <= position <= self._first + len(self._ahead):
                raise NotAllowed(f"position {position} is not among what is kept, from {self._first}", state="gap")
            del self._ahead[: position - self._first]
            self._first = position
            self._changed.notify_all()

    def read(self, position: int) -> bytes | None:
        """Return what has come from a position on; nothing while nothing has, None where nothing more will."""
        with self._changed:
            data = bytes(self._ahead[position - self._first :])
            return data if data or not self._is_over else None

    def close(self) -> None:
        """End the session, once its log has come to its end; safe to call twice."""
        self._end()
        self._thread.join()
        self.session.finish()

    def _end(self) -> None:
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _keep_reading(self) -> None:
        with suppress(OSError):
            while data := self._link.recv(CHUNK):
                with self._changed:
                    self._ahead += data
                    self._changed.wait_for(lambda: self._is_over or len(self._ahead) < MAX_AHEAD_BYTES)
        self._end()


class ModelRelays:
    """The relays of one process, by the handles of their servings."""

    def __init__(self) -> None:
        self._relays: dict[str, ModelRelay] = {}

    def open(self, handle: str, session: ModelLink, token: str) -> ModelRelay:
        """Relay a session for a serving."""
        self._relays[handle] = relay = ModelRelay(session, token)
        return relay

    def find(self, handle: str, token: str) -> ModelRelay:
        """Return the relay of a serving.

        Raises:
            NotFound: there is none, or the token is another one's.
        """
        relay = self._relays.get(handle)
        if relay is None or not relay.is_for(token):
            raise NotFound(f"the serving {handle} has no model here, or not for this token")
        return relay

    def close(self, handle: str) -> None:
        """End the relay of a serving, if it has one."""
        if (relay := self._relays.pop(handle, None)) is not None:
            relay.close()
