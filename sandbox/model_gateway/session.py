"""One task's requests in the model process, from the gateway's link to the upstream and back.

The gateway is one parser away from a hostile agent, so it is not trusted. In the order that each request meets:

1. It is rebuilt again, from the same tables: a gateway that was taken over can send no field that an agent cannot.
2. It must be within the task's number of requests, budget of tokens and size of log; what it may cost is reserved.
3. It is logged before it is sent, so that nothing leaves that is not in the log.
4. It is sent under our own terms, and what comes back is rebuilt and handed on as it comes.
5. What it cost is settled and logged, by the upstream's count or, where a stream broke before that came, by an
   estimate from what was sent and received.
6. A failure is judged (`sandbox.model_gateway.upstream_failure`), after the agent has heard of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.errors import Malformed
from sandbox.model_gateway.budget import TokenBudget
from sandbox.model_gateway.formats import sse
from sandbox.model_gateway.formats.registry import BY_NAME
from sandbox.model_gateway.formats.shape import Unfit
from sandbox.model_gateway.formats.wire_format import Document, Grant, Wire
from sandbox.model_gateway.link import CHUNK, LinkReader, pack
from sandbox.model_gateway.log_protocol import repeated
from sandbox.model_gateway.spec import JUDGE_SECONDS
from sandbox.model_gateway.upstream import Upstream, UpstreamFailed, UpstreamResponse
from sandbox.model_gateway.upstream_failure import SAID_NO, Judge
from sandbox.model_gateway.upstream_request import UpstreamCall

MAX_LOG = 16 * 1024 * 1024
MAX_TOGETHER = 8
MAX_WAITING = 64

Emit = Callable[[Mapping[str, Any]], None]


class _Refused(Exception):
    """Nothing was sent: a status and a sentence for the agent."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class UpstreamSession:
    """The requests of one task.

    Args:
        upstream: where they go.
        cache_key: a random name of this task's run.
        link: the gateway's end of it is in a process that nobody trusts.
        log: takes entries of the log (`sandbox.model_gateway.log_protocol`).
    """

    def __init__(
        self,
        upstream: Upstream,
        cache_key: str,
        link: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        log: Emit,
    ) -> None:
        self._upstream, self._cache_key, self._log = upstream, cache_key, log
        self._reader, self._writer = link
        self._budget = TokenBudget(upstream.spec.tokens)
        self._together = asyncio.Semaphore(MAX_TOGETHER)
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._judging: set[int] = set()
        self._requests = self._logged = 0
        self._earlier: dict[str, Document] = {}
        self._judge = Judge(upstream)

    async def run(self) -> None:
        """Serve until the gateway is gone, and say that nothing more will come."""
        messages = LinkReader()
        try:
            while data := await self._reader.read(CHUNK):
                for message in messages.feed(data):
                    self._hear(message)
        except (OSError, Malformed):
            pass  # a gateway that talks nonsense is one that is gone
        for ident, task in list(self._tasks.items()):
            if ident not in self._judging:
                task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=JUDGE_SECONDS)
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._writer.close()
        self._log({"ended": True})

    def _hear(self, message: Mapping[str, Any]) -> None:
        ident = message.get("id")
        if type(ident) is not int:
            raise Malformed("a message names no request")
        task = self._tasks.get(ident)
        if message.get("cancel") is True:
            if task is not None and ident not in self._judging:
                task.cancel()
        elif task is not None or len(self._tasks) >= MAX_WAITING:
            raise Malformed("a message begins a request out of order")
        else:
            self._tasks[ident] = asyncio.create_task(self._serve(ident, message))
            self._tasks[ident].add_done_callback(lambda _: self._tasks.pop(ident, None))

    async def _serve(self, ident: int, message: Mapping[str, Any]) -> None:
        async with self._together:
            wire = BY_NAME.get(str(message.get("wire")))
            if wire is None or wire.style != self._upstream.spec.wire:
                return
            try:
                call = self._begin(ident, wire, message.get("request"))
            except _Refused as refused:
                self._tell_error(ident, wire, refused.status, refused.sentence)
                return
            try:
                await self._exchange(call)
            except OSError:
                pass  # the gateway is gone: the call is cut
            except Exception as error:  # whatever comes: the call is logged, and the agent gets an answer
                call.outcome, call.detail = "down", type(error).__name__
                self._fail(call, 502, "the gateway could not read what the upstream sent")
            finally:
                self._end(call)

    # -- what goes out ------------------------------------------------------------------------------------------------

    def _begin(self, ident: int, wire: Wire, request: Any) -> UpstreamCall:
        try:
            rebuilt = wire.rebuild(request, self._upstream.spec.models)  # 1
        except Unfit as error:
            raise _Refused(400, str(error)) from None
        if self._requests >= self._upstream.spec.requests:  # 2
            raise _Refused(403, f"this task has used all its {self._upstream.spec.requests} requests to the model")
        repeats = repeated(self._earlier.get(wire.name), rebuilt, wire.history)
        size = len(json.dumps(rebuilt))
        if self._logged + size > MAX_LOG:
            raise _Refused(403, "the log of this task's model requests is full; nothing more is sent")
        reserved = self._budget.reserve(size, wire.asked(rebuilt))
        if reserved is None:
            raise _Refused(403, f"too little is left of this task's {self._budget.tokens} tokens for this request")
        self._requests += 1
        document = wire.prepared(rebuilt, Grant(reserved.written, self._cache_key))
        call = UpstreamCall(self._requests, ident, wire, rebuilt, document, reserved)
        self._write_down(call, repeats)  # 3
        return call

    def _write_down(self, call: UpstreamCall, repeats: int) -> None:
        history = call.request.get(call.wire.history)
        fresh = {call.wire.history: history[repeats:]} if isinstance(history, list) else {}
        sent = call.document | fresh
        entry = {"begin": call.number, "wire": call.wire.name, "model": call.request["model"], "repeats": repeats}
        self._log(entry | {"request": sent})
        self._earlier[call.wire.name] = call.request
        self._logged += len(json.dumps(sent))

    # -- what comes back ----------------------------------------------------------------------------------------------

    async def _exchange(self, call: UpstreamCall) -> None:
        """Send it and hand on what comes (4); then judge it, where it failed (6)."""
        try:
            async with self._upstream.opened(call.wire, call.document) as answer:
                if call.request.get("stream"):
                    await self._stream(call, answer)
                else:
                    await self._whole(call, answer)
            call.outcome = "ok"
        except UpstreamFailed as failed:
            call.detail = f"{failed.status}: {failed.detail}"
            call.outcome = "broke"  # which nobody can settle, unless we find out more before the session is over
            begun = call.begun
            self._fail(call, *_reported_error(failed))
            self._judging.add(call.ident)
            try:
                call.outcome = await self._judge.outcome(call, failed, begun=begun)
            finally:
                self._judging.discard(call.ident)

    async def _whole(self, call: UpstreamCall, answer: UpstreamResponse) -> None:
        document = await answer.whole()
        if call.wire.failed(document):
            raise UpstreamFailed(None, json.dumps(document))
        call.usage = call.wire.usage(document)
        rebuilt = call.wire.answered(document, call.request["model"], call.number)
        call.say(call.wire.pieces(rebuilt))
        self._tell(call, {"status": 200, "stream": False})
        self._tell(call, {"data": json.dumps(rebuilt)})
        await self._writer.drain()
        self._tell(call, {"end": True})

    async def _stream(self, call: UpstreamCall, answer: UpstreamResponse) -> None:
        wire, ended = call.wire, False
        async for document in answer.events():
            if document is None:
                ended = ended or not wire.named_events
                break
            if wire.failed(document):
                raise UpstreamFailed(None, json.dumps(document))
            call.usage = call.usage.later(wire.usage(document))
            built = wire.event(document, call.request["model"], call.number)
            if built is None:
                continue
            kind, rebuilt = built
            call.say(wire.pieces(rebuilt))
            if wire.wanted(rebuilt, call.request):
                self._tell_event(call, sse.event(rebuilt, kind if wire.named_events else None))
                await self._writer.drain()
            if ended := wire.ends(document):
                break
        if not ended:
            raise UpstreamFailed(None, "the stream ended before its end")
        if not wire.named_events:
            self._tell_event(call, sse.DONE)
        self._tell(call, {"end": True})

    def _end(self, call: UpstreamCall) -> None:
        read, written, estimated = call.cost()  # 5
        self._budget.settle(call.reserved, read, written)
        self._log(
            {
                "end": call.number,
                "response": call.pieces,
                "read": read,
                "written": written,
                "estimated": estimated,
                "outcome": call.outcome,
                "detail": call.detail,
            }
        )

    # -- to the gateway -----------------------------------------------------------------------------------------------

    def _tell(self, call: UpstreamCall, message: Mapping[str, Any]) -> None:
        call.begun = True
        self._write(call.ident, message)

    def _tell_event(self, call: UpstreamCall, text: str) -> None:
        if not call.begun:
            self._tell(call, {"status": 200, "stream": True})
        self._tell(call, {"data": text})

    def _tell_error(self, ident: int, wire: Wire, status: int, sentence: str) -> None:
        self._write(ident, {"status": status, "stream": False})
        self._write(ident, {"data": json.dumps(wire.error(status, sentence))})
        self._write(ident, {"end": True})

    def _fail(self, call: UpstreamCall, status: int, sentence: str) -> None:
        """Tell the agent of a failure, in the stream where there is one already."""
        if not call.begun:
            self._tell_error(call.ident, call.wire, status, sentence)
            return
        self._tell(call, {"data": sse.event(*call.wire.broken(status, sentence))})
        self._tell(call, {"end": True})

    def _write(self, ident: int, message: Mapping[str, Any]) -> None:
        if not self._writer.is_closing():
            self._writer.write(pack({"id": ident, **message}))


def _reported_error(failed: UpstreamFailed) -> tuple[int, str]:
    """Return the status and sentence that an agent hears; an upstream's own words may tell of other runs."""
    if failed.status in SAID_NO:
        return failed.status, f"the upstream refused this request with status {failed.status}"
    return 502, "the upstream did not answer this request"
