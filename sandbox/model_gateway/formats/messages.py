"""Wire format of Anthropic's messages (`POST /v1/messages`)."""

from __future__ import annotations

from sandbox.model_gateway.formats.reasons import CACHE, ELSEWHERE, IDENTITY, PROVIDER, STORED, TIER
from sandbox.model_gateway.formats.shape import (
    FLAG,
    JSON,
    MEDIA,
    NAME,
    NUMBER,
    TEXT,
    WHOLE,
    ByKind,
    Field,
    ListOf,
    Media,
    Number,
    Object,
    OneOf,
    Tagged,
    left_out,
    needed,
    ours,
    passed,
    refused,
)
from sandbox.model_gateway.formats.wire_format import Document, Grant, Piece, Usage, Wire, count

_CACHE: dict[str, Field] = {"cache_control": refused(CACHE)}
_TEXT = Object({"text": needed(TEXT), "citations": left_out(), "parsed_output": left_out()} | _CACHE)
_IMAGE = Object(
    {
        "source": needed(
            Tagged(
                "type",
                {"base64": Object({"media_type": needed(OneOf(MEDIA)), "data": needed(Media(bare=True))})},
            )
        )
    }
    | _CACHE
)
_SAID = Tagged("type", {"text": _TEXT})
_SHOWN = Tagged("type", {"text": _TEXT, "image": _IMAGE})
_CONTENT = Tagged(
    "type",
    {
        "text": _TEXT,
        "image": _IMAGE,
        "tool_use": Object(
            {"id": needed(NAME), "name": needed(NAME), "input": needed(JSON), "caller": left_out()} | _CACHE
        ),
        "tool_result": Object(
            {
                "tool_use_id": needed(NAME),
                "content": passed(ByKind(TEXT, ListOf(_SHOWN))),
                "is_error": passed(FLAG),
            }
            | _CACHE
        ),
        "thinking": Object({"thinking": needed(TEXT), "signature": needed(TEXT)}),
        "redacted_thinking": Object({"data": needed(TEXT)}),
    },
)
_MESSAGE = Object(
    {
        "role": needed(OneOf(("user", "assistant"))),
        "content": needed(ByKind(TEXT, ListOf(_CONTENT))),
    }
)
_TOOL = Tagged(
    "type",
    {
        "custom": Object(
            {
                "name": needed(NAME),
                "description": passed(TEXT),
                "input_schema": needed(JSON),
                "strict": passed(FLAG),
            }
            | _CACHE
        )
    },
    default="custom",
)
_ALONE = {"disable_parallel_tool_use": passed(FLAG)}
_CHOICE = Tagged(
    "type",
    {"auto": Object(_ALONE), "any": Object(_ALONE), "tool": Object({"name": needed(NAME)} | _ALONE), "none": Object()},
)
_DISPLAY = {"display": passed(OneOf(("summarized", "omitted")))}
_THINKING = Tagged(
    "type",
    {
        "enabled": Object({"budget_tokens": needed(WHOLE)} | _DISPLAY),
        "adaptive": Object(_DISPLAY),
        "disabled": Object(),
    },
)
_OUTPUT = Object(
    {
        "effort": passed(NAME),
        "format": passed(Tagged("type", {"json_schema": Object({"schema": needed(JSON)})})),
    }
)

