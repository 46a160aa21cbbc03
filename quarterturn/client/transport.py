"""Base of the clients: one connection to a service, with requests repeated where they were stopped on their way.

1. Credentials are sent only over https, or over http to this machine, never to where a redirect leads, and stand in no
   repr and no error.
2. A request that a lost connection or a busy server stopped is sent again; each of ours may be repeated.
3. Whatever is refused raises `ApiError`, which carries the problem document (RFC 9457).
"""

from __future__ import annotations

import ipaddress
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

import httpx2

from quarterturn.client.problem import ApiError, Problem, no_answer

LONGEST_PAUSE = 300.0  # however long a server asks for
SECONDS = 30.0  # for one request
TRIES = 4  # of a request that a lost connection or a busy server stopped
MOST_BYTES = 32 << 20  # of an answer: a run's trace is the longest

Sleep = Callable[[float], None]
T = TypeVar("T")


class Connection:
    """A connection to one service.

    Args:
        url: the service's address.
        headers: are sent with each request, beside `Accept`.
        transport: sends the requests, if not httpx2's own; a proxy needs one.
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
        sleep: Sleep | None = None,
    ) -> None:
        require_address(url)
        self._sleep, self._url = sleep or time.sleep, url.rstrip("/")
        self._http = httpx2.Client(
            base_url=self._url,
            headers={"accept": self.accept, **(headers or {})},
            timeout=SECONDS,
            follow_redirects=False,
            trust_env=False,
            verify=ssl.create_default_context(),
            transport=transport,
        )

    def __enter__(self) -> Self:
        """Give the client; it is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self._http.close()

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        json_body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send a request, again where a lost connection or a busy server stopped it."""
        return self._repeated(lambda: self._send(method, path, query=query, json_body=json_body, headers=headers))

    def _repeated(self, send: Callable[[], T]) -> T:
        """Send what may be sent again, until it is answered or has been tried often enough."""
        for attempt in range(1, TRIES + 1):
            try:
                return send()
            except ApiError as error:
                if attempt == TRIES or error.problem.code not in ("rate", "unavailable", "no-answer"):
                    raise
                self._sleep(min(error.retry_after or float(attempt), LONGEST_PAUSE))
        raise AssertionError("unreachable")

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None,
        json_body: Any,
        headers: Mapping[str, str] | None,
    ) -> dict[str, Any]:
        try:
            with self._http.stream(method, path, params=query, json=json_body, headers=headers) as response:
                document = self._document(response)
        except httpx2.HTTPError as error:
            raise no_answer(f"{self._url} does not answer ({type(error).__name__}); try again later.") from None
        if response.is_success and isinstance(document, dict):
            return document
        raise self._refused(response, document)

    def _document(self, response: httpx2.Response) -> Any:
        """Read an answer as JSON; None where it is none."""
        body = b""
        for part in response.iter_bytes():
            body += part
            if len(body) > MOST_BYTES:
                raise no_answer(f"{self._url} answers with more than {MOST_BYTES} bytes.")
        try:
            return json.loads(body)
        except ValueError:
            return None

    def _refused(self, response: httpx2.Response, document: Any) -> ApiError:
        wait = response.headers.get("retry-after", "")
        retry_after = float(wait) if wait.isascii() and wait.isdigit() else None
        if not isinstance(document, dict) or not isinstance(document.get("code"), str):
            status = response.status_code
            detail = f"{self._url} answers with status {status} and no problem document: check the address."
            return ApiError(Problem("no-answer", status=status, detail=detail), retry_after)
        known = {item.name: document[item.name] for item in fields(Problem) if item.name in document}
        texts = {name: str(document.get(name, "")) for name in ("title", "detail")}
        errors = tuple(known.get("errors") or ())
        return ApiError(Problem(**known | texts | {"status": response.status_code, "errors": errors}), retry_after)


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
