"""Machinery check without an agent: each server of a task is started and frozen in a fresh world.

It is done where an agent's world broke. The agent may have broken it, so that alone is a fail; but where not even an
untouched world can be started and frozen, while no agent of the run is at work, the machine is at fault.

Each server has a world to itself: all together may exceed one world's memory, and the agent chooses how many it
starts.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sandbox.boxes.box import WorldLauncher
from sandbox.errors import Lost, Malformed, Unavailable
from sandbox.judge import StateJudge
from sandbox.results.failure import AttemptFacts, Stage, classify
from sandbox.servers.registry import Server
from sandbox.servings.run_environment import RunEnvironment
from sandbox.servings.serving import Serving
from sandbox.servings.stopwatch import Clock, Meter
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState
from verifiers.tree import FileTree

POLL_SECONDS = 0.5
"""Between two looks at whether the run was given up."""
BROKEN = (Lost, Unavailable, OSError)


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """Check of the machinery for one serving.

    Attributes:
        box: where fresh worlds are made.
        clock: a monotonic clock in seconds.
        judging: reader processes, which say whether what was frozen is a state.
        serving: what was played.
        seed: its world's data as it was before.
    """

    box: WorldLauncher
    clock: Clock
    judging: StateJudge
    serving: Serving = field(repr=False)
    seed: FileTree = field(repr=False)

    def run(self, servers: Sequence[Server], transcript: Transcript, stop: threading.Event) -> AttemptFacts:
        """Start each server that an agent called (the task's own, if it called none), freeze it, and give the facts.

        They are those of the first that broke, or of the last. No agent of the run may be at work meanwhile.
        """
        called = {call.tool.partition(".")[0] for call in transcript.calls if call.passed_on}
        used, facts = called or {self.serving.session.server}, AttemptFacts(Stage.NOTHING)
        for server in [candidate for candidate in servers if candidate.name in used] or servers:
            facts = self._start(server, stop)
            if classify(facts).blame is not None:
                break
        return facts

    def _start(self, server: Server, stop: threading.Event) -> AttemptFacts:
        """Start one server in a fresh world, and freeze it."""
        session, patience = self.serving.session, self.serving.patience
        spec = replace(session, servers=[server.name], script=(), solution=None, model=None)
        environment = RunEnvironment(
            self.box, spec, [server], self.seed, self.serving.world, patience, Meter(self.clock)
        )
        facts = AttemptFacts(Stage.NOTHING)
        with environment:
            try:
                gateway = environment.open().gateway
                deadline = self.clock() + patience.ready
                while not stop.is_set() and self.clock() < deadline and not gateway.wait(POLL_SECONDS):
                    pass
                ended = gateway.finish(patience.finish if gateway.over() else 0).ended
                missed, world = len(gateway.missed), environment.world.facts()
                facts = AttemptFacts(Stage.SESSION, ended=ended, servers_missed=missed, world=world)
                self.judging.check(environment.freeze(), lambda: FrozenState(self.seed.to_tar()))
            except Malformed:
                return replace(facts, too_large=True)
            except BROKEN:
                return replace(facts, stage=max(environment.stage, facts.stage))
        return replace(facts, stage=Stage.VERDICT)
