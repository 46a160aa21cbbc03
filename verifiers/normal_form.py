"""Normal form of a state: the plain output of a reader, and its encoding for the process that judges.

A *reader* (`verifiers.states.readers.read`) turns the bytes that an agent left into a `NormalState`: plain JSON values
and byte strings, no object and no program. A *judge* (`verifiers.language.evaluate.evaluate`) looks at normal forms
alone, so it holds no parser of a submitted format. Between the two goes the text of `encode`:

    b"quarterturn/normal/v1\\n" | length of the header, 8 bytes, big endian | header | blobs, one after another
    header: {namespace: {"document", "unreadable", "missing", "steps", "bytes", "blobs": [length of each]}}

The header is JSON in ASCII as `encode` writes it, in the order in which the reader found things. `decode` refuses
whatever `encode` would not have written, so the two texts of one state are equal.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from verifiers.errors import Malformed

MAGIC = b"quarterturn/normal/v1\n"
LENGTH = 8
MAX_HEADER = 64 << 20
MAX_BYTES = 192 << 20
MAX_DOCUMENT = 24 << 20
"""Bytes of one namespace's document as it is written; `verifiers.states.readers` holds to it by counting."""
MAX_SENTENCE = 1000
"""Characters of `unreadable` and `missing`."""
A_PLACE = 64 << 10
"""Bytes that are kept free for the namespaces that do not fit."""

_FIELDS = ("document", "unreadable", "missing", "steps", "bytes", "blobs")


@dataclass(frozen=True, slots=True)
class NormalState:
    """A reader's result for one namespace: exactly one of `document`, `unreadable` and `missing` is given.

    Attributes:
        document: plain JSON values, of the shape that the kind of state has (`verifiers.states.<kind>`).
        blobs: byte strings; the document refers to them by their index.
        unreadable: one sentence, where the state cannot be read; this counts against the agent.
        missing: one sentence, where our machinery did not hand the state over; every probe of it is *unknown*.
        steps: the steps that reading took (`verifiers.budget`).
        bytes: the bytes that were unpacked and kept for it.
    """

    document: Any = field(default=None, repr=False)
    blobs: tuple[bytes, ...] = field(default=(), repr=False)
    unreadable: str = field(default="", repr=False)
    missing: str = ""
    steps: int = 0
    bytes: int = 0


def encode(states: Mapping[str, NormalState]) -> bytes:
    """Encode normal forms by namespace; from the first that does not fit into the caps on, they become unreadable.

    Raises:
        TypeError, ValueError: a document holds something else than plain JSON values, or a number that is not finite.
            No reader makes such a document.
    """
    blobs: list[bytes] = []
    headers, header_room, room = [b"{"], MAX_HEADER, MAX_BYTES
    for name, state in states.items():
        start = (b"," if len(headers) > 1 else b"") + _written(name) + b":"
        header = start + _written_state(state)
        size = sum(map(len, state.blobs))
        if len(header) > header_room - A_PLACE or len(header) + size > room - A_PLACE:
            sentence = f"the normal forms are larger than {MAX_HEADER} bytes of header, or {MAX_BYTES} in all"
            header = start + _written_state(NormalState(unreadable=sentence, steps=state.steps, bytes=state.bytes))
            header_room = room = 0
        else:
            header_room, room = header_room - len(header), room - len(header) - size
            blobs += state.blobs
        headers.append(header)
    headers.append(b"}")
    length = sum(map(len, headers))
    return b"".join([MAGIC, length.to_bytes(LENGTH, "big"), *headers, *blobs])


def _written_state(state: NormalState) -> bytes:
    return _written(
        {
            "document": state.document,
            "unreadable": state.unreadable[:MAX_SENTENCE],
            "missing": state.missing[:MAX_SENTENCE],
            "steps": state.steps,
            "bytes": state.bytes,
            "blobs": [len(blob) for blob in state.blobs],
        }
    )


def decode(data: bytes) -> dict[str, NormalState]:
    """Decode the output of `encode`; the shapes of the documents are checked later by the predicates.

    Raises:
        Malformed: `encode` would not have written it.
    """
    start = len(MAGIC) + LENGTH
    if len(data) > MAX_BYTES + start or not data.startswith(MAGIC) or len(data) < start:
        raise Malformed("the normal form does not begin as one, or is longer than the cap")
    length = int.from_bytes(data[len(MAGIC) : start], "big")
    if length > min(MAX_HEADER, len(data) - start):
        raise Malformed("the normal form's header is cut off, or longer than the cap")
    header = data[start : start + length]
    try:
        content = json.loads(header, parse_constant=_refuse, parse_float=_finite)
        is_ours = isinstance(content, dict) and _written(content) == header
    except (ValueError, RecursionError):
        is_ours = False
    if not is_ours:
        raise Malformed("the normal form's header is not as it is written here")
    return _states(content, data, start + length)


def _states(content: dict[str, Any], data: bytes, at: int) -> dict[str, NormalState]:
    states: dict[str, NormalState] = {}
    for name, state in content.items():
        if not isinstance(state, dict) or tuple(state) != _FIELDS or not _is_sound(state):
            raise Malformed("the normal form has a state that is none")
        blobs = []
        for length in state["blobs"]:
            blobs.append(data[at : at + length])
            at += length
        if at > len(data):
            raise Malformed("the normal form is cut off")
        states[name] = NormalState(**{**state, "blobs": tuple(blobs)})
    if at != len(data):
        raise Malformed("the normal form has something behind its end")
    return states


def _is_sound(state: dict[str, Any]) -> bool:
    """Say whether the fields around a document have their types, and one of the three is given."""
    counts = [state["steps"], state["bytes"], *(state["blobs"] if isinstance(state["blobs"], list) else [-1])]
    sentences = [state["unreadable"], state["missing"]]
    return (
        all(type(count) is int and 0 <= count <= MAX_BYTES for count in counts)
        and all(isinstance(sentence, str) and len(sentence) <= MAX_SENTENCE for sentence in sentences)
        and [state["document"] is not None, *map(bool, sentences)].count(True) == 1
    )


def _written(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
