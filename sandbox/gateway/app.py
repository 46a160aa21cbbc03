"""HTTP interface to the agent: GET /task, POST /shortlist, MCP at /mcp, POST /answer, and a model if allowed.

The client is hostile. Before a request is processed, its Host must be this loopback, an Origin must be too (MCP
specification 2025-11-25, Transports, security warning: against rebinding of names), its body must be within a cap and
a deadline, and JSON must be strict: no duplicate key, no NaN, no lone surrogate, no deep nesting, not too many values.
Requests and bytes in flight are capped together. What is refused by any of this is no call: it is neither counted nor
logged, since nobody read which tool it names, and no server sees it. On /mcp it is a JSON-RPC error with the request's
id (`sandbox.gateway.json_rpc`), so that a client raises an error for that call and goes on.

MCP is spoken by the official package, without sessions and with plain JSON answers, so that one request is one call and
nothing is kept open; GET on /mcp is refused, which the specification provides for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, Tool
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from sandbox.boxes.box import PORT
from sandbox.gateway import json_rpc
from sandbox.gateway.session import MAX_ANSWER, AgentSession, printable
from sandbox.model_gateway.agent_endpoints import PREFIX, Front
from sandbox.servers.registry import wire_name
from sandbox.strict_json import strict_object
from sandbox.transcript import ToolCall
from vault.errors import Malformed as NotStrict

MAX_BODY = 1024 * 1024
MAX_REQUESTS = 16  # in flight; a call that waits for its turn is in flight too
MAX_HELD = 4 * MAX_BODY  # of their bodies together
MAX_READ = 3 * MAX_BODY  # of one that is too long: its id may be at the end, and clients read no answer before that
BODY_SECONDS = 10.0
HOSTS = frozenset({f"127.0.0.1:{PORT}", f"localhost:{PORT}"})
CLOSING = frozenset({400, 403, 408, 413, 421, 503})  # more of the request may follow, and nobody will read it
METHODS: Mapping[str, tuple[str, ...]] = {"GET": ("GET", "HEAD"), "POST": ("POST",)}  # HEAD is GET without a body

Handler = Callable[[bytes], JSONResponse]


class App:
    """The ASGI application of one session; `running()` must be entered while it serves."""

    def __init__(self, session: AgentSession, front: Front | None = None) -> None:
        self._session, self._front = session, front
        self._load = Load()
        self._manager = StreamableHTTPSessionManager(_server(session), json_response=True, stateless=True)
        self._routes: Mapping[str, tuple[str, Handler]] = {
            "/task": ("GET", self._task),
            "/shortlist": ("POST", self._shortlist),
            "/answer": ("POST", self._answer),
            "/solution": ("GET", self._solution),
        }

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return the context in which MCP requests are served."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        with self._load.request() as share:
            response = await self._response(share, scope, receive, send)
        if response is not None:
            await response(scope, receive, send)

    async def _response(self, share: RequestLoad, scope: Scope, receive: Receive, send: Send) -> JSONResponse | None:
        """Return the response, or None where the MCP package has sent it."""
        if refusal := _refusal(scope):
            return refusal
        if share.beyond(0):
            return _error(503, f"more than {MAX_REQUESTS} requests are in flight")
        body = await _body(receive, share)
        if isinstance(body, JSONResponse):
            return body
        path = "/mcp" if scope["path"] == "/mcp/" else scope["path"]
        if len(body) > MAX_BODY and path != "/mcp":
            return _error(413, f"the body is longer than {MAX_BODY} bytes")
        self._session.begin()
        return await self._routed(path, body, scope, receive, send)

    async def _routed(self, path: str, body: bytes, scope: Scope, receive: Receive, send: Send) -> JSONResponse | None:
        if self._front and path.startswith(PREFIX):
            over = self._session.left() <= 0 or self._session.ended is not None
            await self._front.serve(body, scope, receive, send, ended=over)
            return None
        method, handler = ("POST", None) if path == "/mcp" else self._routes.get(path, ("", None))
        if not method:
            return _error(404, "not found")
        if scope["method"] not in METHODS[method]:
            return _error(405, "method not allowed", {"Allow": ", ".join(METHODS[method])})
        return handler(body) if handler else await self._mcp(body, scope, receive, send)

    async def _mcp(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> JSONResponse | None:
        try:
            strict_object(body, "the request", max_size=MAX_BODY)
        except NotStrict as error:
            refusal = json_rpc.refusal(body, str(error))
            headers = {"Connection": "close"} if len(body) > MAX_READ else None  # its rest is still to come
            # the transport's 400 is for what has no id: clients before MCP 2.0 would never answer the call that has one
            return JSONResponse(refusal, 400 if refusal["id"] is None else 200, headers=headers)
        self._session.speak()
        await self._manager.handle_request(scope, _replay(body, receive), send)
        return None

    def _task(self, _: bytes) -> JSONResponse:
        spec = self._session.spec
        content = {"alias": spec.alias, "goal": spec.goal, "max_steps": spec.max_steps, "tools": list(spec.tools)}
        return JSONResponse(content | ({"model": dict(spec.model)} if spec.model else {}))

    def _shortlist(self, body: bytes) -> JSONResponse:
        """Take the tools that the agent will choose from, best first; only names of listed tools reach the record."""
        try:
            document = strict_object(body, "the shortlist", max_size=MAX_BODY)
        except NotStrict as error:
            return _error(400, str(error))
        names = document.get("tools")
        if document.keys() != {"tools"} or not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            return _error(400, 'the shortlist must be {"tools": ["name", ...]}, the best first')
        if unlisted := self._session.find_unlisted(names):
            return _error(400, f"the shortlist names {printable(unlisted[0])}, which is no tool of GET /task")
        if len(set(names)) < len(names):
            return _error(400, "the shortlist names a tool twice")
        if not self._session.take_shortlist(names):
            return _error(409, "a session takes one shortlist, before its first tool call")
        return JSONResponse({"accepted": True})

    def _answer(self, body: bytes) -> JSONResponse:
        try:
            document = strict_object(body, "the answer", max_size=MAX_BODY)
        except NotStrict as error:
            return _error(400, str(error))
        text = document.get("answer")
        if document.keys() != {"answer"} or not isinstance(text, str):
            return _error(400, 'the answer must be {"answer": "text"}')
        if len(text.encode()) > MAX_ANSWER:
            return _error(413, f"the answer is longer than {MAX_ANSWER} bytes")
        if not self._session.answer(text):
            return _error(409, f"the session has ended ({self._session.ended})")
        return JSONResponse({"accepted": True})

    def _solution(self, _: bytes) -> JSONResponse:
        solution = self._session.spec.solution
        if solution is None:
            return _error(404, "there is nothing here")
        calls = [_wire(call) for call in solution["calls"]]
        return JSONResponse({"calls": calls, "answer": solution.get("answer")})


class Load:
    """Requests in flight, and the bytes of their bodies."""

    def __init__(self) -> None:
        self.requests = self.held = 0

    @contextmanager
    def request(self) -> Iterator[RequestLoad]:
        """Count one request until its end."""
        share = RequestLoad(self)
        self.requests += 1
        try:
            yield share
        finally:
            self.requests -= 1
            self.held -= share.held


class RequestLoad:
    """One request's part of the load."""

    def __init__(self, load: Load) -> None:
        self._load, self.held = load, 0

    def beyond(self, size: int) -> bool:
        """Add so many bytes, and say whether all requests together are beyond the caps."""
        self.held += size
        self._load.held += size
        return self._load.requests > MAX_REQUESTS or self._load.held > MAX_HELD


