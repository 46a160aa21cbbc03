"""Hand-in: what a runner gives back of one serving, and its bytes.

    {"facts", "output", "phases", "machine", "session", "calls": number, "model_calls": number, "parts": [...]}\n
    one line of JSON for each call, and then for each model call
    the parts, compressed: the state's tar, what was read back of it, and of the untouched state

The bytes may come from a runner that was taken over: each line is strict JSON within a cap of its own, as the logs are
that it was made from, and each part is decompressed within its cap. No part is looked into here.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from sandbox.errors import Malformed
from sandbox.gateway import log_protocol
from sandbox.model_gateway import log_protocol as model_log
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.results.outcome import THE_SERVICE
from sandbox.servings.state_reader import MAX_DUMP
from sandbox.servings.strict_form import read_strictly
from sandbox.transcript import WORST, CallRecord, Ended, ModelCall, Transcript
from sandbox.world.channel import MAX_TAR
from sandbox.world.frozen import FrozenState

MAX_HEAD = 1 << 20
MAX_LINE = model_log.MAX_TOTAL
MAX_LINE_VALUES = 2 * (1 << 20)
"""JSON values in one line: a model call's request and response, each at the cap of their link."""
MAX_LINES = log_protocol.MAX_CALLS + model_log.MAX_CALLS
MAX_RECORD = log_protocol.MAX_TOTAL + model_log.MAX_TOTAL + MAX_HEAD + 512 * MAX_LINES
"""Bytes of all lines: what both logs may have, and the names of a line's members."""
MAX_DUMPS = 32
MAX_BYTES = 192 * 1024 * 1024
"""Bytes of a whole hand-in: of a longer one, supervisors keep only the facts."""
MAX_PARTS_BYTES = MAX_TAR + 2 * MAX_DUMP
"""Bytes of all parts once they are decompressed; supervisors keep only the facts of a hand-in with more, too."""
COMPRESSION = 1  # a tar is mostly zeros; what is left of it hardly shrinks further

PartKind = Literal["state", "dump", "baseline"]


@dataclass(frozen=True, slots=True)
class HandIn:
    """What is left of a serving that was played, or could not be.

    Attributes:
        facts: how far it came and how each part ended; what is judged later (verdict) is not in it.
        transcript: what the gateway saw, or None where it never came to its end.
        output: what the program printed, escaped and cut.
        phases: seconds by phase.
        state: the world's frozen state, with what a fresh world without the agent read back of each server that has a
            reader; None where the world did not give it.
        baseline: what the same readers read back of the untouched state, where the serving asks for it.
        machine: the facts of the check of the machinery, where the world broke; else None.
        played_by: who played it, by whoever received it; its bytes don't say.
    """

    facts: AttemptFacts
    transcript: Transcript | None = field(default=None, repr=False)
    output: str = field(default="", repr=False)
    phases: Mapping[str, float] = field(default_factory=dict, repr=False)
    state: FrozenState | None = field(default=None, repr=False)
    baseline: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    machine: AttemptFacts | None = None
    played_by: str = THE_SERVICE

    @classmethod
    def of_lost_runner(cls) -> HandIn:
        """Return that of a serving whose player was lost while its agent was at work: nobody can tell more."""
        return cls(AttemptFacts(Stage.SERVED, runner_lost=True))

    def with_model_calls(self, calls: Sequence[ModelCall], *, lost: bool) -> HandIn:
        """Put what was asked of a language model into the transcript, by the model process's own log.

        Args:
            calls: of that log.
            lost: whether the link to the model process broke.
        """
        transcript = replace(self.transcript or Transcript((), None, "gateway-lost"), model_calls=tuple(calls))
        seen = {transcript.upstream, self.facts.upstream}
        upstream = "broke" if lost else next((fact for fact in WORST if fact in seen), None)
        return replace(self, transcript=transcript, facts=replace(self.facts, upstream=upstream))

    @property
    def parts_size(self) -> int:
        """Return the bytes of its parts, before they are compressed."""
        return sum(len(part) for _, _, part in self._parts())

    def to_bytes(self) -> bytes:
        """Write it."""
        parts: list[tuple[_Part, bytes]] = []
        for kind, name, part in self._parts():
            data = zlib.compress(part, COMPRESSION)
            parts.append((_Part(kind, name, len(data)), data))
        session = self.transcript
        head = _Head(
            facts=self.facts,
            output=self.output,
            phases=dict(self.phases),
            machine=self.machine,
            session=_Session(session.answer, session.ended, session.asked, session.shortlist) if session else None,
            calls=len(session.calls) if session else 0,
            model_calls=len(session.model_calls) if session else 0,
            parts=tuple(part for part, _ in parts),
        )
        document = session.as_json() if session else {"calls": [], "model_calls": []}
        lines = [asdict(head), *document["calls"], *document["model_calls"]]
        return b"".join([*(json.dumps(line).encode("ascii") + b"\n" for line in lines), *(data for _, data in parts)])

    def _parts(self) -> Iterator[tuple[PartKind, str, bytes]]:
        if self.state:
            yield "state", "", self.state.tar
            yield from (("dump", name, dump) for name, dump in self.state.dumps.items())
        yield from (("baseline", name, dump) for name, dump in self.baseline.items())

    @classmethod
    def from_bytes(cls, data: bytes) -> HandIn:
        """Read what `to_bytes` wrote, whoever wrote it.

        Raises:
            Malformed: it is beyond a cap, cut off, or has another form; the message says where.
        """
        if len(data) > MAX_BYTES:
            raise Malformed(f"the hand-in has {len(data)} bytes; {MAX_BYTES} are allowed")
        lines = _Lines(data)
        head = lines.read(_Head, "the head of the hand-in", MAX_HEAD)
        if not (0 <= head.calls <= log_protocol.MAX_CALLS and 0 <= head.model_calls <= model_log.MAX_CALLS):
            raise Malformed("the hand-in announces more calls than a session may have")
        calls = tuple(lines.read(CallRecord, f"call {n} of the hand-in", MAX_LINE) for n in range(head.calls))
        models = tuple(
            lines.read(ModelCall, f"model call {n} of the hand-in", MAX_LINE) for n in range(head.model_calls)
        )
        if head.session is None and (calls or models):
            raise Malformed("the hand-in has calls of a session that it does not have")
        parts = _decompressed(head.parts, memoryview(data)[lines.place :])
        dumps = {name: part for (kind, name), part in parts.items() if kind == "dump"}
        baseline = {name: part for (kind, name), part in parts.items() if kind == "baseline"}
        tar = parts.get(("state", ""))
        if tar is None and dumps:
            raise Malformed("the hand-in has what was read back of a state that it does not have")
        session = head.session
        return cls(
            facts=head.facts,
            transcript=session
            and Transcript(calls, session.answer, session.ended, models, session.asked, session.shortlist),
            output=head.output,
            phases=head.phases,
            state=None if tar is None else FrozenState(tar, MappingProxyType(dumps)),
            baseline=MappingProxyType(baseline),
            machine=head.machine,
        )


