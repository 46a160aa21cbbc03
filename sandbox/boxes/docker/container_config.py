"""Container configuration that isolates agent, relay and world, as the engine's "Create a container" document.

Each container is read-only, has a tmpfs of a size, no capability, no new privileges, a user of its own, and caps on
memory (with no swap beside it), processes and CPU. The relay alone starts as root of its container, to give the
loopback an address of its own and close the network's counters to everybody in there, and becomes its user before it is
ready. The engine's default system-call profile stays in force and one of ours (`sandbox.isolation.filters`) is stacked
on it: `lock`, laid over the image, loads the filter and becomes the program. What a container prints goes to no log of
the engine. Volumes that an image declares become tmpfs, since an engine's volume has no size. Labels of images, their
health checks and exit codes mean nothing.

Of /proc a container has its own processes and a few files that never change, of /sys nothing
(`sandbox.isolation.masks`), unless gVisor brings a kernel of its own.

The engine sets up no network (`NetworkDisabled`): what is left is the kernel's own empty network namespace, with a
loopback and nothing else, and neither a resolver's address nor a host's name is written into the container. It also
makes a start cheap. `none` is set as well, for an engine that does not know `NetworkDisabled`.

Names are the Engine API's, "Create a container".
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from sandbox.boxes import policy
from sandbox.boxes.box import ResourceLimits
from sandbox.boxes.docker.images import EngineImage
from sandbox.isolation.masks import masks
from sandbox.runner_identity import runner

LOCK, FILTERS = "/.lock", "/.filters"
RUN_LABEL, RUNNER_LABEL = "quarterturn.run", "quarterturn.runner"
ALONE = "none"


def filter_name(kind: str, groups: Sequence[str] = ()) -> str:
    """Return the name of the file that holds a filter."""
    return "+".join((kind, *groups))


@dataclass(frozen=True, slots=True)
class IsolatedProgram:
    """What runs behind the isolation, and how.

    Attributes:
        image: what it sees as its root.
        words: its argument vector.
        uid: who it runs as.
        limits: its caps.
        network: `none`, or `container:` and the container whose loopback it shares.
        binds: folders and files of the host, by where it sees them; all of them read-only.
        tmpfs: folders in memory, each with the cap of `limits`.
        environment: its variables, over those of its image.
        folder: where it starts, or None for where its image says.
        stdin: whether we hold its standard input.
        groups: the groups of system calls that it may make beside those of its kind.
        becomes: whether it starts as root of its container, without a capability but those to address its network and
            to become its user, and does so by itself.
    """

    image: EngineImage
    words: Sequence[str]
    uid: int
    limits: ResourceLimits
    network: str = ALONE
    binds: Mapping[str, Path] = field(default_factory=dict)
    tmpfs: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    stdin: bool = False
    groups: Sequence[str] = ()
    becomes: bool = False

    def document(self, runtime: str | None = None) -> dict[str, Any]:
        """Return the whole of it; `runtime` is another OCI runtime that the engine knows."""
        config: dict[str, Any] = {
            "Image": self.image.files or self.image.id,
            "Entrypoint": [LOCK, f"{FILTERS}/{filter_name(policy.KINDS[self.uid], self.groups)}", "--"],
            "Cmd": list(self.words),
            "User": "0:0" if self.becomes else f"{self.uid}:{self.uid}",
            "Env": self._variables(),
            "Healthcheck": {"Test": ["NONE"]},
            "Labels": {RUN_LABEL: secrets.token_hex(8), RUNNER_LABEL: runner()},
            "AttachStdin": self.stdin,
            "OpenStdin": self.stdin,
            "StdinOnce": self.stdin,
            "AttachStdout": True,
            "AttachStderr": True,
            "HostConfig": self._host(runtime),
        }
        if self.network == ALONE:
            config |= {"NetworkDisabled": True, "Hostname": "agent"}
        folder = self.folder or self.image.folder
        return config | ({"WorkingDir": str(PurePosixPath("/", folder))} if folder else {})

    def _variables(self) -> list[str]:
        """Return the image's variables and ours over them: a copy of an image has none."""
        own = dict(line.partition("=")[::2] for line in self.image.environment if line.partition("=")[0])
        return [f"{name}={value}" for name, value in (own | dict(self.environment)).items()]

    def _host(self, runtime: str | None) -> dict[str, Any]:
        limits, caps, covered = self.limits, policy.rlimits(self.limits), masks(self.limits.memory)
        sentry = (runtime or "").startswith("runsc")
        binds = {place: path for place, path in self.binds.items() if not (sentry and place.startswith("/proc/"))}
        size = f"size={limits.tmpfs},nr_inodes={policy.files(limits)},nosuid,nodev"
        size += f",mode=0700,uid={self.uid},gid={self.uid}"
        host: dict[str, Any] = {
            "NetworkMode": self.network,
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "IpcMode": "none",
            "Memory": limits.memory,
            "MemorySwap": limits.memory,
            "MemorySwappiness": 0,
            "PidsLimit": limits.pids,
            "NanoCpus": int(limits.cpus * 1_000_000_000),
            "Ulimits": [{"Name": name, "Soft": cap, "Hard": cap} for name, cap in caps.items()],
            "LogConfig": {"Type": "none", "Config": {}},
            "Mounts": [
                {"Type": "bind", "Source": str(source), "Target": place, "ReadOnly": True}  # a path may hold a colon
                for place, source in binds.items()
            ],
            "Tmpfs": dict.fromkeys(self.tmpfs, size),
        }
        if not sentry:  # gVisor has a kernel of its own, of which this one's files say nothing
            host["MaskedPaths"] = ["/sys", *covered.files, *covered.folders]
        if self.becomes:
            host["CapAdd"] = ["SETUID", "SETGID", "NET_ADMIN"]
        if self.network == ALONE:
            host["Dns"] = ["127.0.0.1"]
        return host | ({"Runtime": runtime} if runtime else {})
