"""Hosted endpoint as the agent of a run (`sandbox.boxes.box.AgentLauncher`). None of its code runs here.

The order is the safety property:

1. the task is taken from the run's own gateway, which knows what an agent may see and nothing else;
2. a token is made, and the way to the gateway opened for it;
3. the request is signed and sent to the pinned address;
4. the endpoint works until it responds (status 200), or answers, or its time is over; 202 means that it goes on
   without the connection;
5. the token is forgotten and the connection cut before anything is looked at: from there on nobody can reach this run.

An endpoint that refuses, breaks off, redirects or says nothing is an agent that has ended: what it left counts. Only
where our own machine could not send is the failure ours (`lost`). A callback listener that is gone is not: the
endpoint may have brought it down, as an agent may its relay.
"""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sandbox.boxes.box import PORT, SOCKET_NAME, ExitFacts, Program, ResourceLimits
from sandbox.boxes.output import CUT, printable
from sandbox.endpoint.address import Exceptions, Pinned, parse, pin
from sandbox.endpoint.callbacks import Callbacks
from sandbox.endpoint.pinned_post import ACCEPTED, OK, Caps, Exchange, ExchangeOutcome, tls
from sandbox.endpoint.signature import Sender
from sandbox.errors import Lost, Malformed, Refused
from sandbox.strict_json import strict_object
from vault.errors import Malformed as NotStrict

SCHEMA = "quarterturn/endpoint-task/v1"
TASK_SECONDS = 10.0
MAX_TASK, MAX_TASK_VALUES = 4 * 1024 * 1024, 200_000  # bytes, and JSON values in them


class EndpointLauncher:
    """Launcher whose agent is one URL, for every task of a run.

    Args:
        pinned: where tasks are sent.
        sender: who signs them.
        callbacks: where the endpoint calls back.
        exceptions: for tests.
        now: the present moment, with its time zone.
        nonce: makes what no two requests share.
    """

    def __init__(
        self,
        pinned: Pinned,
        sender: Sender,
        callbacks: Callbacks,
        exceptions: Exceptions,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        nonce: Callable[[], str] = lambda: secrets.token_urlsafe(16),
    ) -> None:
        self.pinned, self.sender, self.callbacks, self.now, self.nonce = pinned, sender, callbacks, now, nonce
        self.context: ssl.SSLContext | None = tls(exceptions) if pinned.target.scheme == "https" else None

    def place(self, program: Program, sockets: Path, limits: ResourceLimits) -> EndpointPlace:
        """Make ready to send a task: nothing is sent, and nobody can call back, before it is started.

        Raises:
            Refused: the program is one that a box would run.
        """
        if program != Program():
            raise Refused("a hosted endpoint runs at its owner's; no program is started here")
        return EndpointPlace(self, sockets, limits)


class EndpointPlace:
    """Prepared request to an endpoint (`sandbox.boxes.box.Place`)."""

    def __init__(self, places: EndpointLauncher, sockets: Path, limits: ResourceLimits) -> None:
        self._places, self._sockets, self._limits = places, sockets, limits
        self._agent: EndpointAgent | None = None

    def start(self) -> EndpointAgent:
        """Send the task.

        Raises:
            Lost: the gateway or what listens for callbacks is gone; nothing was sent.
        """
        places, limits = self._places, self._limits
        task = _task(self._sockets / SOCKET_NAME)  # 1
        token, url = places.callbacks.admit(self._sockets)  # 2
        now = places.now()
        deadline = now + timedelta(seconds=limits.wall)
        body = json.dumps(
            {
                "schema": SCHEMA,
                **task,
                "url": url,
                "mcp": f"{url}/mcp",
                "answer": f"{url}/answer",
                "deadline": deadline.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "seconds": limits.wall,
            }
        ).encode()
        created = int(now.timestamp())
        headers = places.sender.headers(places.pinned.target.url, body, created=created, nonce=places.nonce())
        caps = Caps(limits.wall, limits.output)
        exchange = Exchange(places.pinned, headers, body, caps, context=places.context)  # 3
        self._agent = EndpointAgent(exchange, places.callbacks, token, limits.output)
        return self._agent

    def close(self) -> None:
        """End what was started; safe to call twice."""
        if self._agent is not None:
            self._agent.kill()


class EndpointAgent:
    """An endpoint at work (`sandbox.boxes.box.RunningAgent`)."""

    def __init__(self, exchange: Exchange, callbacks: Callbacks, token: str, cap: int) -> None:
        self._exchange, self._callbacks, self._token, self._cap = exchange, callbacks, token, cap
        self._killed = threading.Event()

    def wait(self, timeout: float) -> ExitFacts:
        """Wait until the endpoint has ended, or `timeout` seconds pass."""
        started = time.monotonic()
        outcome = self._exchange.wait(timeout)
        if outcome is not None and outcome.status == ACCEPTED:  # 4
            self._killed.wait(max(timeout - (time.monotonic() - started), 0.0))
            outcome = None
        if not self._killed.is_set() and not self._callbacks.alive(self._token):
            return ExitFacts(running=False, relay_died=True)  # it hears the internet: whoever ended it is unknown
        return _facts(outcome)

    def output(self) -> str:
        """Return what the endpoint answered, escaped and cut at the cap."""
        outcome = self._exchange.wait(0)
        if outcome is None:
            return ""
        status = f"HTTP {outcome.status}\n" if outcome.status is not None else ""
        return status + printable(outcome.said) + (CUT if len(outcome.said) >= self._cap else "")

    def kill(self) -> None:
        """Forget the token and cut the connection; safe to call twice."""
        if not self._killed.is_set():
            self._killed.set()
            with suppress(Lost):  # then nobody listens at all
                self._callbacks.forget(self._token)  # 5
            self._exchange.cancel()


def public_base(url: str, exceptions: Exceptions) -> str:
    """Check the URL under which endpoints call back, and give it without a slash at its end.

    Raises:
        Malformed, Refused: it has another form, or is not https.
    """
    target = parse(url)
    if "?" in target.target:
        raise Malformed(f"{url[:100]!r} has a query; give the URL to which /run/... can be added")
    if target.scheme != "https":
        pin(target, exceptions)  # refuses http but for the exceptions
    return target.url.rstrip("/")


def _facts(outcome: ExchangeOutcome | None) -> ExitFacts:
    if outcome is None:
        return ExitFacts(running=True)
    return ExitFacts(running=False, exit_code=0 if outcome.status == OK else 1, lost=outcome.ours)


def _task(path: Path) -> dict[str, Any]:
    """Ask the gateway what the agent may see."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    connection.sock = socket.socket(socket.AF_UNIX)
    try:
        connection.sock.settimeout(TASK_SECONDS)
        connection.sock.connect(str(path))
        connection.request("GET", "/task")
        data = connection.getresponse().read(MAX_TASK + 1)
        return strict_object(data, "the task", max_size=MAX_TASK, max_values=MAX_TASK_VALUES)
    except (OSError, http.client.HTTPException, NotStrict):
        raise Lost("the gateway did not return the task") from None
    finally:
        connection.close()
