"""Isolation policy that every box applies, as data: users, environment variables and caps.

Pure but for its two last functions, which deal with a run's own folders. The boxes turn these values into their
engine's flags; nothing here knows an engine.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.boxes.box import PORT, SOCKET_NAME, Program, ResourceLimits
from sandbox.errors import Refused
from sandbox.isolation.filters import Kind
from sandbox.kinds.common.state_kind import DATA
from sandbox.servers.server import Server

WORLD_UID, RELAY_UID, AGENT_UID = 65532, 65533, 65534  # never root, and never the same: none may signal another
KINDS: Mapping[int, Kind] = {WORLD_UID: "world", RELAY_UID: "relay", AGENT_UID: "agent"}

URL = f"http://127.0.0.1:{PORT}"
WORLD_PATH = "/opt/world/node/bin:/usr/local/bin:/usr/bin:/bin"
AGENT_PATH = "/opt/agents/bin:/usr/local/bin:/usr/bin:/bin"
RELAY_LIMITS = ResourceLimits(memory=32 * 1024 * 1024, pids=64, cpus=0.5, tmpfs=0, output=4096)
OPEN_FILES = 1024
RESERVED = 768 * 1024 * 1024  # address space that a program with a compiler in it (Node) asks for and never uses
LOOKED_AT = 500  # files of a submission's folder whose modes are looked at

# Standing instead of the host's own files, which may name its users, its resolver or its neighbours.
ETC = {
    "passwd": "root:x:0:0::/:/usr/sbin/nologin\n"
    + "".join(
        f"{name}:x:{uid}:{uid}::/tmp:/usr/sbin/nologin\n"
        for name, uid in (("world", WORLD_UID), ("relay", RELAY_UID), ("agent", AGENT_UID))
    ),
    "group": "root:x:0:\n" + f"world:x:{WORLD_UID}:\nrelay:x:{RELAY_UID}:\nagent:x:{AGENT_UID}:\n",
    "hosts": "127.0.0.1 localhost agent\n::1 localhost\n",
    "resolv.conf": "nameserver 127.0.0.1\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def rlimits(limits: ResourceLimits, *, grouped: bool = True) -> dict[str, int]:
    """Return the caps that a process carries with it, by the names of prlimit(1).

    Args:
        limits: the caps on the whole place.
        grouped: whether a control group caps memory and processes; without one each process is capped by itself.
    """
    cpu = int(limits.wall * max(limits.cpus, 1)) + 5
    size = max(limits.tmpfs, 4096)
    caps = {"nofile": OPEN_FILES, "core": 0, "fsize": size, "memlock": 65536, "msgqueue": 0, "cpu": cpu}
    return caps if grouped else caps | {"nproc": limits.pids, "data": limits.memory + RESERVED}


def files(limits: ResourceLimits) -> int:
    """Return how many files a folder in memory may hold; an empty one costs 1 KiB: together a quarter of the cap."""
    return max(limits.memory // 4096, 1024)


def agent_environment(program: Program) -> dict[str, str]:
    """Return the agent's variables: the submission's own, and ours over them.

    Raises:
        Refused: one of its own cannot be a variable.
    """
    ours = {"HOME": "/tmp", "LANG": "C.UTF-8", "QUARTERTURN_URL": URL}  # noqa: S108 - in the box
    for name, value in program.environment.items():
        if not name or "=" in name or "\0" in name + value:
            raise Refused(f"the submission's variable {name[:40]!r} is no environment variable: name it A-Z, 0-9 and _")
    return {**program.environment, **ours}


def server_documents(servers: Sequence[Server]) -> list[dict[str, Any]]:
    """Say to a world's init how to start each server, in the order of their channels."""
    return [
        {
            "name": server.name,
            "command": list(server.command),
            "environment": world_environment(server.environment),
            "cwd": f"{DATA}/{server.root}",
            "on_demand": server.on_demand,
            **_backend_document(server),
        }
        for server in servers
    ]


def _backend_document(server: Server) -> dict[str, Any]:
    if server.backend is None:
        return {}
    own = server.backend
    environment = world_environment(own.environment)
    return {
        "backend": {"command": list(own.command), "environment": environment, "cwd": f"{DATA}/{server.root}"},
    }


def call_groups(servers: Sequence[Server]) -> tuple[str, ...]:
    """Return the groups of system calls that a world with these servers may make beside; its filter is one for all."""
    return tuple(sorted({group for server in servers for group in server.system_calls}))


def world_environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return a server's variables: a small base that names nothing of the host, and its own over it."""
    ours = {"PATH": WORLD_PATH, "HOME": "/tmp", "LANG": "C.UTF-8", "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}  # noqa: S108 - in the world
    return {**ours, **own}


def let_relay_in(sockets: Path) -> None:
    """Let the relay's user, and as far as we can nobody else, reach the gateway's socket.

    As root the folder and the socket get the relay's group. Otherwise the folder can be passed through but not listed,
    so that its random name is what keeps other users of the machine out.
    """
    socket = sockets / SOCKET_NAME
    if not socket.is_socket():
        raise Refused(f"no gateway listens at {socket}: start the gateway before the agent")
    if os.geteuid() == 0:
        os.chown(sockets, -1, RELAY_UID)
        os.chown(socket, -1, RELAY_UID)
        sockets.chmod(0o710)
        socket.chmod(0o660)
    else:
        sockets.chmod(0o711)
        socket.chmod(0o666)


def must_be_readable(folder: Path) -> None:
    """Say before the start what the agent's user would stumble over: as root, it is nobody who owns these files.

    Raises:
        Refused: the folder is not there, or others than its owner cannot read it.
    """
    if not folder.is_dir():
        raise Refused(f"the submission's folder {folder} is not there")
    if os.geteuid() != 0:
        return
    for path in itertools.islice(itertools.chain([folder], folder.rglob("*")), LOOKED_AT):
        needed = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        if path.exists() and path.stat().st_mode & needed != needed:
            raise Refused(f"the agent's user cannot read {path}: let others read it (chmod -R o+rX {folder})")
