"""The official box: Docker containers on one loopback that leads nowhere.

    world:  --network none; our init is its PID 1, and the runner holds the only channel to it
    relay:  --network none, --dns 127.0.0.1; copies bytes between its loopback and the gateway's socket
    agent:  --network container:<relay>; sees that loopback, and neither the socket nor the relay's process

Each is read-only, has a tmpfs of a size, no capability, no new privileges, a user of its own, and caps on memory (with
no swap beside it), processes and CPU. The engine's default system-call profile stays in force and `sandbox.seccomp` is
stacked on it: `lock`, laid over the image, loads the filter and becomes the image's own entry point. What a container
prints goes to no log of the engine, but through an attachment of ours that keeps little. Volumes that an image declares
become tmpfs, since an engine's volume has no size. Labels of images, their health checks and exit codes mean nothing.

This is the one module that imports the Docker SDK.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import socket
import tarfile
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound
from docker.errors import NotFound as Gone
from docker.models.containers import Container
from docker.models.images import Image
from requests.exceptions import RequestException

from sandbox import policy, seccomp
from sandbox.attachment import STDOUT, Attachment
from sandbox.box import PORT, SOCKET_NAME, Facts, Limits, Program
from sandbox.channel import Channel, Exit
from sandbox.errors import Lost, NotFound, Refused, Unavailable
from sandbox.output import Output
from sandbox.runner import runner, runner_lives
from sandbox.servers.server import DATA, Server
from verifiers.views import Tree

WORLD_IMAGE, RELAY_IMAGE = "quarterturn-world:latest", "quarterturn-relay:latest"
AGENT_IMAGE = "quarterturn-agent-rulebook:latest"  # where a submission that is a command runs: it has the MCP client
LOCK, FILTER, SOCKETS = "/.lock", "/.filter", "/gw"
LOCKS = "quarterturn-lock-"  # how the folders with these two are called on this machine
RUN_LABEL, RUNNER_LABEL = "quarterturn.run", "quarterturn.runner"
START_SECONDS = 20.0
POLL_SECONDS = 0.1
BROKEN = (DockerException, RequestException, OSError)


def facts(container: Container) -> Facts:
    """Ask the engine how a container stands."""
    try:
        container.reload()
        state = container.attrs["State"]
    except BROKEN:
        return Facts(running=False, lost=True)
    if state.get("Running") or state.get("Status") == "created":
        return Facts(running=True)
    return Facts(running=False, exit_code=state.get("ExitCode"), out_of_memory=bool(state.get("OOMKilled")))


def remove(container: Container) -> None:
    """Kill and remove a container, and wait until it is gone."""
    deadline = time.monotonic() + 10
    with contextlib.suppress(*BROKEN):
        while time.monotonic() < deadline:
            try:
                container.remove(force=True, v=True)
            except Gone:
                return
            except APIError:  # another removal is under way
                time.sleep(POLL_SECONDS)


class DockerWorld:
    """A world in a container (`sandbox.box.World`)."""

    def __init__(self, client: docker.DockerClient, container: Container, channel: Channel) -> None:
        self._client, self._container, self._channel = client, container, channel
        self._since = int(time.time()) - 2  # the engine's clock, which for a local engine is ours
        self._last: Facts | None = None

    @property
    def exits(self) -> tuple[Exit, ...]:
        """The servers that ended by themselves so far."""
        return self._channel.exits

    def channel(self) -> socket.socket:
        """Give the gateway's end of the channel."""
        return self._channel.gateway_end()

    def freeze(self, timeout: float) -> Tree:
        """Stop everything in it and read the state out; see `sandbox.channel.Channel.freeze`."""
        return self._channel.freeze(timeout)

    def facts(self) -> Facts:
        """Say how the container stands, or stood when it was removed."""
        if self._last is not None:
            return self._last
        seen = facts(self._container)
        return replace(seen, out_of_memory=seen.out_of_memory or self._had_too_little_memory())

    def close(self) -> None:
        """Remove it; safe to call twice."""
        if self._last is None:
            self._last = replace(self.facts(), running=False)
            self._channel.close()
            remove(self._container)

    def _had_too_little_memory(self) -> bool:
        """Ask for what the engine noted: it says so of a container only once that has ended, and a world lives on."""
        wanted = {"container": self._container.id, "event": "oom"}
        until: Any = f"{time.time():.9f}"  # past events only: in whole seconds it would wait, or miss the last one
        try:
            noted = self._client.api.events(since=self._since, until=until, filters=wanted, decode=True)
            with contextlib.closing(noted):
                return next(iter(noted), None) is not None
        except BROKEN:
            return False


