"""Client of the Docker engine: the few requests that we make, whose answers are read into models.

Plain values go in; plain values come out, or one of our errors with one sentence in it. A restarting engine is waited
for once: `RESTART_SECONDS` after it stopped answering, every request fails at once until the engine answers again.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import secrets
import socket
import tarfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from docker.errors import APIError, DockerException, ImageNotFound
from docker.errors import NotFound as Gone
from docker.transport.unixconn import UnixHTTPConnection
from docker.utils import convert_filters
from requests.exceptions import RequestException

from sandbox.boxes.box import ExitFacts
from sandbox.boxes.docker.answers import (
    ContainerState,
    CreatedContainer,
    EngineInfo,
    EngineVersion,
    InspectedContainer,
    InspectedImage,
    ListedContainer,
    ListedImage,
)
from sandbox.boxes.docker.attachment import Attachment
from sandbox.boxes.docker.strict_client import StrictApi, StrictDocker
from sandbox.errors import NotFound, Unavailable
from sandbox.image_reference import ImageReference
from sandbox.remote_document import excerpt, read_within

Document = Mapping[str, Any]

RESTART_SECONDS = 30.0
REMOVAL_SECONDS = 30.0  # an engine that has just come back is slow to let go of what ran meanwhile
POLL_SECONDS = 0.05
EVENT_SECONDS = 20.0  # between two bytes of what it noted
COPYING = 1800.0  # of an image, whose size is capped
MAX_FILE_BYTES = 64 << 20  # of a file that is read out of a container, as a tar
POOL = 64  # connections that are kept; each container that is attached to has one of its own
FULL = "no space left on device"
BROKEN = (DockerException, RequestException, OSError, Unavailable)


@dataclass(frozen=True)
class Container:
    """One container of ours, from its creation to its removal."""

    engine: Engine = field(repr=False)
    id: str

    def start(self) -> None:
        """Start it.

        Raises:
            Unavailable: the engine could not.
        """
        with asked("starting a container"):
            self.engine.api.start(self.id)

    def attach(self, only: int | None, *, stdin: bool = False) -> Attachment:
        """Attach to what it prints (one stream, or both), and to its standard input."""
        wanted = {"stdin": int(stdin), "stdout": 1, "stderr": int(only is None), "stream": 1}
        with asked("attaching to a container"):
            return Attachment(self.engine.api.attach_socket(self.id, params=wanted), only)

    def facts(self) -> ExitFacts:
        """Say how it stands; never raises."""
        try:
            state = self._state()
        except BROKEN:
            return ExitFacts(running=False, lost=True)
        if state.Running or state.Status == "created":
            return ExitFacts(running=True)
        return ExitFacts(running=False, exit_code=state.ExitCode, out_of_memory=state.OOMKilled)

    def pid(self) -> int:
        """Return the process that it is on this machine, while it runs.

        Raises:
            Unavailable: the engine cannot be asked.
        """
        with asked("looking at a container"):
            return self._state().Pid

    def _state(self) -> ContainerState:
        document = self.engine.api.read(InspectedContainer, "GET", "/containers/{0}/json", self.id)
        return document.State

    def had_too_little_memory(self, since: int) -> bool:
        """Ask for what the engine noted since then: it says so of a container only once that has ended."""
        filters = convert_filters({"container": self.id, "event": "oom"})
        until = f"{time.time():.9f}"  # past events only: in whole seconds it would wait, or miss the last one
        wanted = {"since": since, "until": until, "filters": filters}
        try:
            api = self.engine.api  # its own `events` would wait for ever
            with api.ask("GET", "/events", params=wanted, stream=True, timeout=EVENT_SECONDS) as noted:
                return bool(next(noted.iter_content(1), b""))
        except BROKEN:
            return False

    def kill(self) -> None:
        """Kill it and wait until the engine saw it end; nothing to do where it has."""
        with contextlib.suppress(*BROKEN):
            self.engine.api.kill(self.id)

    def remove(self) -> None:
        """Kill and remove it, and wait until it is gone; never raises. What cannot be removed now is kept for later."""
        deadline = time.monotonic() + REMOVAL_SECONDS
        with contextlib.suppress(*BROKEN):
            while time.monotonic() < deadline:
                try:
                    self.engine.api.remove_container(self.id, force=True, v=True)
                except Gone:
                    self.engine.left.discard(self.id)
                    return
                except APIError:  # another removal is under way
                    time.sleep(POLL_SECONDS)
        self.engine.left.add(self.id)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A container that was found by its label."""

    container: Container
    label: str
    network: str


