"""Docker box without a filter around the agent, for attacks between runs: what else keeps two classes of runs apart?"""

from __future__ import annotations

import contextlib

from sandbox.boxes import policy
from sandbox.boxes.box import Box
from sandbox.boxes.docker.box import DockerBox
from sandbox.boxes.docker.container_config import IsolatedProgram
from sandbox.boxes.docker.engine import Container
from sandbox.isolation.run_classes import RunClass


def unfiltered(box: Box, run_class: RunClass) -> Box:
    """Return a Docker box like this one for a class of runs, without filters."""
    assert isinstance(box, DockerBox)  # noqa: S101 - it is called so
    return UnfilteredDocker(runtime=box.runtime, run_class=run_class)


class UnfilteredDocker(DockerBox):
    """The Docker box without a filter around the agent, neither ours nor the engine's."""

    def _create(self, walled: IsolatedProgram, undo: contextlib.ExitStack) -> Container:
        document = walled.document(self.runtime if walled.uid != policy.RELAY_UID else None)
        if walled.uid == policy.AGENT_UID:
            document["Entrypoint"] = []
            document["HostConfig"]["SecurityOpt"] = ["no-new-privileges:true", "seccomp=unconfined"]
        container = self._engine.create(document)
        undo.callback(container.remove)
        return container
