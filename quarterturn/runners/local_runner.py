"""Local runner: plays the runs of this machine's own service, in a process without keys and home.

1. It is executed for the runs of one class, and holds the machine's lock with them. After the last of them it stays for
    a minute, unless runs of another class wait for the machine: so a check of one task rarely pays for its start.
2. It dials the service on the loopback, over the interface that every runner speaks. Its token is a new one at each
   start, and reaches it through a socket: neither its environment nor its arguments hold anything.
3. It ends once that socket is closed, by an orderly stop or because the service was killed. Supervisors play on, and
   what they leave lies in the spool: the next process of this home adopts it, as its servings are those of one name.
4. Each process of a home that plays on this machine has a number of its own, the lowest that is free.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

from quarterturn.boxes import digest_of
from quarterturn.errors import Unavailable
from quarterturn.retry_loop import RetryLoop
from quarterturn.runners.programs import STOP_WORD
from quarterturn.runners.runner_box import RunnerBox
from quarterturn.runners.store import Runners
from sandbox.boxes.box import Box, BoxRecipe, Program, ReproducibleBox
from sandbox.image_reference import ImageReference
from sandbox.isolation import machine_lock
from sandbox.isolation.forkserver import start_clean

TOKEN_DAYS = 90
LOOK_SECONDS = 0.2
"""Between two looks at whether it lives, and is still needed."""
IDLE_SECONDS = 60.0
"""How long it stays after the last run."""
END_SECONDS = 30.0
"""For it to end in order; what it plays goes on in any case."""
PROGRAM = "quarterturn.client.local_runner_process"


class LocalRunner:
    """The runner of one process of a home.

    Args:
        runners: where it has a row, like every other.
        folder: of the spools of a home's local runners.
        places: how many servings it plays at a time.
        servers: the folder of servers that the home has added, or None.
    """

    def __init__(self, runners: Runners, folder: Path, places: int, servers: Path | None = None) -> None:
        self._runners, self._places, self._servers = runners, places, servers
        self._number_lock, number = _take_number(folder)
        self.name, self._spool = f"local-{number}", folder / str(number)
        self.url = ""
        """Where this process answers it; set once it does."""
        self._changing = threading.Lock()
        self._runs, self._idle_since = 0, 0.0
        self._recipe: BoxRecipe | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def box(self, box: Box) -> Box:
        """Return the box of runs that are to be played in this one; one that no other process can make stays as it is.

        The tests' box in memory is such a one.
        """
        recipe = box.recipe if isinstance(box, ReproducibleBox) else None
        return LocalRunnerBox(self, self._runners, box, recipe) if recipe else box

    @contextmanager
    def playing(self, recipe: BoxRecipe, stopped: Callable[[], bool]) -> Iterator[None]:
        """Have the runner of a box for the block, once no runs of another class are played on this machine.

        Raises:
            NotAllowed, Unavailable: as for `machine_lock.playing`; or it plays in another box now.
        """
        with machine_lock.playing(recipe.run_class, stopped) as lock:
            with self._changing:
                self._require_running(recipe, lock)
                self._runs += 1
            try:
                yield
            finally:
                with self._changing:
                    self._runs -= 1
                    self._idle_since = time.monotonic()

    def close(self) -> None:
        """End its process, and give its number up."""
        with self._changing:
            self._stop()
        self._number_lock.close()

    def _require_running(self, recipe: BoxRecipe, machine_lock_held: int) -> None:
        """Start its process, unless one for these runs is there already.

        Raises:
            Unavailable: it plays other runs.
        """
        if self._recipe == recipe and not self._stopping.is_set():
            return
        if self._runs:
            raise Unavailable("the local runner plays in another box; these runs wait until it has ended")
        self._stop()
        self._recipe, self._stopping = recipe, threading.Event()
        work = (recipe, os.dup(machine_lock_held), self._stopping)
        self._thread = threading.Thread(target=self._keep_running, args=work, name=self.name)
        self._thread.start()

    def _stop(self) -> None:
        self._stopping.set()
        if self._thread:
            self._thread.join()

    def _stop_if_idle(self) -> None:
        """End its process where no run needs it any more; whoever changes that just now is not waited for."""
        if self._changing.acquire(blocking=False):
            try:
                is_old = time.monotonic() >= self._idle_since + IDLE_SECONDS
                if not self._runs and (is_old or machine_lock.is_awaited()):
                    self._stopping.set()
            finally:
                self._changing.release()

    def _keep_running(self, recipe: BoxRecipe, lock: int, stopping: threading.Event) -> None:
        """Run it, again where it ends by itself, until it is not needed any more."""
        try:
            RetryLoop(stopping).make(lambda: self._run(recipe, lock, stopping))
        finally:
            os.close(lock)

    def _run(self, recipe: BoxRecipe, lock: int, stopping: threading.Event) -> None:
        """Run it once.

        Raises:
            Unavailable: it ended by itself.
        """
        document = {
            "url": self.url,
            "token": self._runners.renew(self.name, TOKEN_DAYS),
            "spool": str(self._spool),
            "box": recipe.name,
            "run_class": recipe.run_class,
            "runtime": recipe.runtime,
            "places": self._places,
            "servers": self._servers and str(self._servers),
        }
        process, control = start_clean("-m", PROGRAM)
        with control:
            socket.send_fds(control, [json.dumps(document).encode()], [lock])
            while process.poll() is None and not stopping.wait(LOOK_SECONDS):
                self._stop_if_idle()
            if process.poll() is not None:
                reason = control.recv(4096).decode(errors="replace") or f"status {process.returncode}"
                raise Unavailable(f"the local runner has ended: {reason}")
            with suppress(OSError):
                control.send(STOP_WORD)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class LocalRunnerBox(RunnerBox):
    """Box of this machine in which its local runner plays; this process looks images up in it, and checks it."""

    def __init__(self, runner: LocalRunner, runners: Runners, box: Box, recipe: BoxRecipe) -> None:
        self._runner, self._runners, self._recipe, self.local_box, self._box = runner, runners, recipe, box, box
        self.name, self.run_class, self.official = box.name, recipe.run_class, box.official

    def playing(self, stopped: Callable[[], bool]) -> AbstractContextManager[None]:
        """Have the local runner for the block."""
        return self._runner.playing(self._recipe, stopped)

    def check(self) -> None:
        """Make sure that the box can be had."""
        self._box.check()

    def digest(self, reference: ImageReference) -> str:
        """Return the digest of an image that the engine has."""
        return digest_of(self._box, reference)

    def fits(self, program: Program) -> None:
        """Refuse a program that the box cannot start."""
        self._box.fits(program)


def _take_number(folder: Path) -> tuple[BinaryIO, int]:
    """Take the lowest number that no other process has, and return the file that holds it.

    A forked process does not inherit this kind of lock: it goes with this process, however that ends.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    for number in count(1):
        file = (folder / f"{number}.lock").open("wb")
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        else:
            return file, number
    raise AssertionError("unreachable")
