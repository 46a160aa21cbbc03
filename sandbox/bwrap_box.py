"""The box that needs no engine: bubblewrap, namespaces of the kernel, and a system-call filter.

The embedded default on Linux; its scores are not official. Started as root, nothing in a place is root outside it
either: no user namespace is made, the mounts are made by root, and a user of its own takes over before the first
program runs. Started by an ordinary user, each place is a user namespace of its own.

What it does not limit, unlike Docker: memory and CPU, where the runner is not root or has no writable control group
(`limits_missing` says so); and it has no images, so a submission is a command and a folder.

    world:  one bwrap, init.py is its PID 1; the runner holds its only channel
    agent:  one network namespace with a loopback and nothing else, in it two bwraps that share nothing but that
            loopback: the relay, which alone sees the gateway's socket, and the agent (`sandbox.images.relay.place`)
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox import cgroup, policy
from sandbox.box import Facts, Limits
from sandbox.channel import Channel, Exit
from sandbox.errors import Unavailable
from sandbox.servers.server import DATA, PROGRAMS, Server
from verifiers.views import Tree

IMAGES = Path(__file__).parent / "images"
INIT = "/init.py"
TOOLS = ("bwrap", "setpriv", "prlimit")  # the last two are in util-linux
NEEDED = ("--args", "--as-pid-1", "--json-status-fd", "--perms", "--remount-ro", "--seccomp", "--size")

# A shell joins the control group before anything else exists, and then becomes bwrap.
JOIN = 'for door in $1; do echo 0 >"$door" || exit 125; done; shift; exec "$@"'


class Arguments:
    """The arguments of one bwrap, kept off the command line, and the descriptors that they name."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.descriptors: list[int] = []

    def add(self, *words: str | Path | int) -> None:
        """Append words."""
        self.words += [str(word) for word in words]

    def data(self, content: bytes) -> int:
        """Put content into memory, where bwrap reads it, and give its descriptor."""
        descriptor = os.memfd_create("quarterturn", 0)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        self.descriptors.append(descriptor)
        return descriptor

    def file(self, content: str, place: str) -> None:
        """Lay a small read-only file at `place`."""
        self.add("--perms", "0444", "--ro-bind-data", self.data(content.encode()), place)

    def close(self) -> None:
        """Close our copies of the descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors.clear()


def walls(arguments: Arguments, *, uid: int, tmpfs: int, network: bool) -> None:
    """Lay what every place has: namespaces, the host's programs read-only, a small /etc, and nothing to write but /tmp.

    Args:
        arguments: to add to.
        uid: who the place runs as.
        tmpfs: the size of /tmp in bytes.
        network: whether the place gets an empty network of its own (else that of whoever starts bwrap).
    """
    add = arguments.add
    add("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
    add(*(["--unshare-net"] if network else []))
    add("--new-session", "--as-pid-1", "--clearenv", "--hostname", "agent", "--cap-drop", "ALL")
    if os.geteuid() == 0:
        add("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP")
    else:
        add("--unshare-user", "--uid", uid, "--gid", uid)
    add("--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        place = Path("/") / name
        if place.is_symlink():
            add("--symlink", place.readlink(), place)
        elif place.is_dir():
            add("--ro-bind", place, place)
    base = Path(sys.base_prefix).resolve()
    if not base.is_relative_to("/usr"):
        bind(arguments, base, base)
    folder(arguments, "/etc")
    for name, content in policy.ETC.items():
        arguments.file(content, f"/etc/{name}")
    for name in ("ld.so.cache", "alternatives"):
        add("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    add("--proc", "/proc", "--dev", "/dev")
    add("--perms", "1777", "--size", max(tmpfs, 4096), "--tmpfs", "/tmp")  # noqa: S108 - a tmpfs inside the place


def folder(arguments: Arguments, place: str | Path) -> None:
    """Make a folder and those that lead to it, so that the place's user can pass (bwrap would make them 0700)."""
    for path in (*reversed(Path(place).parents[:-1]), Path(place)):
        arguments.add("--perms", "0755", "--dir", path)


