"""Bubblewrap box: isolation by kernel namespaces and a system-call filter, with no container engine.

The embedded default on Linux; its scores are not official. Started as root, no process in a place is root outside it
either: no user namespace is made, root makes the mounts, and an unprivileged user takes over before the first program
runs. Started by an ordinary user, each place has its own user namespace.

Limits that it lacks, unlike Docker, where the runner is not root or has no writable control group (`limits_missing`
lists them): CPU is capped only in seconds, and memory only for each process by itself. It has no images, so a
submission is a command and a folder.

    world:  one bwrap, init.py is its PID 1; the runner holds its only channel
    agent:  one network namespace with a loopback and nothing else, in it two bwraps that share nothing but that
            loopback: the relay, which alone sees the gateway's socket, and the agent (`sandbox.boxes.place`)
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
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from sandbox.boxes import place, policy
from sandbox.boxes.box import PORT, SOCKET_NAME, BoxRecipe, ExitFacts, Program, ResourceLimits
from sandbox.boxes.bwrap import bwrap, cgroup
from sandbox.boxes.bwrap.bwrap import LAID_IN_ETC, Running, Walls
from sandbox.boxes.channel_world import ChannelWorld
from sandbox.boxes.output import CappedOutput
from sandbox.errors import Lost, NotFound, Refused, Unavailable
from sandbox.isolation import namespaces
from sandbox.isolation.program_copies import Copies, Copy, Recipe, interpreter, recipe, usual_folders
from sandbox.isolation.run_classes import RunClass
from sandbox.kinds.common.state_kind import DATA, OURS, PROGRAMS, own_programs
from sandbox.runner_identity import remove_old_folders
from sandbox.servers.server import NPM, PYTHON, SERVICES_FOLDER, SYSTEM_ROOT, Server, added_at
from sandbox.world.channel import WorldChannel
from sandbox.world.frozen import FrozenState, Seed

IMAGES = Path(__file__).parents[2] / "images"
INIT, RELAY, SOCKETS, AGENTS = "/init.py", "/relay.py", "/gw", "/opt/agents"
UNPACK, ARCHIVES = "/unpack.py", "/archives"
UNPACKING = ResourceLimits(memory=1024 * 1024 * 1024, pids=16, tmpfs=0, wall=600.0)
START_SECONDS = 20.0
PROBE_SECONDS = 60.0
COPY_IS_FRESH_SECONDS = 60.0  # to look at the 35,000 sources of two copies takes 0.3 s of processor time
WORLD_BACKENDS = ("dpkg-deb", "git", "dovecot", "doveconf", "redis-server", "redis-check-rdb", "redis-cli")
WORLD_FOLDERS = tuple(
    f"/usr/{folder}/{name}" for name in ("git-core", "postgresql", "dovecot") for folder in ("lib", "libexec", "share")
)
WAITING = ("/bin/sh", "-c", 'read -r word && exec "$@" </dev/null', "place")  # until the word, and then the program


class BwrapWorld(ChannelWorld):
    """A world in one bwrap (`sandbox.boxes.box.World`)."""

    def __init__(self, running: Running, channel: WorldChannel, group: cgroup.Group | None) -> None:
        super().__init__(channel)
        self._running, self._group = running, group
        self._out_of_memory = False

    def freeze(self, timeout: float, *, keep: bool = False) -> FrozenState:
        """Stop everything in it and take the state as it comes; see `sandbox.world.channel.WorldChannel.freeze`."""
        state = super().freeze(timeout, keep=keep)
        if not keep:
            self._running.wait(1)  # it has said its last, so its exit status is a fact worth waiting for
        return state

    def facts(self) -> ExitFacts:
        """Say whether it runs, how it ended, and whether the kernel killed something in it for its memory."""
        code = self._running.process.poll()
        if self._group is not None:
            self._out_of_memory = self._out_of_memory or self._group.out_of_memory()
        return ExitFacts(running=code is None, exit_code=code, out_of_memory=self._out_of_memory)

    def close(self) -> None:
        """Kill what is left of it and remove its control group; safe to call twice."""
        self._channel.close()
        self._running.kill()
        if self._group is not None:
            self.facts()
            self._group.remove()


class BwrapPlace:
    """A relay that listens, and beside it the agent's walls with a shell that waits (`sandbox.boxes.box.Place`).

    Args:
        process: the place's process.
        runner: our end of its standard input; closing it ends the place.
        output: what the agent prints.
        groups: the control groups of agent and relay.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        runner: socket.socket,
        output: CappedOutput,
        groups: Sequence[cgroup.Group],
    ) -> None:
        self.groups, self.output = tuple(groups), output
        self._process, self._runner = process, runner
        self._heard = b""

    @property
    def pid(self) -> int:
        """The process whose network namespace it is."""
        return self._process.pid

    def ready(self) -> None:
        """Wait until all is ready.

        Raises:
            Lost: the relay did not come up, or the place could not be made.
        """
        self._expect("ready", "the agent's place could not be made")

    def start(self) -> BwrapAgent:
        """Let the agent's shell become the program."""
        with contextlib.suppress(OSError):
            self._runner.send(place.GO)
        self._expect("started", "the agent was not started")
        return BwrapAgent(self)

    def close(self) -> None:
        """End the place; it kills both, waits until they are gone, and ends itself."""
        self._runner.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for group in self.groups:
            group.kill()
            group.remove()
        self.output.close()

    def next_message(self, timeout: float) -> dict[str, Any] | None:
        """Return the next thing that the place says, or None where it says nothing in time."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self._heard:
            self._runner.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                data = self._runner.recv(4096)
            except TimeoutError:
                return None
            except OSError:
                data = b""
            if not data:
                return {"ended": "place"}
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def _expect(self, word: str, otherwise: str) -> None:
        message = self.next_message(START_SECONDS)
        if message is None or word not in message:
            self.close()
            raise Lost(f"{otherwise}: {(message or {}).get('failed', 'its place did not answer')}")


class BwrapAgent:
    """A relay and an agent in one place (`sandbox.boxes.box.RunningAgent`)."""

    def __init__(self, place: BwrapPlace) -> None:
        self._place = place
        self._end: ExitFacts | None = None

    def wait(self, timeout: float) -> ExitFacts:
        """Wait until the agent ends; the relay's end is the agent's, and a fact of its own."""
        if self._end is None and (message := self._place.next_message(timeout)) is not None:
            self._end = self._facts(message)
        return self._end or ExitFacts(running=True)

    def output(self) -> str:
        """Return what it printed, escaped and cut at the cap."""
        return self._place.output.text()

    def kill(self) -> None:
        """End the place, and wait until both are gone; safe to call twice."""
        self._end = self._end or ExitFacts(running=False)
        self._place.close()

    def _facts(self, message: dict[str, Any]) -> ExitFacts:
        killed = any(group.out_of_memory() for group in self._place.groups[:1])
        if message.get("ended") == "agent":
            return ExitFacts(running=False, exit_code=message.get("code"), out_of_memory=killed)
        relay = message.get("ended") == "relay"
        return ExitFacts(running=False, out_of_memory=killed, lost=not relay, relay_died=relay)


def _require_command(program: Program) -> None:
    """Refuse an image, and a folder that the agent's user cannot read."""
    if program.image is not None or not program.command:
        raise Refused("the bwrap box runs a command, not an image: give --agent CMD, or use the docker box")
    if program.folder is not None:
        policy.must_be_readable(program.folder)


