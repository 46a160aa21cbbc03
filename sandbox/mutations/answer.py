"""Mutations of answers: an answer that certainly fails each predicate, and typical wrong answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sandbox.kinds.common.texts import other, wrong


def _number(arguments: Mapping[str, Any]) -> str:
    value = arguments["value"] + 1 + 2 * arguments.get("tolerance", 0)
    return f"{value:f}" if isinstance(value, float) else str(value)


def _items(arguments: Mapping[str, Any]) -> str:
    return "\n".join([*map(str, arguments["items"]), "one too many"])


BROKEN: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "answer.claims": lambda _: "",
    "answer.contains": lambda _: "no idea",
    "answer.equals": lambda arguments: other(arguments["text"]),
    "answer.json": lambda _: '{"not": "this"}',
    "answer.list": _items,
    "answer.number": _number,
    "answer.oneOf": lambda arguments: other(arguments["texts"][0]),
    "answer.set": _items,
}
"""By predicate: an answer that certainly fails it."""


def mistakes(answer: str) -> Sequence[tuple[str, str]]:
    """Return wrong answers: an empty one, or the right one with a number off by one."""
    return [("says-nothing", ""), *((name, text) for name, text in wrong(answer) if name == "off-by-one")]