_STOP = {
    "stop_reason": passed(OneOf(("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"))),
    "stop_sequence": passed(TEXT),
}
_BLOCK = Tagged(
    "type",
    {
        "text": Object({"text": passed(TEXT)}),
        "tool_use": Object({"id": passed(NAME), "name": passed(NAME), "input": passed(JSON)}),
        "thinking": Object({"thinking": passed(TEXT), "signature": passed(TEXT)}),
        "redacted_thinking": Object({"data": passed(TEXT)}),
    },
)
_DELTA = Tagged(
    "type",
    {
        "text_delta": Object({"text": passed(TEXT)}),
        "input_json_delta": Object({"partial_json": passed(TEXT)}),
        "thinking_delta": Object({"thinking": passed(TEXT)}),
        "signature_delta": Object({"signature": passed(TEXT)}),
    },
)
_USAGE = Object({"input_tokens": passed(WHOLE), "output_tokens": passed(WHOLE)})
_ANSWER = Object(
    {
        "id": ours("msg_N, the Nth request of this run"),
        "type": passed(OneOf(("message",))),
        "role": passed(OneOf(("assistant",))),
        "model": ours("as it was asked for"),
        "content": passed(ListOf(_BLOCK)),
        "usage": passed(_USAGE, "what was cached is counted with the rest"),
    }
    | _STOP
)
_SPOKEN = {"text": "text", "thinking": "reasoning", "partial_json": "arguments"}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Messages(Wire):
    """Anthropic's messages format."""

    name, style = "messages", "anthropic"
    path, upstream_path = "/v1/messages", "/v1/messages"
    limits = ("max_tokens",)
    history = "messages"
    request = Object(
        {
            "model": needed(TEXT),
            "max_tokens": needed(Number(1, 1e9, whole=True)),
            "messages": needed(ListOf(_MESSAGE)),
            "system": passed(ByKind(TEXT, ListOf(_SAID))),
            "stream": passed(FLAG),
            "tools": passed(ListOf(_TOOL)),
            "tool_choice": passed(_CHOICE),
            "thinking": passed(_THINKING),
            "output_config": passed(_OUTPUT),
            "stop_sequences": passed(ListOf(TEXT)),
            "temperature": passed(NUMBER),
            "top_p": passed(NUMBER),
            "top_k": passed(WHOLE),
            "metadata": refused(IDENTITY),
            "user_profile_id": refused(IDENTITY),
            "workspace_id": refused(IDENTITY),
            "container": refused(PROVIDER),
            "mcp_servers": refused(PROVIDER),
            "context_management": refused(PROVIDER),
            "service_tier": refused(TIER),
            "speed": refused(TIER),
            "inference_geo": refused(TIER),
            "diagnostics": refused(STORED),
            "betas": refused(ELSEWHERE),
        }
        | _CACHE
    )
    answer = _ANSWER
    events = {  # noqa: RUF012 - a table
        "message_start": Object({"message": passed(_ANSWER)}),
        "content_block_start": Object({"index": passed(WHOLE), "content_block": passed(_BLOCK)}),
        "content_block_delta": Object({"index": passed(WHOLE), "delta": passed(_DELTA)}),
        "content_block_stop": Object({"index": passed(WHOLE)}),
        "message_delta": Object({"delta": passed(Object(_STOP)), "usage": passed(_USAGE)}),
        "message_stop": Object(),
        "ping": Object(),
    }

    def terms(self, request: Document, grant: Grant) -> Document:
        """Return nothing: without `cache_control` nothing is cached, and nothing is stored."""
        del request, grant
        return {}

    def identity(self, model: str, number: int) -> Document:
        """Return what stands for the upstream's own."""
        return {"id": f"msg_{number}", "model": model}

    def answered(self, document: Document, model: str, number: int) -> Document:
        """Build an answer anew, with one figure for all that was read."""
        return _counted(super().answered(document, model, number), document)

    def event(self, document: Document, model: str, number: int) -> tuple[str, Document] | None:
        """Build an event anew."""
        built = super().event(document, model, number)
        if built and isinstance(built[1].get("message"), dict):
            inner = built[1]["message"] | self.identity(model, number)
            built[1]["message"] = _counted(inner, document["message"])
        elif built:
            _counted(built[1], document)
        return built

    def usage(self, document: Document) -> Usage:
        """Read what an answer or event says that it cost."""
        message = document.get("message")
        usage = (message if isinstance(message, dict) else document).get("usage")
        return Usage(count(usage, *_INPUT), count(usage, "output_tokens"))

    def pieces(self, document: Document) -> list[Piece]:
        """Return what a rebuilt answer or event says; of an event, what it adds to those before it."""
        if document.get("type") == "message":
            return [piece for block in document.get("content") or () for piece in _pieces(block)]
        if document.get("type") == "content_block_start":
            return _pieces((document.get("content_block") or {}) | {"input": None})
        delta = document.get("delta") or {}
        return [(kind, delta[name]) for name, kind in _SPOKEN.items() if delta.get(name)]

    def ends(self, document: Document) -> bool:
        """Say whether an event is the stream's proper end."""
        return document.get("type") == "message_stop"

    def failed(self, document: Document) -> bool:
        """Say whether an answer or event tells of a failure instead."""
        return document.get("type") == "error"

    def error(self, status: int, sentence: str) -> Document:
        """Return an error as Anthropic's."""
        kinds = {403: "permission_error", 404: "not_found_error", 413: "request_too_large"}
        kind = "api_error" if status >= 500 else kinds.get(status, "invalid_request_error")  # noqa: PLR2004 - HTTP
        return {"type": "error", "error": {"type": kind, "message": sentence}}

    def probe(self, model: str) -> Document:
        """Return a harmless request of our own."""
        return {"model": model, "messages": [{"role": "user", "content": "Say OK."}], "max_tokens": 16}


def _counted(built: Document, reported: Document) -> Document:
    """Put one figure where the upstream says how much of it was cached."""
    if isinstance(built.get("usage"), dict) and (read := count(reported.get("usage"), *_INPUT)) is not None:
        built["usage"]["input_tokens"] = read
    return built


def _pieces(block: Document) -> list[Piece]:
    kind = block.get("type")
    if kind == "tool_use":
        written = [("arguments", str(block["input"]))] if block.get("input") else []
        return [("tool", block.get("name") or ""), *written]
    if kind == "thinking":
        return [("reasoning", block.get("thinking") or "")]
    return [("text", block["text"])] if block.get("text") else []
