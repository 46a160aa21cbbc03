"""Client of the API for a runner: it registers, takes and starts servings, and hands in what they left.

Every request may be sent again. `RunnerClient` implements `sandbox.servings.runner.RunnerService`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeVar

from pydantic import Field

from quarterturn.client.connection import Client
from quarterturn.client.problem import ApiError
from quarterturn.runners.programs import INTERFACE_VERSION
from sandbox.errors import Refused, Unavailable
from sandbox.remote_document import RemoteDocument, read_document
from sandbox.servings.runner import Gone, SealedServing

PREFIX = "/runner/v1"
"""Where the interface lies."""
ANSWER_SECONDS = 40.0
"""For an answer, which a service holds back for twenty where it has nothing to say."""
HAND_IN_SECONDS = 300.0
MAX_BYTES = 32 * 1024 * 1024
"""Of an answer: a serving has 16 MiB at most, and base64 makes a third more of it."""
CHUNK_BYTES = 1 << 20

T = TypeVar("T")


class Registered(RemoteDocument):
    """The answer to a registration."""

    version: int
    public_key: str = Field(max_length=64)


class TakenServing(RemoteDocument):
    """A serving that was taken, encrypted."""

    handle: str = Field(max_length=64)
    document: str


class ServingKey(RemoteDocument):
    """The key of a serving."""

    key: str = Field(max_length=64)


class WantedServings(RemoteDocument):
    """The servings that are still wanted."""

    wanted: list[str]


class RunnerClient(Client):
    """A connection to one service, as the runner of one token.

    Every method raises `Unavailable` where the service does not answer now, and `Refused` where it takes none such.
    """

    def register(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Say what this runner is; return what the service is, with its public key in hexadecimal."""
        with _as_runner_errors():
            own = {"version": INTERFACE_VERSION, **document}
            answer = self._ask(Registered, "POST", f"{PREFIX}/registration", json_body=own)
        return {"version": answer.version, "public_key": answer.public_key}

    def take(self, seconds: float) -> SealedServing | None:
        """Return the next serving, or None where there is none within `seconds`."""
        with _as_runner_errors():
            answer = self._ask_for(TakenServing, f"{PREFIX}/work", params={"seconds": f"{seconds:.0f}"})
        return SealedServing(answer.handle, _decoded(answer.document)) if answer else None

    def start(self, handle: str) -> bytes:
        """Return a serving's key, once its exposure is recorded; the same again for the runner that took it.

        Raises:
            Gone: it is not to be played any more.
        """
        with _as_runner_errors():
            answer = self._ask_for(ServingKey, f"{PREFIX}/servings/{handle}/start")
        if answer is None:
            raise Unavailable("the service has not recorded the serving yet")
        return _decoded(answer.key)

    def alive(self, handles: Collection[str]) -> Collection[str]:
        """Say which servings this runner has, and return those of them that are still wanted."""
        with _as_runner_errors():
            answer = self._ask(WantedServings, "POST", f"{PREFIX}/alive", json_body={"servings": sorted(handles)})
        return set(answer.wanted)

    def report_failure(self, handle: str, *, agent_started: bool) -> None:
        """Report that a serving ended and left nothing; a second time changes nothing.

        Raises:
            Gone: it is not this runner's.
        """
        with _as_runner_errors():
            self._post(f"{PREFIX}/servings/{handle}/failure", json={"agent_started": agent_started})

    def hand_in(self, handle: str, sealed: BinaryIO) -> None:
        """Hand in what was left; a second time changes nothing.

        Raises:
            Gone: its run was closed.
        """

        def send() -> None:
            sealed.seek(0)
            path = f"{PREFIX}/servings/{handle}/result"
            with self._http.exchange("PUT", path, HAND_IN_SECONDS, content=_chunks(sealed)) as response:
                if not response.is_success:
                    raise self._refused(response)

        with _as_runner_errors():
            self._repeated(send)

    def _ask_for(self, form: type[T], path: str, **content: Any) -> T | None:
        """Ask for something that there may not be yet: an answer without content (204)."""
        body = self._post(path, **content)
        with self._errors_as_no_answer():
            return read_document(form, body, f"{self._url}{path}", max_bytes=MAX_BYTES) if body else None

    def _post(self, path: str, **content: Any) -> bytes:
        def send() -> bytes:
            with self._http.exchange("POST", path, ANSWER_SECONDS, **content) as response:
                if not response.is_success:
                    raise self._refused(response)
                return self._body(response)

        return self._repeated(send)


@contextmanager
def _as_runner_errors() -> Iterator[None]:
    """Turn what the service says into the errors of `sandbox.servings.runner.RunnerService`."""
    try:
        yield
    except ApiError as error:
        if error.problem.code in ("not-found", "conflict", "too-large"):
            raise Gone(str(error)) from None
        if error.kind in ("unavailable", "quota"):
            raise Unavailable(str(error)) from None
        raise Refused(str(error)) from None


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _decoded(text: str) -> bytes:
    """Decode base64.

    Raises:
        Refused: it is none.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refused("the service answers with something that is no base64: update this runner") from None