@dataclass(frozen=True, slots=True)
class _Session:
    """What a transcript holds beside its calls."""

    answer: str | None
    ended: Ended
    asked: bool
    shortlist: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """A compressed part: its kind, the server that a dump is of, and its bytes in the hand-in."""

    kind: PartKind
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class _Head:
    """First line of a hand-in."""

    facts: AttemptFacts
    output: str
    phases: dict[str, float]
    machine: AttemptFacts | None
    session: _Session | None
    calls: int
    model_calls: int
    parts: tuple[_Part, ...]


class _Lines:
    """Reads one line after another; `place` is where the next one begins."""

    def __init__(self, data: bytes) -> None:
        self._data, self.place = data, 0

    def read(self, form: Any, what: str, max_bytes: int) -> Any:
        """Read the next line into a dataclass.

        Raises:
            Malformed: there is none, or it is not of that form.
        """
        end = self._data.find(b"\n", self.place, min(self.place + max_bytes + 1, MAX_RECORD))
        if end < 0:
            raise Malformed(f"{what} is cut off, or longer than {max_bytes} bytes")
        line, self.place = self._data[self.place : end], end + 1
        return read_strictly(form, line, what, max_bytes=max_bytes, max_values=MAX_LINE_VALUES)


def _decompressed(parts: tuple[_Part, ...], data: memoryview) -> dict[tuple[str, str], bytes]:
    """Take the parts apart and decompress each within its cap.

    Raises:
        Malformed: they are too many, or not as long as the head says, or one is named twice or beyond its cap.
    """
    names = [(part.kind, part.name) for part in parts]
    if len(parts) > 2 * MAX_DUMPS + 1 or len(set(names)) != len(names):
        raise Malformed("the hand-in has too many parts, or one of them twice")
    if any(part.size < 0 for part in parts) or sum(part.size for part in parts) != len(data):
        raise Malformed("the parts of the hand-in are not as long as its head says")
    opened: dict[tuple[str, str], bytes] = {}
    place, left = 0, MAX_PARTS_BYTES
    for part in parts:
        what = f"the part {part.kind} of the hand-in"
        if (part.kind == "state") == bool(part.name):
            raise Malformed(f"{what} has a name that it cannot have")
        cap = min(left, MAX_TAR if part.kind == "state" else MAX_DUMP)
        content = _inflate(data[place : place + part.size], cap, what)
        opened[part.kind, part.name] = content
        place, left = place + part.size, left - len(content)
    return opened


def _inflate(data: memoryview, cap: int, what: str) -> bytes:
    stream = zlib.decompressobj()
    try:
        part = stream.decompress(data, cap + 1)
    except zlib.error:
        raise Malformed(f"{what} is not compressed as it should be") from None
    if len(part) > cap or not stream.eof or stream.unused_data:
        raise Malformed(f"{what} is cut off, followed by something, or longer than {cap} bytes")
    return part
