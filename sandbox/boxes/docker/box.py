"""Docker box, the official one: containers whose only network is a loopback without a route.

    world:  no network, our init is its PID 1, and the runner holds the only channel to it
    relay:  no network; copies bytes between its loopback and the gateway's socket
    agent:  on the relay's loopback; sees that, and neither the socket nor the relay's process

`sandbox.boxes.docker.container_config` isolates each of them, `sandbox.boxes.docker.images` decides which images can
run there, and `sandbox.boxes.docker.engine` makes every request to the engine.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from sandbox.boxes import policy
from sandbox.boxes.box import PORT, SOCKET_NAME, BoxRecipe, Program, ResourceLimits
from sandbox.boxes.docker.attachment import STDOUT
from sandbox.boxes.docker.container_config import RUNNER_LABEL, IsolatedProgram
from sandbox.boxes.docker.engine import Container, Engine
from sandbox.boxes.docker.image_copies import ImageCopies
from sandbox.boxes.docker.images import EngineImage, Images
from sandbox.boxes.docker.mounted_files import MountedFiles
from sandbox.boxes.docker.place import DockerPlace, Relay
from sandbox.boxes.docker.world import DockerWorld
from sandbox.boxes.place import random_address
from sandbox.errors import NotFound, Refused, Unavailable
from sandbox.image_reference import ImageReference
from sandbox.images.build import added
from sandbox.isolation.run_classes import RunClass
from sandbox.kinds.common.state_kind import DATA
from sandbox.runner_identity import remove_old_folders, runner, runner_lives
from sandbox.servers.server import Server
from sandbox.world.channel import WorldChannel
from sandbox.world.frozen import Seed

WORLD_IMAGE, RELAY_IMAGE = "quarterturn-world:latest", "quarterturn-relay:latest"
AGENT_IMAGE = "quarterturn-agent-llm:latest"  # where a command runs: it has the clients of MCP and of language models
SOCKETS = "/gw"


class DockerBox:
    """Containers of a local engine (`sandbox.boxes.box.Box`).

    Args:
        world_image: the image that worlds are made from.
        relay_image: the image that holds `relay` and `lock`.
        agent_image: the image in which a submission runs that is a command.
        runtime: another OCI runtime that the engine knows, or None for its default.
        run_class: of the runs that are played in it; those without an exit run from copies of the images.
    """

    name = "docker"
    official = True

    def __init__(
        self,
        world_image: str = WORLD_IMAGE,
        relay_image: str = RELAY_IMAGE,
        agent_image: str = AGENT_IMAGE,
        runtime: str | None = None,
        run_class: RunClass = "open",
    ) -> None:
        names = (world_image, relay_image, agent_image)
        self._world_image, self._relay_image, self._agent_image = map(ImageReference.parse, names)
        self.runtime = runtime
        self._is_usual = names == (WORLD_IMAGE, RELAY_IMAGE, AGENT_IMAGE) and type(self) is DockerBox
        self._run_class = run_class
        self._engine = Engine()
        self._images = Images(self._engine)
        self._copies = ImageCopies(self._engine, run_class)
        self._seen: dict[str, str] = {}  # the copies by the id of their images
        self._making = threading.Lock()

    def check(self) -> None:
        """Make sure that an engine answers, has our images and room for a container, and remove what was left.

        Raises:
            Unavailable: it does not, or has not; the message says what to do.
        """
        self._engine.ping()
        if self.runtime is not None and self.runtime not in (known := self._engine.runtimes()):
            raise Unavailable(
                f"the engine knows no runtime {self.runtime!r}, but {', '.join(known)}: name it in the engine's "
                "daemon.json, and restart the engine"
            )
        self._images.forget()
        self._seen.clear()
        for image in self._own_images:
            try:
                self._image(image)
            except NotFound as error:
                raise Unavailable(f"the engine has no image {image}: build it with `./run images`") from error
        self.reap()
        self._copies.remove_old()
        self.file_of(self._relay_image, "/lock")

    @property
    def recipe(self) -> BoxRecipe | None:
        """What another process makes the same box from.

        Raises:
            NotFound: the engine has not all our images.
        """
        if not self._is_usual:
            return None
        ids = tuple(self._images.find(image).id for image in self._own_images)
        return BoxRecipe(self.name, self._run_class, self.runtime or "", ids)

    def disconnect(self) -> None:
        """Close the connections to the engine; the next request opens another."""
        self._engine.disconnect()

    def hold_images(self) -> None:
        """Look our images up now, and disconnect: processes that are forked from this one know them too.

        Raises:
            NotFound: the engine has not all of them.
            Unavailable: it cannot be asked.
        """
        for image in self._own_images:
            self._image(image)
        _ = self._lock_program
        self.disconnect()

    @property
    def _own_images(self) -> tuple[ImageReference, ...]:
        return self._world_image, self._relay_image, self._agent_image

    def digest(self, reference: ImageReference) -> str:
        """Return the engine's digest of an image: `sha256:` and 64 hexadecimal digits.

        Raises:
            NotFound: the engine has no such image.
        """
        return self._images.find(reference).id

    def fits(self, program: Program) -> None:
        """Make sure that a program can be started here, as far as can be known before anything of it runs.

        Raises:
            NotFound: the engine has no such image.
            Refused: it cannot be run behind this wall; the message says why.
            Unavailable: the engine cannot be asked.
        """
        image = self._image_of(program)
        image.words(program.command_inside)
        if program.folder is not None:
            policy.must_be_readable(program.folder)
        try:
            self._try(image)
        except Unavailable as error:
            self._try(self._image(self._agent_image))  # or is it the engine?
            raise Refused(f"nothing can be started in the image {image.name}: {error}") from error

    def reap(self) -> int:
        """Remove the containers of runners that are gone, with the folders laid over them, and say how many."""
        remove_old_folders()
        left = [labelled for labelled in self._engine.labelled(RUNNER_LABEL) if not runner_lives(labelled.label)]
        for labelled in sorted(left, key=lambda labelled: labelled.network.startswith("container:"), reverse=True):
            labelled.container.remove()
        return len(left)

    def world(self, servers: Sequence[Server], state: Seed, limits: ResourceLimits) -> DockerWorld:
        """Start a world; its servers come up while the caller goes on.

        Raises:
            Unavailable: the engine cannot be asked, or the image is missing.
            Refused: one of the servers is only being added, and is in no image yet.
        """
        self._engine.await_restart()
        image = self._world_of(servers)
        groups = policy.call_groups(servers)
        tmpfs, laid = (DATA, "/tmp"), self._laid(limits, groups)  # noqa: S108 - in there
        walled = IsolatedProgram(
            image, image.words(()), policy.WORLD_UID, limits, binds=laid, tmpfs=tmpfs, stdin=True, groups=groups
        )
        with contextlib.ExitStack() as undo:
            container = self._create(walled, undo)
            channel = WorldChannel(container.attach(STDOUT, stdin=True))
            undo.callback(channel.close)
            container.start()
            channel.open(policy.server_documents(servers), state, DATA)
            undo.pop_all()
        return DockerWorld(container, channel)

    def place(self, program: Program, sockets: Path, limits: ResourceLimits) -> DockerPlace:
        """Start a relay and, once it listens, create and attach the agent's container.

        Raises:
            NotFound: the engine has no such image.
            Refused: the image cannot be run behind this wall; the message says why.
            Lost: the relay did not come up.
        """
        self._engine.await_restart()
        image = self._image_of(program)
        binds, folder = self._laid(limits), None
        if program.folder is not None:
            policy.must_be_readable(program.folder)
            folder = program.seen_at
            binds[folder] = program.folder.resolve()
        policy.let_relay_in(sockets)
        environment = policy.agent_environment(program)
        words = program.command_inside if program.image is None else image.words(program.command_inside)
        with contextlib.ExitStack() as undo:
            ended = threading.Event()
            relay = self._relay(sockets, ended, undo)
            walled = IsolatedProgram(
                image,
                words,
                policy.AGENT_UID,
                limits,
                network=f"container:{relay.container.id}",
                binds=binds,
                tmpfs=("/tmp", *image.volumes),  # noqa: S108 - in there
                environment=environment,
                folder=folder,
            )
            agent = self._create(walled, undo)
            made = DockerPlace(relay, agent, agent.attach(None), limits.output, ended)
            undo.pop_all()
        return made

    def file_of(self, reference: ImageReference, path: str) -> bytes:
        """Read one file out of an image, without starting it."""
        config = {
            "Image": self._images.find(reference).id,
            "Cmd": [path],
            "NetworkDisabled": True,
            "Labels": {RUNNER_LABEL: runner()},
        }
        container = self._engine.create(config)
        try:
            return self._engine.read(container, path)
        finally:
            container.remove()

    def _relay(self, sockets: Path, ended: threading.Event, undo: contextlib.ExitStack) -> Relay:
        image = self._image(self._relay_image)
        words = [*image.words(()), str(PORT), f"{SOCKETS}/{SOCKET_NAME}", str(policy.RELAY_UID)]
        words.append(socket.inet_ntoa(random_address()))
        binds = self._laid(policy.RELAY_LIMITS) | {SOCKETS: sockets.resolve()}
        container = self._create(
            IsolatedProgram(image, words, policy.RELAY_UID, policy.RELAY_LIMITS, binds=binds, becomes=True), undo
        )
        relay = Relay(container, container.attach(STDOUT))
        undo.callback(relay.close)
        relay.start(ended)
        return relay

    def _try(self, image: EngineImage) -> None:
        """Start a program of ours in an image: its root can be mounted, the walls stand, and nothing of it runs."""
        with contextlib.ExitStack() as undo:
            tmpfs, laid = ("/tmp", *image.volumes), self._laid(ResourceLimits())  # noqa: S108 - in there
            walled = IsolatedProgram(image, [], policy.AGENT_UID, ResourceLimits(), binds=laid, tmpfs=tmpfs)
            self._create(walled, undo).start()

    def _image_of(self, program: Program) -> EngineImage:
        """Return the image in which a program runs."""
        return self._image(ImageReference.parse(program.image) if program.image is not None else self._agent_image)

    def _image(self, reference: ImageReference) -> EngineImage:
        """Return an image as runs of our class see it."""
        image = self._images.find(reference)
        with self._making:
            if image.id not in self._seen:
                self._seen[image.id] = self._copies.of(image).files
            return replace(image, files=self._seen[image.id])

    def _world_of(self, servers: Sequence[Server]) -> EngineImage:
        """Return the image of a world with these servers: with added ones, that of their home.

        Raises:
            Unavailable: the engine does not have it.
            Refused: a server is only being added.
        """
        homes = {server.folder.parent for server in servers if server.folder is not None}
        if not homes:
            return self._image(self._world_image)
        if any(server.folder is not None and server.folder.name != server.name for server in servers):
            raise Refused("no image has a server that is only being added: add it in the bwrap box (`--box bwrap`)")
        (home,) = homes
        tag = added(home).tag(self._images.find(self._world_image).id)
        try:
            return self._image(ImageReference.parse(tag))
        except NotFound:
            raise Unavailable(
                f"the engine has no image with the servers that this home has added: `quarterturn server image --home "
                f"{home.parent}` builds it"
            ) from None

    def _create(self, walled: IsolatedProgram, undo: contextlib.ExitStack) -> Container:
        runtime = self.runtime if walled.uid != policy.RELAY_UID else None  # the relay is ours, and opens our socket
        container = self._engine.create(walled.document(runtime))
        undo.callback(container.remove)
        return container

    def _laid(self, limits: ResourceLimits, groups: Sequence[str] = ()) -> dict[str, Path]:
        with self._making:
            return self._locks.binds(limits.memory, groups)

    @cached_property
    def _locks(self) -> MountedFiles:
        return MountedFiles(self._lock_program)

    @cached_property
    def _lock_program(self) -> bytes:
        return self.file_of(self._relay_image, "/lock")