def bind(arguments: Arguments, source: Path, place: str | Path) -> None:
    """Lay `source` of the host read-only at `place`."""
    folder(arguments, Path(place).parent)
    arguments.add("--ro-bind", source, place)


def seal(arguments: Arguments) -> None:
    """Close what bwrap itself leaves writable and without a size: the root and /dev."""
    arguments.add("--remount-ro", "/", "--remount-ro", "/dev")


def limited(command: Sequence[str], *, uid: int, limits: Limits, grouped: bool) -> list[str]:
    """Put before a command what runs inside: the change of user (as root) and the rlimits."""
    words = []
    if os.geteuid() == 0:
        words += ["/usr/bin/setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
        words += ["--inh-caps=-all", "--bounding-set=-all", "--"]
    caps = {"nofile": policy.OPEN_FILES, "core": 0, "fsize": max(limits.tmpfs, 4096), "memlock": 65536, "msgqueue": 0}
    if not grouped:
        caps |= {"nproc": limits.pids}
    caps |= {"cpu": int(limits.wall * max(limits.cpus, 1)) + 5}
    words += ["/usr/bin/prlimit", *(f"--{name}={value}" for name, value in caps.items()), "--"]
    return [*words, *command]


class Started:
    """One bwrap that runs: its process, and the process that is PID 1 in there."""

    def __init__(self, process: subprocess.Popen[bytes], status: int) -> None:
        self.process = process
        self._status = os.fdopen(status, "rb", buffering=0)
        self._pid_1: int | None = None

    def poll(self) -> int | None:
        """Give its exit status, or None while it runs."""
        return self.process.poll()

    def kill(self) -> None:
        """Kill everything in it and wait until it is gone: the kernel ends a PID namespace with its PID 1."""
        if self.process.poll() is None:
            for pid in (self._child(), self.process.pid):
                if pid is not None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, 9)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self._status.close()

    def _child(self) -> int | None:
        if self._pid_1 is None and not self._status.closed:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                self._pid_1 = int(json.loads(self._status.readline())["child-pid"])
        return self._pid_1


def start(
    arguments: Arguments, command: Sequence[str], group: cgroup.Group | None, *, stdin: int, stdout: int
) -> Started:
    """Start one bwrap; its arguments are handed over in memory."""
    reading, writing = os.pipe()
    try:
        arguments.add("--json-status-fd", writing)
        words = "".join(f"{word}\0" for word in arguments.words)
        bwrap = [_tool("bwrap"), "--args", str(arguments.data(words.encode())), "--", *command]
        joined = ["/bin/sh", "-c", JOIN, "join", " ".join(group.doors), *bwrap] if group else bwrap
        process = subprocess.Popen(
            joined,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            pass_fds=[*arguments.descriptors, writing],
            close_fds=True,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin"},
        )
    finally:
        os.close(writing)
        arguments.close()
    return Started(process, reading)


class BwrapWorld:
    """A world in one bwrap (`sandbox.box.World`)."""

    def __init__(self, started: Started, channel: Channel, group: cgroup.Group | None) -> None:
        self._started, self._channel, self._group = started, channel, group
        self._out_of_memory = False

    @property
    def exits(self) -> tuple[Exit, ...]:
        """The servers that ended by themselves so far."""
        return self._channel.exits

    def channel(self) -> socket.socket:
        """Give the gateway's end of the channel."""
        return self._channel.gateway_end()

    def freeze(self, timeout: float) -> Tree:
        """Stop everything in it and read the state out; see `sandbox.channel.Channel.freeze`."""
        tree = self._channel.freeze(timeout)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._started.process.wait(1)  # it has said its last, so its exit status is a fact worth waiting for
        return tree

    def facts(self) -> Facts:
        """Say whether it runs, how it ended, and whether the kernel killed something in it for its memory."""
        if self._group is not None:
            self._out_of_memory = self._out_of_memory or self._group.out_of_memory()
        code = self._started.poll()
        return Facts(running=code is None, exit_code=code, out_of_memory=self._out_of_memory)

    def close(self) -> None:
        """Kill what is left of it and remove its control group; safe to call twice."""
        self._channel.close()
        self._started.kill()
        if self._group is not None:
            self.facts()
            self._group.remove()


