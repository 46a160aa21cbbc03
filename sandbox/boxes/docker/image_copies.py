"""Flattened copies of images for runs without an exit, so that they share no layer with other runs.

Containers of one image, and of two images that share a layer, read the same files of the engine's store, whose cached
pages can carry a message between them (`sandbox.isolation.program_copies`). So a run without an exit never uses the
image itself, but a copy of it: its files in one new layer, under a name that tells the image and the class.

An engine keeps equal layers once. A random file that nobody can read in a container makes each copy a layer that
nobody else can build, not even whoever knows every byte of the image.

Program, variables and folder are read from the image itself; a copy holds only files.
"""

from __future__ import annotations

import io
import re
import secrets
import tarfile
from dataclasses import replace

from sandbox.boxes.docker.container_config import RUNNER_LABEL
from sandbox.boxes.docker.engine import Engine
from sandbox.boxes.docker.images import EngineImage
from sandbox.errors import NotFound
from sandbox.image_reference import ImageReference
from sandbox.isolation.run_classes import RunClass
from sandbox.runner_identity import runner

PREFIX = "quarterturn-copy-"
SALT = ".quarterturn-copy"
_COPY = re.compile(rf"{PREFIX}[a-z]+:(?P<id>[0-9a-f]{{64}})")


class ImageCopies:
    """Copies of images for one class in one engine; runs that have an exit use the images themselves.

    Args:
        engine: the engine.
        run_class: the class.
    """

    def __init__(self, engine: Engine, run_class: RunClass) -> None:
        self._engine, self._class = engine, run_class

    def of(self, image: EngineImage) -> EngineImage:
        """Return an image as it runs in this class; its copy is made where there is none.

        Raises:
            Unavailable: the engine could not copy it; the message says why.
        """
        if self._class == "open":
            return image
        name = ImageReference.parse(f"{PREFIX}{self._class}:{image.id.removeprefix('sha256:')}")
        try:
            return replace(image, files=self._engine.image(name).Id)
        except NotFound:
            return replace(image, files=self._made(image, name))

    def remove_old(self) -> None:
        """Remove the copies, of all classes, whose images the engine has no more."""
        for copy in filter(None, map(_COPY.fullmatch, self._engine.names(f"{PREFIX}*"))):
            try:
                self._engine.image(ImageReference.parse(f"sha256:{copy['id']}"))
            except NotFound:
                self._engine.remove_image(ImageReference.parse(copy[0]))

    def _made(self, image: EngineImage, name: ImageReference) -> str:
        config = {"Image": image.id, "Cmd": ["/"], "NetworkDisabled": True, "Labels": {RUNNER_LABEL: runner()}}
        container = self._engine.create(config)
        try:
            return self._engine.flatten(container, salt(), name)
        finally:
            container.remove()


def salt() -> bytes:
    """Return the beginning of a tar: one file of random bytes that only root could read, and no end."""
    entry, content = tarfile.TarInfo(SALT), secrets.token_bytes(32)
    entry.size, entry.mode = len(content), 0
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(entry, io.BytesIO(content))
        return archive.getvalue()  # before the archive is closed, which would end it
