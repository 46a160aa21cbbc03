"""Docker command-line client: the few commands that building images needs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from sandbox.errors import Unavailable

KEPT = 3000  # characters of a failed build's output that are worth showing


def docker(*arguments: str | Path, what: str) -> None:
    """Run the client.

    Raises:
        Unavailable: there is none, or it failed; its last words are in the message.
    """
    if shutil.which("docker") is None:
        message = f"{what} needs the Docker client, and there is none; on Debian, as root: apt-get install docker.io"
        raise Unavailable(message)
    done = subprocess.run(
        ["docker", *arguments],
        env=os.environ | {"DOCKER_BUILDKIT": "0"},  # the classic builder is in every engine; buildx is not
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        failed(what, done.stdout)


def failed(what: str, output: str) -> None:
    """Say that a build failed.

    Raises:
        Unavailable: always.
    """
    message = f"{what} failed; the last words were:\n{output.strip()[-KEPT:]}"
    raise Unavailable(message)


def exists(reference: str) -> bool:
    """Say whether the engine has an image."""
    completed = subprocess.run(["docker", "image", "inspect", reference], capture_output=True, check=False)
    return completed.returncode == 0


def image_id(reference: str) -> str:
    """Return the engine's digest of an image that it has: `sha256:` and 64 hexadecimal digits."""
    inspect = ["docker", "image", "inspect", "--format", "{{.Id}}", reference]
    return subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.strip()
