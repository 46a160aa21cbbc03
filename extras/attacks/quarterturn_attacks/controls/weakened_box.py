"""Weakened boxes, for positive controls only: no submission is ever run in one.

Kept: the namespaces, the relay, and the box's way of starting and ending a place. Removed is what each box lists.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from sandbox.attacks.harness.probing import SEEN_AT
from sandbox.boxes import policy
from sandbox.boxes.box import Box, Place, Program, ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox, BwrapPlace
from sandbox.boxes.bwrap.bwrap import Walls
from sandbox.boxes.docker.box import DockerBox
from sandbox.boxes.docker.container_config import IsolatedProgram
from sandbox.boxes.docker.engine import Container
from sandbox.boxes.docker.place import DockerPlace
from sandbox.isolation.program_copies import LINKED

CAPABILITIES: Mapping[str, int] = {  # linux/capability.h; none of them reaches beyond the namespaces of a place
    "DAC_OVERRIDE": 1,
    "DAC_READ_SEARCH": 2,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "NET_BIND_SERVICE": 10,
    "NET_ADMIN": 12,
    "NET_RAW": 13,
    "SYS_CHROOT": 18,
    "SYS_PTRACE": 19,
    "SYS_ADMIN": 21,
    "SYS_NICE": 23,
    "SYS_RESOURCE": 24,
    "MKNOD": 27,
}
LIFTED = {"nofile": 10240, "core": 1 << 20, "fsize": 1 << 41, "memlock": 10 << 16, "msgqueue": 400_000}
RESOLVER = b"nameserver 192.0.2.53\n"
ENGINE, PRIVATE, DEVICE, GATEWAY = "/run/docker.sock", "/mnt", "/dev/kvm", "/gw"


def grantable() -> list[str]:
    """Name those of the capabilities that we have ourselves, and so can leave to a place."""
    status = Path("/proc/self/status").read_text().split("CapBnd:")[1].split()[0]
    return [name for name, number in CAPABILITIES.items() if int(status, 16) >> number & 1]


class WeakenedBox(Protocol):
    """A weakened box."""

    def place(self, program: Program, sockets: Path, limits: ResourceLimits) -> Place:
        """Make an agent's place (`sandbox.boxes.box.AgentLauncher`)."""
        ...

    def process(self, place: Any) -> int:
        """Name a process that is in the place's network namespace."""
        ...


def weakened(box: Box, sockets: Path, folder: Path, *, shared: bool) -> WeakenedBox | None:
    """Return the weakened variant of a box, or None where it has none.

    Args:
        box: the box.
        sockets: the folder of the gateway's socket, which the agent will see.
        folder: the submission's folder, which the agent may write as root.
        shared: weaken nothing but the PID namespace.
    """
    if isinstance(box, DockerBox) and box.runtime is None:
        return WeakenedDocker(sockets, folder, shared=shared)
    return WeakenedBwrap(sockets, folder, shared=shared) if isinstance(box, BwrapBox) else None


def host_programs(walls: Walls) -> None:
    """Lay the host's own programs into a place, as they lie there, and what else is in its folders."""
    base = Path(sys.base_prefix).resolve()
    for place in (
        Path("/usr"),
        *([] if base.is_relative_to("/usr") else [base]),
        *(Path("/", name) for name in LINKED),
    ):
        if place.is_symlink():
            walls.add("--symlink", place.readlink(), place)
        elif place.is_dir():
            walls.bind(place, place)


class OpenWalls(Walls):
    """A bwrap with some capabilities, its own user, no filter, a writable root, and the host's programs.

    The masks over /proc are left out, too.
    """

    def add(self, *words: str | Path | int) -> None:
        """Append words, but for the filter, what covers /proc and what makes things read-only in the end."""
        if {"--seccomp", "--remount-ro"} & set(words[:1]):
            return
        if words and str(words[-1]).startswith("/proc/"):
            return
        if words and str(words[-1]) == "/etc/resolv.conf":
            words = (*words[:-2], self.data(RESOLVER), words[-1])
        super().add(
            *("--bind-data" if word == "--ro-bind-data" else "0644" if word == "0444" else word for word in words)
        )

    def _programs(self) -> None:
        host_programs(self)

    def _limited(self, program: Sequence[str], limits: ResourceLimits, *, grouped: bool) -> list[str]:
        caps = policy.rlimits(limits, grouped=grouped) | LIFTED
        return ["/usr/bin/prlimit", *(f"--{name}={value}" for name, value in caps.items()), "--", *program]


