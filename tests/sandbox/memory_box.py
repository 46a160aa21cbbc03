"""In-memory box, for tests of code that uses a box: worlds and agents are threads of this process, not isolated.

No process is started and no program is run: a world's servers are Python functions that answer MCP calls over the
same framed channel, and an agent is a Python function in front of the gateway's own socket. So gateway, channel
frames, order of steps and verdict are the real ones. What a wall or an engine would notice (a world that was killed, a
relay that died, an agent out of memory) is brought about by a method of the world or the agent.

Nothing that anybody submitted can run in it: `MemoryBox.fits` refuses every program that it was not given a function
for.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.boxes.box import SOCKET_NAME, ExitFacts, Program, ResourceLimits
from sandbox.boxes.output import CUT, printable
from sandbox.errors import Lost, Refused
from sandbox.servers.server import Server
from sandbox.world import frames
from sandbox.world.channel import Exit
from sandbox.world.frozen import FrozenState, Seed
from verifiers.tree import FileTree, Node

CHUNK = 1 << 16
JOIN_SECONDS = 5.0
KILLED = 137


class ToolError(Exception):
    """A tool's own error: the call's result says it, with `isError`."""


class AgentKilled(BaseException):
    """Raised in the function of an agent that was killed."""


class MemoryWorld:
    """A world whose servers are functions (`sandbox.boxes.box.World`).

    Attributes:
        nodes: the data folder; the tools change it in place.
    """

    def __init__(self, servers: Sequence[Server], state: FileTree, tools: Mapping[str, Tool]) -> None:
        self._names = [server.name for server in servers]
        self._tools = tools
        self._end = ExitFacts(running=True)
        self._frozen: Exception | None = None
        self._silent: set[str] = set()
        self._begin(state)

    def _begin(self, state: FileTree) -> None:
        self.nodes: dict[str, Node] = dict(state)
        self._ours, self._gateways = socket.socketpair()
        self._gone = threading.Event()
        self._handed_over = False
        self._thread = threading.Thread(target=self._run, name="memory-world", daemon=True)
        self._thread.start()

    @property
    def exits(self) -> tuple[Exit, ...]:
        """None: functions do not end by themselves."""
        return ()

    def report(self, timeout: float) -> tuple[Exit, ...]:
        """None: functions write no standard error."""
        return ()

    def channel(self) -> socket.socket:
        """Return the gateway's end of the channel."""
        self._handed_over = True
        return self._gateways

    def freeze(self, timeout: float, *, keep: bool = False) -> FrozenState:
        """Stop the servers and give the state.

        Raises:
            Lost: the world was killed or closed.
            Exception: what the test said that a freeze comes to (`fail_to_freeze`).
        """
        if not self._end.running:
            raise Lost("the world was cut off before its state was read")
        self._cut()
        if self._frozen:
            raise self._frozen
        return FrozenState(FileTree(self.nodes).to_tar())

    def renew(self, state: Seed) -> None:
        """Go on with other data, once it was frozen.

        Raises:
            Refused: the state is a tar, which no process of a runner's reads.
        """
        self._let_go()
        self._begin(_tree(state))

    def facts(self) -> ExitFacts:
        """Say how it stands."""
        return self._end

    def close(self) -> None:
        """End it; safe to call twice."""
        self._cut()
        if self._end.running:
            self._end = ExitFacts(running=False, exit_code=0)
        self._let_go()

    # ---- what a test does to it ----

    def die(self, exit_code: int = KILLED, *, out_of_memory: bool = False) -> None:
        """End its first process, as somebody outside, or the kernel, would."""
        self._end = ExitFacts(running=False, exit_code=exit_code, out_of_memory=out_of_memory)
        self._cut()

    def lose(self, server: str) -> None:
        """End one server while the world lives on."""
        self._silent.add(server)
        with contextlib.suppress(OSError):
            self._ours.sendall(frames.pack(frames.FIRST_SERVER + self._names.index(server), b""))

    def fail_to_freeze(self, error: Exception) -> None:
        """Raise this instead of giving the state."""
        self._frozen = error

    def hang(self) -> str:
        """Keep the server that a tool belongs to from answering, until the world's end."""
        self._gone.wait()
        return ""

    # ---- its thread ----

    def _let_go(self) -> None:
        if threading.current_thread() is not self._thread:
            self._thread.join(JOIN_SECONDS)
        self._ours.close()
        if not self._handed_over:
            self._gateways.close()

    def _cut(self) -> None:
        self._gone.set()
        with contextlib.suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)

    def _run(self) -> None:
        reader, lines = frames.FrameReader(), dict.fromkeys(self._names, b"")
        with contextlib.suppress(OSError):
            while data := self._ours.recv(CHUNK):
                for channel, payload in reader.feed(data):
                    name = self._names[channel - frames.FIRST_SERVER]
                    *complete, lines[name] = (lines[name] + payload).split(b"\n")
                    for line in complete:
                        self._hear(channel, name, json.loads(line))

    def _hear(self, channel: int, name: str, message: Mapping[str, Any]) -> None:
        """Answer one JSON-RPC message of one server's client."""
        if name in self._silent or "id" not in message:
            return
        params = message.get("params", {})
        result: dict[str, Any] = {}
        if message["method"] == "initialize":
            server_info = {"name": name, "version": "0"}
            result = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": server_info,
            }
        elif message["method"] == "tools/call":
            result = self._call(name, params)
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        if name not in self._silent:
            self._ours.sendall(frames.pack(channel, json.dumps(answer).encode() + b"\n"))

    def _call(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        try:
            text, failed = self._tools[f"{name}.{params['name']}"](self, **params.get("arguments", {})), False
        except (ToolError, KeyError, TypeError) as error:
            text, failed = f"{type(error).__name__}: {error}", True
        return {"content": [{"type": "text", "text": text}], "isError": failed}


class MemoryAgent:
    """An agent that is a function, in a thread of its own; the function is given this object.

    Attributes:
        gone: set once it was killed; whoever waits in it ends then.
    """

    def __init__(self, story: Story, sockets: Path, limits: ResourceLimits) -> None:
        self.gone = threading.Event()
        self._sockets, self._cap = sockets, limits.output
        self._printed = bytearray()
        self._connections: list[socket.socket] = []
        self._end: ExitFacts | None = None
        self._code = 0
        self._thread = threading.Thread(target=self._run, args=(story,), name="memory-agent", daemon=True)

    def start(self) -> None:
        """Let the function go."""
        self._thread.start()

    # ---- for the function ----

    def connect(self) -> socket.socket:
        """Connect to the gateway, as through a relay.

        Raises:
            AgentKilled: it was.
        """
        if self.gone.is_set():
            raise AgentKilled
        made = socket.socket(socket.AF_UNIX)
        self._connections.append(made)
        made.connect(str(self._sockets / SOCKET_NAME))
        return made

    def say(self, text: str) -> None:
        """Write a line to its output."""
        self._printed += text.encode() + b"\n"

    def hang(self) -> None:
        """Do nothing until it is killed.

        Raises:
            AgentKilled: it was.
        """
        self.gone.wait()
        raise AgentKilled

    # ---- for the runner, and for a test ----

    def wait(self, timeout: float) -> ExitFacts:
        """Wait until it ends."""
        if self._end is None:
            self._thread.join(timeout)
        if self._end is not None:
            return self._end
        running = self._thread.is_alive()
        return ExitFacts(running=running, exit_code=None if running else self._code)

    def output(self) -> str:
        """Return what it printed, escaped and cut at the cap."""
        return printable(bytes(self._printed[: self._cap])) + (CUT if len(self._printed) > self._cap else "")

    def kill(self) -> None:
        """End it; safe to call twice."""
        if self._end is None:
            facts = self.wait(0)
            self._end = ExitFacts(running=False, exit_code=KILLED) if facts.running else facts
        self._stop()
        self._thread.join(JOIN_SECONDS)

    def die(self, facts: ExitFacts) -> None:
        """End it with these facts, as what stands around it would: the kernel, a relay, or an engine."""
        self._end = facts
        self._stop()

    def _stop(self) -> None:
        self.gone.set()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _run(self, story: Story) -> None:
        try:
            story(self)
        except AgentKilled:
            self._code = KILLED
        except SystemExit as error:
            self._code = error.code if isinstance(error.code, int) else 1
            if isinstance(error.code, str):
                self.say(error.code)
        except Exception:  # a program that crashes is one that ends with 1
            self._code = 1
            if not self.gone.is_set():
                self.say(traceback.format_exc(limit=-1))
        finally:
            for connection in self._connections:
                connection.close()


Tool = Callable[..., str]
"""A tool of a server: it is given the world and the call's arguments, and gives the text of the result."""
Story = Callable[[MemoryAgent], object]
"""What an agent does."""


class MemoryPlace:
    """Function that was not called yet (`sandbox.boxes.box.Place`)."""

    def __init__(self, box: MemoryBox, story: Story, sockets: Path, limits: ResourceLimits) -> None:
        self._box, self._story, self._sockets, self._limits = box, story, sockets, limits
        self._agent: MemoryAgent | None = None

    def start(self) -> MemoryAgent:
        """Let it go."""
        self._agent = MemoryAgent(self._story, self._sockets, self._limits)
        self._box.agents.append(self._agent)
        self._agent.start()
        return self._agent

    def close(self) -> None:
        """End it; safe to call twice."""
        if self._agent is not None:
            self._agent.kill()


class MemoryBox:
    """In-memory box: threads of this process (`sandbox.boxes.box.Box`).

    Args:
        tools: by their full names, `server.tool`; a tool that is missing is an error to whoever calls it.
        programs: what may run in here, by the first word of its command.

    Attributes:
        worlds: all that were made, the latest last.
        agents: all that were started, the latest last.
    """

    name = "memory"
    official = False

    def __init__(self, tools: Mapping[str, Tool], programs: Mapping[str, Story] | None = None) -> None:
        self.tools, self.programs = tools, dict(programs or {})
        self.worlds: list[MemoryWorld] = []
        self.agents: list[MemoryAgent] = []

    def check(self) -> None:
        """Do nothing: it can always be had, and never relied on."""

    def fits(self, program: Program) -> None:
        """Refuse what no function stands for.

        Raises:
            Refused: it is an image, or a command that this box was not given.
        """
        if program.image is not None or not program.command or program.command[0] not in self.programs:
            raise Refused("the box in memory runs the functions that it was given, and no program")

    def world(self, servers: Sequence[Server], state: Seed, limits: ResourceLimits) -> MemoryWorld:
        """Start a world.

        Raises:
            Refused: the state is a tar, which no process of a runner's reads.
        """
        self.worlds.append(MemoryWorld(servers, _tree(state), self.tools))
        return self.worlds[-1]

    def place(self, program: Program, sockets: Path, limits: ResourceLimits) -> MemoryPlace:
        """Keep a function for later.

        Raises:
            Refused: there is none for the program, or no gateway listens.
        """
        self.fits(program)
        if not (sockets / SOCKET_NAME).is_socket():
            raise Refused(f"no gateway listens at {sockets / SOCKET_NAME}: start the gateway before the agent")
        return MemoryPlace(self, self.programs[program.command[0]], sockets, limits)


def _tree(state: Seed) -> FileTree:
    if isinstance(state, bytes):
        raise Refused("the box in memory takes a tree; only a box with walls takes what nobody has read")
    return state