def _server(session: AgentSession) -> Server[Any]:
    """Make the MCP server: the recorded tools, and every call to the session."""
    listed = ListToolsResult(tools=[Tool.model_validate(dict(tool)) for tool in session.spec.tools])

    async def list_tools(*_: object) -> ListToolsResult:
        return listed

    async def call_tool(_: object, params: CallToolRequestParams) -> CallToolResult:
        reply = await session.call(params.name, params.arguments)
        return CallToolResult.model_validate(
            {"content": reply.content, "structuredContent": reply.structured, "isError": reply.is_error}
        )

    schemas = {tool.name: tool.input_schema for tool in listed.tools}  # else the package lists all tools at each call
    return Server(
        "quarterturn",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=schemas.get,
    )


def _wire(call: Mapping[str, Any] | ToolCall) -> dict[str, Any]:
    tool, arguments = (call.tool, call.arguments) if isinstance(call, ToolCall) else (call["tool"], call["arguments"])
    return {"tool": wire_name(tool), "arguments": dict(arguments)}


def _refusal(scope: Scope) -> JSONResponse | None:
    headers = scope["headers"]
    hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
    if len(hosts) != 1 or hosts[0] not in HOSTS:
        return _error(421, f"the Host must be one of {', '.join(sorted(HOSTS))}")
    origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
    if any(origin.removeprefix("http://") not in HOSTS for origin in origins):
        return _error(403, "requests from another origin are not served")
    return None


async def _body(receive: Receive, share: RequestLoad) -> bytes | JSONResponse:
    """Return the whole body, the beginning of one that is longer than MAX_READ, or the refusal."""
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return _error(400, "the body did not arrive")
                data += message.get("body", b"")
                if len(data) > MAX_READ:
                    return bytes(data)
                if share.beyond(len(message.get("body", b""))):
                    return _error(503, "too much is in flight: wait for answers before you send more")
                if not message.get("more_body"):
                    return bytes(data)
    except TimeoutError:
        return _error(408, f"the body did not arrive within {BODY_SECONDS:g} s")


def _replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Return the body that was read already, then what follows on the connection."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return first.pop() if first else await receive()

    return replayed


def _error(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    closing = {"Connection": "close"} if status in CLOSING else None
    return JSONResponse({"error": sentence}, status, headers=headers or closing)
