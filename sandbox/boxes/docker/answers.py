"""Documents of the Docker Engine API, as far as we read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from sandbox.remote_document import RemoteDocument

Id = Annotated[str, Field(min_length=1, max_length=256)]


class EngineVersion(RemoteDocument):
    """What the engine is; the version is that of its API."""

    ApiVersion: Annotated[str, Field(pattern=r"^[0-9]{1,4}\.[0-9]{1,4}$")]
    Os: str = "linux"
    Arch: str = ""


class EngineInfo(RemoteDocument):
    """What the engine can do; the keys are the names of its OCI runtimes."""

    Runtimes: Mapping[str, Any]


class ContainerState(RemoteDocument):
    """How a container stands."""

    Running: bool = False
    Status: str = ""
    ExitCode: int | None = None
    OOMKilled: bool = False
    Pid: Annotated[int, Field(ge=0)] = 0


class InspectedContainer(RemoteDocument):
    """One container."""

    State: ContainerState


class CreatedContainer(RemoteDocument):
    """A container that was made."""

    Id: Id


class HostConfig(RemoteDocument):
    """The part of a container's configuration that is the machine's."""

    NetworkMode: str = ""


class ListedContainer(RemoteDocument):
    """A container in a list."""

    Id: Id
    Labels: Mapping[str, str]
    HostConfig: HostConfig


class ListedImage(RemoteDocument):
    """An image in a list."""

    RepoTags: tuple[str, ...] | None = None


class ImageConfig(RemoteDocument):
    """What an image declares."""

    Entrypoint: tuple[str, ...] | None = None
    Cmd: tuple[str, ...] | None = None
    Volumes: Mapping[str, Any] | None = None
    Env: tuple[str, ...] | None = None
    WorkingDir: str | None = None


class InspectedImage(RemoteDocument):
    """One image."""

    Id: Id
    RepoTags: tuple[str, ...] | None = None
    Config: ImageConfig | None = None
    Os: str | None = None
    Architecture: str | None = None
    Size: Annotated[int, Field(ge=0)] | None = None


class EngineError(RemoteDocument):
    """Why a request was refused."""

    message: str
