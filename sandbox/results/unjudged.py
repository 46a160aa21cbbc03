"""Unjudged result of one attempt: the frozen state and the facts, before anything of it is read.

It is handed over to be sealed before judging begins. A crash while judging loses nothing: the next worker judges
what was sealed, and the task is not served again. All of it is as secret as the task.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from sandbox.boxes import box
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.results.outcome import TaskRun, transcript_from_json
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState

_LEVEL = 1  # a tar is mostly zeros; what is left of it hardly shrinks further


@dataclass(frozen=True, slots=True)
class UnjudgedResult:
    """Unjudged result of one attempt at one task.

    Attributes:
        task_id: the task.
        state: what its world handed over, with what was read back of it.
        facts: what is known of how it went, for `sandbox.results.failure`.
        transcript: what the gateway saw.
        output: what the program printed, escaped and cut.
        phases: seconds by phase so far.
        earlier: the attempts before this one.
        baseline: what was read back of the untouched state.
        machine: the facts of the check of the machinery, where the world broke.
        played_by: as for `TaskRun`.
    """

    task_id: str
    state: FrozenState = field(repr=False)
    facts: AttemptFacts = field(repr=False)
    transcript: Transcript = field(repr=False)
    output: str = field(default="", repr=False)
    phases: Mapping[str, float] = field(default_factory=dict, repr=False)
    earlier: tuple[TaskRun, ...] = field(default=(), repr=False)
    baseline: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    machine: AttemptFacts | None = None
    played_by: str = ""

    def to_bytes(self) -> bytes:
        """Write it: a line of JSON, and compressed together the state's tar and all that was read back."""
        dumps = [*self.state.dumps.items(), *self.baseline.items()]
        head = {
            "task_id": self.task_id,
            "facts": asdict(self.facts),
            "transcript": self.transcript.as_json(),
            "output": self.output,
            "phases": dict(self.phases),
            "earlier": [run.to_sealed_json() for run in self.earlier],
            "machine": self.machine and asdict(self.machine),
            "played_by": self.played_by,
            "dumps": {name: len(dump) for name, dump in self.state.dumps.items()},
            "baseline": {name: len(dump) for name, dump in self.baseline.items()},
        }
        body = b"".join([self.state.tar, *(dump for _, dump in dumps)])
        return json.dumps(head).encode("ascii") + b"\n" + zlib.compress(body, _LEVEL)

    @classmethod
    def from_bytes(cls, data: bytes) -> UnjudgedResult:
        """Read back what `to_bytes` wrote; it was sealed in between, so nobody else did.

        What an earlier version sealed has neither dumps, nor the check of the machinery, nor who played it.
        """
        head, _, compressed = data.partition(b"\n")
        value: dict[str, Any] = json.loads(head)
        body, parts = zlib.decompress(compressed), []
        for sizes in (value.get("baseline", {}), value.pop("dumps", {})):  # from the end, as they were written
            start = len(body) - sum(sizes.values())
            ends = accumulate(sizes.values(), initial=start)
            parts.append({name: body[first:last] for name, (first, last) in zip(sizes, pairwise(ends), strict=True)})
            body = body[:start]
        baseline, dumps = parts
        read = {
            "state": FrozenState(body, dumps),
            "baseline": baseline,
            "machine": _facts(value["machine"]) if value.get("machine") else None,
            "facts": _facts(value["facts"]),
            "transcript": transcript_from_json(value["transcript"]),
            "earlier": tuple(map(TaskRun.from_json, value["earlier"])),
        }
        return cls(**{**value, **read})


def _facts(value: Mapping[str, Any]) -> AttemptFacts:
    ends = {name: value[name] and box.ExitFacts(**value[name]) for name in ("agent", "world")}
    return AttemptFacts(**{**value, **ends, "stage": Stage(value["stage"])})
