"""Client of the API for the holder of a token: submissions, runs, display names, quotas.

1. The token is sent as `Connection` sends credentials, and stands in no repr and no error.
2. Submitting sends an idempotency key, so that a request which is repeated after a lost connection submits once.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx2

from quarterturn.client.documents import (
    NamedAgent,
    NamedAgents,
    Run,
    Submission,
    SubmissionPage,
    SubmissionSet,
)
from quarterturn.client.problem import ApiError
from quarterturn.client.transport import Connection, Sleep, require_address

PAUSE = 5.0  # seconds between two polls


class Client(Connection):
    """A connection to one service, as the holder of one token.

    Args:
        url: the service's address.
        token: an API token, `qt_…`.
        transport: sends the requests, if not httpx2's own; a proxy needs one.
        tls: the certificates that are trusted and shown; the machine's authorities, and none to show, if None.
        sleep: waits so many seconds between two requests; `time.sleep` if None.

    Raises:
        ValueError: the address is neither https nor http to this machine, or the token cannot be one.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        transport: httpx2.BaseTransport | None = None,
        tls: ssl.SSLContext | None = None,
        sleep: Sleep | None = None,
    ) -> None:
        require_address(url)
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("the token is empty or holds characters that no token has; copy it as it was printed")
        super().__init__(url, {"authorization": f"Bearer {token}"}, transport=transport, tls=tls, sleep=sleep)

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
        return self._ask(Submission, "POST", path, json_body=body, headers=key)

    def submission(self, id: str) -> Submission:  # noqa: A002 - the API's own word
        """Return a submission.

        Raises:
            ApiError: as for `submit`.
        """
        return self._ask(Submission, "GET", f"/submissions/{quote(id, safe='')}")

    def submissions(self, *, cursor: str | None = None, limit: int = 50) -> SubmissionPage:
        """Return a page of the caller's submissions, the newest first; at most 200 of them.

        Raises:
            ApiError: as for `submit`.
        """
        query = {"limit": str(limit)} | ({"cursor": cursor} if cursor is not None else {})
        return self._ask(SubmissionPage, "GET", "/submissions", query=query)

    def cancel(self, id: str) -> Submission:  # noqa: A002 - likewise
        """Cancel a submission that waits or runs.

        Raises:
            ApiError: as for `submit`.
        """
        return self._ask(Submission, "POST", f"/submissions/{quote(id, safe='')}/cancel")

    def run(self, id: str) -> Run | None:  # noqa: A002 - likewise
        """Return the public tasks of a submission's run, or None while nothing of it may be shown.

        Raises:
            ApiError: as for `submit`.
        """
        try:
            return self._ask(Run, "GET", f"/runs/{quote(id, safe='')}")
        except ApiError as error:
            if error.problem.code == "not-found":
                return None
            raise

    def agents(self) -> Sequence[NamedAgent]:
        """Return the agents that the caller has submitted, with their display names.

        Raises:
            ApiError: as for `submit`.
        """
        return self._ask(NamedAgents, "GET", "/display-names").agents

    def choose_display_name(self, agent: str, name: str) -> NamedAgent:
        """Choose the name that leaderboards show for an agent: `agent` of ada/agent:1.

        Raises:
            ApiError: as for `submit`.
        """
        return self._ask(NamedAgent, "PUT", f"/display-names/{quote(agent, safe='')}", json_body={"name": name})

    def give_up_display_name(self, agent: str) -> NamedAgent:
        """Show an agent without a display name again; the name stays the caller's.

        Raises:
            ApiError: as for `submit`.
        """
        return self._ask(NamedAgent, "DELETE", f"/display-names/{quote(agent, safe='')}")

    def quotas(self) -> Mapping[str, Any]:
        """Return the use and the rest of each quota.

        Raises:
            ApiError: as for `submit`.
        """
        return self._ask(dict[str, Any], "GET", "/quota")

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