class Engine:
    """Client of a local engine, connected when it is first needed."""

    def __init__(self) -> None:
        self.left: set[str] = set()  # containers, by id or name, that could not be removed when it was time
        self._given_up = False
        self._connecting = threading.Lock()

    def ping(self) -> None:
        """Make sure that it answers.

        Raises:
            Unavailable: it does not.
        """
        with asked("looking at the engine"):
            self.api.ping()
        self._given_up = False
        self.remove_left()

    def disconnect(self) -> None:
        """Close the connections that wait for the next request, which opens another."""
        if "_client" in self.__dict__:
            self._client.close()

    def remove_left(self) -> None:
        """Remove what could not be removed while it did not answer."""
        for container in tuple(self.left):
            Container(self, container).remove()

    def await_restart(self) -> None:
        """Wait until it answers: at once if it runs, and for a while if it did run before.

        Raises:
            Unavailable: it does not.
        """
        deadline = time.monotonic() + (0 if self._given_up else RESTART_SECONDS)
        while True:
            try:
                knock(self.address)
            except Unavailable:
                if time.monotonic() >= deadline:
                    self._given_up = True
                    raise
                time.sleep(POLL_SECONDS * 5)
            else:
                self._given_up = False
                self.remove_left()
                return

    @cached_property
    def platform(self) -> tuple[str, str]:
        """The kind of system and of processor that it runs images of, `("linux", "amd64")` for one."""
        with asked("looking at the engine"):
            version = self.api.read(EngineVersion, "GET", "/version")
        return version.Os, version.Arch

    def runtimes(self) -> list[str]:
        """Name the OCI runtimes that it knows."""
        with asked("looking at the engine"):
            info = self.api.read(EngineInfo, "GET", "/info")
        return sorted(info.Runtimes)

    def image(self, reference: ImageReference) -> InspectedImage:
        """Return what it knows of an image.

        Raises:
            NotFound: it has none of that name.
        """
        with asked(f"looking for the image {reference}"):
            try:
                document = self.api.read(InspectedImage, "GET", "/images/{0}/json", str(reference))
            except ImageNotFound as error:
                raise NotFound(f"the engine has no image {reference}: build it or pull it first") from error
        return document

    def names(self, pattern: str) -> list[str]:
        """Return the names of images that fit a pattern."""
        with asked("looking for copies of images"):
            filters = {"only_ids": 0, "all": 0, "filters": convert_filters({"reference": pattern})}
            images = self.api.read(tuple[ListedImage, ...], "GET", "/images/json", params=filters)
        return [name for image in images for name in image.RepoTags or ()]

    def remove_image(self, name: ImageReference) -> None:
        """Take a name from an image, and remove it if it has no other and nothing runs from it; never raises."""
        with contextlib.suppress(*BROKEN):
            self.api.ask("DELETE", "/images/{0}", str(name))

    def flatten(self, container: Container, head: bytes, name: ImageReference) -> str:
        """Make an image of the files of a container, in one layer, and give its id.

        Args:
            container: one that was not started.
            head: the beginning of a tar, whose files come first.
            name: the image's name.

        Raises:
            Unavailable: the engine could not.
        """
        wanted = {"fromSrc": "-", "repo": name.name, "tag": name.tag}
        with asked("copying an image"):
            api = self.api  # its own `import_image` would read the whole of it into memory
            files = itertools.chain([head], api.export(container.id))
            headers = {"Content-Type": "application/tar"}
            response = api.ask("POST", "/images/create", params=wanted, data=files, headers=headers, timeout=COPYING)
            if "errorDetail" in response.text:
                raise DockerException(excerpt(response.text[-300:]))
        return self.image(name).Id

    def create(self, config: Document) -> Container:
        """Create a container; `config` is the body of the Engine API's "Create a container".

        It has a name of our choice: an engine that goes away in between may have made it and not have told its id.

        Raises:
            NotFound: its image is not there any more.
        """
        name = f"quarterturn-{secrets.token_hex(8)}"
        with asked("making a container"):
            try:
                made = self.api.read(
                    CreatedContainer, "POST", "/containers/create", params={"name": name}, json=dict(config)
                )
                return Container(self, made.Id)
            except ImageNotFound as error:
                raise NotFound(f"the engine has no image {config['Image']} any more: somebody removed it") from error
            except BROKEN:
                self.left.add(name)
                raise

    def labelled(self, label: str) -> list[Labelled]:
        """Find all containers that have a label."""
        with asked("looking for leftovers"):
            filters = {"all": 1, "filters": convert_filters({"label": label})}
            containers = self.api.read(tuple[ListedContainer, ...], "GET", "/containers/json", params=filters)
        return [
            Labelled(Container(self, container.Id), container.Labels.get(label, ""), container.HostConfig.NetworkMode)
            for container in containers
        ]

    def read(self, container: Container, path: str) -> bytes:
        """Read one file out of a container."""
        with asked(f"reading {path}"):
            api = self.api  # its own `get_archive` reads a header that nobody here needs
            with api.ask("GET", "/containers/{0}/archive", container.id, params={"path": path}, stream=True) as sent:
                data = read_within(sent.iter_content(1 << 16), MAX_FILE_BYTES, f"the engine, asked for {path},")
            try:
                with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                    file = tar.extractfile(tar.next() or path)
                    return file.read() if file else b""
            except (tarfile.TarError, KeyError, EOFError):
                raise Unavailable(f"the Docker engine gave {path} as something that is no tar of a file") from None

    @property
    def address(self) -> str:
        """Where it listens."""
        return os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"

    @property
    def api(self) -> StrictApi:
        """The SDK's client."""
        knock(self.address)
        with self._connecting:
            return self._client.api

    @cached_property
    def _client(self) -> StrictDocker:
        try:
            client: Any = StrictDocker.from_env(timeout=60, max_pool_size=POOL)  # its stubs name the base
        except (DockerException, RequestException) as error:
            step = "start one, or correct DOCKER_HOST, with access for this user"
            raise Unavailable(f"no Docker engine answers at {self.address}: {_innermost(error)}; {step}") from error
        weakref.finalize(self, client.close)
        made: StrictDocker = client
        return made


