"""Transcript of a session as the gateway saw it: every call, the answer, and how the session ended.

Our own process makes it from what passed through it; nothing in it is a claim of the agent. The transcript of
a private task is as secret as the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Ended = Literal["answered", "agent-exited", "steps-exceeded", "time-exceeded", "gateway-lost"]
UpstreamFact = Literal["down", "broke", "refused"]
ModelOutcome = Literal["ok", "cut", "down", "broke", "refused"]

WORST: tuple[UpstreamFact, ...] = ("down", "broke", "refused")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Tool call to make: a step of a reference solution.

    Attributes:
        tool: the name in documents, `server.tool`.
        arguments: its arguments as JSON values.
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call that came in.

    Attributes:
        tool: the name that was asked for, as `server.tool` where it is listed, else as sent (escaped, cut).
        arguments: as sent, within the caps.
        listed: whether the task lists the tool; an unlisted one reached no server.
        error: whether the caller got a JSON-RPC error or a result with `isError`.
        injected: whether the error was the task's scheduled fault.
        result: the text of the result or error, cut at a cap.
        seconds: how long the server took, by our own monotonic clock.
        refused: whether the gateway answered it itself: it was unlisted, beyond the caps, or one call too many.
    """

    tool: str
    arguments: Mapping[str, Any] = field(repr=False)
    listed: bool
    error: bool
    injected: bool
    result: str = field(repr=False)
    seconds: float
    refused: bool = False

    @property
    def passed_on(self) -> bool:
        """Whether it reached a server, and can have done something to the world."""
        return self.listed and not self.injected and not self.refused


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request that was sent to a language model (`sandbox.model_gateway`), as it was sent.

    Attributes:
        wire: `chat`, `responses` or `messages`.
        model: the model that was asked for.
        repeats: how many items the history begins with that are the same as in the request before it; they are not
            written again.
        request: what was sent, without them.
        response: what came back: kinds and texts, in their order.
        read: tokens that were read, and
        written: that were written: as the upstream counted, or
        estimated: as we do, from what was sent and received.
        outcome: `ok`; `refused`, the upstream failed this request, but not one of ours; `broke`, it failed this
            request, and then the same one not again; `down`, it failed one of ours too; `cut`, the agent or its session
            was gone before the end.
        detail: what the upstream said of a failure.
    """

    wire: str
    model: str
    repeats: int
    request: Mapping[str, Any] = field(repr=False)
    response: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    read: int = 0
    written: int = 0
    estimated: bool = False
    outcome: ModelOutcome = "cut"
    detail: str = field(default="", repr=False)

    def closed(self, response: Sequence[tuple[str, str]], **end: Any) -> ModelCall:
        """Return the call with its end."""
        return replace(self, response=tuple(response), **end)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ModelCall:
        """Read back what a transcript's `as_json` gave."""
        return cls(**{**value, "response": tuple((kind, text) for kind, text in value["response"])})


@dataclass(frozen=True, slots=True)
class Transcript:
    """Session of one agent with one task, from start to end.

    Attributes:
        calls: its tool calls, in their order.
        answer: what it answered, or None.
        ended: how it ended.
        model_calls: what was asked of a language model.
        asked: whether any request came in; an agent that never asked does not know its task.
        shortlist: the tools that the agent shortlisted before its first call, best first; None where it told none.
    """

    calls: tuple[CallRecord, ...]
    answer: str | None = field(repr=False)
    ended: Ended
    model_calls: tuple[ModelCall, ...] = ()
    asked: bool = True
    shortlist: tuple[str, ...] | None = None

    @property
    def upstream(self) -> UpstreamFact | None:
        """Return the worst that a model's upstream did, or None where it did nothing of the kind."""
        outcomes = {call.outcome for call in self.model_calls}
        return next((worst for worst in WORST if worst in outcomes), None)

    @property
    def tools(self) -> list[str]:
        """Return the names of the tools that were called, in their order."""
        return [call.tool for call in self.calls]

    @property
    def unlisted(self) -> int:
        """Count the calls to tools that the task does not list."""
        return sum(not call.listed for call in self.calls)

    @property
    def errors(self) -> int:
        """Count the errors that the agent saw on listed tools."""
        return sum(call.error for call in self.calls if call.listed)

    @property
    def injected(self) -> int:
        """Count the scheduled errors that the agent saw."""
        return sum(call.injected for call in self.calls)

    def as_json(self) -> dict[str, Any]:
        """Return the transcript as plain JSON values."""
        return {
            "ended": self.ended,
            "answer": self.answer,
            "asked": self.asked,
            "calls": [_plain(call) for call in self.calls],
            "model_calls": [_plain(call) for call in self.model_calls],
            **({} if self.shortlist is None else {"shortlist": list(self.shortlist)}),
        }


def _plain(call: CallRecord | ModelCall) -> dict[str, Any]:
    return {name: getattr(call, name) for name in call.__dataclass_fields__}
