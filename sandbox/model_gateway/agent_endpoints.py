"""Model endpoints that an agent sees: the half inside a run's gateway, which has no key and no network.

The request is hostile. It is refused here, by name and in the wire format's own form, unless every part of it is one
that is passed on: no query string, no header that switches something on at a provider, no field that the format's table
does not name. What is built anew from the rest goes over the link to the model process, and what comes back over the
link is handed on as it comes. An agent that goes away takes its request with it.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import Any

from sandbox.errors import Malformed
from sandbox.model_gateway.formats.registry import WIRES
from sandbox.model_gateway.formats.shape import Unfit
from sandbox.model_gateway.formats.wire_format import Document, Wire
from sandbox.model_gateway.link import CHUNK, LinkReader, fits, pack
from sandbox.strict_json import strict_object
from vault.errors import Malformed as NotStrict

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

PREFIX = "/v1/"
MAX_BODY = 1024 * 1024
MAX_SHOWN = 200
SWITCHES = ("anthropic-beta", "openai-beta", "openai-organization", "openai-project", "idempotency-key")
"""Headers that mean something to a provider; every other is read by nobody and sent to nobody."""
_LOST = "the model gateway is gone"
_STATUS = {"id": int, "status": int, "stream": bool}
_DATA = {"id": int, "data": str}
_END = {"id": int, "end": bool}


class Front:
    """The model's paths of one run.

    Args:
        link: to the model process.
        style: which upstreams it speaks to.
        models: the exact names that may be asked for.
    """

    def __init__(self, link: socket.socket, style: str, models: Sequence[str]) -> None:
        self._link, self._style, self._models = link, style, models
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, asyncio.Queue[Mapping[str, Any] | None]] = {}
        self._number = 0
        self._lost = False

    async def run(self) -> None:
        """Carry what comes back until the link ends."""
        reader, self._writer = await asyncio.open_connection(sock=self._link)
        messages = LinkReader()
        with suppress(OSError, Malformed):
            while data := await reader.read(CHUNK):
                for message in messages.feed(data):
                    if not any(fits(message, form) for form in (_STATUS, _DATA, _END)):
                        raise Malformed("a message of an unknown form")
                    if waiting := self._waiting.get(message["id"]):
                        waiting.put_nowait(message)
        self._lost = True
        for waiting in self._waiting.values():
            waiting.put_nowait(None)

    async def serve(self, body: bytes, scope: Mapping[str, Any], receive: Receive, send: Send, *, ended: bool) -> None:
        """Serve one request whose body has been read; `ended` says that the session is over."""
        wire = WIRES.get(scope["path"])
        if wire is None or wire.style != self._style:
            known = ", ".join(path for path, served in WIRES.items() if served.style == self._style)
            await _refuse(send, wire or _guess(scope["path"]), 404, f"not found; this run has {known}")
        elif scope["method"] != "POST":
            await _refuse(send, wire, 405, "only POST is served here", allow=b"POST")
        elif ended:
            await _refuse(send, wire, 403, "the session has ended; nothing more is sent")
        elif refusal := _switched(scope):
            await _refuse(send, wire, 400, refusal)
        else:
            try:
                request = wire.rebuild(strict_object(body, "the request", max_size=MAX_BODY), self._models)
            except (NotStrict, Unfit) as error:
                await _refuse(send, wire, 400, str(error)[:MAX_SHOWN])
                return
            await self._pass_on(wire, request, receive, send)

    async def _pass_on(self, wire: Wire, request: Document, receive: Receive, send: Send) -> None:
        if self._writer is None or self._lost:
            await _refuse(send, wire, 502, _LOST)
            return
        self._number += 1
        ident, waiting = self._number, asyncio.Queue[Mapping[str, Any] | None]()
        self._waiting[ident] = waiting
        pump = asyncio.create_task(self._pump(wire, waiting, send))
        disconnected = asyncio.create_task(_gone(receive))
        try:
            self._writer.write(pack({"id": ident, "wire": wire.name, "request": request}))
            await asyncio.wait({pump, disconnected}, return_when=asyncio.FIRST_COMPLETED)
            if not pump.done():
                self._writer.write(pack({"id": ident, "cancel": True}))
        finally:
            del self._waiting[ident]
            for task in (pump, disconnected):
                task.cancel()
            await asyncio.gather(pump, disconnected, return_exceptions=True)

    async def _pump(self, wire: Wire, waiting: asyncio.Queue[Mapping[str, Any] | None], send: Send) -> None:
        """Hand an answer on, from its status to its end."""
        begun = False
        while message := await waiting.get():
            if "status" in message:
                begun = True
                await send(_head(message["status"], stream=message["stream"]))
            elif "data" in message:
                await send({"type": "http.response.body", "body": message["data"].encode(), "more_body": True})
            elif begun and "end" in message:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
        if not begun:
            await _refuse(send, wire, 502, _LOST)
        # else the stream breaks off, which a client takes for what it is


def _switched(scope: Mapping[str, Any]) -> str:
    """Say what in a request's head asks a provider for something, or nothing."""
    if scope["query_string"]:
        return "a query string is not passed on"
    names = {name.decode("latin-1").lower() for name, _ in scope["headers"]}
    switched = [name for name in SWITCHES if name in names]
    return f"the header {switched[0]} is not passed on" if switched else ""


def _guess(path: str) -> Wire:
    return WIRES["/v1/messages" if path.startswith("/v1/messages") else "/v1/chat/completions"]


def _head(status: int, *, stream: bool) -> dict[str, Any]:
    kind = b"text/event-stream" if stream else b"application/json"
    headers = [(b"content-type", kind), (b"cache-control", b"no-store")]
    return {"type": "http.response.start", "status": status, "headers": headers}


async def _refuse(send: Send, wire: Wire, status: int, sentence: str, **headers: bytes) -> None:
    body, head = json.dumps(wire.error(status, sentence)).encode(), _head(status, stream=False)
    head["headers"] += [(name.encode(), value) for name, value in headers.items()]
    await send(head)
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def _gone(receive: Receive) -> None:
    """Wait until the agent has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