class BwrapBox:
    """Places made with bubblewrap (`sandbox.box.Box`).

    Args:
        environments: the folder that holds the installed environments `world` and `agents`.
    """

    name = "bwrap"
    official = False

    def __init__(self, environments: Path | None = None) -> None:
        self._environments = environments or Path(sys.prefix)

    def check(self) -> None:
        """Make sure that bubblewrap works here, by making an empty place.

        Raises:
            Unavailable: a program is missing or the kernel does not let us; the message says what to do.
        """
        missing = [tool for tool in TOOLS if shutil.which(tool) is None]
        if missing:
            raise Unavailable(f"the bwrap box needs {', '.join(missing)}: install Debian's bubblewrap and util-linux")
        options = subprocess.run([_tool("bwrap"), "--help"], capture_output=True, text=True, check=False).stdout
        lacking = [option for option in NEEDED if option not in options]
        if lacking:
            raise Unavailable(f"this bwrap knows no {', '.join(lacking)}: install bubblewrap 0.8 or newer")
        for name in ("world", "agents"):
            if not (self._environments / name).is_dir():
                raise Unavailable(f"{self._environments / name} is missing: run ./run setup")
        cgroup.reap()
        self._try()

    def limits_missing(self) -> tuple[str, ...]:
        """Name the caps that this machine cannot give to a place: none as root with control groups."""
        group = cgroup.make(Limits())
        if group is None:
            return ("memory", "cpus")
        group.remove()
        return ()

    def world(self, servers: Sequence[Server], state: Tree, limits: Limits) -> BwrapWorld:
        """Start a world; its servers come up while the caller goes on."""
        group = cgroup.make(limits)
        arguments = Arguments()
        walls(arguments, uid=policy.WORLD_UID, tmpfs=limits.tmpfs, network=True)
        arguments.add("--perms", "1777", "--size", limits.tmpfs, "--tmpfs", DATA)
        bind(arguments, self._environments / "world", PROGRAMS)
        arguments.add("--ro-bind", IMAGES / "world" / "init.py", INIT)
        seal(arguments)
        set_environment(arguments, policy.world_environment({}))
        command = [str(Path(sys.base_prefix).resolve() / "bin" / "python3"), "-I", "-S", INIT]
        ours, theirs = socket.socketpair()
        with theirs:
            words = limited(command, uid=policy.WORLD_UID, limits=limits, grouped=group is not None)
            started = start(arguments, words, group, stdin=theirs.fileno(), stdout=theirs.fileno())
        channel = Channel(ours)
        channel.open(policy.server_documents(servers), state, DATA)
        return BwrapWorld(started, channel, group)

    def _try(self) -> None:
        with tempfile.TemporaryFile() as out:
            arguments = Arguments()
            walls(arguments, uid=policy.AGENT_UID, tmpfs=4096, network=True)
            seal(arguments)
            words = limited(["/usr/bin/id", "-u"], uid=policy.AGENT_UID, limits=Limits(), grouped=False)
            started = start(arguments, words, None, stdin=subprocess.DEVNULL, stdout=out.fileno())
            try:
                code = started.process.wait(20)
            finally:
                started.kill()
            out.seek(0)
            if code != 0 or out.read().strip() != str(policy.AGENT_UID).encode():
                raise Unavailable(
                    "bwrap cannot make namespaces here: allow unprivileged user namespaces "
                    "(sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns), or run as root"
                )


def set_environment(arguments: Arguments, environment: Mapping[str, str]) -> None:
    """Set the variables of the place."""
    for name, value in environment.items():
        arguments.add("--setenv", name, value)


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Unavailable(f"the bwrap box needs {name}: install Debian's bubblewrap and util-linux")
    return found
