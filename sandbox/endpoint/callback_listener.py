"""Callback listener for hosted agents: `python -I -m sandbox.endpoint.callback_listener FD`, started by `callbacks`.

It is exposed to the whole internet, so it holds nothing worth stealing: it is executed and not forked from the runner,
drops the same privileges as a gateway, and holds only the listening socket and one to the runner, which it asks for
each connection to a run.

    PUBLIC_URL/run/TOKEN/task, /mcp, /shortlist, /answer   ->   the same on the socket of the run that has this token

1. A token is known by its SHA-256 alone, compared with every run's in constant time. One that was never given, and one
   whose run has ended, get the same answer, before a byte of the body is read.
2. A request is made anew for the gateway, from its method, its path's last word, a few fields and a capped body;
   what the gateway answers goes back in the same way. Nothing in between is parsed: the gateway does that.
3. A caller that has sent no head after HEAD_SECONDS is cut off. At MAX_CALLERS connections, the caller that has been
   silent longest is closed for the next, so that idle connections keep nobody out.
4. When a run ends, its token is forgotten first and its connections are cut, and only then does the runner hear so.

Protocol, on the SOCK_SEQPACKET pair that is its standard input, each message a sign and a digest: the runner says `+`
and `-` for a run that begins and ends, which is repeated once it is done; `?` asks for a connection to a run's gateway,
and `=` brings its descriptor, or none. TLS is left to the reverse proxy in front of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import os
import re
import socket
import sys
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import h11

from sandbox.boxes.box import PORT
from sandbox.gateway import json_rpc
from sandbox.gateway.confine import confine
from sandbox.gateway.listener import Connection, protocol
from sandbox.isolation.confine import leave, own_processes

MAX_CALLERS = 128
HEAD_SECONDS = 2.0
DESCRIPTORS = 3 * MAX_CALLERS  # each caller may have one to a gateway; and there are some that are closing
MAX_BODY = 1024 * 1024
MAX_READ = 3 * MAX_BODY  # of an MCP request that is too long: its id may be at the end
MAX_TOO_LONG = 4  # requests of which so much is read at once
MAX_REPLY = 4 * 1024 * 1024
BODY_SECONDS = 10.0
REPLY_SECONDS = 60.0
CPU_SECONDS = 24 * 3600
CHUNK = 64 * 1024
METHODS = ("GET", "POST", "DELETE")  # what MCP over streamable HTTP uses
READY = b"ready"

_PATH = re.compile(rb".*/run/([A-Za-z0-9_-]{43})(/(?:task|mcp/?|shortlist|answer))", re.DOTALL)
_PASSED_ON = re.compile(rb"accept|content-type|last-event-id|mcp-[a-z0-9-]+")
_PASSED_BACK = re.compile(rb"allow|content-type|mcp-[a-z0-9-]+")

Answer = tuple[int, list[tuple[bytes, bytes]], bytes]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class CallbackConnection(Connection):
    """HTTP connection from the internet."""

    most = MAX_CALLERS
    head_seconds = HEAD_SECONDS
    _silent: ClassVar[dict[CallbackConnection, None]] = {}  # those that have sent no head, the oldest first

    def make_room(self) -> None:
        """Close the connection that has been silent longest; where none is silent, close this one."""
        oldest = next(iter(self._silent), self)
        self._silent.pop(oldest, None)
        oldest.transport.abort()

    def _watch(self, part: Any) -> None:
        super()._watch(part)
        if part is h11.IDLE:
            self._silent.setdefault(self)
        else:
            self._silent.pop(self, None)


@dataclass(eq=False)
class CallbackRun:
    """Run that is being played: its open connections, and the requests that wait for one to its gateway."""

    digest: bytes
    waiting: deque[asyncio.Future[socket.socket]] = field(default_factory=deque)
    connections: set[asyncio.StreamWriter] = field(default_factory=set)

    def give(self, end: socket.socket | None) -> None:
        """Hand a connection to whoever waits longest; None means that the gateway takes none."""
        while self.waiting:
            future = self.waiting.popleft()
            if not future.done():
                return future.set_result(end) if end else future.set_exception(ConnectionError())
        if end:
            end.close()
        return None

    def end(self) -> None:
        """Close its connections."""
        while self.waiting:
            self.give(None)
        for connection in self.connections:
            connection.transport.abort()


class Forwarder:
    """The ASGI application.

    Args:
        control: the socket to the runner.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._runs: dict[bytes, CallbackRun] = {}
        self._too_long = 0

    def hear(self) -> bool:
        """Handle the runner's messages; False means that the runner is gone."""
        message, descriptors, _, _ = socket.recv_fds(self._control, 64, 1)
        verb, digest = message[:1], message[1:]
        if verb == b"+":
            self._runs[digest] = CallbackRun(digest)
        elif verb == b"-" and digest in self._runs:
            self._runs.pop(digest).end()
        elif verb == b"=":
            end = socket.socket(fileno=descriptors[0]) if descriptors else None
            run = self._runs.get(digest)
            if run:
                run.give(end)
            elif end:
                end.close()
        if verb in {b"+", b"-"}:
            self._control.send(message)
        return bool(message)

    async def connection(self, run: CallbackRun) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Ask the runner for a connection to a run's gateway."""
        if run.digest not in self._runs:  # it ended while the body came
            raise ConnectionError
        future: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()
        run.waiting.append(future)
        self._control.send(b"?" + run.digest)
        return await asyncio.open_unix_connection(sock=await future)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        if scope["type"] == "http":
            status, headers, body = await self._answered(scope, receive)
            headers += [(b"content-length", b"%d" % len(body))]
            headers += [(b"connection", b"close")]  # so that nobody holds one of the few connections for long
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    async def _answered(self, scope: Message, receive: Receive) -> Answer:
        match = _PATH.fullmatch(scope["raw_path"]) if scope["method"] in METHODS else None
        run = self._run_of(match[1]) if match else None
        if run is None or match is None:
            return _error(404, b"no run is served here")
        body = await self._body(receive)
        if body is None:
            return _error(413, b"the body is too long, or came too slowly")
        if len(body) > MAX_BODY:
            return _too_long(match[2], body)
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                return await self._forwarded(run, _request(scope, match[2], body))
        except (OSError, EOFError, h11.ProtocolError):  # a timeout is an OSError
            return _error(502, b"no answer") if run.digest in self._runs else _error(404, b"no run is served here")

    async def _forwarded(self, run: CallbackRun, request: bytes) -> Answer:
        reader, writer = await self.connection(run)
        run.connections.add(writer)
        try:
            writer.write(request)
            return await _reply(reader)
        finally:
            run.connections.discard(writer)
            writer.close()

    async def _body(self, receive: Receive) -> bytes | None:
        """Return the whole body, the beginning of one that is too long, or None where it is too slow."""
        data, counted = bytearray(), False
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    data += message.get("body", b"")
                    if message["type"] == "http.disconnect":
                        return None
                    if len(data) > MAX_BODY and not counted:
                        if self._too_long >= MAX_TOO_LONG:
                            return None
                        self._too_long, counted = self._too_long + 1, True
                    if len(data) > MAX_READ or not message.get("more_body"):
                        return bytes(data)
        except TimeoutError:
            return None
        finally:
            self._too_long -= counted

    def _run_of(self, token: bytes) -> CallbackRun | None:
        digest, matched = hashlib.sha256(token).digest(), None
        for run in self._runs.values():
            if hmac.compare_digest(run.digest, digest):
                matched = run
        return matched


