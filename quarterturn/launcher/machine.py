"""Requirements of the machine: a few Debian packages, and for the tests a Docker engine.

As root on Debian it is installed; anywhere else the launcher says in one line what is missing. An engine that was
started here is stopped here, by its process id, and no other is touched; it runs below the launcher's own control
group, so that limits and accounts of whoever started the launcher hold for containers too.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from quarterturn.launcher import control_group
from quarterturn.launcher.steps import Stop, answer, carry_out, say

# The program that is needed, or the whole path of another file -> Debian's package that has it.
FOR_THE_DEMO = {"git": "git", "bwrap": "bubblewrap"}
FOR_THE_TESTS = FOR_THE_DEMO | {
    "/usr/include/asm-generic/unistd.h": "linux-libc-dev",  # the kernel's own numbers of its calls
    "age": "age",  # opens what custodians are given
    "chromium": "chromium",  # looks at the pages
    "docker": "docker.io",
    "docker-compose": "docker-compose",
    "go": "golang-go",
    "/usr/share/gocode/src/golang.org/x/mod": "golang-golang-x-mod-dev",  # checks the log and its proofs
    "openssl": "openssl",
    "runsc": "runsc",
    "softhsm2-util": "softhsm2",  # a hardware token without the hardware
    "ssh-keygen": "openssh-client",
    "systemd-analyze": "systemd",  # reads our unit
    "strace": "strace",  # breaks off the log's writer at each of its calls
}
FOR_AN_ENGINE = {"dockerd": "docker.io"}
FOR_WORLDS = {  # redis-check-rdb is Redis under another name
    "dovecot": "dovecot-imapd",
    "initdb": "postgresql",
    "redis-check-rdb": "redis-tools",
}
FOR_BASE_IMAGES = {"mmdebstrap": "mmdebstrap"}
FOR_EXHAUSTIVE_TESTS = {"soffice": "libreoffice-calc-nogui"}  # calculates the formulas that we do
ALL_FOR_THE_TESTS = FOR_THE_TESTS | FOR_AN_ENGINE | FOR_WORLDS | FOR_BASE_IMAGES

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # where dockerd and its helpers are, often not on a user's path
POSTGRES = "/usr/lib/postgresql"  # Debian keeps each version's programs there, and off the path
QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
NO_CLUSTER = Path("/etc/postgresql-common/createcluster.d/quarterturn.conf")
PID_FILE = Path("/var/run/docker.pid")  # dockerd's own default
ENGINE_START = 300.0  # seconds; an engine that takes longer is not coming, however slow the machine
ENGINE_STOP = 300.0
BETWEEN = 0.3


def missing(programs: Mapping[str, str]) -> list[str]:
    """Give the Debian packages of those programs that this machine does not have."""
    return sorted({package for program, package in programs.items() if find(program) is None})


def find(program: str) -> str | None:
    """Find a program, also where only root's path leads, or no path: the newest PostgreSQL's before all others."""
    if program.startswith("/"):
        return program if Path(program).exists() else None
    newest = sorted(Path(POSTGRES).glob("[0-9]*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    folders = (*map(str, newest), os.environ.get("PATH", os.defpath), *SBIN)
    return shutil.which(program, path=os.pathsep.join(folders))


def may_install() -> bool:
    """Say whether we are root on a Debian."""
    return os.geteuid() == 0 and find("apt-get") is not None


def need(programs: Mapping[str, str], why: str) -> None:
    """Make sure that the programs are there, installing them where we may.

    Raises:
        Stop: something is missing and cannot be installed.
    """
    packages = missing(programs)
    if not packages:
        return
    if not may_install():
        message = f"{why} needs {' and '.join(packages)}; on Debian, as root: apt-get install {' '.join(packages)}"
        raise Stop(message)
    say(f"installing Debian's {', '.join(packages)}: {why} needs them")
    refresh()
    _install(packages)


def need_all(programs: Mapping[str, str], why: str) -> None:
    """Make sure that the programs are there as far as that is possible: one package that cannot be had stops no other.

    Raises:
        Stop: something is missing still; whatever could be installed is.
    """
    try:
        need(programs, why)
    except Stop:
        packages = missing(programs)
        if len(packages) > 1 and may_install():
            for package in packages:
                with contextlib.suppress(Stop):
                    _install([package])
        if missing(programs):
            raise


def _install(packages: Sequence[str]) -> None:
    if "postgresql" in packages:  # its programs are wanted; Debian would start a server with an empty cluster
        NO_CLUSTER.parent.mkdir(parents=True, exist_ok=True)
        NO_CLUSTER.write_text("create_main_cluster = false\n", encoding="utf-8")
    install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *packages]
    carry_out(install, f"installing {' '.join(packages)}", env=os.environ | QUIET)


@functools.cache
def refresh() -> None:
    """Refresh Debian's package lists, once in a run of the launcher.

    Raises:
        Stop: it failed.
    """
    say("refreshing Debian's package lists")
    carry_out(["apt-get", "update", "-q"], "refreshing Debian's package lists", env=os.environ | QUIET)


@contextlib.contextmanager
def engine() -> Iterator[None]:
    """Provide a Docker engine inside the block, starting one if none answers and we may.

    Raises:
        Stop: there is none and it cannot be started.
    """
    if engine_answers():
        yield
        return
    if os.geteuid() != 0 or "DOCKER_HOST" in os.environ:
        message = "no Docker engine answers: start one, and check that `docker info` works"
        raise Stop(message)
    need(FOR_AN_ENGINE, "testing")
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
        if engine_answers():
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


def engine_answers() -> bool:
    """Say whether an engine answers the Docker client."""
    return answer(["docker", "version", "--format", "{{.Server.Version}}"]) not in {None, ""}


def _start(log: Path, group: Sequence[str]) -> subprocess.Popen[bytes]:
    say("starting dockerd, for as long as the tests run")
    environ = os.environ | {"PATH": os.pathsep.join((os.environ.get("PATH", os.defpath), *SBIN))}
    command: Sequence[str] = [find("dockerd") or "dockerd", *group]
    with log.open("wb") as sink:  # a session of its own: an interrupt from the keyboard is ours to pass on
        return subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
        )


def _await(daemon: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + ENGINE_START
    while not engine_answers():
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
