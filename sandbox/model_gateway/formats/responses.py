"""Wire format of OpenAI's responses (`POST /v1/responses`), without stored ones."""

from __future__ import annotations

from typing import Any

from sandbox.model_gateway.formats.chat import FUNCTION, openai_error
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

_IMAGE = Object(
    {
        "image_url": needed(Media()),
        "detail": passed(OneOf(("auto", "low", "high"))),
        "file_id": refused(STORED),
    }
)
_SHOWN = Tagged("type", {"input_text": Object({"text": needed(TEXT)}), "input_image": _IMAGE})
_CONTENT = Tagged(
    "type",
    {
        "input_text": Object({"text": needed(TEXT)}),
        "input_image": _IMAGE,
        "output_text": Object(
            {"text": needed(TEXT), "annotations": left_out(), "logprobs": left_out(), "parsed": left_out()}
        ),
        "refusal": Object({"refusal": needed(TEXT)}),
    },
)
_ECHO: dict[str, Field] = {"id": left_out(), "status": left_out()}
_SUMMARY = ListOf(Tagged("type", {"summary_text": Object({"text": needed(TEXT)})}))
_THOUGHT = ListOf(Tagged("type", {"reasoning_text": Object({"text": needed(TEXT)})}))
_REASONING = {
    "id": needed(NAME),
    "summary": needed(_SUMMARY),
    "content": passed(_THOUGHT),
    "encrypted_content": passed(TEXT),
}
_INPUT = Tagged(
    "type",
    {
        "message": Object(
            {
                "role": needed(OneOf(("user", "assistant", "system", "developer"))),
                "content": needed(ByKind(TEXT, ListOf(_CONTENT))),
                "phase": passed(OneOf(("commentary", "final_answer"))),
            }
            | _ECHO
        ),
        "function_call": Object(
            {"call_id": needed(NAME), "name": needed(NAME), "arguments": needed(TEXT), "parsed_arguments": left_out()}
            | _ECHO
        ),
        "function_call_output": Object(
            {"call_id": needed(NAME), "output": needed(ByKind(TEXT, ListOf(_SHOWN)))} | _ECHO
        ),
        "reasoning": Object(_REASONING | {"status": left_out()}),
    },
    default="message",
)
_TOOL = Tagged("type", {"function": FUNCTION})
_CHOICE = Tagged("type", {"function": Object({"name": needed(NAME)})})
_FORMAT = Tagged(
    "type",
    {
        "text": Object(),
        "json_object": Object(),
        "json_schema": Object(
            {"name": needed(NAME), "description": passed(TEXT), "schema": needed(JSON), "strict": passed(FLAG)}
        ),
    },
)

_STATUS = passed(OneOf(("in_progress", "completed", "incomplete", "failed")))
_PART = Tagged(
    "type",
    {
        "output_text": Object({"text": passed(TEXT), "annotations": passed(ListOf(OneOf(())))}),
        "refusal": Object({"refusal": passed(TEXT)}),
        "reasoning_text": Object({"text": passed(TEXT)}),
        "summary_text": Object({"text": passed(TEXT)}),
    },
)
_ITEM = Tagged(
    "type",
    {
        "message": Object(
            {
                "id": passed(NAME),
                "status": _STATUS,
                "role": passed(OneOf(("assistant",))),
                "phase": passed(OneOf(("commentary", "final_answer"))),
                "content": passed(ListOf(_PART)),
            }
        ),
        "function_call": Object(
            {
                "id": passed(NAME),
                "status": _STATUS,
                "call_id": passed(NAME),
                "name": passed(NAME),
                "arguments": passed(TEXT),
            }
        ),
        "reasoning": Object(
            {
                "id": passed(NAME),
                "status": _STATUS,
                "summary": passed(ListOf(_PART)),
                "content": passed(ListOf(_PART)),
                "encrypted_content": passed(TEXT),
            }
        ),
    },
)
_USAGE = Object(
    {
        "input_tokens": passed(WHOLE),
        "output_tokens": passed(WHOLE),
        "total_tokens": passed(WHOLE),
        "output_tokens_details": passed(Object({"reasoning_tokens": passed(WHOLE)})),
    }
)
_ANSWER = Object(
    {
        "id": ours("resp_N, the Nth request of this run"),
        "object": passed(OneOf(("response",))),
        "created_at": ours("0"),
        "model": ours("as it was asked for"),
        "status": _STATUS,
        "incomplete_details": passed(Object({"reason": passed(OneOf(("max_output_tokens", "content_filter")))})),
        "output": passed(ListOf(_ITEM)),
        "parallel_tool_calls": passed(FLAG),
        "usage": passed(_USAGE),
    }
)

_PLACE = {
    "sequence_number": passed(WHOLE),
    "output_index": passed(WHOLE),
    "item_id": passed(NAME),
    "content_index": passed(WHOLE),
    "summary_index": passed(WHOLE),
}
_WHOLE_ANSWER = Object({"sequence_number": passed(WHOLE), "response": passed(_ANSWER)})
_WHOLE_ITEM = Object(_PLACE | {"item": passed(_ITEM)})
_WHOLE_PART = Object(_PLACE | {"part": passed(_PART)})
_DELTA, _TEXT = Object(_PLACE | {"delta": passed(TEXT)}), Object(_PLACE | {"text": passed(TEXT)})
_SPOKEN = {
    "response.output_text": "text",
    "response.refusal": "refusal",
    "response.reasoning_text": "reasoning",
    "response.reasoning_summary_text": "reasoning",
    "response.function_call_arguments": "arguments",
}


