"""Wire format: three tables and a few methods, for each of the API paths that agents may use.

    request    what an agent may say; rebuilt strictly
    answer     what an upstream may say back in one piece; rebuilt leniently
    events     what it may say in a stream, by the event's type; others are left out

What depends on the format beyond that is in the methods; nothing here opens a connection or keeps a state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from sandbox.model_gateway.formats.shape import Object, Unfit

Style = Literal["openai", "anthropic"]
Document = dict[str, Any]
Piece = tuple[str, str]
"""A kind and a text: what an answer says, as it is logged and counted."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an upstream says that a request cost, in tokens; None where it has not said so yet."""

    read: int | None = None
    written: int | None = None

    def later(self, other: Usage) -> Usage:
        """Return the latest word on both."""
        read = self.read if other.read is None else other.read
        return Usage(read, self.written if other.written is None else other.written)


@dataclass(frozen=True, slots=True)
class Grant:
    """Allowance of a request: its token limit, and a key that keeps a provider's cache private to this run."""

    tokens: int
    cache_key: str


class Wire:
    """One wire format.

    Attributes:
        name: as the log calls it.
        style: which upstreams speak it, and how errors look.
        path: where agents find it.
        upstream_path: what is added to an upstream's base address.
        request, answer, events: the tables.
        limits: the fields that may limit the answer's tokens; the last is filled in where none is given.
        history: the field whose list grows from request to request.
    """

    name: ClassVar[str]
    style: ClassVar[Style]
    path: ClassVar[str]
    upstream_path: ClassVar[str]
    request: ClassVar[Object]
    answer: ClassVar[Object]
    events: ClassVar[Mapping[str, Object]]
    limits: ClassVar[Sequence[str]]
    history: ClassVar[str]
    named_events: ClassVar[bool] = True

    def rebuild(self, document: Document, models: Sequence[str]) -> Document:
        """Build a request anew.

        Raises:
            Unfit: a field is refused; the message names it.
        """
        rebuilt = self.request.build(document, (), strict=True)
        if rebuilt["model"] not in models:
            raise Unfit(("model",), f"must be one of {', '.join(models)}")
        return rebuilt

    def asked(self, request: Document) -> int | None:
        """Return the limit of tokens that a request asks for."""
        return min((request[name] for name in self.limits if name in request), default=None)

    def prepared(self, request: Document, grant: Grant) -> Document:
        """Return what is sent to the upstream: the rebuilt request under our own terms."""
        limited = [name for name in self.limits if name in request] or [self.limits[-1]]
        return request | dict.fromkeys(limited, grant.tokens) | self.terms(request, grant)

    def terms(self, request: Document, grant: Grant) -> Document:
        """Return the fields that are ours."""
        raise NotImplementedError

    def answered(self, document: Document, model: str, number: int) -> Document:
        """Build an answer anew; `number` is the request's in this run, and all that its id tells."""
        return self.answer.build(document, (), strict=False) | self.identity(model, number)

    def identity(self, model: str, number: int) -> Document:
        """Return what stands in an answer for the upstream's own id, model and time."""
        raise NotImplementedError

    def event(self, document: Document, model: str, number: int) -> tuple[str, Document] | None:  # noqa: ARG002 - others need both
        """Build an event anew, with its type, or give None where it is not passed on."""
        kind = document.get("type")
        shape = self.events.get(kind) if isinstance(kind, str) else None
        if shape is None:
            return None
        return str(kind), {"type": kind} | shape.build(document, (), strict=False)

    def usage(self, document: Document) -> Usage:
        """Read what an answer or event says that it cost."""
        raise NotImplementedError

    def pieces(self, document: Document) -> list[Piece]:
        """Return what a rebuilt answer or event says."""
        raise NotImplementedError

    def ends(self, document: Document) -> bool:
        """Say whether an event is the stream's proper end."""
        raise NotImplementedError

    def failed(self, document: Document) -> bool:
        """Say whether an event tells of a failure instead."""
        raise NotImplementedError

    def wanted(self, document: Document, request: Document) -> bool:
        """Say whether a rebuilt event is one that the agent asked for."""
        del document, request
        return True

    def error(self, status: int, sentence: str) -> Document:
        """Return an error in the format's own form."""
        raise NotImplementedError

    def broken(self, status: int, sentence: str) -> tuple[Document, str | None]:
        """Return the event that ends a stream which failed, with its name."""
        return self.error(status, sentence), "error" if self.named_events else None

    def probe(self, model: str) -> Document:
        """Return a harmless request of our own: whether an upstream answers at all."""
        raise NotImplementedError


def count(usage: Any, *names: str) -> int | None:
    """Add up the counts of these names; None where none of them is there."""
    if not isinstance(usage, dict):
        return None
    counts = [usage[name] for name in names if isinstance(usage.get(name), int) and not isinstance(usage[name], bool)]
    return sum(max(number, 0) for number in counts) if counts else None
