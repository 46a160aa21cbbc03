"""Serving: what a runner is given of one task for one agent, and nothing more.

It never holds a task's id, its predicate, the lists of its free values, a word of another task, or a key. A solution is
in it for the reference agent alone, which is played on the machine that holds the solutions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.boxes.box import Program, ResourceLimits
from sandbox.errors import Malformed
from sandbox.gateway import GatewaySpec
from sandbox.servings.run_environment import Timeouts
from sandbox.servings.strict_form import read_strictly

MAX_BYTES = 16 * 1024 * 1024
MAX_VALUES = 1 << 18
HANDLE = re.compile(r"s-[0-9a-f]{32}")
"""The form of a handle: it names files of a runner, and says nothing else."""


@dataclass(frozen=True, slots=True)
class Serving:
    """One task for one agent, as its runner knows it.

    Attributes:
        handle: an opaque, random name that the service chose.
        session: what the gateway is told: goal, tools with their schemas, faults, servers, limits, model.
        initial_state: for each server of the task, its part of the initial state. Other servers of the session begin
            with what they start with, and what they leave is not read back, as no verdict looks at it.
        program: what the agent runs as; None where no agent comes, because the session has a script of calls.
        world: caps on the world.
        agent: caps on the agent; its `wall` is the time that it has, in seconds.
        patience: how long the runner waits for its own parts.
        baseline: whether the untouched state is read back too, because the verdict compares with it.
    """

    handle: str
    session: GatewaySpec = field(repr=False)
    initial_state: Mapping[str, Mapping[str, Any]] = field(repr=False)
    program: Program | None
    world: ResourceLimits = field(default_factory=ResourceLimits)
    agent: ResourceLimits = field(default_factory=ResourceLimits)
    patience: Timeouts = field(default_factory=Timeouts)
    baseline: bool = False

    def __post_init__(self) -> None:
        """Refuse a handle that is none, and a session with an agent and a script, or with neither.

        Raises:
            Malformed: the message names what is wrong.
        """
        require_handle(self.handle)
        if (self.session.script is None) == (self.program is None) or self.session.script_answer is not None:
            raise Malformed("the serving at $.session.script plays calls in an agent's place, or has neither")
        if unknown := sorted(self.initial_state.keys() - set(self.session.servers)):
            raise Malformed(f"the serving at $.initial_state.{unknown[0]} seeds a server that does not run")

    def to_bytes(self) -> bytes:
        """Write it as JSON."""
        document = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return json.dumps(document | {"session": json.loads(self.session.to_bytes())}, default=_plain).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> Serving:
        """Read what `to_bytes` wrote.

        Raises:
            Malformed: it is beyond a cap, or has another form.
        """
        return read_strictly(cls, data, "the serving", max_bytes=MAX_BYTES, max_values=MAX_VALUES)


def require_handle(handle: str) -> str:
    """Return the handle of a serving.

    Raises:
        Malformed: it is none; it would name a file.
    """
    if not HANDLE.fullmatch(handle):
        raise Malformed("the handle of a serving is 's-' and 32 hexadecimal digits")
    return handle


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    return dict(value) if isinstance(value, Mapping) else str(value)
