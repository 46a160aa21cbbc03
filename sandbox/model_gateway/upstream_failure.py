"""Decides whose failure it is where an upstream gave no answer, by asking it again, never by its own words.

Where an answer broke off, the same request is made again, for nobody to see: if that works, the upstream `broke` once.
Else a request of our own decides: it is `down` if it fails that one too, and else it has `refused` the agent's. Where
ours has to wait, or comes upon a limit of rate, it `broke`: what the agent asked before may have brought that about.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from sandbox.model_gateway.upstream import Upstream, UpstreamFailed
from sandbox.model_gateway.upstream_request import UpstreamCall
from sandbox.transcript import ModelOutcome

MAX_JUDGED = 3
SAID_NO = frozenset({400, 413, 422})
"""How an upstream says that a request is wrong."""
_COMES_TO: Mapping[bool | None, ModelOutcome] = {True: "refused", False: "down", None: "broke"}


class Judge:
    """Failure decisions of one task. Our own requests cost tokens too, so only a few are made for each kind."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream, self._turn = upstream, asyncio.Lock()
        self._asked: Counter[bool] = Counter()
        self._outcomes: dict[bool, ModelOutcome] = {}

    async def outcome(self, call: UpstreamCall, failed: UpstreamFailed, *, begun: bool) -> ModelOutcome:
        """Find out, or take the last word on a failure of the same kind; `begun` says that part of an answer came."""
        said_no = failed.status in SAID_NO
        async with self._turn:
            if self._asked[said_no] < MAX_JUDGED:
                self._asked[said_no] += 1
                self._outcomes[said_no] = await self._found_out(call, broke=failed.status is None or begun)
            return self._outcomes.get(said_no, "broke")

    async def _found_out(self, call: UpstreamCall, *, broke: bool) -> ModelOutcome:
        if broke and await self._works_again(call):
            return "broke"
        return _COMES_TO[await self._upstream.answers(call.wire, call.request["model"])]

    async def _works_again(self, call: UpstreamCall) -> bool:
        """Play a request again that broke, for nobody to see."""
        try:
            async with self._upstream.opened(call.wire, call.document, ()) as answer:
                if not call.request.get("stream"):
                    return not call.wire.failed(await answer.whole())
                async for document in answer.events():
                    if document is None or call.wire.ends(document):
                        return True
                    if call.wire.failed(document):
                        return False
        except UpstreamFailed:
            pass
        return False