class BwrapBox:
    """Places made with bubblewrap (`sandbox.boxes.box.Box`).

    Args:
        environments: the folder that holds the installed environments `world` and `agents`; our own by default.
        run_class: of the runs that are played in it. Those that have an exit read other copies than those that have
            none; nothing that is official is played here, so `sealed` and `unofficial` are one.
    """

    name = "bwrap"
    official = False
    walls = Walls  # around an agent; a positive control of the self-check leaves one out

    def __init__(self, environments: Path | None = None, run_class: RunClass = "open") -> None:
        self._environments = (environments or Path(sys.prefix)).resolve()
        self._is_usual, self._run_class = environments is None and type(self) is BwrapBox, run_class
        self._copies = Copies(usual_folders(self._environments), "open" if run_class == "open" else "sealed")
        self._held: dict[str, Copy] = {}
        self._copying = threading.Lock()

    def check(self) -> None:
        """Make sure that bubblewrap works here, by making a place and looking around in it.

        Raises:
            Unavailable: a program is missing or the kernel does not let us; the message says what to do.
        """
        missing = [name for name in bwrap.TOOLS if shutil.which(name) is None]
        if missing:
            raise Unavailable(bwrap.INSTRUCTIONS.format(", ".join(missing)))
        options = subprocess.run([bwrap.tool("bwrap"), "--help"], capture_output=True, text=True, check=False).stdout
        lacking = [option for option in bwrap.NEEDED if option not in options]
        if lacking:
            raise Unavailable(bwrap.INSTRUCTIONS.format(f"a bwrap that knows {', '.join(lacking)}"))
        for name in ("world", "agents"):
            if not (self._environments / name).is_dir():
                raise Unavailable(f"{self._environments / name} is missing: run ./run setup")
        self.reap()
        with self._copying:
            self._held.clear()  # what is out of date is made anew, a minute later at most
        self._look_around()

    def reap(self) -> int:
        """Kill and remove what a killed runner left behind, and say how many places that were."""
        remove_old_folders()
        return cgroup.reap()

    def limits_missing(self) -> tuple[str, ...]:
        """Name the caps that this machine cannot give to a place as a whole: none as root with control groups."""
        group = cgroup.make(ResourceLimits())
        if group is None:
            return ("memory", "cpus")
        group.remove()
        return ()

    def fits(self, program: Program) -> None:
        """Make sure that it is a command whose program the box has, and that the agent's user can read its folder.

        Raises:
            NotFound: there is no such program.
            Refused: it is an image, or its folder cannot be read.
        """
        _require_command(program)
        name, copy = program.command[0], self._copy("agent")
        if "/" not in name and not any(
            map(os.path.lexists, (copy.at(f"{at}/{name}") for at in policy.AGENT_PATH.split(":")))
        ):
            raise NotFound(f"the bwrap box holds no program {name}; name one that it has, such as python3")

    def world(self, servers: Sequence[Server], state: Seed, limits: ResourceLimits) -> BwrapWorld:
        """Start a world; its servers come up while the caller goes on.

        Raises:
            Unavailable: this machine lacks what one of the servers stands on.
        """
        self._must_have(servers)
        programs = self._world_copy(servers)
        groups = policy.call_groups(servers)
        walls = Walls(programs, uid=policy.WORLD_UID, tmpfs=limits.tmpfs, network=True, groups=groups)
        walls.tmpfs(DATA, limits.tmpfs)
        for path in (PROGRAMS, OURS, INIT):
            walls.bind(programs.at(path), path)
        for path, copy in self._added(servers):
            walls.bind(copy.at(path), path)
        for settings in programs.at("/etc").iterdir():
            if settings.name not in (*policy.ETC, *LAID_IN_ETC):  # of a server's Debian packages, as of fonts
                walls.bind(settings, f"/etc/{settings.name}")
        walls.environment(policy.world_environment({}))
        group = cgroup.make(limits)
        command = walls.command([interpreter(), "-I", "-S", INIT], limits, group)
        ours, theirs = socket.socketpair()
        with theirs:
            running = Running(walls, command, stdin=theirs.fileno(), stdout=theirs.fileno())
        channel = WorldChannel(ours)
        channel.open(policy.server_documents(servers), state, DATA)
        return BwrapWorld(running, channel, group)

    def place(self, program: Program, sockets: Path, limits: ResourceLimits) -> BwrapPlace:
        """Start a relay and, once it listens, the agent's walls around a shell that waits.

        Raises:
            Refused: the program is an image, or its folder cannot be read by the agent's user.
            Lost: the relay did not come up.
        """
        _require_command(program)  # and a program that is not there is the agent's failure, as in every box
        policy.let_relay_in(sockets)
        relay, agent = self._relay(sockets), self._agent(program, limits)
        groups = [group for group in (cgroup.make(limits), cgroup.make(policy.RELAY_LIMITS)) if group]
        inside = [interpreter(), "-I", "-S", RELAY, str(PORT), f"{SOCKETS}/{SOCKET_NAME}"]
        document = {
            "relay": _part(relay, relay.command(inside, policy.RELAY_LIMITS, groups[1] if groups else None)),
            "agent": _part(
                agent, agent.command([*WAITING, *program.command_inside], limits, groups[0] if groups else None)
            ),
            "patience": START_SECONDS / 2,
        }
        made = _place(document, [relay, agent], groups, limits.output)
        made.ready()
        return made

    @contextlib.contextmanager
    def unpacking(self, kind: str, archives: Path, place: str, mtime: int) -> Iterator[BinaryIO]:
        """Start the unpacker on downloaded archives, and give the pipe that it writes their files to, unread.

        It sees that folder and its own programs, and has no network. The pipe ends with it, or with its time.

        Args:
            kind: `wheels` or `npm`; see `sandbox.images.added.unpack`.
            archives: the folder.
            place: where a world will see the files.
            mtime: their time, in nanoseconds.
        """
        programs = self._copy("world")
        walls = Walls(programs, uid=policy.WORLD_UID, tmpfs=UNPACKING.tmpfs, network=True)
        walls.bind(programs.at(UNPACK), UNPACK)
        walls.bind(archives.resolve(), ARCHIVES)
        walls.environment(policy.world_environment({}))
        group = cgroup.make(UNPACKING)
        words = [interpreter(), "-I", "-S", UNPACK, kind, ARCHIVES, place, str(mtime)]
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as files:
            try:
                command = walls.command(words, UNPACKING, group)
                running = Running(walls, command, stdin=subprocess.DEVNULL, stdout=writing)
            finally:
                os.close(writing)
            clock = threading.Timer(UNPACKING.wall, running.kill)
            clock.start()
            try:
                yield files
            finally:
                clock.cancel()
                running.kill()
                if group is not None:
                    group.remove()

    @property
    def recipe(self) -> BoxRecipe | None:
        """What another process makes the same box from."""
        if not self._is_usual:
            return None
        copies = tuple(str(self._copy(name).folder) for name in ("world", "agent"))
        return BoxRecipe(self.name, self._run_class, programs=copies)

    def disconnect(self) -> None:
        """Do nothing: it has no engine."""

    def hold_programs(self) -> None:
        """Make the copies of programs now, and hold them; processes that are forked from this one hold them too.

        Raises:
            Unavailable: they cannot be made.
        """
        for name in ("world", "agent"):
            _ = self._copy(name).roots  # found by looking at each of its 10,000 files, so only once

    def _copy(self, name: str) -> Copy:
        """Return the copy of the programs that agents (and relays) or worlds read; it is made where there is none."""
        with self._copying:
            if name not in self._held:
                self._held[name] = self._copies.get(recipes(self._environments)[name], COPY_IS_FRESH_SECONDS)
            return self._held[name]

    def _world_copy(self, servers: Sequence[Server]) -> Copy:
        """Return the copy that a world with these servers reads; with Debian packages of theirs, one of its own."""
        roots = {server.name: server.folder / SYSTEM_ROOT for server in servers if server.system and server.folder}
        if not roots:
            return self._copy("world")
        name = "+".join(("world", *sorted(roots)))
        key = f"{name} {sorted(roots.values())}"
        base = self._copy("world")
        with self._copying:
            if key not in self._held:
                below = [roots[server] for server in sorted(roots)]
                links = recipes(self._environments)["world"].links
                wanted = Recipe(name, links=links, base=base, below=below)
                self._held[key] = self._copies.get(wanted, COPY_IS_FRESH_SECONDS)
            return self._held[key]

    def _added(self, servers: Sequence[Server]) -> Iterator[tuple[str, Copy]]:
        """Yield the copies of the programs of added servers, by where the world sees them."""
        for server in servers:
            installed = (PYTHON, NPM, SERVICES_FOLDER)  # and not its Debian packages, which lie in /usr
            if server.folder is not None and any((server.folder / part).exists() for part in installed):
                path, name = added_at(server.name), f"server {server.folder}"
                with self._copying:
                    if name not in self._held:
                        places = {f"{path}/{part}": server.folder / part for part in installed}
                        wanted = Recipe(f"server-{server.name}", folders=places)
                        self._held[name] = self._copies.get(wanted)
                    copy = self._held[name]
                yield path, copy

    def _must_have(self, servers: Sequence[Server]) -> None:
        programs = str(self._environments / "world")
        for server in servers:
            for needed in server.backend.needs if server.backend else ():
                if not Path(needed.replace(PROGRAMS, programs)).exists():
                    raise Unavailable(
                        f"the server {server.name} needs {needed.replace(PROGRAMS, programs)}: install Debian's "
                        "dovecot-imapd, postgresql and redis-tools, and run ./run setup"
                    )

    def _relay(self, sockets: Path) -> Walls:
        programs = self._copy("agent")
        walls = Walls(programs, uid=policy.RELAY_UID, tmpfs=0, network=False)
        walls.bind(programs.at(RELAY), RELAY)
        walls.bind(sockets.resolve(), SOCKETS)
        return walls

    def _agent(self, program: Program, limits: ResourceLimits) -> Walls:
        programs = self._copy("agent")
        walls = self.walls(programs, uid=policy.AGENT_UID, tmpfs=limits.tmpfs, network=False)
        walls.bind(programs.at(AGENTS), AGENTS)
        walls.environment({"PATH": policy.AGENT_PATH} | policy.agent_environment(program))
        if program.folder is not None:
            walls.bind(program.folder.resolve(), program.seen_at)
        walls.add("--chdir", program.seen_at if program.folder else "/tmp")  # noqa: S108 - in the place
        return walls

    def look_inside(self, script: str) -> tuple[int | None, bytes]:
        """Run a shell script where agents run, and return its exit status (None if it took too long) and its output."""
        programs, world = self._copy("agent"), self._copy("world")
        walls = Walls(programs, uid=policy.AGENT_UID, tmpfs=0, network=True)
        walls.bind(programs.at(AGENTS), AGENTS)
        walls.bind(world.at(PROGRAMS), PROGRAMS)
        walls.environment({"PATH": policy.AGENT_PATH})
        with tempfile.TemporaryFile() as out:
            command = walls.command(["/bin/sh", "-c", script], ResourceLimits(), None)
            running = Running(walls, command, stdin=subprocess.DEVNULL, stdout=out.fileno())
            code = running.wait(PROBE_SECONDS)
            running.kill()
            out.seek(0)
            return code, out.read()

    def _look_around(self) -> None:
        code, out = self.look_inside(f"id -u && {AGENTS}/bin/python -c 'print(1)' && test -r {PROGRAMS}/node/bin/node")
        words = out.split()
        if code is None:
            raise Unavailable(f"a program in bwrap took longer than {PROBE_SECONDS:g} s to start: is the machine busy?")
        if words[:1] != [str(policy.AGENT_UID).encode()]:
            raise Unavailable(f"bwrap cannot make user namespaces here: {namespaces.how_to_allow()}")
        if code != 0:
            raise Unavailable(
                f"user {policy.AGENT_UID}, who agents and worlds run as, cannot start what is in {self._environments} "
                f"or {sys.base_prefix}: let others read both (chmod -R o+rX)"
            )


