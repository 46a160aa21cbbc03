"""Metadata of images, read before anything of them runs, and the check whether an image can run here.

Of what an image declares, only its program, variables and working folder are used: `sandbox.boxes.docker .walls`
decides the rest.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import PurePosixPath

from sandbox.boxes.docker.answers import ImageConfig, InspectedImage
from sandbox.boxes.docker.engine import Engine
from sandbox.errors import Refused
from sandbox.image_reference import ImageReference

MAX_IMAGE_BYTES = 20 * 1024**3  # an engine lays an image under a container as it is, so its size costs a run nothing


@dataclass(frozen=True, slots=True)
class EngineImage:
    """One image of an engine.

    Attributes:
        name: how it was asked for.
        id: `sha256:` and 64 hexadecimal digits; what it names can never change.
        entrypoint: the words of its ENTRYPOINT.
        command: the words of its CMD.
        volumes: the folders that it declares as volumes.
        platform: the kind of system and of processor that it is for; empty where it does not say.
        size: bytes of all its layers.
        environment: its variables, as `NAME=value`.
        folder: where it starts.
        files: the id of the copy whose files a container sees, or empty where they are its own.
    """

    name: str
    id: str
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    platform: tuple[str, str] = ("", "")
    size: int = 0
    environment: tuple[str, ...] = ()
    folder: str = ""
    files: str = ""

    @classmethod
    def of(cls, reference: ImageReference, document: InspectedImage) -> EngineImage:
        """Take what we need from what the engine says."""
        config, tags = document.Config or ImageConfig(), document.RepoTags or ()
        return cls(
            tags[0] if tags and not reference.repository else str(reference),
            document.Id,
            config.Entrypoint or (),
            config.Cmd or (),
            tuple(config.Volumes or ()),
            (document.Os or "", document.Architecture or ""),
            document.Size or 0,
            config.Env or (),
            config.WorkingDir or "",
        )

    def words(self, command: tuple[str, ...]) -> list[str]:
        """Return the argument vector with which it starts; `command` stands in for its CMD.

        Raises:
            Refused: there is none.
        """
        words = [*self.entrypoint, *(command or self.command)]
        if not words:
            raise Refused(f"the image {self.name} names no program: give it an ENTRYPOINT, and build it again")
        return words

    def must_run_on(self, platform: tuple[str, str]) -> None:
        """Refuse what this engine could not run, or could not hold behind the wall.

        Raises:
            Refused: the message says why.
        """
        for its, ours in zip(self.platform, platform, strict=True):
            if its and ours and its != ours:
                raise Refused(f"the image {self.name} is for {its}; this engine runs {ours}: build it for that")
        if self.size > MAX_IMAGE_BYTES:
            raise Refused(
                f"the image {self.name} has {self.size / 1024**3:.1f} GiB; "
                f"at most {MAX_IMAGE_BYTES / 1024**3:g} are run here"
            )
        for place in self.volumes:
            path = PurePosixPath(place)
            if not path.is_absolute() or ".." in path.parts or path == PurePosixPath("/"):
                raise Refused(
                    f"the image {self.name} declares a volume at {place[:80]!r}, which is no folder of its own: "
                    "remove it"
                )


class Images:
    """Cache of image look-ups: a name is looked up once, so that it means one image to the end."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[ImageReference, EngineImage] = {}
        self._looking = threading.Lock()

    def find(self, reference: ImageReference) -> EngineImage:
        """Return an image that can run here.

        Raises:
            NotFound: the engine has none of that name.
            Refused: it cannot run here.
        """
        with self._looking:
            if reference not in self._known:
                image = EngineImage.of(reference, self._engine.image(reference))
                image.must_run_on(self._engine.platform)
                self._known[reference] = image
            return self._known[reference]

    def forget(self) -> None:
        """Look every name up anew."""
        with self._looking:
            self._known.clear()
