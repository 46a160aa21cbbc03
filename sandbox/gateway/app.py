"""What the agent can reach: GET /task, MCP over streamable HTTP at /mcp, POST /answer, and nothing else.

The other side is hostile. Before a request is looked at, its Host must be this loopback, an Origin must be too (MCP
specification 2025-11-25, Transports, security warning: against rebinding of names), its body must be within a cap and
a deadline, and JSON must be strict: no key twice, no NaN, no half surrogate, no deep nesting. MCP is spoken by the
official package, without sessions and with plain JSON answers, so that one request is one call and nothing is kept
open; GET on /mcp is refused, which the specification provides for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, Tool
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from sandbox.box import PORT
from sandbox.gateway.session import MAX_ANSWER, Session
from sandbox.servers import wire_name
from sandbox.transcript import Call
from vault.canonical import parse_object
from vault.errors import Malformed as NotStrict

MAX_BODY = 1024 * 1024
BODY_SECONDS = 10.0
HOSTS = frozenset({f"127.0.0.1:{PORT}", f"localhost:{PORT}"})
PARSE_ERROR = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}

Handler = Callable[[bytes], JSONResponse]


class App:
    """The ASGI application of one session; `running()` must be entered while it serves."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._manager = StreamableHTTPSessionManager(_server(session), json_response=True, stateless=True)
        self._routes: Mapping[tuple[str, str], Handler] = {
            ("GET", "/task"): self._task,
            ("POST", "/answer"): self._answer,
            ("GET", "/solution"): self._solution,
        }

    def running(self) -> AbstractAsyncContextManager[None]:
        """Give the context in which MCP requests are served."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        response = await self._response(scope, receive, send)
        if response is not None:
            await response(scope, receive, send)

    async def _response(self, scope: Scope, receive: Receive, send: Send) -> JSONResponse | None:
        """Give the response, or None where the MCP package has sent it."""
        if refusal := _refusal(scope):
            return refusal
        body = await _body(receive)
        if isinstance(body, JSONResponse):
            return body
        self._session.begin()
        method, path = scope["method"], scope["path"]
        if path == "/mcp" and method == "POST":
            return await self._mcp(body, scope, receive, send)
        handler = self._routes.get((method, path))
        if handler is not None:
            return handler(body)
        known = path == "/mcp" or any(path == place for _, place in self._routes)
        return _error(405, "that method is not served here") if known else _error(404, "there is nothing here")

    async def _mcp(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> JSONResponse | None:
        try:
            parse_object(body, "the request", max_size=MAX_BODY)
        except NotStrict:
            return JSONResponse(PARSE_ERROR, 400)
        await self._manager.handle_request(scope, _replay(body, receive), send)
        return None

    def _task(self, _: bytes) -> JSONResponse:
        spec = self._session.spec
        content = {"alias": spec.alias, "goal": spec.goal, "max_steps": spec.max_steps, "tools": list(spec.tools)}
        return JSONResponse(content)

    def _answer(self, body: bytes) -> JSONResponse:
        try:
            document = parse_object(body, "the answer", max_size=MAX_BODY)
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


def _server(session: Session) -> Server[Any]:
    """Make the MCP server: the recorded tools, and every call to the session."""
    listed = ListToolsResult(tools=[Tool.model_validate(dict(tool)) for tool in session.spec.tools])

    async def list_tools(*_: object) -> ListToolsResult:
        return listed

    async def call_tool(_: object, params: CallToolRequestParams) -> CallToolResult:
        reply = await session.call(params.name, params.arguments)
        return CallToolResult.model_validate({"content": reply.content, "isError": reply.is_error})

    schemas = {tool.name: tool.input_schema for tool in listed.tools}  # else the package lists all tools at each call
    return Server(
        "quarterturn",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=schemas.get,
    )


def _wire(call: Mapping[str, Any] | Call) -> dict[str, Any]:
    tool, arguments = (call.tool, call.arguments) if isinstance(call, Call) else (call["tool"], call["arguments"])
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


async def _body(receive: Receive) -> bytes | JSONResponse:
    """Read the whole body, or give the refusal."""
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return _error(400, "the body did not arrive")
                data += message.get("body", b"")
                if len(data) > MAX_BODY:
                    return _error(413, f"the body is longer than {MAX_BODY} bytes")
                if not message.get("more_body"):
                    return bytes(data)
    except TimeoutError:
        return _error(408, f"the body did not arrive within {BODY_SECONDS:g} s")


def _replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Give the body that was read already, then what follows on the connection."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return first.pop() if first else await receive()

    return replayed


def _error(status: int, sentence: str) -> JSONResponse:
    headers = {"Connection": "close"} if status in {408, 413} else None
    return JSONResponse({"error": sentence}, status, headers=headers)
