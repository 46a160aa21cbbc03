"""The logged calls of an agent, played again in a fresh world where no agent is.

What a world does once with an agent and again without one, the calls did.
"""

from __future__ import annotations

from sandbox.errors import Lost, Malformed, Unavailable
from sandbox.failure import Stage
from sandbox.scene import Scene, specify
from sandbox.terms import Job
from sandbox.transcript import Call, Transcript
from sandbox.world import seed, servers_of

BROKEN = (Lost, Unavailable, OSError)


def recurs(job: Job, transcript: Transcript) -> bool:
    """Play the logged calls in a fresh world without an agent, and say whether it breaks again."""
    task, terms = job.task, job.terms
    script = [Call(call.tool, call.arguments) for call in transcript.calls if call.listed]
    tree, servers = seed(task.document), servers_of(task.document)
    spec = specify(task, alias=job.alias, wall=terms.agent.wall, servers=servers, script=script)
    with Scene(job.box, spec, servers, tree, terms.world, terms.patience, terms.clock) as scene:
        try:
            scene.open().gateway.finish(terms.agent.wall)
            if scene.gateway.lost or not scene.world.facts().running:
                return True
            scene.stage = Stage.SESSION
            scene.freeze()
        except Malformed:
            return True
        except BROKEN:
            return scene.stage == Stage.SESSION
    return False
