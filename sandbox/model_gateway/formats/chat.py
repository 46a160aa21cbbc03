"""Wire format of OpenAI's chat completions (`POST /v1/chat/completions`)."""

from __future__ import annotations

from typing import Any

from sandbox.model_gateway.formats.reasons import ELSEWHERE, IDENTITY, OUTPUT, PROVIDER, STORED, TIER
from sandbox.model_gateway.formats.shape import (
    FLAG,
    JSON,
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

_SAID = Tagged("type", {"text": Object({"text": needed(TEXT)})})
_SHOWN = Tagged(
    "type",
    {
        "text": Object({"text": needed(TEXT)}),
        "image_url": Object(
            {
                "image_url": needed(
                    Object({"url": needed(Media()), "detail": passed(OneOf(("auto", "low", "high")))}),
                )
            }
        ),
    },
)
_REPLIED = Tagged("type", {"text": Object({"text": needed(TEXT)}), "refusal": Object({"refusal": needed(TEXT)})})
_CALLED = Object({"name": needed(NAME), "arguments": needed(TEXT), "parsed_arguments": left_out()})
_CALL = Tagged(
    "type",
    {"function": Object({"id": needed(NAME), "function": needed(_CALLED), "index": left_out()})},
)
_TOLD = Object({"content": needed(ByKind(TEXT, ListOf(_SAID))), "name": passed(NAME)})
_MESSAGE = Tagged(
    "role",
    {
        "system": _TOLD,
        "developer": _TOLD,
        "user": Object({"content": needed(ByKind(TEXT, ListOf(_SHOWN))), "name": passed(NAME)}),
        "assistant": Object(
            {
                "content": passed(ByKind(TEXT, ListOf(_REPLIED))),
                "refusal": passed(TEXT),
                "name": passed(NAME),
                "tool_calls": passed(ListOf(_CALL)),
                "annotations": left_out(),
                "parsed": left_out(),
                "reasoning_content": left_out(),
                "audio": refused(OUTPUT),
                "function_call": refused("use tool_calls"),
            }
        ),
        "tool": Object({"content": needed(ByKind(TEXT, ListOf(_SAID))), "tool_call_id": needed(NAME)}),
    },
)
FUNCTION = Object(
    {"name": needed(NAME), "description": passed(TEXT), "parameters": passed(JSON), "strict": passed(FLAG)}
)
_TOOL = Tagged("type", {"function": Object({"function": needed(FUNCTION)})})
_CHOICE = Tagged("type", {"function": Object({"function": needed(Object({"name": needed(NAME)}))})})
_FORMAT = Tagged(
    "type",
    {
        "text": Object(),
        "json_object": Object(),
        "json_schema": Object(
            {
                "json_schema": needed(
                    Object(
                        {
                            "name": needed(NAME),
                            "description": passed(TEXT),
                            "schema": passed(JSON),
                            "strict": passed(FLAG),
                        }
                    )
                )
            }
        ),
    },
)

_FINISH = OneOf(("stop", "length", "tool_calls", "content_filter"))
_USAGE = Object(
    {
        "prompt_tokens": passed(WHOLE),
        "completion_tokens": passed(WHOLE),
        "total_tokens": passed(WHOLE),
        "completion_tokens_details": passed(Object({"reasoning_tokens": passed(WHOLE)})),
    }
)
_FUNCTION = Object({"name": passed(NAME), "arguments": passed(TEXT)})
_SPOKEN = {
    "role": passed(OneOf(("assistant",))),
    "content": passed(TEXT),
    "refusal": passed(TEXT),
    "reasoning_content": passed(TEXT),
}
_KIND = passed(OneOf(("function",)))


def _choices(word: str, call: dict[str, Field]) -> Field:
    """Return the form of an answer's choices: their message is under a word, and its calls have further fields."""
    called = Object(call | {"id": passed(NAME), "type": _KIND, "function": passed(_FUNCTION)})
    spoken = Object(_SPOKEN | {"tool_calls": passed(ListOf(called))})
    return passed(ListOf(Object({"index": passed(WHOLE), "finish_reason": passed(_FINISH), word: passed(spoken)})))


class Chat(Wire):
    """OpenAI's chat completions format."""

    name, style = "chat", "openai"
    path, upstream_path = "/v1/chat/completions", "/chat/completions"
    limits = ("max_tokens", "max_completion_tokens")
    history = "messages"
    named_events = False
    request = Object(
        {
            "model": needed(TEXT),
            "messages": needed(ListOf(_MESSAGE)),
            "max_tokens": passed(Number(1, 1e9, whole=True), "clamped to what is left of the budget"),
            "max_completion_tokens": passed(Number(1, 1e9, whole=True), "clamped to what is left of the budget"),
            "stream": passed(FLAG),
            "tools": passed(ListOf(_TOOL)),
            "tool_choice": passed(ByKind(text=OneOf(("none", "auto", "required")), one=_CHOICE)),
            "parallel_tool_calls": passed(FLAG),
            "response_format": passed(_FORMAT),
            "reasoning_effort": passed(NAME),
            "verbosity": passed(OneOf(("low", "medium", "high"))),
            "temperature": passed(NUMBER),
            "top_p": passed(NUMBER),
            "frequency_penalty": passed(NUMBER),
            "presence_penalty": passed(NUMBER),
            "seed": passed(Number(-(2**53), 2**53, whole=True)),
            "stop": passed(ByKind(TEXT, ListOf(TEXT))),
            "n": passed(OneOf((1,)), "one answer a request: each would cost the whole limit"),
            "store": ours("false: nothing is stored", OneOf((False,))),
            "prompt_cache_key": ours("a random key of this task's run"),
            "stream_options": ours(
                "usage is always asked for, and told where it was asked for",
                Object({"include_usage": passed(FLAG), "include_obfuscation": passed(FLAG)}),
            ),
            "logprobs": refused(OUTPUT),
            "top_logprobs": refused(OUTPUT),
            "logit_bias": refused("no agent needs it"),
            "audio": refused(OUTPUT),
            "modalities": refused(OUTPUT),
            "prediction": refused("no agent needs it"),
            "functions": refused("use tools"),
            "function_call": refused("use tool_choice"),
            "web_search_options": refused(PROVIDER),
            "metadata": refused(STORED),
            "user": refused(IDENTITY),
            "safety_identifier": refused(IDENTITY),
            "service_tier": refused(TIER),
            "moderation": refused(ELSEWHERE),
            "prompt_cache_options": refused(STORED),
            "prompt_cache_retention": refused(STORED),
        }
    )
    answer = Object(
        {
            "id": ours("chatcmpl-N, the Nth request of this run"),
            "object": passed(OneOf(("chat.completion",))),
            "created": ours("0"),
            "model": ours("as it was asked for"),
            "choices": _choices("message", {}),
            "usage": passed(_USAGE),
        }
    )
    events = {  # noqa: RUF012 - a table
        "chunk": Object(
            {
                "object": passed(OneOf(("chat.completion.chunk",))),
                "choices": _choices("delta", {"index": passed(WHOLE)}),
                "usage": passed(_USAGE),
            }
        )
    }

    def rebuild(self, document: Document, models: Any) -> Document:
        """Build a request anew, and keep whether it asked to be told the usage of a stream."""
        rebuilt = super().rebuild(document, models)
        options = document.get("stream_options")
        wants_usage = isinstance(options, dict) and options.get("include_usage") is True
        return rebuilt | ({"stream_options": {"include_usage": True}} if wants_usage else {})

    def terms(self, request: Document, grant: Grant) -> Document:
        """Return the fields that are ours."""
        streamed = {"stream_options": {"include_usage": True}} if request.get("stream") else {}
        return {"store": False, "prompt_cache_key": grant.cache_key} | streamed

    def identity(self, model: str, number: int) -> Document:
        """Return what stands for the upstream's own."""
        return {"id": f"chatcmpl-{number}", "created": 0, "model": model}

    def event(self, document: Document, model: str, number: int) -> tuple[str, Document] | None:
        """Build a chunk anew."""
        built = self.events["chunk"].build(document, (), strict=False)
        return "chunk", built | self.identity(model, number)

    def usage(self, document: Document) -> Usage:
        """Read what an answer or chunk says that it cost."""
        usage = document.get("usage")
        return Usage(count(usage, "prompt_tokens"), count(usage, "completion_tokens"))

    def pieces(self, document: Document) -> list[Piece]:
        """Return what a rebuilt answer or chunk says."""
        pieces: list[Piece] = []
        for choice in document.get("choices") or ():
            message = choice.get("message") or choice.get("delta") or {}
            pieces += [
                (kind, message[kind]) for kind in ("reasoning_content", "content", "refusal") if message.get(kind)
            ]
            for call in message.get("tool_calls") or ():
                function = call.get("function") or {}
                pieces += [("tool", function["name"])] if function.get("name") else []
                pieces += [("arguments", function["arguments"])] if function.get("arguments") else []
        return pieces

    def wanted(self, document: Document, request: Document) -> bool:
        """Leave out the chunk of the usage alone, where nobody asked for it."""
        return bool(document.get("choices")) or "stream_options" in request

    def ends(self, document: Document) -> bool:
        """Say no: the end is the line [DONE]."""
        del document
        return False

    def failed(self, document: Document) -> bool:
        """Say whether a chunk tells of a failure instead."""
        return bool(document.get("error"))

    def error(self, status: int, sentence: str) -> Document:
        """Return an error as OpenAI's."""
        return openai_error(status, sentence)

    def probe(self, model: str) -> Document:
        """Return a harmless request of our own."""
        return {"model": model, "messages": [{"role": "user", "content": "Say OK."}], "max_completion_tokens": 16}


def openai_error(status: int, sentence: str) -> Document:
    """Return an error as both of OpenAI's formats have it."""
    kind = "server_error" if status >= 500 else "invalid_request_error"  # noqa: PLR2004 - HTTP
    return {"error": {"message": sentence, "type": kind, "param": None, "code": None}}
