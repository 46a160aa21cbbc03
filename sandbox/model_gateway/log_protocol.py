"""Log protocol from the model process to the runner: everything sent to an upstream for one task, and the answers.

    {"begin": n, "wire", "model", "repeats", "request"}      before anything is sent
    {"end": n, "response", "read", "written", "estimated", "outcome", "detail"}
    {"ended": true}                                          nothing more will come

The conversation grows from request to request, so the beginning that one has in common with the one before it is
counted (`repeats`) and not written again; nothing is lost by that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

from sandbox.errors import Malformed
from sandbox.model_gateway.link import LinkReader, fits
from sandbox.transcript import ModelCall, ModelOutcome

MAX_CALLS = 10_000
MAX_TOTAL = 128 * 1024 * 1024

_BEGIN = {"begin": int, "wire": str, "model": str, "repeats": int, "request": dict}
_END = {
    "end": int,
    "response": list,
    "read": int,
    "written": int,
    "estimated": bool,
    "outcome": str,
    "detail": str,
}


def repeated(earlier: Mapping[str, Any] | None, later: Mapping[str, Any], history: str) -> int:
    """Count how many items at the beginning of a request's history are the earlier request's, to the letter."""
    before, now = (earlier or {}).get(history), later.get(history)
    if not isinstance(before, list) or not isinstance(now, list):
        return 0
    repeats = 0
    for old, new in zip(before, now, strict=False):
        if json.dumps(old) != json.dumps(new):  # as they are sent: 1 is not true there, and keys have an order
            break
        repeats += 1
    return repeats


class ModelCallLog:
    """Runner's copy of the log, parsed from a model process's bytes.

    Attributes:
        ended: whether the model process said that nothing more will come.
    """

    def __init__(self) -> None:
        self.ended = False
        self._reader = LinkReader()
        self._calls: dict[int, ModelCall] = {}
        self._total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes.

        Raises:
            Malformed: they are not what a model process of ours sends.
        """
        self._total += len(data)
        if self._total > MAX_TOTAL:
            raise Malformed(f"the model process reported more than {MAX_TOTAL} bytes")
        for entry in self._reader.feed(data):
            self._take(entry)

    def calls(self) -> tuple[ModelCall, ...]:
        """Return the calls in the order in which they began; one that never ended is `cut`."""
        return tuple(self._calls[number] for number in sorted(self._calls))

    def _take(self, entry: Mapping[str, Any]) -> None:
        if entry == {"ended": True}:
            self.ended = True
        elif fits(entry, _BEGIN) and len(self._calls) < MAX_CALLS and entry["begin"] not in self._calls:
            fields = {name: entry[name] for name in ("wire", "model", "repeats", "request")}
            self._calls[entry["begin"]] = ModelCall(**fields)
        elif fits(entry, _END) and entry["end"] in self._calls and _is_response(entry):
            self._calls[entry["end"]] = self._calls[entry["end"]].closed(
                [(kind, text) for kind, text in entry["response"]],
                read=entry["read"],
                written=entry["written"],
                estimated=entry["estimated"],
                outcome=entry["outcome"],
                detail=entry["detail"],
            )
        else:
            raise Malformed("the model process reported an entry of an unknown form")


def _is_response(entry: Mapping[str, Any]) -> bool:
    """Say whether the outcome is a known one, and each piece of the response a kind and a text."""
    pieces = (isinstance(piece, list) and [type(part) for part in piece] == [str, str] for piece in entry["response"])
    return entry["outcome"] in get_args(ModelOutcome) and all(pieces)