class Responses(Wire):
    """OpenAI's responses format."""

    name, style = "responses", "openai"
    path, upstream_path = "/v1/responses", "/responses"
    limits = ("max_output_tokens",)
    history = "input"
    request = Object(
        {
            "model": needed(TEXT),
            "input": needed(ByKind(TEXT, ListOf(_INPUT))),
            "instructions": passed(TEXT),
            "max_output_tokens": passed(Number(1, 1e9, whole=True), "clamped to what is left of the budget"),
            "stream": passed(FLAG),
            "tools": passed(ListOf(_TOOL)),
            "tool_choice": passed(ByKind(text=OneOf(("none", "auto", "required")), one=_CHOICE)),
            "parallel_tool_calls": passed(FLAG),
            "text": passed(
                Object({"format": passed(_FORMAT), "verbosity": passed(OneOf(("low", "medium", "high")))}),
            ),
            "reasoning": passed(
                Object(
                    {
                        "effort": passed(NAME),
                        "summary": passed(OneOf(("auto", "concise", "detailed"))),
                        "generate_summary": passed(OneOf(("auto", "concise", "detailed"))),
                    }
                )
            ),
            "include": passed(ListOf(OneOf(("reasoning.encrypted_content",)))),
            "temperature": passed(NUMBER),
            "top_p": passed(NUMBER),
            "truncation": passed(OneOf(("auto", "disabled"))),
            "store": ours("false: nothing is stored", OneOf((False,))),
            "prompt_cache_key": ours("a random key of this task's run"),
            "stream_options": ours("left away", Object({"include_obfuscation": passed(FLAG)})),
            "background": ours("left away: nothing goes on without its agent", OneOf((False,))),
            "previous_response_id": refused(STORED),
            "conversation": refused(STORED),
            "prompt": refused(STORED),
            "metadata": refused(STORED),
            "context_management": refused(PROVIDER),
            "max_tool_calls": refused(PROVIDER),
            "top_logprobs": refused(OUTPUT),
            "user": refused(IDENTITY),
            "safety_identifier": refused(IDENTITY),
            "service_tier": refused(TIER),
            "moderation": refused(ELSEWHERE),
            "prompt_cache_options": refused(STORED),
            "prompt_cache_retention": refused(STORED),
        }
    )
    answer = _ANSWER
    events = {  # noqa: RUF012 - a table
        **{f"response.{state}": _WHOLE_ANSWER for state in ("created", "in_progress", "completed", "incomplete")},
        **{f"response.output_item.{state}": _WHOLE_ITEM for state in ("added", "done")},
        **{f"response.content_part.{state}": _WHOLE_PART for state in ("added", "done")},
        **{f"response.reasoning_summary_part.{state}": _WHOLE_PART for state in ("added", "done")},
        **{f"{place}.delta": _DELTA for place in _SPOKEN},
        "response.output_text.done": _TEXT,
        "response.reasoning_text.done": _TEXT,
        "response.reasoning_summary_text.done": _TEXT,
        "response.refusal.done": Object(_PLACE | {"refusal": passed(TEXT)}),
        "response.function_call_arguments.done": Object(_PLACE | {"name": passed(NAME), "arguments": passed(TEXT)}),
    }

    def terms(self, request: Document, grant: Grant) -> Document:
        """Return the fields that are ours."""
        del request
        return {"store": False, "prompt_cache_key": grant.cache_key}

    def identity(self, model: str, number: int) -> Document:
        """Return what stands for the upstream's own."""
        return {"id": f"resp_{number}", "created_at": 0, "model": model}

    def event(self, document: Document, model: str, number: int) -> tuple[str, Document] | None:
        """Build an event anew."""
        built = super().event(document, model, number)
        if built and isinstance(built[1].get("response"), dict):
            built[1]["response"] |= self.identity(model, number)
        return built

    def usage(self, document: Document) -> Usage:
        """Read what an answer or event says that it cost."""
        response = document.get("response")
        usage = (response if isinstance(response, dict) else document).get("usage")
        return Usage(count(usage, "input_tokens"), count(usage, "output_tokens"))

    def pieces(self, document: Document) -> list[Piece]:
        """Return what a rebuilt answer or event says; of an event, what it adds to those before it."""
        kind = document.get("type")
        if kind is None:
            return [piece for item in document.get("output") or () for piece in _pieces(item)]
        if kind == "response.output_item.added":
            name = (document.get("item") or {}).get("name")
            return [("tool", name)] if name else []
        spoken = _SPOKEN.get(str(kind).removesuffix(".delta"))
        return [(spoken, document["delta"])] if spoken and document.get("delta") else []

    def ends(self, document: Document) -> bool:
        """Say whether an event is the stream's proper end."""
        return document.get("type") in ("response.completed", "response.incomplete")

    def failed(self, document: Document) -> bool:
        """Say whether an answer or event tells of a failure instead."""
        return document.get("type") in ("error", "response.failed") or document.get("status") == "failed"

    def error(self, status: int, sentence: str) -> Document:
        """Return an error as OpenAI's."""
        return openai_error(status, sentence)

    def broken(self, status: int, sentence: str) -> tuple[Document, str | None]:
        """Return the event that ends a stream which failed, in both forms that clients look for."""
        error_document = openai_error(status, sentence)
        plain = {"code": error_document["error"]["type"], "message": sentence, "param": None, "sequence_number": 0}
        return {"type": "error"} | plain | error_document, "error"

    def probe(self, model: str) -> Document:
        """Return a harmless request of our own."""
        return {"model": model, "input": "Say OK.", "max_output_tokens": 16, "store": False}


def _pieces(item: dict[str, Any]) -> list[Piece]:
    if item["type"] == "function_call":
        return [("tool", item.get("name") or ""), ("arguments", item.get("arguments") or "")]
    kinds = {"output_text": "text", "refusal": "refusal"}
    parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
    return [(kinds.get(part["type"], "reasoning"), part.get("text") or part.get("refusal") or "") for part in parts]
