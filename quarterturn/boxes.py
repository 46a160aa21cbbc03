"""Choice of a sandbox box by name: a box that works on this machine, or an error that says what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quarterturn.choices import BoxName
from quarterturn.errors import Unavailable
from sandbox.boxes.box import Box
from sandbox.errors import Unavailable as NoBox
from sandbox.image_reference import ImageReference
from sandbox.isolation.run_classes import RunClass


def docker(runtime: str = "", run_class: RunClass = "open") -> Box:
    """Make the official box; its agents and worlds can be started by another OCI runtime of the engine's."""
    from sandbox.boxes.docker.box import DockerBox  # noqa: PLC0415 - the engine's SDK loads slowly, and few verbs need a box

    return DockerBox(runtime=runtime or None, run_class=run_class)


def bwrap(runtime: str = "", run_class: RunClass = "open") -> Box:  # noqa: ARG001 - it has no runtimes
    """Make the box that needs no engine."""
    from sandbox.boxes.bwrap.box import BwrapBox  # noqa: PLC0415 - likewise

    return BwrapBox(run_class=run_class)


BOXES: Mapping[str, Callable[..., Box]] = {"docker": docker, "bwrap": bwrap}
"""By name, in the order in which `auto` tries them: what is official comes first."""


def digest_of(box: Box, reference: ImageReference) -> str:
    """Return the digest of an image, which a box of containers knows, and that of runners."""
    resolve: Callable[[ImageReference], str] = getattr(box, "digest")  # noqa: B009 - which the box of commands lacks
    return resolve(reference)


def choose_box(name: BoxName, runtime: str = "", run_class: RunClass = "open") -> Box:
    """Return a box for a class of runs that works here; `auto` takes an engine where one answers, else bubblewrap.

    Raises:
        Unavailable: none can be had; the message says what each lacks.
    """
    lacks = []
    for candidate in list(BOXES) if name == "auto" else [name]:
        box = BOXES[candidate](runtime=runtime, run_class=run_class)
        try:
            box.check()
        except NoBox as error:
            lacks.append(str(error))
        else:
            return box
    raise Unavailable("; ".join(lacks))
