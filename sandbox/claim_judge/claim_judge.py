"""Claim judge: one request a claim through a model process of its own; a failure leaves a claim unknown, never wrong.

    1. All claims of a task are asked in one session, whose budget of requests and tokens is the task's.
    2. Each claim has a marker of its own, drawn after the answer was given.
    3. What came back is taken from the session's log, and matched with its claim by the marker in the request.
    4. A claim whose request failed, was refused by the budget, or has no end when the time is over has no reply.

An empty answer, and one longer than an answer may be, is not asked about: the predicate knows what it is worth.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

from sandbox.claim_judge import prompt
from sandbox.claim_judge.exchange import ClaimExchange
from sandbox.errors import Malformed
from sandbox.model_gateway.link import CHUNK, LinkReader, fits, pack
from sandbox.model_gateway.process import ModelGateway, ModelSession
from sandbox.model_gateway.spec import UpstreamSpec
from sandbox.transcript import ModelCall
from verifiers.answer.claims import Claim
from verifiers.answer.predicates import MAX_ANSWER

SECONDS = 300.0
"""How long all claims of one task may take together, by the wall clock."""
SAID = ("content", "text")
"""The kinds of pieces in a logged response that are the reply itself, in the two wire formats."""
_END = {"id": int, "end": bool}


@dataclass(frozen=True, slots=True)
class ClaimJudgeSpec:
    """A claim judge: everything but its upstream's key.

    Attributes:
        upstream: its upstream; `models` is the one that judges, `tokens` and `requests` are what one task may cost.
        answer_tokens: how many tokens one reply may have.
    """

    upstream: UpstreamSpec
    answer_tokens: int

    @property
    def model(self) -> str:
        """The model that judges."""
        return self.upstream.models[0]

    def parameters(self) -> str:
        """Return the digest (SHA-256, hex) of what decides a reply: upstream, wire, model, temperature, length."""
        upstream = self.upstream
        said = [upstream.name, upstream.wire, self.model, 0, self.answer_tokens, upstream.tokens]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()


class ClaimJudge:
    """Asks a model about claims; any number of threads may ask at a time.

    Args:
        spec: which model, and its budgets.
        key: its upstream's key; no other key goes into the model process.
        seconds: how long all claims of one task may take.
        marker: draws a marker.
    """

    def __init__(
        self,
        spec: ClaimJudgeSpec,
        key: str,
        seconds: float = SECONDS,
        marker: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self.spec, self._seconds, self._marker = spec, seconds, marker
        self._gateway = ModelGateway(spec.upstream, key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the model process; safe to call twice."""
        self._gateway.close()

    def check(self) -> bool:
        """Ask the upstream something harmless, and say whether it answers."""
        return self._gateway.check(self.spec.model)

    def ask(self, goal: str, claims: Sequence[Claim], answer: str | None) -> tuple[ClaimExchange, ...]:
        """Ask about each claim; gives one exchange a claim in their order, or none where nobody need be asked.

        Raises:
            Unavailable: the model process cannot be started.
        """
        if not claims or answer is None or not answer.strip() or len(answer) > MAX_ANSWER:
            return ()
        spec, messages = self.spec, {}
        asked = []
        for claim in claims:
            marker = self._marker()
            messages[marker] = prompt.message(goal, claim, answer.strip(), marker)
            digest = hashlib.sha256(messages[marker].encode("utf-8", "backslashreplace")).hexdigest()
            asked.append(ClaimExchange(claim.id, marker, digest))
        style, wire = spec.upstream.wire, prompt.WIRE[spec.upstream.wire]
        session = self._gateway.open()
        try:
            requests = [prompt.request(style, spec.model, text, spec.answer_tokens) for text in messages.values()]
            _send(session.gateway_end, wire, requests, self._seconds)
        finally:
            session.finish()
        return tuple(_ended(exchange, session) for exchange in asked)


def _send(link: socket.socket, wire: str, requests: Sequence[dict[str, object]], seconds: float) -> None:
    """Send requests, and wait until each has come to its end, or the time is over, or nobody is there any more."""
    deadline, waiting, reader = time.monotonic() + seconds, set(range(len(requests))), LinkReader()
    with suppress(OSError, Malformed):
        link.settimeout(seconds)
        for number, request in enumerate(requests):
            link.sendall(pack({"id": number, "wire": wire, "request": request}))
        while waiting and (left := deadline - time.monotonic()) > 0:
            link.settimeout(left)
            if not (data := link.recv(CHUNK)):
                return
            waiting -= {message["id"] for message in reader.feed(data) if fits(message, _END) and message["end"]}


def _ended(exchange: ClaimExchange, session: ModelSession) -> ClaimExchange:
    call = next((call for call in session.calls if exchange.marker in json.dumps(call.request)), None)
    if call is None:
        return exchange
    exchange = replace(exchange, outcome=call.outcome, reply=_reply(call))
    return replace(exchange, read=call.read, written=call.written, estimated=call.estimated)


def _reply(call: ModelCall) -> str | None:
    if call.outcome != "ok":
        return None
    return "".join(text for kind, text in call.response if kind in SAID)
