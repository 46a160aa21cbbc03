"""Supervisor of one serving: a process that plays it, and outlives the runner that started it.

    1. The runner executes a warm parent, with an environment of two words; it never held a key, and forks a supervisor
       for each message. It ends with its runner, and its supervisors do not.
    2. A supervisor begins a session of its own. It is handed the serving's ciphertext and key, the service's public
       key, and the locked file of the spool, and decrypts the serving itself: no runner holds one in the clear.
    3. It plays it (`sandbox.servings.local_player`), which ends the agent at its deadline by a clock of its own.
    4. What was left is sealed to the service's key and kept in the spool, and the lock goes with the process.

SIGTERM ends a serving that is not wanted any more. A supervisor that is late beyond all its timeouts is killed by its
own alarm, and its agent and world with it.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from sandbox.boxes.box import Box
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.errors import NotFound, Unavailable
from sandbox.gateway import FORK_SERVER
from sandbox.isolation.forkserver import start_clean
from sandbox.isolation.run_classes import RunClass
from sandbox.judge.process import READER
from sandbox.results.failure import AttemptFacts, Stage
from sandbox.runner_identity import runner
from sandbox.servings.handed_in import HandIn
from sandbox.servings.local_player import LocalPlayer
from sandbox.servings.sealing import MAX_SEALED, decrypt_serving, seal_hand_in
from sandbox.servings.serving import Serving
from sandbox.servings.spool import Spool
from sandbox.servings.strict_form import model_around

SPARE_SECONDS = 600
"""Beyond the agent's time and the timeouts of its parts: for reading back, and checking the machinery.

What was left then has as long to reach the disk.
"""
BASE_POINT = bytes([9, *bytes(31)])
"""Of X25519 (RFC 7748): a public key that is nobody's."""
DISK_PAUSE_SECONDS = 5.0
"""Between two tries to write to a disk that is full."""


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

    Raises:
        NotFound: there is no such box.
    """

    def __init__(self, box: str = "bwrap", run_class: RunClass = "open", machine_lock: int | None = None) -> None:
        if box not in BOXES:
            raise NotFound(f"there is no box {box!r}; the boxes are {', '.join(BOXES)}")
        self._box, self._run_class = box, run_class
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
            try:
                with os.fdopen(os.memfd_create("request"), "w+b") as file:
                    file.write(request.to_bytes())
                    file.seek(0)
                    socket.send_fds(self._running(), [b"!"], [file.fileno(), lock])
            finally:
                os.close(lock)
        except OSError as error:
            raise Unavailable(f"no supervisor can be started: {error}") from error

    def close(self) -> None:
        """End the warm parent; its supervisors go on."""
        if self._control is not None and self._process is not None:
            self._control.close()
            self._process.wait()
        self._process = self._control = None

    def _running(self) -> socket.socket:
        if self._process is None or self._process.poll() is not None or self._control is None:
            program = ("-m", "sandbox.servings.supervisor", self._box, self._run_class)
            self._process, self._control = start_clean(*program, pass_fds=self._inherited)
        return self._control


def serve(name: str, run_class: RunClass) -> None:
    """Fork a supervisor for each message on standard input, until the runner is gone."""
    control = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    logging.disable()  # a library's log line may quote what it was given
    for server in (FORK_SERVER, READER):
        server.warm()  # supervisors share these two
    _rehearse()
    make_box = BOXES[name](run_class)
    gc.collect()
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            os._exit(0)  # without ending the fork servers, which supervisors still use
        if os.fork() == 0:
            try:
                control.close()
                _supervise(make_box(), *descriptors)
            finally:
                os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)


def _rehearse() -> None:
    """Load what every supervisor needs to read its serving and to seal what was left: that takes 0.15 s."""
    model_around(Serving)
    seal_hand_in("", HandIn(AttemptFacts(Stage.NOTHING)), BASE_POINT)


def _supervise(box: Box, request_file: int, lock: int) -> None:
    """Play one serving, from its request to its sealed hand-in."""
    os.setsid()
    os.set_inheritable(lock, False)  # noqa: FBT003 - its name has no keyword
    os.dup2(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with os.fdopen(request_file, "rb") as file:
        request = SupervisorRequest.from_bytes(file.read())
    os.pwrite(lock, runner().encode("ascii"), 0)
    hand_in = HandIn(AttemptFacts(Stage.NOTHING))
    with suppress(Exception):  # then it could not be made ready, and that is what is handed in
        serving = decrypt_serving(request.handle, request.ciphertext, request.key)
        signal.alarm(_seconds(serving))
        prepared = LocalPlayer(box, workers=1).prepare(serving)
        # From here on an agent may be what breaks it: without more facts this is a fail.
        hand_in = HandIn(AttemptFacts(Stage.SERVED))
        try:
            hand_in = prepared.play(lambda: None, stop)  # its start was recorded before its key was given
        finally:
            prepared.close()
    signal.alarm(SPARE_SECONDS)
    keep_hand_in(request, hand_in)
    os._exit(0)


def keep_hand_in(request: SupervisorRequest, hand_in: HandIn, wait: Callable[[float], object] = time.sleep) -> None:
    """Seal what was left and keep it in the spool; on a full disk, try again for as long as this process lives.

    What is longer than a service takes is kept without the parts that an agent can make as long as it likes.
    """
    sealed = seal_hand_in(request.handle, hand_in, request.public_key)
    if len(sealed) > MAX_SEALED:
        only_facts = HandIn(replace(hand_in.facts, too_large=True), machine=hand_in.machine)
        sealed = seal_hand_in(request.handle, only_facts, request.public_key)
    while True:
        try:
            Spool(request.spool).keep(request.handle, sealed)
        except OSError:  # what was left is nowhere else
            wait(DISK_PAUSE_SECONDS)
        else:
            return


def _seconds(serving: Serving) -> int:
    patience = serving.patience
    return int(serving.agent.wall + patience.ready + patience.finish + patience.freeze) + SPARE_SECONDS


def _bwrap(run_class: RunClass) -> Callable[[], Box]:
    """Return the box, which holds its copies of programs for all supervisors; looking at them takes a second."""
    box = BwrapBox(run_class=run_class)
    box.hold_programs()
    return lambda: box


def _docker(run_class: RunClass) -> Callable[[], Box]:
    """Return what makes a box: two processes cannot share one connection to an engine."""
    from sandbox.boxes.docker.box import DockerBox  # noqa: PLC0415 - a client that the other box does not load

    return lambda: DockerBox(run_class=run_class)


BOXES: dict[str, Callable[[RunClass], Callable[[], Box]]] = {"bwrap": _bwrap, "docker": _docker}


if __name__ == "__main__":
    serve(sys.argv[1], cast("RunClass", sys.argv[2]))
