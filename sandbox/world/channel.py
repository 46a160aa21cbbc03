"""Runner's end of a world channel: relays server frames to the gateway and alone can freeze the world.

The gateway talks to a hostile agent, so it gets one end of a socket pair and nothing else. A pump between that socket
and the world guarantees:

- only frames of channels 1 to 63 pass, in both directions; the gateway can neither send a control message nor see the
  token that a freeze needs, nor read the state;
- buffers are bounded: a side that does not read makes the other side wait, never the runner;
- `freeze` works whatever the gateway and the servers do, within its timeout or with `Lost`.

One thread does all of it. Nothing that comes out of the world is believed beyond its caps.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sandbox.errors import Lost, Malformed, SandboxError
from sandbox.world import frames
from sandbox.world.frozen import FrozenState, Seed, tar_of
from verifiers import tree

CHUNK = 1 << 16
HIGH_WATER = 1 << 20  # nothing more is read for a side that has this much waiting
MAX_TAR = tree.MAX_BYTES + tree.MAX_ENTRIES * 2048
MAX_CONTROL = 1 << 14


class Stream(Protocol):
    """Duplex byte stream to a world: a socket, or an engine's attachment."""

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        ...

    def recv(self, size: int) -> bytes:
        """Read what is there; empty at the end."""
        ...

    def send(self, data: bytes) -> int:
        """Write some of it and say how much."""
        ...

    def close(self) -> None:
        """Close it; the world ends."""
        ...


@dataclass(frozen=True, slots=True)
class Exit:
    """A server that ended while the world lived on, or, in a report, one that runs.

    Attributes:
        server: its name.
        code: its exit status, negative for a signal; None where it runs.
        stderr: the last of what it wrote there; it may quote the state, so it is as secret as the task.
    """

    server: str
    code: int | None
    stderr: str = field(default="", repr=False)


@dataclass
class _Frozen:
    """What has come in of a frozen state."""

    tar: bytearray = field(default_factory=bytearray)
    report: Mapping[str, Any] | None = None
    ended: bool = False


