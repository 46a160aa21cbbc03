"""Supervisor of one serving: a process without keys that plays it, for a runner or for the process that judges it.

    1. Whoever has servings played executes a warm parent, with an environment of two words; it never held a key, and
       forks a supervisor for each message. It ends with whoever executed it.
    2. A supervisor begins a session of its own, and plays one serving (`sandbox.servings.local_player`), which ends the
       agent at its deadline by a clock of its own.
    3. For a runner: it is handed the serving's ciphertext and key, the service's public key, and the locked file of the
       spool, and decrypts the serving itself: no runner holds one in the clear. What was left is sealed to the service
       and kept in the spool, and the lock goes with the process, which outlives its runner. SIGTERM ends a serving that
       is not wanted any more.
    4. For a process that judges what is left (`sandbox.servings.supervised_player`): it is handed the serving and a
       socket, over which it asks for its turns and gives back what was left. It ends where that socket is closed.

A supervisor that is late beyond all its timeouts is killed by its own alarm, and its agent and world with it.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from sandbox.boxes.box import Box
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import Lost, NotFound, SandboxError, Unavailable
from sandbox.gateway import FORK_SERVER
from sandbox.isolation.forkserver import ForkServer, start_clean
from sandbox.isolation.run_classes import RunClass
from sandbox.judge.process import READER
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.runner_identity import runner
from sandbox.servers.added_servers import register_added
from sandbox.servings.handed_in import MAX_BYTES, MAX_PARTS_BYTES, HandIn
from sandbox.servings.local_player import LocalPlayer
from sandbox.servings.relayed_model import RelayedModel, ServiceAddress
from sandbox.servings.sealing import MAX_SEALED, decrypt_serving, seal_hand_in
from sandbox.servings.serving import Serving
from sandbox.servings.spool import Spool
from sandbox.servings.strict_form import model_around
from sandbox.transcript import ModelCall

SPARE_SECONDS = 600
"""Beyond the agent's time and the timeouts of its parts: for reading back, and checking the machinery.

What was left then has as long to reach the disk.
"""
BASE_POINT = bytes([9, *bytes(31)])
"""Of X25519 (RFC 7748): a public key that is nobody's."""
DISK_PAUSE_SECONDS = 5.0
"""Between two tries to write to a disk that is full."""
CLOSE_SECONDS = 10.0
MAX_DESCRIPTORS = 3
FOR_SPOOL, FOR_CALLER = b"s", b"c"
"""Whom a supervisor is for, as the warm parent is told."""
SHARED, ALONE, OVER, HAND_IN, ERROR = b"s", b"a", b"o", b"h", b"e"
"""What a supervisor says to its caller: that it asks for a turn with others, or alone; that the turn is over; what was
left, in a file in memory; or an error, with the name of its class."""
GO = b"g"
"""The answer to each turn that is asked for."""
MAX_MESSAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class SupervisorRequest:
    """What a supervisor is handed.

    Attributes:
        handle: the serving.
        ciphertext: the serving, encrypted.
        key: its key.
        public_key: the service's, which the hand-in is sealed to.
        spool: the spool's folder.
    """

    handle: str
    ciphertext: bytes = field(repr=False)
    key: bytes = field(repr=False)
    public_key: bytes
    spool: Path

    def to_bytes(self) -> bytes:
        """Write it as JSON."""
        return json.dumps(asdict(self), default=_plain).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> SupervisorRequest:
        """Read what `to_bytes` wrote."""
        document: dict[str, Any] = json.loads(data)
        keys = {name: bytes.fromhex(document[name]) for name in ("ciphertext", "key", "public_key")}
        return cls(**{**document, **keys, "spool": Path(document["spool"])})


def _plain(value: bytes | Path) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


