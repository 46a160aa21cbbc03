"""Requirements of the machine: a few Debian packages.

As root on Debian they are installed; anywhere else the launcher says in one line what is missing.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from quarterturn.launcher.steps import Stop, carry_out, say

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


def missing(programs: Mapping[str, str]) -> list[str]:
    """Return the Debian packages of those programs that this machine does not have."""
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
