"""Measures one task's whole run in the Docker box, beside a bare pair of the same two images.

The bare pair is two plain `docker run -i --rm`, of the world's image with the server as its entry point and of the
agent's image with the agent's program, joined by stdio: the engine's defaults, no isolation, no log, no verdict.
"""

from __future__ import annotations

import os
from pathlib import Path

from playing import AGENTS, Pair, play
from report import Found, Missing

from launcher import engine
from quarterturn.launcher import images, machine
from quarterturn.launcher.steps import Stop
from sandbox.boxes.docker.box import AGENT_IMAGE, WORLD_IMAGE, DockerBox
from sandbox.kinds.common.state_kind import DATA
from sandbox.servers.registry import SERVERS

ROUNDS = 9
INSIDE = "/player"


def bench(rounds: int = 0) -> Found:
    """Play the box and the bare pair in turns."""
    about = "One task of five calls: behind the wall, and in two plain `docker run` joined by stdio."
    return play(box(), pair, rounds or ROUNDS, about)


def box() -> DockerBox:
    """Return the box, after building its missing images."""
    if machine.find("docker") is None or not engine.answers():
        raise Missing("no Docker engine answers; start one, and check that `docker info` works")
    try:
        images.build(os.environ)
    except Stop as error:
        raise Missing(str(error)) from error
    return DockerBox()


def pair(folder: Path, program: str) -> Pair:
    """Start the same images with plain `docker run`."""
    plain = ["docker", "run", "--interactive", "--rm"]
    first, *words = SERVERS["filesystem"].command
    server = [*plain, "--volume", f"{folder}:{DATA}", "--entrypoint", first, WORLD_IMAGE, *words]
    agent = [*plain, "--volume", f"{AGENTS}:{INSIDE}:ro", "--entrypoint", "python3", AGENT_IMAGE, f"{INSIDE}/{program}"]
    return Pair(server, agent)
