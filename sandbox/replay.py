"""The logged calls of an agent, played again in a fresh world where no agent is.

What a world does once with an agent and again without one, the calls did. The replay is told the truth about them: only
what was passed on to a server is played, in its order and at its pace, in the state that it was played in the first
time. What comes back are facts like those of any run, for `sandbox.failure` to judge. Without the calls it wakes the
same servers, and freezes: what is late even then, this machine is too slow for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sandbox.errors import Lost, Malformed, Unavailable
from sandbox.failure import Facts, Stage
from sandbox.meter import Meter
from sandbox.scene import Scene, specify
from sandbox.terms import Job
from sandbox.transcript import Call, Transcript
from sandbox.world import seed, servers_of, untouched

POLL = 0.5
"""Seconds between two looks at whether the run was given up."""

BROKEN = (Lost, Unavailable, OSError)


def replayed(job: Job, transcript: Transcript, *, calls: bool = True) -> Facts:
    """Play the logged calls, or none, in a fresh world without an agent, and give what there is to know of that."""
    task, terms = job.task, job.terms
    script = script_of(transcript)
    used = {call.tool.partition(".")[0] for call in script}
    servers = [server for server in servers_of(task.document) if server.name in used or not used]
    script = script if calls else []
    wall = terms.agent.wall + terms.patience.ready  # no call may fall away because this machine is slower now
    spec = specify(task, alias=job.alias, wall=wall, servers=servers, script=script, call_seconds=terms.patience.call)
    spec = replace(spec, faults=(), max_steps=len(script))  # what they did to the agent, they did to no server
    scene = Scene(job.box, spec, servers, seed(task.document), terms.world, terms.patience, Meter(terms.clock))
    facts = Facts(Stage.NOTHING)
    with scene:
        try:
            scene.open()
            played = _played(job, scene, wall + terms.patience.ready)
            facts = Facts(
                Stage.SESSION,
                ended=played.ended,
                calls=len(played.calls),
                servers_lost=len(scene.gateway.lost),
                servers_late=len(scene.gateway.late),
                world=scene.world.facts(),
            )
            terms.judging.check(scene.freeze(), partial(untouched, task.document))
        except Malformed:
            return replace(facts, too_large=True)
        except BROKEN:
            return replace(facts, stage=max(scene.stage, facts.stage), freeze_late=scene.freeze_late)
    return replace(facts, stage=Stage.VERDICT)


def script_of(transcript: Transcript) -> Sequence[Call]:
    """Give the calls that a server saw, each as long after the first of them as it was."""
    passed_on = [call for call in transcript.calls if call.passed_on]
    return [Call(call.tool, call.arguments, call.at - passed_on[0].at) for call in passed_on]


def _played(job: Job, scene: Scene, seconds: float) -> Transcript:
    """Wait for the script's end, but not for ever, nor for a run that was given up."""
    deadline = job.terms.clock() + seconds
    while job.terms.clock() < deadline and not job.stop.is_set() and not scene.gateway.wait(POLL):
        pass
    return scene.gateway.finish(job.terms.patience.finish if scene.gateway.over() else 0)
