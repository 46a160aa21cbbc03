"""Base of the clients: one connection to a service, with requests repeated where they were stopped on their way.

1. Credentials are sent only over https, or over http to this machine, never to where a redirect leads, and stand in no
   repr and no error.
2. A request that a lost connection or a busy server stopped is sent again; each of ours may be repeated.
3. An answer is taken within caps on bytes, values and time, and read into the model of its document.
4. Whatever is refused, and an answer of another form, raises `ApiError`, which carries the problem document (RFC 9457).
"""

from __future__ import annotations

import ipaddress
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

import httpx2

from quarterturn.client.problem import ApiError, Problem, no_answer
from sandbox.remote_client import NoAnswer, RemoteClient
from sandbox.remote_document import InvalidAnswer, read_document, read_within

LONGEST_PAUSE = 300.0  # however long a server asks for
SECONDS = 30.0  # for one step of an exchange
ANSWER_SECONDS = 300.0  # for a whole exchange, but for the download of an archive
TRIES = 4  # of a request that a lost connection or a busy server stopped
MAX_BYTES = 32 << 20  # of an answer: a run's trace is the longest
MAX_VALUES = 1 << 20  # in an answer

Sleep = Callable[[float], None]
T = TypeVar("T")


class Connection:
    """A connection to one service.

    Args:
        url: the service's address.
        headers: are sent with each request, beside `Accept`.
        transport: sends the requests, if not httpx2's own; a proxy needs one.
        tls: the certificates that are trusted and shown; the machine's authorities, and none to show, if None.
        sleep: waits so many seconds between two requests; `time.sleep` if None.

    Raises:
        ValueError: the address is neither https nor http to this machine.
    """

    accept: ClassVar[str] = "application/json, application/problem+json"

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        transport: httpx2.BaseTransport | None = None,
        tls: ssl.SSLContext | None = None,
        sleep: Sleep | None = None,
    ) -> None:
        require_address(url)
        self._sleep, self._url = sleep or time.sleep, url.rstrip("/")
        headers = {"accept": self.accept, **(headers or {})}
        verify = {"verify": tls} if tls else {}
        self._http = RemoteClient(SECONDS, base_url=self._url, headers=headers, transport=transport, **verify)

    def __enter__(self) -> Self:
        """Return the client; it is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._http.close()

    def end(self) -> None:
        """End the request that is under way, which then has no answer."""
        self._http.end()

    def _ask(
        self,
        form: type[T],
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        json_body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> T:
        """Send a request, again where a lost connection or a busy server stopped it, and read the answer."""

        def send() -> bytes:
            content = {"params": query, "json": json_body, "headers": headers}
            with self._http.exchange(method, path, ANSWER_SECONDS, **content) as response:
                if not response.is_success:
                    raise self._refused(response)
                return self._body(response)

        body = self._repeated(send)
        with self._errors_as_no_answer():
            return read_document(form, body, f"{self._url}{path}", max_bytes=MAX_BYTES, max_values=MAX_VALUES)

    def _repeated(self, send: Callable[[], T]) -> T:
        """Send what may be sent again, until it is answered or has been tried often enough."""
        for attempt in range(1, TRIES + 1):
            try:
                with self._errors_as_no_answer():
                    return send()
            except ApiError as error:
                passing = error.problem.code in ("rate", "unavailable", "no-answer") and not self._http.is_over
                if attempt == TRIES or not passing:
                    raise
                self._sleep(min(error.retry_after or float(attempt), LONGEST_PAUSE))
        raise AssertionError("unreachable")

    @contextmanager
    def _errors_as_no_answer(self) -> Iterator[None]:
        """Turn what goes wrong on the way, and an answer that is none of ours, into one sentence."""
        try:
            yield
        except NoAnswer as error:
            raise no_answer(f"{self._url} does not answer ({error}): check the address, or try again later.") from None
        except InvalidAnswer as error:
            raise no_answer(f"{error}. Check the address, or update this client.") from None

    def _body(self, response: httpx2.Response) -> bytes:
        return read_within(response.iter_raw(), MAX_BYTES, self._url)

    def _refused(self, response: httpx2.Response) -> ApiError:
        """Return the error of an answer that is no success: its problem document, or that it has none."""
        wait, status = response.headers.get("retry-after", ""), response.status_code
        retry_after = float(wait) if wait.isascii() and wait.isdigit() else None
        try:
            problem = read_document(Problem, self._body(response), self._url, max_bytes=MAX_BYTES)
        except InvalidAnswer:
            detail = f"{self._url} answers with status {status} and no problem document: check the address."
            return ApiError(no_answer(detail, status).problem, retry_after)
        return ApiError(problem.model_copy(update={"status": status}), retry_after)


def require_address(url: str) -> None:
    """Refuse an address to which a token may not be sent.

    Raises:
        ValueError: it is neither https nor http to this machine, or has a user, a query or a fragment.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    plain = parts.scheme == "http" and _is_loopback(host)
    if (
        not host
        or parts.username is not None
        or parts.query
        or parts.fragment
        or not (parts.scheme == "https" or plain)
    ):
        raise ValueError(
            "the service's address must be https://NAME, or http:// on this machine, without user, query and fragment"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