class WorldChannel:
    """One world's stream, pumped from `open` until `freeze` or `close`.

    Args:
        stream: the duplex stream to the world's init; it is closed here.
        token: what a freeze has to say; random, and known to the world's init only.
    """

    def __init__(self, stream: Stream, token: str | None = None) -> None:
        self._stream = stream
        self._token = token or secrets.token_hex(16)
        self._ours, self._gateways = socket.socketpair()
        self._handed_over = False
        self._to_world, self._to_gateway = bytearray(), bytearray()
        self._from_world, self._from_gateway = frames.FrameReader(), frames.FrameReader()
        self._freezing = False
        self._frozen = _Frozen()
        self._failure: str | None = None
        self._exits: list[Exit] = []
        self._running: list[Exit] = []
        self._reported = threading.Event()
        self._started = threading.Event()
        self._done = threading.Event()
        self._stopping = False
        self._lock = threading.Lock()
        self._bell, self._ring = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="world-channel", daemon=True)

    def open(self, servers: Sequence[Mapping[str, Any]], seed: Seed, data: str) -> None:
        """Send the start message and the seed, and pump from here on.

        Args:
            servers: `name`, `command`, `environment` and `cwd` of each, in the order of their channels.
            seed: the content of the data folder.
            data: that folder's path inside the world.
        """
        if len(servers) > frames.LAST_SERVER:
            raise Malformed(f"a world holds at most {frames.LAST_SERVER} servers, not {len(servers)}")
        self._begin({"start": {"token": self._token, "servers": list(servers), "data": data}}, seed)

    def renewed(self, seed: Seed) -> WorldChannel:
        """Return the world's next channel, once it was frozen and kept: other data, the same servers.

        Args:
            seed: what takes the place of all that the data folder holds.
        """
        channel = WorldChannel(self._stream, self._token)
        channel._begin({"renew": self._token}, seed)
        return channel

    def _begin(self, message: Mapping[str, Any], seed: Seed) -> None:
        self._to_world += frames.pack(frames.CONTROL, json.dumps(message).encode())
        tar = tar_of(seed)
        for at in range(0, len(tar), CHUNK):
            self._to_world += frames.pack(frames.STATE, tar[at : at + CHUNK])
        self._to_world += frames.pack(frames.STATE, b"")
        for descriptor in (self._ours, self._bell, self._ring, self._stream):
            os.set_blocking(descriptor.fileno(), False)
        self._thread.start()

    def gateway_end(self) -> socket.socket:
        """Return the gateway's end, which is the caller's to close. It carries frames of channels 1 to 63."""
        self._handed_over = True
        return self._gateways

    def started(self, timeout: float) -> bool:
        """Wait until every server has been started, and say whether that was so."""
        self._started.wait(timeout)
        return self._started.is_set() and self._failure is None

    @property
    def exits(self) -> tuple[Exit, ...]:
        """The servers that ended by themselves so far."""
        with self._lock:
            return tuple(self._exits)

    def report(self, timeout: float) -> tuple[Exit, ...]:
        """Return the programs that run, each with the last that it wrote on standard error, as far as it is known."""
        with self._lock:
            self._running.clear()
            self._reported.clear()
            self._to_world += frames.pack(frames.CONTROL, json.dumps({"report": self._token}).encode())
        self._wake()
        self._reported.wait(timeout)
        with self._lock:
            return tuple(self._running)

    def freeze(self, timeout: float, *, keep: bool = False) -> FrozenState:
        """Stop pumping, freeze the world and take its state as it comes.

        Args:
            timeout: in seconds.
            keep: leave the servers running for `renewed`; they must be at rest, and hold nothing but their folders.

        Raises:
            Lost: it did not answer in time, or its stream was cut.
            Malformed: the state is beyond the caps; only something inside could have made it so.
        """
        with self._lock:
            if not self._freezing:
                self._freezing = True
                self._to_gateway.clear()
                message = {"freeze": self._token} | ({"keep": True} if keep else {})
                self._to_world += frames.pack(frames.CONTROL, json.dumps(message).encode())
        self._wake()
        finished = self._done.wait(timeout)
        if keep:
            self._stop_pumping()
        else:
            self.close()
        if not finished:
            raise Lost(f"the world did not give its state within {timeout:g} s; what is in it is unknown")
        return self._state()

    def close(self) -> None:
        """Stop pumping and close every end that is ours; safe to call twice."""
        self._stop_pumping()
        with contextlib.suppress(OSError):
            self._stream.close()

    def _stop_pumping(self) -> None:
        self._stopping = True
        self._wake()
        if self._thread.is_alive():
            self._thread.join(5)
        ends = (self._ours, self._bell, self._ring)
        for end in ends if self._handed_over else (*ends, self._gateways):
            with contextlib.suppress(OSError):
                end.close()

    def _state(self) -> FrozenState:
        frozen = self._frozen
        if not frozen.ended or frozen.report is None:
            raise Lost(f"the world was cut off before its state was read: {self._failure or 'its stream ended'}")
        if "error" in frozen.report:
            raise Malformed("the state that was left is beyond the caps on entries, bytes or depth")
        return FrozenState(bytes(frozen.tar))

    # ---- the pump: everything below runs in its one thread ----

    def _run(self) -> None:
        try:
            while not self._stopping and not self._done.is_set():
                self._turn()
        except SandboxError as error:
            self._failure = str(error)
        except Exception as error:  # whatever comes, nobody may wait for this thread in vain
            self._failure = type(error).__name__
        finally:
            self._done.set()
            self._started.set()
            self._reported.set()
            with contextlib.suppress(OSError):
                self._ours.shutdown(socket.SHUT_RDWR)

    def _turn(self) -> None:
        poll = select.poll()
        with self._lock:
            wishes = self._wishes()
        for end, (events, _) in wishes.items():
            poll.register(end, events)
        for end, events in poll.poll():
            with self._lock, contextlib.suppress(BlockingIOError):
                read, write = wishes[end][1]
                if events & ~select.POLLOUT:
                    read()
                if events & select.POLLOUT:
                    write()

    def _wishes(self) -> dict[int, tuple[int, tuple[Callable[[], None], Callable[[], None]]]]:
        """Say what to wait for, and what to do then: nothing is read for a side that has too much waiting."""
        world = gateway = 0
        if len(self._to_gateway) < HIGH_WATER:
            world |= select.POLLIN
        if self._to_world:
            world |= select.POLLOUT
        if not self._freezing:
            gateway |= select.POLLIN if len(self._to_world) < HIGH_WATER else 0
            gateway |= select.POLLOUT if self._to_gateway else 0
        wishes = {self._bell.fileno(): (select.POLLIN, (self._answer_bell, self._answer_bell))}
        if world:
            wishes[self._stream.fileno()] = world, (self._read_world, self._write_world)
        if gateway and self._ours.fileno() >= 0:
            wishes[self._ours.fileno()] = gateway, (self._read_gateway, self._write_gateway)
        return wishes

    def _read_world(self) -> None:
        data = self._stream.recv(CHUNK)
        if not data:
            raise Lost("its stream ended")
        for channel, payload in self._from_world.feed(data):
            if channel == frames.CONTROL:
                self._hear(payload)
            elif channel == frames.STATE:
                self._collect(payload)
            elif channel <= frames.LAST_SERVER and not self._freezing and self._ours.fileno() >= 0:
                self._to_gateway += frames.pack(channel, payload)

    def _write_world(self) -> None:
        sent = self._stream.send(bytes(self._to_world[:CHUNK]))
        del self._to_world[:sent]

    def _read_gateway(self) -> None:
        try:
            data = self._ours.recv(CHUNK)
            fresh = self._from_gateway.feed(data)
        except BlockingIOError:
            return
        except (OSError, Malformed):
            data, fresh = b"", []
        if not data:  # the gateway went away or talks nonsense: the world waits for its freeze
            self._ours.close()
            self._to_gateway.clear()
        for channel, payload in fresh:
            if frames.FIRST_SERVER <= channel <= frames.LAST_SERVER:
                self._to_world += frames.pack(channel, payload)

    def _write_gateway(self) -> None:
        try:
            sent = self._ours.send(self._to_gateway[:CHUNK])
        except BlockingIOError:
            return
        except OSError:
            sent = len(self._to_gateway)
        del self._to_gateway[:sent]

    def _hear(self, payload: bytes) -> None:
        """Take a control message of the world's init; what it does not know how to say is dropped."""
        if len(payload) > MAX_CONTROL:
            raise Lost("its init sent a control message beyond the cap")
        try:
            message = json.loads(payload)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise Lost("its init sent something that is no control message")
        if "started" in message:
            self._started.set()
        elif "failed" in message:
            raise Lost(f"its init gave up with {str(message['failed'])[:80]!r}")
        elif isinstance(message.get("exited"), dict) and len(self._exits) < frames.LAST_SERVER:
            facts = message["exited"]
            self._exits.append(Exit(str(facts.get("server")), int(facts.get("code") or 0), str(facts.get("stderr"))))
        elif isinstance(message.get("running"), dict) and len(self._running) < 2 * frames.LAST_SERVER:
            facts = message["running"]
            self._running.append(Exit(str(facts.get("server")), None, str(facts.get("stderr"))))
        elif "reported" in message:
            self._reported.set()
        elif isinstance(message.get("frozen"), dict):
            self._frozen.report = message["frozen"]

    def _collect(self, payload: bytes) -> None:
        if not self._freezing or self._frozen.ended:
            return
        self._frozen.tar += payload
        if len(self._frozen.tar) > MAX_TAR:
            self._frozen.report = {"error": "it is longer than any state within the caps"}
        if not payload or len(self._frozen.tar) > MAX_TAR:
            self._frozen.ended = True
            self._done.set()

    def _answer_bell(self) -> None:
        self._bell.recv(CHUNK)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._ring.send(b"!")
