"""Client of the API for a runner: it registers, takes and starts servings, and hands in what they left.

Every request may be sent again. It implements `sandbox.servings.runner.RunnerService`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import Field

from quarterturn.client.connection import Client
from quarterturn.client.problem import no_answer
from sandbox.remote_document import RemoteDocument, read_document

PREFIX, VERSION = "/runner/v1", 1
"""Where the interface lies, and the version of it that this client speaks."""
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
    hand_in_key: str = Field(max_length=64)


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
    """A connection to one service, as the runner of one token."""

    def register(self, *, box: str, run_class: str, places: int, programs: str) -> bytes:
        """Register, and return the public key to which what is handed in is sealed.

        Raises:
            ApiError: the service refuses this runner, or does not answer.
        """
        own = {"version": VERSION, "box": box, "run_class": run_class, "places": places, "programs": programs}
        answer = self._ask(Registered, "POST", f"{PREFIX}/registration", json_body=own)
        return _decoded(answer.hand_in_key)

    def take(self) -> tuple[str, bytes] | None:
        """Take the next serving: its handle and its ciphertext; None where there is nothing to play now.

        Raises:
            ApiError: as for `register`.
        """
        answer = self._ask_for(TakenServing, "POST", f"{PREFIX}/work")
        return (answer.handle, _decoded(answer.document)) if answer else None

    def start(self, handle: str) -> bytes | None:
        """Return the key of a serving that was taken, which counts as served from then on; None: not yet.

        Raises:
            ApiError: the serving is no longer this runner's (`not-found`), or as for `register`.
        """
        answer = self._ask_for(ServingKey, "POST", f"{PREFIX}/servings/{handle}/start")
        return _decoded(answer.key) if answer else None

    def still_wanted(self, handles: Collection[str]) -> set[str]:
        """Say that this runner lives and has these servings, and return those that are still wanted.

        Raises:
            ApiError: as for `register`.
        """
        answer = self._ask(WantedServings, "POST", f"{PREFIX}/alive", json_body={"servings": sorted(handles)})
        return set(answer.wanted)

    def hand_in(self, handle: str, sealed: Path) -> None:
        """Hand in what a serving left, from a file.

        Raises:
            ApiError: nothing is taken for it any more (`conflict`), or as for `register`.
            OSError: the file cannot be read.
        """

        def send() -> None:
            with sealed.open("rb") as file:
                path = f"{PREFIX}/servings/{handle}/result"
                with self._http.exchange("PUT", path, HAND_IN_SECONDS, content=_chunks(file)) as response:
                    if not response.is_success:
                        raise self._refused(response)

        self._repeated(send)

    def _ask_for(self, form: type[T], method: str, path: str) -> T | None:
        """Ask for something that there may not be yet: an answer without content (204)."""

        def send() -> bytes:
            with self._http.exchange(method, path, ANSWER_SECONDS) as response:
                if not response.is_success:
                    raise self._refused(response)
                return self._body(response)

        body = self._repeated(send)
        with self._errors_as_no_answer():
            return read_document(form, body, f"{self._url}{path}", max_bytes=MAX_BYTES) if body else None


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _decoded(text: str) -> bytes:
    """Decode base64.

    Raises:
        ApiError: it is none.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise no_answer("The service answers with something that is no base64: update this runner.") from None
