"""Docker engine for the tests: one is started where none answers, for as long as they run.

An engine that was started here is stopped here, by its process id, and no other is touched; it runs below the
launcher's own control group, so that limits and accounts of whoever started the launcher hold for containers too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from launcher import control_group
from quarterturn.launcher import machine
from quarterturn.launcher.steps import Stop, answer, say

PID_FILE = Path("/var/run/docker.pid")  # dockerd's own default
ENGINE_START = 300.0  # seconds; an engine that takes longer is not coming, however slow the machine
ENGINE_STOP = 300.0
BETWEEN = 0.3


@contextlib.contextmanager
def provide() -> Iterator[None]:
    """Provide a Docker engine inside the block, starting one if none answers and we may.

    Raises:
        Stop: there is none and it cannot be started.
    """
    if answers():
        yield
        return
    if os.geteuid() != 0 or "DOCKER_HOST" in os.environ:
        message = "no Docker engine answers: start one, and check that `docker info` works"
        raise Stop(message)
    machine.need(machine.FOR_AN_ENGINE, "testing")
    _await_end_of_earlier()
    with tempfile.TemporaryDirectory(prefix="quarterturn-engine-") as folder, control_group.own() as group:
        log = Path(folder) / "dockerd.log"
        daemon = _start(log, group)
        try:
            _await(daemon, log)
            yield
        finally:
            _end(daemon)


def _await_end_of_earlier() -> None:
    """Wait for an engine that no longer answers to end; remove the process id of one that ended without doing so.

    Raises:
        Stop: it does not end.
    """
    deadline = time.monotonic() + ENGINE_STOP
    announced = False
    while (number := _pid()) is not None:
        if not _is_engine(number):  # dockerd refuses to start where the number was given to another process since
            PID_FILE.unlink(missing_ok=True)
            return
        if answers():
            return
        if time.monotonic() > deadline:
            message = f"an earlier dockerd (process {number}) neither answers nor ends; look at it, then start again"
            raise Stop(message)
        if not announced:
            say(f"waiting for the dockerd of an earlier run (process {number}) to end")
            announced = True
        time.sleep(BETWEEN)


def _pid() -> int | None:
    try:
        return int(PID_FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _is_engine(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/comm").read_text(encoding="utf-8").strip() == "dockerd"
    except OSError:
        return False


def answers() -> bool:
    """Say whether an engine answers the Docker client."""
    return answer(["docker", "version", "--format", "{{.Server.Version}}"]) not in {None, ""}


def _start(log: Path, group: Sequence[str]) -> subprocess.Popen[bytes]:
    say("starting dockerd, for as long as the tests run")
    environ = os.environ | {"PATH": os.pathsep.join((os.environ.get("PATH", os.defpath), *machine.SBIN))}
    command: Sequence[str] = [machine.find("dockerd") or "dockerd", *group]
    with log.open("wb") as sink:  # a session of its own: an interrupt from the keyboard is ours to pass on
        return subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
        )


def _await(daemon: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + ENGINE_START
    while not answers():
        if daemon.poll() is not None or time.monotonic() > deadline:
            last = log.read_text(encoding="utf-8", errors="replace").strip()[-1500:]
            message = f"dockerd did not come up and the tests need it; its last words:\n{last}"
            raise Stop(message)
        time.sleep(BETWEEN)


def _end(daemon: subprocess.Popen[bytes]) -> None:
    if daemon.poll() is None:
        say(f"stopping dockerd (process {daemon.pid})")
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(ENGINE_STOP)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
