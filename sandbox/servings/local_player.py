"""Plays servings in a box of this machine: eight numbered steps from seeding the world to freezing it.

The order of the steps is the safety property: each may rely on those before it.

 1. *Seed.* The world's data is built in memory from the initial state: nothing of a task is ever a file on this
    machine.
 2. *World.* A fresh world is started with that data and every server that has a listed tool, distractors' too. Each
    server runs from the first call to it. The reference agent's may be one that it used before, with this data alone
    (`sandbox.servings.kept_worlds`).
 3. *Gateway.* A fresh process is told what the agent may see: goal, tools, faults, steps, a per-run alias. It holds no
    key, and it is ready before any agent lives.
 4. *Place.* The relay listens, and the program is ready but for its first instruction. It is made beside 2 and 3.
    Steps 1 to 4 can be prepared ahead, while another serving is being played.
 5. *Agent.* The serving is recorded, then the program is started; from here on everything may be hostile. We wait for
    the agent's end, the session's end, the world's death, or the deadline by our own monotonic clock.
 6. *Kill.* The agent and its relay are gone before anything is looked at, so that nobody can act between the look and
    the verdict.
 7. *Transcript.* The gateway ends and hands over what it saw.
 8. *Facts*, then *freeze*: the world stops its servers, kills every other process and hands its state out.

In every path all of it is removed then, and nothing is ever used again. What only a backend can read is read back in a
fresh world that holds nothing else (`sandbox.servings.state_reader`). Where the world broke, the machinery is checked
without any agent (`sandbox.servings.machine_check`).

A serving with a script of calls in the place of an agent (`sandbox.runs.replay`) has no steps 4 to 6.

Whoever plays knows no task's id, no predicate and no list of free values, and parses nothing that an agent left.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from sandbox.boxes.box import AgentLauncher, Box, ExitFacts, Place, Program, RunningAgent, WorldLauncher
from sandbox.errors import Malformed, Unavailable, Unjudged
from sandbox.judge import JUDGING, JudgeFailed, StateJudge
from sandbox.model_gateway.process import ModelLinks
from sandbox.results.failure import AttemptFacts, Stage, classify
from sandbox.servers.registry import SERVERS, Server
from sandbox.servings.handed_in import HandIn
from sandbox.servings.kept_worlds import with_idle
from sandbox.servings.machine_check import BROKEN, MachineCheck
from sandbox.servings.player import require_wanted
from sandbox.servings.run_environment import RunEnvironment
from sandbox.servings.serving import Serving
from sandbox.servings.state_reader import WRECKAGE, read_back
from sandbox.servings.stopwatch import Clock, Meter
from sandbox.servings.world_data import build_world_data
from sandbox.shared_lock import SharedLock, Turns
from sandbox.transcript import Transcript
from sandbox.world.frozen import FrozenState

POLL_SECONDS = 0.25
"""Between two looks at a running agent."""
WORLD_POLL_SECONDS = 1.0
"""Between two looks at its world, which an engine answers more slowly."""


class LocalPlayer:
    """Plays servings in a box of this machine (`sandbox.servings.player.ServingPlayer`).

    Args:
        box: where worlds are made.
        places: where the agents' places are made; None: in the box.
        workers: how many agents are at work at a time.
        kept: worlds that the reference agent used before, for its next servings; None: each world is a fresh one.
        models: the language model that agents may ask, or None.
        clock: a monotonic clock in seconds.
        judging: reader processes, for what backends read back.
        turns: whom it asks before an agent is let go, or the machinery checked; None: its own, for `workers` agents.
    """

    def __init__(
        self,
        box: Box,
        places: AgentLauncher | None = None,
        *,
        workers: int = 2,
        kept: WorldLauncher | None = None,
        models: ModelLinks | None = None,
        clock: Clock = time.monotonic,
        judging: StateJudge = JUDGING,
        turns: Turns | None = None,
    ) -> None:
        self.box, self.places, self.workers, self.kept = box, places or box, workers, kept
        self.models, self.clock, self.judging = models, clock, judging
        self.turns = turns or SharedLock(workers)

    def check(self) -> None:
        """Make sure that the box can be had.

        Raises:
            Unavailable: it cannot.
        """
        self.box.check()

    def prepare(self, serving: Serving) -> LocalServing:
        """Play steps 1 to 4; one that breaks is a fact in the hand-in.

        Raises:
            Malformed: the state is none that its servers know.
            NotFound: it names a server that is not known here.
            Unavailable: it needs a language model, and there is none here.
        """
        if serving.session.model is not None and self.models is None:
            raise Unavailable("the serving needs a language model, and this player has none")
        return LocalServing(self, serving)


class LocalServing:
    """A serving on this machine (`sandbox.servings.player.PreparedServing`).

    Args:
        player: whose box, clock and turns it uses.
        serving: what is played.
    """

    def __init__(self, player: LocalPlayer, serving: Serving) -> None:
        self._player, self._serving, self._meter = player, serving, Meter(player.clock)
        self._servers: Sequence[Server] = [SERVERS.named(name) for name in serving.session.servers]
        running = with_idle(self._servers) if player.kept else self._servers
        with self._meter.phase("seed"):
            states = {server.name: server.start_with for server in self._servers} | dict(serving.initial_state)
            self._seed = build_world_data(states)  # 1
        self._read_back_servers = [s for s in self._servers if s.reader and s.name in serving.initial_state]
        self.environment = RunEnvironment(
            player.kept or player.box,
            replace(serving.session, servers=[server.name for server in running]),
            running,
            self._seed,
            serving.world,
            serving.patience,
            self._meter,
            partial(self._place, serving.program) if serving.program else None,
            player.models if serving.session.model is not None else None,
        )
        self._transcript: Transcript | None = None
        self._agent: ExitFacts | None = None
        self._world: ExitFacts | None = None
        self._output = ""
        self._late = self._too_large = self._unjudged = False
        self._servers_missed = 0
        with suppress(*BROKEN):
            self.environment.open()  # 2 to 4

    def _place(self, program: Program, sockets: Path) -> Place:
        return self._player.places.place(program, sockets, self._serving.agent)

    def close(self) -> None:
        """Take everything down; safe to call twice."""
        self.environment.close()

    def play(self, record_serving: Callable[[], None], stop: threading.Event) -> HandIn:
        """Play steps 5 to 8, and read back what only backends can read."""
        state = None
        with suppress(*BROKEN):  # the stage that was reached says where, and the classifier what it means
            try:
                if self.environment.place:
                    with self._player.turns.shared():
                        self._record(record_serving, stop)
                        self._run_agent(self.environment.place, stop)  # 5 to 7
                    state = self._freeze()  # 8
                elif self._serving.program is None and self.environment.stage is Stage.GATEWAY:
                    self._finish_script()
                    state = self._freeze()
            finally:
                self.close()
        self._note_model()
        baseline: Mapping[str, bytes] = {}
        if state is not None and self._read_back_servers:
            with self._meter.phase("read back"):
                state, baseline = self._read_back(state), self._read_baseline()
        facts, machine = self._facts(), None
        if self._transcript and classify(facts).blame == "check":
            check = MachineCheck(self._player.box, self._player.clock, self._player.judging, self._serving, self._seed)
            with self._player.turns.alone():
                machine = check.run(self._servers, self._transcript, stop)
        return HandIn(facts, self._transcript, self._output, self._meter.seconds, state, baseline, machine)

    def _record(self, record_serving: Callable[[], None], stop: threading.Event) -> None:
        """Write down that it is served; what that raises is no failure of the machinery, and ends the run."""
        require_wanted(stop)
        record_serving()
        self.environment.stage = Stage.SERVED

    def _run_agent(self, place: Place, stop: threading.Event) -> None:
        gateway = self.environment.gateway
        with self._meter.phase("start"):
            agent = place.start()  # 5
        self.environment.stage = Stage.AGENT
        with self._meter.phase("agent"):
            try:
                self._agent = self._wait(agent, stop)
            finally:
                agent.kill()  # 6
        with self._meter.phase("transcript"):
            self._output = agent.output()
            transcript = gateway.finish(self._serving.patience.finish)  # 7
        self._servers_missed = len(gateway.missed)
        if self._late and transcript.ended == "agent-exited":
            transcript = replace(transcript, ended="time-exceeded")
        self._transcript = transcript
        self.environment.stage = Stage.SESSION

    def _finish_script(self) -> None:
        """Wait until the gateway has played the calls that it was given in an agent's place."""
        gateway = self.environment.gateway
        self._transcript = gateway.finish(self._serving.agent.wall)
        self._servers_missed = len(gateway.missed)
        self.environment.stage = Stage.SESSION

    def _wait(self, agent: RunningAgent, stop: threading.Event) -> ExitFacts:
        """Return the agent's facts, and note whether its time ran out."""
        clock = self._player.clock
        started = clock()
        deadline, look = started + self._serving.agent.wall, started + WORLD_POLL_SECONDS
        while True:
            facts = agent.wait(min(POLL_SECONDS, max(deadline - clock(), 0.0)))
            if not facts.running or facts.lost or self.environment.gateway.over():
                return facts
            if clock() >= deadline:
                self._late = True
                return facts
            require_wanted(stop)
            if clock() >= look:
                look = clock() + WORLD_POLL_SECONDS
                if not self.environment.world.facts().running:
                    return facts

    def _freeze(self) -> FrozenState | None:
        self._world = self.environment.world.facts()
        try:
            return self.environment.freeze()
        except Malformed:
            self._too_large = True
            return None

    def _note_model(self) -> None:
        """Put what was asked of a language model into the transcript; its log has come to its end."""
        if self.environment.model:
            transcript = self._transcript or Transcript((), None, "gateway-lost")
            self._transcript = replace(transcript, model_calls=self.environment.model.calls)

    def _read_back(self, state: FrozenState) -> FrozenState:
        """Read back what only backends can read; what cannot be had is missing, and then nothing is decided."""
        try:
            return self._with_dumps(state)
        except Malformed:  # what is no state at all counts as one that is too large
            self._too_large = True
        except Unjudged:
            self._unjudged = True
        except JudgeFailed:  # it kills whoever reads it, and only something inside made it so
            for server in self._read_back_servers:
                state = state.with_dump(server.name, WRECKAGE)
        except BROKEN:
            pass
        return state

    def _read_baseline(self) -> Mapping[str, bytes]:
        """Read back the untouched state, where the verdict compares with it."""
        if self._serving.baseline:
            with suppress(Malformed, JudgeFailed, *BROKEN):
                return self._with_dumps(FrozenState(self._seed.to_tar())).dumps
        return {}

    def _with_dumps(self, state: FrozenState) -> FrozenState:
        return read_back(self._player.box, self._read_back_servers, state, self._serving.world, self._player.judging)

    def _facts(self) -> AttemptFacts:
        transcript, model = self._transcript, self.environment.model
        return AttemptFacts(
            stage=self.environment.stage,
            ended=transcript.ended if transcript else None,
            agent=self._agent,
            world=self._world,
            too_large=self._too_large,
            unjudged=self._unjudged,
            servers_missed=self._servers_missed,
            upstream="broke" if model and model.lost else transcript.upstream if transcript else None,
        )