def _innermost(error: BaseException) -> str:
    """Return the system's own reason at the bottom of the SDK's exception, or else how the exception begins."""
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, OSError) and below.errno and below.strerror:
            return below.strerror
        below = below.__cause__ or below.__context__
    return str(error)[:300]


def connect_or_close(connection: UnixHTTPConnection) -> None:
    """Connect as the SDK does, but leave no socket open where nobody answers."""
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(connection.timeout)
    try:
        connection.sock.connect(connection.unix_socket)
    except OSError:
        connection.close()
        raise


UnixHTTPConnection.connect = connect_or_close  # type: ignore[method-assign, assignment]


def knock(address: str) -> None:
    """Check whether anything answers at an address.

    Raises:
        Unavailable: nobody does.
    """
    if not address.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect(address.removeprefix("unix://"))
        except OSError as error:
            reason = f"{address}: {error.strerror or error}"
            raise Unavailable(f"no Docker engine answers at {reason}; start one, with access for this user") from error


@contextlib.contextmanager
def asked(what: str) -> Iterator[None]:
    """Turn an exception of the SDK into one sentence."""
    try:
        yield
    except (DockerException, RequestException) as error:
        explanation = str(getattr(error, "explanation", None) or error)
        hint = "is it running, and may this user use it?"
        if FULL in explanation:
            hint = "its disk is full: free some of it (docker system df shows what takes it), and start again"
        raise Unavailable(f"{what}: the Docker engine says {explanation[:300]!r}; {hint}") from error
