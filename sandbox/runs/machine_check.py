"""Machinery check without an agent: each server of a task is started and frozen in a fresh world.

It is done where an agent's world broke. The agent may have broken it, so that alone is a fail; but where not even an
untouched world can be started and frozen, while no agent of the run is at work, the machine is at fault.

Each server has a world to itself: all together may exceed one world's memory, and the agent chooses how many it
starts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sandbox.errors import Lost, Malformed, Unavailable
from sandbox.results.failure import AttemptFacts, Stage, classify
from sandbox.runs.job import Job
from sandbox.runs.task_world import seed, servers_of, specify, untouched
from sandbox.servers.registry import Server
from sandbox.servings.run_environment import RunEnvironment
from sandbox.servings.stopwatch import Meter
from sandbox.transcript import Transcript

POLL = 0.5
"""Seconds between two looks at whether the run was given up."""
BROKEN = (Lost, Unavailable, OSError)


def check(job: Job, transcript: Transcript) -> AttemptFacts:
    """Start each server that an agent called (the task's own, if it called none), freeze it, and give the facts.

    They are those of the first that broke, or of the last. It waits until no agent of the run is at work, and keeps
    others from beginning meanwhile.
    """
    used = {call.tool.partition(".")[0] for call in transcript.calls if call.passed_on} or {job.task.server}
    servers, facts = servers_of(job.task.document), AttemptFacts(Stage.NOTHING)
    with job.turns.alone():
        for server in [candidate for candidate in servers if candidate.name in used] or servers:
            facts = _woken(job, server)
            if classify(facts).blame is not None:
                break
    return facts


def _woken(job: Job, server: Server) -> AttemptFacts:
    task, terms = job.task, job.terms
    wall, call = terms.agent.wall, terms.patience.call
    spec = specify(task, alias=job.alias, wall=wall, servers=[server], script=(), call_seconds=call)
    scene = RunEnvironment(
        job.box, spec, [server], seed(task.document), terms.world, terms.patience, Meter(terms.clock)
    )
    facts = AttemptFacts(Stage.NOTHING)
    with scene:
        try:
            gateway = scene.open().gateway
            deadline = terms.clock() + terms.patience.ready
            while not job.stop.is_set() and terms.clock() < deadline and not gateway.wait(POLL):
                pass
            ended = gateway.finish(terms.patience.finish if gateway.over() else 0).ended
            missed, world = len(gateway.missed), scene.world.facts()
            facts = AttemptFacts(Stage.SESSION, ended=ended, servers_missed=missed, world=world)
            terms.judging.check(scene.freeze(), partial(untouched, task.document))
        except Malformed:
            return replace(facts, too_large=True)
        except BROKEN:
            return replace(facts, stage=max(scene.stage, facts.stage))
    return replace(facts, stage=Stage.VERDICT)