class DockerPlace:
    """A relay that listens, and beside it an agent's container that was not started (`sandbox.box.Place`)."""

    def __init__(self, relay: Container, agent: Container, attachment: Attachment, cap: int) -> None:
        self._relay, self._agent, self._attachment, self._cap = relay, agent, attachment, cap
        self._closed = False

    def start(self) -> DockerAgent:
        """Start the agent's container."""
        with _asked("starting an agent"):
            self._agent.start()
        return DockerAgent(self, self._relay, self._agent, Output(self._attachment, self._cap))

    def close(self) -> None:
        """Kill and remove both; safe to call twice."""
        if not self._closed:
            self._closed = True
            remove(self._agent)
            remove(self._relay)
            self._attachment.close()


class DockerAgent:
    """A relay and an agent, in two containers with one loopback (`sandbox.box.Agent`)."""

    def __init__(self, place: DockerPlace, relay: Container, agent: Container, output: Output) -> None:
        self._place, self._relay, self._agent, self._output = place, relay, agent, output
        self._last: Facts | None = None

    def wait(self, timeout: float) -> Facts:
        """Wait until the agent ends; the relay's end is the agent's, and a fact of its own."""
        deadline = time.monotonic() + timeout
        while self._last is None:
            seen = facts(self._agent)
            if not seen.running:
                self._last = seen
            elif not (relay := facts(self._relay)).running:
                self._last = Facts(running=False, lost=relay.lost, relay_died=not relay.lost)
            elif time.monotonic() >= deadline:
                return seen
            else:
                # The end of what it prints is most often its own end; it may also have closed its streams.
                left = max(deadline - time.monotonic(), 0)
                if self._output.ended.wait(min(POLL_SECONDS, left)):
                    time.sleep(min(POLL_SECONDS / 10, left))
        return self._last

    def output(self) -> str:
        """Give what it printed, escaped and cut at the cap."""
        return self._output.text()

    def kill(self) -> None:
        """Kill and remove both; safe to call twice."""
        self._last = self._last or Facts(running=False)
        self._place.close()
        self._output.close()


