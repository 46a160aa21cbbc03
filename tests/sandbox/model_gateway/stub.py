"""Stub upstream on the loopback: a real HTTP server for all three wire formats, with faults on demand.

It says what its `script` says, a turn a request: `{"text": ...}`, `{"calls": [(name, arguments), ...]}`, or a fault. It
keeps every request as it came: the line, the headers and the body.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FINGERPRINT = "fp-of-another-run"


@dataclass
class Seen:
    """One request."""

    path: str
    headers: dict[str, str]
    body: Any
    raw: bytes = b""


@dataclass
class Turn:
    """One answer: text and calls, or a fault.

    `fault` is one of: `status:NNN`, `break` (a stream that ends in the middle), `hang` (silence), `redirect`, `gzip`,
    `line` (an endless line), `nonsense`, `error` (an error inside a stream), `drop` (no answer at all).
    """

    text: str = ""
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    fault: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors, except for a gateway that closes a connection with bytes unread."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Stub:
    """The server; `say` chooses each answer, by default the next turn of the script."""

    def __init__(self, script: Sequence[Turn] = (), say: Callable[[Seen], Turn] | None = None) -> None:
        self._lock = threading.Lock()
        self.over = threading.Event()
        self.begin(script, say)
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                stub._serve(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def begin(self, script: Sequence[Turn] = (), say: Callable[[Seen], Turn] | None = None) -> None:
        """Reset: forget requests, release hanging connections, and play another script."""
        self.over.set()
        with self._lock:
            self.over = threading.Event()
            self.script, self.say = list(script), say
            self.seen: list[Seen] = []
            self.together = self.most = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def own(self) -> list[Seen]:
        """Return the agents' requests, without the gateway's own probes."""
        return [one for one in self.seen if "Say OK." not in json.dumps(one.body)]

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers["content-length"]))
        seen = Seen(handler.path, {k.lower(): v for k, v in handler.headers.items()}, json.loads(raw), raw)
        with self._lock:
            self.seen.append(seen)
            self.together += 1
            self.most = max(self.most, self.together)
            turn = self._turn(seen)
        try:
            Reply(handler, seen, turn, len(self.seen), self.over).send()
        except OSError:
            pass
        finally:
            with self._lock:
                self.together -= 1

    def _turn(self, seen: Seen) -> Turn:
        if "Say OK." in json.dumps(seen.body) and not any("*" in turn.fault for turn in self.script):
            return Turn(text="OK")
        if self.say:
            return self.say(seen)
        turn = self.script[0] if self.script else Turn(text="nothing more is in the script")
        if self.script and "*" not in turn.fault:
            self.script.pop(0)
        return turn


def halves(given: Any) -> tuple[str, str]:
    """Return the two halves of a JSON text."""
    text = json.dumps(given)
    return text[: len(text) // 2], text[len(text) // 2 :]


@dataclass
class Reply:
    handler: BaseHTTPRequestHandler
    seen: Seen
    turn: Turn
    number: int
    over: threading.Event

    def send(self) -> None:
        fault = self.turn.fault.strip("*")
        if fault.startswith("status:"):
            body = {"error": {"message": f"Limit 30000, used 29999 by other-run. {self.number}", "type": "x"}}
            self._plain(int(fault[7:]), body)
        elif fault == "redirect":
            self._head(302, {"location": "http://127.0.0.1:9/elsewhere", "content-length": "0"})
        elif fault == "gzip":
            self._head(200, {"content-encoding": "gzip", "content-length": "10", "content-type": "application/json"})
            self.handler.wfile.write(b"0123456789")
        elif fault == "drop":
            self.handler.close_connection = True
            self.handler.connection.close()
        elif fault == "hang":
            self.over.wait()
            self.handler.close_connection = True
        elif fault == "nonsense":
            self._raw(b"<html>no</html>", "text/html")
        elif fault == "line":
            self._endless()
        elif self.seen.body.get("stream"):
            self._stream(fault)
        else:
            self._plain(200, self._document())

    # -- the three formats --------------------------------------------------------------------------------------------

    def _document(self) -> dict[str, Any]:
        formats = {"/v1/chat/completions": self._chat, "/v1/responses": self._response, "/v1/messages": self._message}
        return formats[self.seen.path]() | self.turn.extra

    def _calls(self) -> list[tuple[str, str, dict[str, Any]]]:
        return [(f"call_{self.number}_{place}", name, given) for place, (name, given) in enumerate(self.turn.calls)]

    def _chat(self) -> dict[str, Any]:
        calls = [
            {"id": ident, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for ident, name, given in self._calls()
        ]
        message = {"role": "assistant", "content": self.turn.text or None, "refusal": None, "annotations": []}
        message |= {"tool_calls": calls} if calls else {}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
        usage = self._usage("prompt_tokens", "completion_tokens")
        return {
            "id": f"chatcmpl-upstream-{self.number}",
            "object": "chat.completion",
            "created": 1_700_000_000 + self.number,
            "model": "stub-snapshot",
            "system_fingerprint": FINGERPRINT,
            "service_tier": "priority",
            "choices": [choice],
            "usage": usage | {"prompt_tokens_details": {"cached_tokens": 77}},
        }

    def _usage(self, read: str, written: str) -> dict[str, Any]:
        return {read: 100, written: 7, "total_tokens": 107}

    def _items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if self.turn.text:
            part = {"type": "output_text", "text": self.turn.text, "annotations": [], "logprobs": []}
            message = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
            items.append({"id": f"msg_{self.number}", **message})
        for ident, name, given in self._calls():
            call = {"type": "function_call", "call_id": ident, "name": name, "arguments": json.dumps(given)}
            items.append({"id": f"fc_{ident}", "status": "completed", **call})
        return items

    def _response(self, *, done: bool = True) -> dict[str, Any]:
        usage = self._usage("input_tokens", "output_tokens") | {
            "input_tokens_details": {"cached_tokens": 77},
            "output_tokens_details": {"reasoning_tokens": 3},
        }
        return {
            "id": f"resp_upstream_{self.number}",
            "object": "response",
            "created_at": 1_700_000_000 + self.number,
            "model": "stub-snapshot",
            "status": "completed" if done else "in_progress",
            "error": None,
            "incomplete_details": None,
            "metadata": {"from": FINGERPRINT},
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "service_tier": "priority",
            "prompt_cache_key": FINGERPRINT,
            "output": self._items() if done else [],
            "usage": usage if done else None,
        }

    def _message(self) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": self.turn.text}] if self.turn.text else []
        blocks += [
            {"type": "tool_use", "id": ident, "name": name, "input": given} for ident, name, given in self._calls()
        ]
        usage = {"input_tokens": 60, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 10}
        return {
            "id": f"msg_upstream_{self.number}",
            "type": "message",
            "role": "assistant",
            "model": "stub-snapshot",
            "content": blocks,
            "stop_reason": "tool_use" if self.turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": usage | {"output_tokens": 7, "service_tier": "priority"},
        }

    def _events(self) -> list[dict[str, Any]]:
        chat, responses, messages = self._chunks, self._response_events, self._message_events
        return {"/v1/chat/completions": chat, "/v1/responses": responses, "/v1/messages": messages}[self.seen.path]()

    def _chunks(self) -> list[dict[str, Any]]:
        whole = self._chat()
        head = {name: whole[name] for name in ("id", "created", "model", "system_fingerprint", "service_tier")}
        head |= {"object": "chat.completion.chunk"}
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": word + " "} for word in self.turn.text.split()]
        for place, (ident, name, given) in enumerate(self._calls()):
            begun = {"index": place, "id": ident, "type": "function", "function": {"name": name, "arguments": ""}}
            deltas.append({"tool_calls": [begun]})
            for piece in halves(given):
                deltas.append({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
        chunks = [
            head | {"choices": [{"index": 0, "delta": d, "finish_reason": None}], "obfuscation": "xxxx"} for d in deltas
        ]
        finish = "tool_calls" if self.turn.calls else "stop"
        chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        if (self.seen.body.get("stream_options") or {}).get("include_usage"):
            chunks.append(head | {"choices": [], "usage": whole["usage"]})
        return chunks

    def _response_events(self) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": self._response(done=False)},
            {"type": "response.in_progress", "response": self._response(done=False)},
        ]
        for place, item in enumerate(self._items()):
            at = {"output_index": place, "item_id": item["id"]}
            bare = item | ({"content": []} if item["type"] == "message" else {"arguments": ""})
            events.append({"type": "response.output_item.added", "output_index": place, "item": bare})
            if item["type"] == "message":
                part = item["content"][0]
                at |= {"content_index": 0}
                events.append({"type": "response.content_part.added", **at, "part": part | {"text": ""}})
                for word in part["text"].split():
                    delta = {"type": "response.output_text.delta", **at, "delta": word + " ", "logprobs": []}
                    events.append(delta | {"obfuscation": "xxxx"})
                events.append({"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []})
                events.append({"type": "response.content_part.done", **at, "part": part})
            else:
                events.append({"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]})
                events.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
            events.append({"type": "response.output_item.done", "output_index": place, "item": item})
        events.append({"type": "response.completed", "response": self._response()})
        return [event | {"sequence_number": number} for number, event in enumerate(events)]

    def _message_events(self) -> list[dict[str, Any]]:
        whole = self._message()
        empty = whole | {"content": [], "stop_reason": None, "usage": whole["usage"] | {"output_tokens": 1}}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": empty}, {"type": "ping"}]
        for place, block in enumerate(whole["content"]):
            if block["type"] == "text":
                bare = block | {"text": ""}
                deltas = [{"type": "text_delta", "text": word + " "} for word in block["text"].split()]
            else:
                bare = block | {"input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in halves(block["input"])]
            events.append({"type": "content_block_start", "index": place, "content_block": bare})
            events += [{"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas]
            events.append({"type": "content_block_stop", "index": place})
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
        return [*events, {"type": "message_stop"}]

    # -- bytes --------------------------------------------------------------------------------------------------------

    def _stream(self, fault: str) -> None:
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        events = self._events()
        if fault in {"break", "error"}:
            events = events[: max(len(events) // 2, 3)]
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            self._chunk(f"{name}data: {json.dumps(event)}\n\n".encode())
        if fault == "break":
            self.handler.close_connection = True
            return
        if fault == "error":
            error = {"type": "error", "error": {"type": "overloaded_error", "message": FINGERPRINT}}
            self._chunk(f"event: error\ndata: {json.dumps(error)}\n\n".encode())
        elif self.seen.path == "/v1/chat/completions":
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _endless(self) -> None:
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        self._chunk(b"data: ")
        while not self.over.is_set():
            self._chunk(b"x" * 65536)

    def _plain(self, status: int, document: Any) -> None:
        self._raw(json.dumps(document).encode(), "application/json", status)

    def _raw(self, data: bytes, kind: str, status: int = 200) -> None:
        self._head(status, {"content-type": kind, "content-length": str(len(data))})
        self.handler.wfile.write(data)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.handler.send_response(status)
        telltale = {
            "x-request-id": FINGERPRINT,
            "x-ratelimit-remaining-tokens": "1234",
            "anthropic-ratelimit-tokens-remaining": "1234",
            "openai-processing-ms": "17",
            "set-cookie": "__cf=other-run",
        }
        for name, value in (headers | telltale).items():
            self.handler.send_header(name, value)
        self.handler.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.handler.wfile.flush()