class Supervisors:
    """Warm parent of supervisors, from its runner's side; started when it is first needed, and again if it died.

    Args:
        box: where they play: `bwrap` or `docker`.
        run_class: of the runs that are played there.
        machine_lock: the descriptor of the machine's lock, which every supervisor holds too; None: there is none.
        servers: the folder of servers that were added to the shipped ones, or None.
        service: where the service is, which relays language models; None where it relays none.
        runtime: another OCI runtime of the engine, or empty.
        readers: the fork server of readers of this process, which supervisors use too; None: they have their own.

    Raises:
        NotFound: there is no such box.
    """

    def __init__(
        self,
        box: str = "bwrap",
        run_class: RunClass = "open",
        *,
        machine_lock: int | None = None,
        servers: Path | None = None,
        service: ServiceAddress | None = None,
        runtime: str = "",
        readers: ForkServer | None = None,
    ) -> None:
        if box not in BOXES:
            raise NotFound(f"there is no box {box!r}; the boxes are {', '.join(BOXES)}")
        self._arguments = (box, run_class, runtime, str(servers or ""), json.dumps(service and asdict(service)))
        self._readers, self._lock = readers, threading.Lock()
        self._inherited = () if machine_lock is None else (machine_lock,)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self, request: SupervisorRequest) -> None:
        """Start the supervisor of a serving; from here on the spool tells what becomes of it.

        Raises:
            NotAllowed: the serving is being played already.
            Unavailable: no process can be made.
        """
        try:
            lock = Spool(request.spool).lock(request.handle)
        except OSError as error:
            raise Unavailable(f"no supervisor can be started: {error}") from error
        try:
            self._send(FOR_SPOOL, request.to_bytes(), lock)
        finally:
            os.close(lock)

    def open(self, serving: Serving, *model_link: int) -> socket.socket:
        """Start a supervisor that makes a serving ready at once, and return the socket over which it asks for more.

        Args:
            serving: the serving.
            model_link: the descriptor of the gateway's end of a session with a language model, where there is one.

        Raises:
            Unavailable: no process can be made.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._send(FOR_CALLER, serving.to_bytes(), theirs.fileno(), *model_link)
            except BaseException:
                ours.close()
                raise
        return ours

    def warm(self) -> None:
        """Start the warm parent if it does not run, and don't wait for it."""
        with self._lock:
            self._running()

    def close(self) -> None:
        """End the warm parent; supervisors of a spool go on."""
        with self._lock:
            if self._control is not None and self._process is not None:
                self._control.close()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(CLOSE_SECONDS)  # it first starts what it was asked for
                self._process.kill()  # a process that was forked from this one may keep the socket open
                self._process.wait()
            self._process = self._control = None

    def _send(self, purpose: bytes, document: bytes, *descriptors: int) -> None:
        try:
            with memory_file(document) as file, self._lock:
                socket.send_fds(self._running(), [purpose], [file, *descriptors])
        except OSError as error:
            raise Unavailable(f"no supervisor can be started: {error}") from error

    def _running(self) -> socket.socket:
        if self._process is None or self._process.poll() is not None or self._control is None:
            shared = [self._readers.share()] if self._readers else []
            program = ("-m", "sandbox.servings.supervisor", *self._arguments, *map(str, shared))
            self._process, self._control = start_clean(*program, pass_fds=[*self._inherited, *shared])
        return self._control


@contextmanager
def memory_file(document: bytes) -> Iterator[int]:
    """Yield the descriptor of a file in memory with this content, to be read from its beginning."""
    with os.fdopen(os.memfd_create("document"), "w+b", buffering=0) as file:
        file.write(document)
        file.seek(0)
        yield file.fileno()