class SharedWalls(Walls):
    """A bwrap in the PID namespace of whoever started it."""

    def add(self, *words: str | Path | int) -> None:
        """Append words, but for those that make the namespace."""
        super().add(*(word for word in words if word not in ("--unshare-pid", "--as-pid-1")))


class WeakenedBwrap(BwrapBox):
    """Weakened bwrap box: `OpenWalls` around the agent, and stand-ins for what should never be there."""

    def __init__(self, sockets: Path, folder: Path, *, shared: bool) -> None:
        super().__init__()
        self._sockets, self._folder, self._shared = sockets, folder, shared
        self.walls = SharedWalls if shared else OpenWalls

    def process(self, place: BwrapPlace) -> int:
        """Name the place's own process."""
        return place.pid

    def _agent(self, program: Program, limits: ResourceLimits) -> Walls:
        walls = super()._agent(program, limits)
        if self._shared:
            return walls
        for name in grantable():
            walls.add("--cap-add", f"CAP_{name}")
        walls.add("--hostname", "control", "--bind", self._folder, SEEN_AT)
        walls.tmpfs("/usr/share", limits.tmpfs)
        walls.tmpfs("/dev/shm", limits.tmpfs)  # noqa: S108 - in the place
        walls.folder(PRIVATE)
        walls.add("--perms", "0644", "--file", walls.data(b"a stand-in\n"), f"{PRIVATE}/secret")
        walls.bind(self._sockets, GATEWAY)
        walls.bind(self._sockets / "gateway.sock", ENGINE)
        walls.add("--dev-bind", "/dev/null", DEVICE)
        return walls


class WeakenedDocker(DockerBox):
    """Weakened Docker box: agents are root in there, with no filter of ours or the engine's, and a writable root."""

    def __init__(self, sockets: Path, folder: Path, *, shared: bool) -> None:
        super().__init__()
        self._sockets, self._folder, self._shared = sockets, folder, shared

    def process(self, place: DockerPlace) -> int:
        """Name the relay's process."""
        return place.relay.container.pid()

    def _create(self, walled: IsolatedProgram, undo: contextlib.ExitStack) -> Container:
        document = walled.document()
        if walled.uid == policy.RELAY_UID:
            document["Hostname"] = "control"
        elif self._shared:
            document["HostConfig"]["PidMode"] = "host"
        else:
            self._lower(document)
        container = self._engine.create(document)
        undo.callback(container.remove)
        return container

    def _lower(self, document: dict[str, Any]) -> None:
        host = document["HostConfig"]
        own = self._folder.parent  # beside the probes, so that it goes with them
        (own / "resolv.conf").write_bytes(RESOLVER)
        (own / "hosts").write_bytes(b"127.0.0.1 localhost\n")
        caps = {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} | LIFTED
        document |= {"Entrypoint": [], "User": "0:0"}
        host |= {
            "ReadonlyRootfs": False,
            "CapAdd": grantable(),
            "SecurityOpt": ["seccomp=unconfined"],
            "MaskedPaths": [],
            "IpcMode": "private",
            "Ulimits": [{"Name": name, "Soft": cap, "Hard": cap} for name, cap in caps.items()],
            "Devices": [{"PathOnHost": "/dev/null", "PathInContainer": DEVICE, "CgroupPermissions": "rw"}],
        }
        laid = {
            f"{self._folder}": SEEN_AT,
            f"{own / 'resolv.conf'}": "/etc/resolv.conf",
            f"{own / 'hosts'}": "/etc/hosts",
            f"{self._sockets}": GATEWAY,
            f"{self._sockets / 'gateway.sock'}": ENGINE,
        }
        walled = [mount for mount in host["Mounts"] if mount["Target"] not in laid.values()]
        open_mounts = [{"Type": "bind", "Source": source, "Target": place} for source, place in laid.items()]
        host["Mounts"] = [*walled, *open_mounts]
