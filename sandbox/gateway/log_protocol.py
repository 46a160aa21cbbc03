"""Log protocol from a gateway to its runner: entries, each a length and one JSON object.

An entry is written before the next thing happens, so a gateway that is killed loses nothing that an agent was told. The
reading side trusts nothing: sizes and counts are capped, JSON is strict, every field's type is checked, and calls
must be numbered as they come. Any violation makes it a session with a lost gateway.

    {"ready": true}                                it listens, or plays its script
    {"asked": true}                                the first request came in
    {"call": n, "tool", "arguments", "listed"}     a call came in
    {"result": n, "error", "injected", "refused", "seconds", "text"}
                                                   it was answered; refused: by the gateway itself
    {"shortlist": [tool, ...]}                     the tools that the agent shortlisted, once, before its first call
    {"answer": text}     {"lost": server}     {"late": server}     {"ended": how}
                                                   late: it did not answer in time, and is not known to be lost
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from sandbox.errors import Malformed
from sandbox.model_gateway.link import fits
from sandbox.transcript import CallRecord, Ended, Transcript
from vault.canonical import parse_object
from vault.errors import Malformed as NotStrict

LENGTH = struct.Struct(">I")
MAX_ENTRY = 1 << 20
MAX_TOTAL = 64 << 20
MAX_CALLS = 2000
UNANSWERED = "no answer before the session ended"

_CALL = {"call": int, "tool": str, "arguments": dict, "listed": bool}
_RESULT = {"result": int, "error": bool, "injected": bool, "refused": bool, "seconds": float, "text": str}
_SHAPES: tuple[Mapping[str, type], ...] = (
    _CALL,
    _RESULT,
    {"shortlist": list},
    {"answer": str},
    {"lost": str},
    {"late": str},
    {"ended": str},
    {"ready": bool},
    {"asked": bool},
)


def pack(entry: Mapping[str, Any]) -> bytes:
    """Write one entry."""
    data = json.dumps(entry).encode()
    return LENGTH.pack(len(data)) + data


class GatewayLog:
    """Runner's copy of the log, parsed from a gateway's bytes."""

    def __init__(self) -> None:
        self.ready = self.asked = False
        self.ended: Ended | None = None
        self.lost: list[str] = []
        self.late: list[str] = []
        self._answer: str | None = None
        self._shortlist: tuple[str, ...] | None = None
        self._calls: list[CallRecord] = []
        self._waiting: int | None = None
        self._buffer = bytearray()
        self._total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes.

        Raises:
            Malformed: they are not what a gateway of ours sends.
        """
        self._buffer += data
        self._total += len(data)
        if self._total > MAX_TOTAL:
            raise Malformed(f"the gateway reported more than {MAX_TOTAL} bytes")
        while len(self._buffer) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self._buffer)
            if length > MAX_ENTRY:
                raise Malformed(f"the gateway announced an entry of {length} bytes; {MAX_ENTRY} are allowed")
            end = LENGTH.size + length
            if len(self._buffer) < end:
                return
            entry = bytes(self._buffer[LENGTH.size : end])
            del self._buffer[:end]
            self._take(_checked(entry))

    def transcript(self, otherwise: Ended) -> Transcript:
        """Return what there is; `otherwise` says how a session ended that did not say so itself."""
        return Transcript(
            tuple(self._calls),
            self._answer,
            self.ended or otherwise,
            asked=self.asked,
            shortlist=self._shortlist,
        )

    def _take(self, entry: Mapping[str, Any]) -> None:
        if self.ended is not None and not entry.keys() & {"lost", "late", "result"}:
            raise Malformed("the gateway reported something after the session's end")
        if "call" in entry:
            self._begin(entry)
        elif "result" in entry:
            self._finish(entry)
        elif "shortlist" in entry:
            self._keep_shortlist(entry["shortlist"])
        elif "answer" in entry:
            self._answer = entry["answer"]
        elif "lost" in entry:
            self.lost.append(entry["lost"])
        elif "late" in entry:
            self.late.append(entry["late"])
        elif "asked" in entry:
            self.asked = True
        elif "ready" in entry:
            self.ready = True
        elif entry["ended"] in get_args(Ended):
            self.ended = entry["ended"]
        else:
            raise Malformed("the gateway reported an unknown way to end")

    def _keep_shortlist(self, tools: list[Any]) -> None:
        if self._shortlist is not None or self._calls or not all(type(tool) is str for tool in tools):
            raise Malformed("the gateway reported a shortlist out of order, or of what is no name")
        self._shortlist = tuple(tools)

    def _begin(self, entry: Mapping[str, Any]) -> None:
        number = len(self._calls) + 1
        if entry["call"] != number or self._waiting is not None or number > MAX_CALLS:
            raise Malformed("the gateway reported a call out of order")
        self._waiting = number
        self._calls.append(
            CallRecord(
                tool=entry["tool"],
                arguments=entry["arguments"],
                listed=entry["listed"],
                error=True,
                injected=False,
                result=UNANSWERED,
                seconds=0.0,
            )
        )

    def _finish(self, entry: Mapping[str, Any]) -> None:
        if entry["result"] != self._waiting or not math.isfinite(entry["seconds"]):
            raise Malformed("the gateway reported a result out of order")
        self._waiting = None
        details = {name: entry[name] for name in ("error", "injected", "refused", "seconds")}
        self._calls[-1] = replace(self._calls[-1], result=entry["text"], **details)


def _checked(data: bytes) -> Mapping[str, Any]:
    try:
        entry = parse_object(data, "the gateway's entry", max_size=MAX_ENTRY)
    except NotStrict as error:
        raise Malformed(str(error)) from None
    if not any(fits(entry, shape) for shape in _SHAPES):
        raise Malformed("the gateway reported an entry of an unknown form")
    return entry