def serve(
    name: str,
    run_class: RunClass,
    *,
    runtime: str,
    servers: str,
    service: ServiceAddress | None,
    readers: int | None = None,
) -> None:
    """Fork a supervisor for each message on standard input, until whoever executed this is gone.

    Args:
        name: of the box.
        run_class: of the runs that are played there.
        runtime: as for `Supervisors`, like the next two.
        servers: likewise, or empty.
        service: likewise.
        readers: the descriptor of a fork server of readers, or None for one of its own.
    """
    control = socket.socket(fileno=os.dup(0))
    if servers:
        register_added(Path(servers))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    logging.disable()  # a library's log line may quote what it was given
    FORK_SERVER.warm()
    if readers is None:
        READER.warm()
    else:
        READER.adopt(readers)
    _rehearse()
    purposes: dict[bytes, Callable[..., None]] = {
        FOR_SPOOL: partial(_play_for_spool, service),
        FOR_CALLER: _play_for_caller,
    }
    make_box = BOXES[name](run_class, runtime)
    gc.collect()
    gc.freeze()
    while True:
        purpose, descriptors, _, _ = socket.recv_fds(control, 1, MAX_DESCRIPTORS)
        if not purpose:
            os._exit(0)  # without ending the fork servers, which supervisors still use
        if os.fork() == 0:
            try:
                control.close()
                os.setsid()
                os.dup2(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), 0)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                purposes[purpose](make_box(), *descriptors)
            finally:
                os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)


def _rehearse() -> None:
    """Load what every supervisor needs to read its serving and to seal what was left: that takes 0.15 s."""
    model_around(Serving)
    seal_hand_in("", HandIn(AttemptFacts(Stage.NOTHING)), BASE_POINT)


def _play_for_spool(service: ServiceAddress | None, box: Box, document: int, lock: int) -> None:
    """Play one serving of a runner's, from its request to its sealed hand-in."""
    os.set_inheritable(lock, False)  # noqa: FBT003 - its name has no keyword
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with os.fdopen(document, "rb") as file:
        request = SupervisorRequest.from_bytes(file.read())
    os.pwrite(lock, runner().encode("ascii"), 0)
    hand_in = HandIn(AttemptFacts(Stage.NOTHING))
    with suppress(Exception):  # then it could not be made ready, and that is what is handed in
        serving = decrypt_serving(request.handle, request.ciphertext, request.key)
        models = RelayedModel(service, request.handle, request.key) if service else None
        player = LocalPlayer(box, workers=1, models=models)
        hand_in = _play(player, serving, stop, lambda: Spool.record_agent_start(lock))
    signal.alarm(SPARE_SECONDS)
    keep_hand_in(request, hand_in)
    os._exit(0)


def _play_for_caller(box: Box, document: int, socket_: int, model_link: int | None = None) -> None:
    """Play one serving of whoever holds the other end of a socket, and give back what was left."""
    stop, channel = threading.Event(), socket.socket(fileno=socket_)
    threading.Thread(target=_stop_at_hangup, args=(channel, stop), daemon=True).start()
    models = None if model_link is None else OpenedModelLink(socket.socket(fileno=model_link))
    try:
        with os.fdopen(document, "rb") as file:
            serving = Serving.from_bytes(file.read())
        turns = CallerTurns(channel, _seconds(serving))
        hand_in = _play(LocalPlayer(box, workers=1, models=models, turns=turns), serving, stop)
    except SandboxError as error:
        channel.send(ERROR + f"{type(error).__name__}:{error}".encode()[: MAX_MESSAGE_BYTES - 1])
    else:
        data = hand_in.to_bytes()
        if len(data) > MAX_BYTES or hand_in.parts_size > MAX_PARTS_BYTES:
            data = _only_facts(hand_in).to_bytes()
        with memory_file(data) as file:
            socket.send_fds(channel, [HAND_IN], [file])
    os._exit(0)


def _play(
    player: LocalPlayer, serving: Serving, stop: threading.Event, record_start: Callable[[], None] = lambda: None
) -> HandIn:
    """Play one serving, and return what was left, whatever broke.

    Args:
        player: plays it.
        serving: the serving.
        stop: set when nobody wants it any more.
        record_start: called right before the agent is let go.

    Raises:
        SandboxError: it cannot be made ready here at all.
    """
    signal.alarm(_seconds(serving))
    prepared = player.prepare(serving)
    hand_in = HandIn(AttemptFacts(Stage.SERVED))  # an agent may be what breaks it: without more facts this is a fail
    with suppress(Exception):
        try:
            hand_in = prepared.play(record_start, stop)
        finally:
            prepared.close()
    return hand_in