def recipes(environments: Path) -> Mapping[str, Recipe]:
    """Say what places of each kind read of this machine, `agent` (a relay too) and `world`."""
    world = {PROGRAMS: environments / "world", **own_programs(), INIT: IMAGES / "world" / "init.py"}
    world[UNPACK] = IMAGES / "added" / "unpack.py"
    agent = {
        AGENTS: environments / "agents",
        RELAY: IMAGES / "relay" / "relay.py",
        "/usr/bin/node": environments / "world" / "node" / "bin" / "node",
    }
    return {
        "agent": recipe("agent", agent),
        "world": recipe("world", world, WORLD_BACKENDS, WORLD_FOLDERS),
    }


def _part(walls: Walls, command: Sequence[str]) -> dict[str, Any]:
    return {"command": list(command), "descriptors": list(walls.descriptors)}


def _place(document: dict[str, Any], walls: Sequence[Walls], groups: Sequence[cgroup.Group], output: int) -> BwrapPlace:
    """Start the place's process and tell it what to start."""
    ours, theirs = socket.socketpair()
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [interpreter(), "-I", "-S", place.__file__],
            stdin=theirs.fileno(),
            stdout=writing,
            stderr=writing,
            pass_fds=[descriptor for wall in walls for descriptor in wall.descriptors],
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin"},
        )
    finally:
        os.close(writing)
        theirs.close()
        for wall in walls:
            wall.close()
    ours.sendall(json.dumps(document).encode() + b"\n")
    return BwrapPlace(process, ours, CappedOutput(os.fdopen(reading, "rb", buffering=0), output), groups)