class DockerBox:
    """Containers of a local engine (`sandbox.box.Box`).

    Args:
        world_image: the image that worlds are made from.
        relay_image: the image that holds `relay` and `lock`.
        agent_image: the image in which a submission runs that is a command.
        runtime: another OCI runtime that the engine knows, or None for its default.
    """

    name = "docker"
    official = True

    def __init__(
        self,
        world_image: str = WORLD_IMAGE,
        relay_image: str = RELAY_IMAGE,
        agent_image: str = AGENT_IMAGE,
        runtime: str | None = None,
    ) -> None:
        self._world_image, self._relay_image, self._agent_image = world_image, relay_image, agent_image
        self._runtime = runtime
        self._making = threading.Lock()

    def check(self) -> None:
        """Make sure that an engine answers and has our images, and remove what a killed runner left.

        Raises:
            Unavailable: it does not, or has not; the message says what to do.
        """
        with _asked("looking at the engine"):
            self._client.ping()
        for image in (self._world_image, self._relay_image, self._agent_image):
            try:
                self._image(image)
            except NotFound as error:
                raise Unavailable(f"the engine has no image {image}: run ./run setup with Docker running") from error
        self.reap()

    def digest(self, reference: str) -> str:
        """Give the engine's digest of an image: `sha256:` and 64 hexadecimal digits.

        Raises:
            NotFound: the engine has no such image.
        """
        return str(self._image(reference).id)

    def reap(self) -> int:
        """Remove the containers of runners that are gone, with the folders laid over them, and say how many."""
        for folder in Path(tempfile.gettempdir()).glob(f"{LOCKS}*"):
            with contextlib.suppress(OSError):
                if folder.stat().st_uid == os.geteuid() and not runner_lives((folder / "runner").read_text()):
                    shutil.rmtree(folder, ignore_errors=True)
        with _asked("looking for leftovers"):
            ours = self._client.containers.list(all=True, filters={"label": RUNNER_LABEL}, ignore_removed=True)
        left = [container for container in ours if not runner_lives(container.labels.get(RUNNER_LABEL, ""))]
        for container in sorted(left, key=lambda one: "container:" in one.attrs["HostConfig"]["NetworkMode"]):
            remove(container)
        return len(left)

    def world(self, servers: Sequence[Server], state: Tree, limits: Limits) -> DockerWorld:
        """Start a world; its servers come up while the caller goes on.

        Raises:
            Unavailable: the engine cannot be asked, or the image is missing.
        """
        image = self._image(self._world_image)
        tmpfs = {place: _tmpfs(limits.tmpfs, policy.WORLD_UID) for place in (DATA, "/tmp")}  # noqa: S108 - in there
        with _asked("starting a world"), _removed_on_failure() as made:
            container = self._create(image, [], policy.WORLD_UID, limits, tmpfs=tmpfs, stdin_open=True, **ALONE)
            made.append(container)
            stream = self._attach(container, stdin=True, only=STDOUT)
            channel = Channel(stream)
            try:
                container.start()
                channel.open(policy.server_documents(servers), state, DATA)
            except BaseException:
                channel.close()
                raise
        return DockerWorld(self._client, container, channel)

    def place(self, program: Program, sockets: Path, limits: Limits) -> DockerPlace:
        """Start a relay and, once it listens, create and attach the agent's container.

        Raises:
            NotFound: the engine has no such image.
            Refused: the image cannot be run behind this wall; the message says why.
            Lost: the relay did not come up.
        """
        image = self._image(program.image or self._agent_image)
        volumes = {}
        if program.folder is not None:
            policy.must_be_readable(program.folder)
            volumes = {str(program.folder.resolve()): {"bind": str(program.folder.absolute()), "mode": "ro"}}
        policy.let_relay_in(sockets)
        command = list(program.command)
        tmpfs = dict.fromkeys(("/tmp", *_declared(image)), _tmpfs(limits.tmpfs, policy.AGENT_UID))  # noqa: S108
        environment = policy.agent_environment(program)
        with _asked("preparing an agent"), _removed_on_failure() as made:
            relay = self._relay(sockets, made)
            agent = self._create(
                image,
                command,
                policy.AGENT_UID,
                limits,
                tmpfs=tmpfs,
                volumes=volumes,
                environment=environment,
                network_mode=f"container:{relay.id}",
                entrypoint=[] if program.image is None else None,
                working_dir=str(program.folder.absolute()) if program.folder else None,
            )
            made.append(agent)
            attachment = self._attach(agent, only=None)
        return DockerPlace(relay, agent, attachment, limits.output)

    def _relay(self, sockets: Path, made: list[Container]) -> Container:
        relay = self._create(
            self._image(self._relay_image),
            [str(PORT), f"{SOCKETS}/{SOCKET_NAME}"],
            policy.RELAY_UID,
            policy.RELAY_LIMITS,
            volumes={str(sockets.resolve()): {"bind": SOCKETS, "mode": "ro"}},
            **ALONE,
        )
        made.append(relay)
        attachment = self._attach(relay, only=STDOUT)
        try:
            attachment.settimeout(START_SECONDS)
            relay.start()
            said = b""
            while b"\n" not in said:
                data = attachment.read(64)
                if not data:
                    raise Lost("the relay did not come up: is the gateway's socket there, and may the relay open it?")
                said += data
        except TimeoutError as error:
            raise Lost(f"the relay did not come up within {START_SECONDS:g} s") from error
        finally:
            attachment.close()
        return relay

    def _create(
        self,
        image: Image,
        command: Sequence[str],
        uid: int,
        limits: Limits,
        *,
        entrypoint: Sequence[str] | None = None,
        volumes: dict[str, dict[str, str]] | None = None,
        **more: Any,
    ) -> Container:
        """Create a container with every wall that agent, relay and world have in common."""
        config = image.attrs.get("Config") or {}
        first = list(config.get("Entrypoint") or []) if entrypoint is None else list(entrypoint)
        words = [*first, *(command or config.get("Cmd") or [])]
        if not words:
            raise Refused(f"the image {image.tags or image.id} names no program: give it an ENTRYPOINT")
        caps = policy.rlimits(limits)
        locks = {
            str(self._locks / "lock"): {"bind": LOCK, "mode": "ro"},
            str(self._locks / "filter"): {"bind": FILTER, "mode": "ro"},
        }
        return self._client.containers.create(
            image,
            words,
            entrypoint=[LOCK, FILTER, "--"],
            user=f"{uid}:{uid}",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            ipc_mode="none",
            mem_limit=limits.memory,
            memswap_limit=limits.memory,
            mem_swappiness=0,
            pids_limit=limits.pids,
            nano_cpus=int(limits.cpus * 1_000_000_000),
            ulimits=[docker.types.Ulimit(name=name, soft=cap, hard=cap) for name, cap in caps.items()],
            log_config=docker.types.LogConfig(type="none"),
            healthcheck={"test": ["NONE"]},
            labels={RUN_LABEL: secrets.token_hex(8), RUNNER_LABEL: runner()},
            runtime=self._runtime,
            volumes={**locks, **(volumes or {})},
            **more,
        )

    def _attach(self, container: Container, *, only: int | None, stdin: bool = False) -> Attachment:
        wanted = {"stdin": int(stdin), "stdout": 1, "stderr": int(only is None), "stream": 1}
        return Attachment(self._client.api.attach_socket(str(container.id), params=wanted), only)

    def _image(self, reference: str) -> Image:
        with _asked(f"looking for the image {reference}"):
            try:
                image = self._client.images.get(reference)
            except ImageNotFound as error:
                raise NotFound(f"the engine has no image {reference}: build it or pull it first") from error
            machine = self._client.version().get("Arch")
        if machine and image.attrs.get("Architecture") not in (None, "", machine):
            raise Refused(f"the image {reference} is for {image.attrs['Architecture']}; this engine runs {machine}")
        return image

    @cached_property
    def _client(self) -> docker.DockerClient:
        _knock(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
        with _asked("reaching the engine"):
            client = docker.from_env(timeout=60)
        weakref.finalize(self, client.close)
        return client

    @property
    def _locks(self) -> Path:
        """A folder with `lock` and the filter, to lay over every container; nothing in it is secret."""
        with self._making:
            return self._locks_made

    @cached_property
    def _locks_made(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix=LOCKS))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)
        (folder / "runner").write_text(runner())
        (folder / "filter").write_bytes(seccomp.program())
        (folder / "lock").write_bytes(self.file_of(self._relay_image, "/lock"))
        (folder / "lock").chmod(0o755)
        (folder / "filter").chmod(0o644)
        return folder

    def file_of(self, reference: str, path: str) -> bytes:
        """Read one file out of an image, without starting it."""
        labels = {RUNNER_LABEL: runner()}
        container = self._client.containers.create(self._image(reference), network_mode="none", labels=labels)
        try:
            chunks, _ = container.get_archive(path)
            with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as tar:
                file = tar.extractfile(tar.next() or path)
                return file.read() if file else b""
        finally:
            remove(container)


