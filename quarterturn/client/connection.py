"""Connection to a service: requests, repeated where a lost connection or a busy server stopped them.

1. The token is sent only over https, or over http to this machine, never to where a redirect leads, and stands in no
   repr and no error.
2. Submitting sends an idempotency key, so that a request which is repeated after a lost connection submits once.
3. Whatever is refused raises `ApiError`, which carries the problem document (RFC 9457).
"""

from __future__ import annotations

import ipaddress
import json
import secrets
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from types import TracebackType
from typing import Any, ClassVar, Self
from urllib.parse import quote, urlsplit

import httpx2

from quarterturn.client.documents import (
    NamedAgent,
    Run,
    Submission,
    SubmissionPage,
    SubmissionSet,
    parsed,
    run_of,
    submission_of,
)
from quarterturn.client.problem import ApiError, Problem, no_answer

PAUSE = 5.0  # seconds between two polls
LONGEST_PAUSE = 300.0  # however long a server asks for
SECONDS = 30.0  # for one request
TRIES = 4  # of a request that a lost connection or a busy server stopped
MOST_BYTES = 32 << 20  # of an answer: a run's trace is the longest

Sleep = Callable[[float], None]


class Client:
    """A connection to one service, as the holder of one token.

    Args:
        url: the service's address.
        token: an API token, `qt_…`.
        transport: sends the requests, if not httpx2's own; a proxy needs one.
        sleep: waits so many seconds between two requests; `time.sleep` if None.

    Raises:
        ValueError: the address is neither https nor http to this machine, or the token cannot be one.
    """

    accept: ClassVar[str] = "application/json, application/problem+json"

    def __init__(
        self, url: str, token: str, *, transport: httpx2.BaseTransport | None = None, sleep: Sleep | None = None
    ) -> None:
        require_address(url)
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("the token is empty or holds characters that no token has; copy it as it was printed")
        self._sleep, self._url = sleep or time.sleep, url.rstrip("/")
        self._http = httpx2.Client(
            base_url=self._url,
            headers={"authorization": f"Bearer {token}", "accept": self.accept},
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

    def submit(
        self,
        *,
        image: str | None = None,
        endpoint: str | None = None,
        set: SubmissionSet = "dev",  # noqa: A002 - the API's own word
        model: str | None = None,
        counts: bool = False,
        idempotency_key: str | None = None,
    ) -> Submission:
        """Submit an image or a hosted agent.

        Args:
            image: a container image.
            endpoint: the URL of a hosted agent, instead of an image.
            set: the tasks to run it on; `check` is one task of the dev set.
            model: a language model that the agent may use.
            counts: play this private run first, so that it counts.
            idempotency_key: the same key submits once; without one, each call submits.

        Raises:
            ApiError: it was refused, or nobody answered.
        """
        body: dict[str, Any] = {"image": image, "endpoint": endpoint, "model": model}
        body = {name: value for name, value in body.items() if value is not None}
        if set != "check":
            body |= {"set": set, "counts": counts}
        key = {"idempotency-key": idempotency_key or secrets.token_hex(16)}
        path = "/checks" if set == "check" else "/submissions"
        return submission_of(self._ask("POST", path, json_body=body, headers=key))

    def submission(self, id: str) -> Submission:  # noqa: A002 - the API's own word
        """Give a submission.

        Raises:
            ApiError: as for `submit`.
        """
        return submission_of(self._ask("GET", f"/submissions/{quote(id, safe='')}"))

    def submissions(self, *, cursor: str | None = None, limit: int = 50) -> SubmissionPage:
        """Give a page of the caller's submissions, the newest first; at most 200 of them.

        Raises:
            ApiError: as for `submit`.
        """
        query = {"limit": str(limit)} | ({"cursor": cursor} if cursor is not None else {})
        document = self._ask("GET", "/submissions", query=query)
        return parsed(lambda: SubmissionPage(tuple(map(submission_of, document["submissions"])), document["next"]))

    def cancel(self, id: str) -> Submission:  # noqa: A002 - likewise
        """Cancel a submission that waits or runs.

        Raises:
            ApiError: as for `submit`.
        """
        return submission_of(self._ask("POST", f"/submissions/{quote(id, safe='')}/cancel"))

    def run(self, id: str) -> Run | None:  # noqa: A002 - likewise
        """Give the public tasks of a submission's run, or None while nothing of it may be shown.

        Raises:
            ApiError: as for `submit`.
        """
        try:
            document = self._ask("GET", f"/runs/{quote(id, safe='')}")
        except ApiError as error:
            if error.problem.code == "not-found":
                return None
            raise
        return parsed(lambda: run_of(document))

    def agents(self) -> Sequence[NamedAgent]:
        """Give the agents that the caller has submitted, with their display names.

        Raises:
            ApiError: as for `submit`.
        """
        document = self._ask("GET", "/display-names")
        return parsed(lambda: tuple(NamedAgent(**entry) for entry in document["agents"]))

    def choose_display_name(self, agent: str, name: str) -> NamedAgent:
        """Choose the name that leaderboards show for an agent: `agent` of ada/agent:1.

        Raises:
            ApiError: as for `submit`.
        """
        document = self._ask("PUT", f"/display-names/{quote(agent, safe='')}", json_body={"name": name})
        return parsed(lambda: NamedAgent(**document))

    def give_up_display_name(self, agent: str) -> NamedAgent:
        """Show an agent without a display name again; the name stays the caller's.

        Raises:
            ApiError: as for `submit`.
        """
        document = self._ask("DELETE", f"/display-names/{quote(agent, safe='')}")
        return parsed(lambda: NamedAgent(**document))

    def quotas(self) -> Mapping[str, Any]:
        """Give the use and the rest of each quota.

        Raises:
            ApiError: as for `submit`.
        """
        return self._ask("GET", "/quota")

    def wait(
        self,
        id: str,  # noqa: A002 - likewise
        *,
        on_change: Callable[[Submission], None] = lambda _: None,
        pause: float = PAUSE,
    ) -> Submission:
        """Poll a submission until it has ended, and give it.

        Args:
            id: its name.
            on_change: called with the submission whenever its state is another one, and first with the present one.
            pause: seconds between two polls; where the service asks for more (`Retry-After`), that.

        Raises:
            ApiError: as for `submit`.
        """
        state = None
        while True:
            submission = self.submission(id)
            if submission.state != state:
                state = submission.state
                on_change(submission)
            if submission.ended:
                return submission
            self._sleep(pause)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        json_body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send a request, again where a lost connection or a busy server stopped it; each of ours may be repeated."""
        for attempt in range(1, TRIES + 1):
            try:
                return self._send(method, path, query=query, json_body=json_body, headers=headers)
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
                body = b""
                for part in response.iter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise no_answer(f"{self._url} answers with more than {MOST_BYTES} bytes.")
        except httpx2.HTTPError as error:
            raise no_answer(f"{self._url} does not answer ({type(error).__name__}); try again later.") from None
        document = _document(body)
        if response.is_success and isinstance(document, dict):
            return document
        raise self._refused(response, document)

    def _refused(self, response: httpx2.Response, document: Any) -> ApiError:
        wait = response.headers.get("retry-after", "")
        retry_after = float(wait) if wait.isascii() and wait.isdigit() else None
        if not isinstance(document, dict) or not isinstance(document.get("code"), str):
            detail = f"{self._url} answers with status {response.status_code} and no problem document: check --to."
            return ApiError(Problem("no-answer", status=response.status_code, detail=detail), retry_after)
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


def _document(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
