"""Unjudged result of one attempt: the frozen state and the facts, before anything of it is read.

It is handed over to be sealed before judging begins. A crash while judging loses nothing: the next worker judges
what was sealed, and the task is not served again. All of it is as secret as the task.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
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
        state: what its world handed over, with nothing read back.
        facts: what is known of how it went, for `sandbox.results.failure`.
        transcript: what the gateway saw.
        output: what the program printed, escaped and cut.
        phases: seconds by phase so far.
        earlier: the attempts before this one.
    """

    task_id: str
    state: FrozenState = field(repr=False)
    facts: AttemptFacts = field(repr=False)
    transcript: Transcript = field(repr=False)
    output: str = field(default="", repr=False)
    phases: Mapping[str, float] = field(default_factory=dict, repr=False)
    earlier: tuple[TaskRun, ...] = field(default=(), repr=False)

    def to_bytes(self) -> bytes:
        """Write it: a line of JSON, and the state's tar, compressed."""
        head = {
            "task_id": self.task_id,
            "facts": asdict(self.facts),
            "transcript": self.transcript.as_json(),
            "output": self.output,
            "phases": dict(self.phases),
            "earlier": [run.as_json() for run in self.earlier],
        }
        return json.dumps(head).encode("ascii") + b"\n" + zlib.compress(self.state.tar, _LEVEL)

    @classmethod
    def from_bytes(cls, data: bytes) -> UnjudgedResult:
        """Read back what `to_bytes` wrote; it was sealed in between, so nobody else did."""
        head, _, tar = data.partition(b"\n")
        value: dict[str, Any] = json.loads(head)
        read = {
            "state": FrozenState(zlib.decompress(tar)),
            "facts": _facts(value["facts"]),
            "transcript": transcript_from_json(value["transcript"]),
            "earlier": tuple(map(TaskRun.from_json, value["earlier"])),
        }
        return cls(**{**value, **read})


def _facts(value: Mapping[str, Any]) -> AttemptFacts:
    ends = {name: value[name] and box.ExitFacts(**value[name]) for name in ("agent", "world")}
    return AttemptFacts(**{**value, **ends, "stage": Stage(value["stage"])})