ALONE: dict[str, Any] = {"network_mode": "none", "dns": ["127.0.0.1"], "hostname": "agent"}


def _tmpfs(size: int, uid: int) -> str:
    return f"size={size},mode=0700,uid={uid},gid={uid},nosuid,nodev"


def _declared(image: Image) -> list[str]:
    """The volumes that an image declares: an engine would give each a folder of the host without a size."""
    places = list((image.attrs.get("Config") or {}).get("Volumes") or {})
    for place in places:
        if not place.startswith("/") or ".." in Path(place).parts or Path(place) == Path("/"):
            raise Refused(f"the image declares a volume at {place[:80]!r}, which is no folder of its own: remove it")
    return places


def _knock(address: str) -> None:
    """See whether anybody answers: the SDK would leave its socket open where nobody does."""
    if not address.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(address.removeprefix("unix://"))
        except OSError as error:
            said = f"{address}: {error.strerror or error}"
            raise Unavailable(f"no Docker engine answers at {said}; start one, and be allowed to use it") from error


@contextlib.contextmanager
def _asked(what: str) -> Iterator[None]:
    """Turn what the SDK raises into one sentence."""
    try:
        yield
    except (DockerException, RequestException) as error:
        said = getattr(error, "explanation", None) or str(error)
        raise Unavailable(
            f"{what}: the Docker engine says {str(said)[:300]!r}; is it running, and may we use it?"
        ) from error


@contextlib.contextmanager
def _removed_on_failure() -> Iterator[list[Container]]:
    made: list[Container] = []
    try:
        yield made
    except BaseException:
        for container in reversed(made):
            remove(container)
        raise