def _stop_at_hangup(channel: socket.socket, stop: threading.Event) -> None:
    """Set `stop` once the other end sends no more."""
    poll = select.poll()
    poll.register(channel, select.POLLRDHUP)
    poll.poll()
    stop.set()


class CallerTurns:
    """Turns that a supervisor's caller gives (`sandbox.shared_lock.Turns`).

    Args:
        channel: the socket to the caller.
        seconds: what the supervisor may take for a turn; it is killed by its alarm then, but never while it waits.
    """

    def __init__(self, channel: socket.socket, seconds: int) -> None:
        self._channel, self._seconds = channel, seconds

    def shared(self) -> AbstractContextManager[None]:
        """Be one of those that play."""
        return self._turn(SHARED)

    def alone(self) -> AbstractContextManager[None]:
        """Be the only one of the run's."""
        return self._turn(ALONE)

    @contextmanager
    def _turn(self, kind: bytes) -> Iterator[None]:
        signal.alarm(0)
        self._channel.send(kind)
        if self._channel.recv(1) != GO:
            raise Lost("nobody waits for this serving any more")
        signal.alarm(self._seconds)
        try:
            yield
        finally:
            self._channel.send(OVER)


class OpenedModelLink:
    """Session with a language model that the caller has opened, whose log it reads (`ModelLink`, `ModelLinks`)."""

    calls: tuple[ModelCall, ...] = ()
    lost = False

    def __init__(self, gateway_end: socket.socket) -> None:
        self.gateway_end = gateway_end

    def open(self) -> OpenedModelLink:
        """Return it: it is open."""
        return self

    def finish(self) -> None:
        """Close our end; whoever opened it waits for its log."""
        self.gateway_end.close()


def keep_hand_in(request: SupervisorRequest, hand_in: HandIn, wait: Callable[[float], object] = time.sleep) -> None:
    """Seal what was left and keep it in the spool; on a full disk, try again for as long as this process lives.

    What is longer than a service takes is kept without the parts that an agent can make as long as it likes.
    """
    only_facts = _only_facts(hand_in)
    fits = hand_in.parts_size <= MAX_PARTS_BYTES
    sealed = seal_hand_in(request.handle, hand_in if fits else only_facts, request.public_key)
    if len(sealed) > MAX_SEALED:
        sealed = seal_hand_in(request.handle, only_facts, request.public_key)
    while True:
        try:
            Spool(request.spool).keep(request.handle, sealed)
        except OSError:  # what was left is nowhere else
            wait(DISK_PAUSE_SECONDS)
        else:
            return


def _only_facts(hand_in: HandIn) -> HandIn:
    return HandIn(replace(hand_in.facts, too_large=True), machine=hand_in.machine)


def _seconds(serving: Serving) -> int:
    patience = serving.patience
    return int(serving.agent.wall + patience.ready + patience.finish + patience.freeze) + SPARE_SECONDS


def _bwrap(run_class: RunClass, _: str) -> Callable[[], Box]:
    """Return the box, which holds its copies of programs for all supervisors; looking at them takes a second."""
    box = BwrapBox(run_class=run_class)
    box.hold_programs()
    return lambda: box


def _docker(run_class: RunClass, runtime: str) -> Callable[[], Box]:
    """Return the box, which knows its images; each supervisor opens connections of its own."""
    from sandbox.boxes.docker.box import DockerBox  # noqa: PLC0415 - a client that the other box does not load

    box = DockerBox(runtime=runtime or None, run_class=run_class)
    with suppress(SandboxError):  # then each supervisor looks for them
        box.hold_images()
    return lambda: box


BOXES: dict[str, Callable[[RunClass, str], Callable[[], Box]]] = {"bwrap": _bwrap, "docker": _docker}


if __name__ == "__main__":
    box_name, its_class, its_runtime, folder, address = sys.argv[1:6]
    service_document = json.loads(address)
    serve(
        box_name,
        cast("RunClass", its_class),
        runtime=its_runtime,
        servers=folder,
        service=ServiceAddress(**service_document) if service_document else None,
        readers=int(sys.argv[6]) if sys.argv[6:] else None,
    )