def _request(scope: Message, path: bytes, body: bytes) -> bytes:
    """Make the request anew, as an agent behind the relay would send it."""
    wire = h11.Connection(h11.CLIENT)
    fields = [(name, value) for name, value in scope["headers"] if _PASSED_ON.fullmatch(name)]
    own = [(b"host", b"127.0.0.1:%d" % PORT), (b"connection", b"close"), (b"content-length", b"%d" % len(body))]
    events = (
        h11.Request(method=scope["method"], target=path, headers=own + fields),
        h11.Data(body),
        h11.EndOfMessage(),
    )
    return b"".join(wire.send(event) or b"" for event in events)


async def _reply(reader: asyncio.StreamReader) -> Answer:
    """Read what the gateway answers to one request."""
    wire = h11.Connection(h11.CLIENT)
    wire.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))  # it reads answers to what it sent
    wire.send(h11.EndOfMessage())
    status, headers, body = 0, list[tuple[bytes, bytes]](), bytearray()
    while not isinstance(event := wire.next_event(), h11.EndOfMessage):
        if event is h11.NEED_DATA:
            wire.receive_data(await reader.read(CHUNK))
        elif isinstance(event, h11.Response):
            status = event.status_code
            headers = [(name, value) for name, value in event.headers if _PASSED_BACK.fullmatch(name)]
        elif isinstance(event, h11.Data):
            body += event.data
        if len(body) > MAX_REPLY or isinstance(event, h11.ConnectionClosed):
            raise EOFError
    return status, headers, bytes(body)


def _too_long(path: bytes, body: bytes) -> Answer:
    """Refuse a body under the id of its MCP request, as the gateway does, so that the client goes on."""
    sentence = f"the body is longer than {MAX_BODY} bytes"
    if not path.startswith(b"/mcp"):
        return _error(413, sentence.encode())
    document = json_rpc.refusal(body, sentence)
    status = 400 if document["id"] is None else 200
    return status, [(b"content-type", b"application/json")], json.dumps(document).encode()


def _error(status: int, sentence: bytes) -> Answer:
    return status, [(b"content-type", b"application/json")], b'{"error": "%s"}' % sentence


async def serve(control: socket.socket, listener: socket.socket) -> None:
    """Give up what is not needed, then serve until the runner is gone."""
    loop, stopped, forwarder = asyncio.get_running_loop(), asyncio.Event(), Forwarder(control)

    def heard() -> None:
        if not forwarder.hear():
            stopped.set()

    loop.add_reader(control, heard)
    server = await loop.create_server(protocol(forwarder, CallbackConnection), sock=listener, start_serving=False)
    leave()
    confine(CPU_SECONDS, DESCRIPTORS)
    await server.start_serving()
    control.send(READY)
    await stopped.wait()
    os._exit(0)


def main(control: int, listener: int) -> None:
    """Run on these descriptors."""
    own_processes()
    logging.disable()  # a library's log line may quote what it was given
    asyncio.run(serve(socket.socket(fileno=control), socket.socket(fileno=listener)))


if __name__ == "__main__":
    main(os.dup(0), int(sys.argv[1]))
