"""Command lines for bubblewrap: the arguments that isolate one place, and a process that runs in it.

Arguments, variables and filters are handed over in anonymous memory, never on a command line that other users of the
machine could read.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.boxes import policy
from sandbox.boxes.box import ResourceLimits
from sandbox.boxes.bwrap import cgroup
from sandbox.errors import Unavailable
from sandbox.isolation import filters
from sandbox.isolation.masks import masks
from sandbox.isolation.program_copies import LINKED, Copy

NEEDED = ("--args", "--as-pid-1", "--json-status-fd", "--perms", "--remount-ro", "--seccomp", "--size")
TOOLS = ("bwrap", "setpriv", "prlimit")  # the last two are in util-linux

# A shell joins the control group before anything else exists, and then becomes bwrap.
JOIN = 'for door in $1; do echo 0 >"$door" || exit 125; done; shift; exec "$@"'
LAID_IN_ETC = ("ld.so.cache", "alternatives")
INSTRUCTIONS = "the bwrap box needs {}: install Debian's bubblewrap (0.8 or newer) and util-linux"


def tool(name: str) -> str:
    """Find a program.

    Raises:
        Unavailable: it is not installed.
    """
    path = shutil.which(name)
    if path is None:
        raise Unavailable(INSTRUCTIONS.format(name))
    return path


class Walls:
    """The arguments of one bwrap, and the descriptors that they name.

    Every place has: namespaces of its own, a read-only copy of the programs that it needs, a small /etc that is not the
    host's, of /proc its own processes (and nothing for a relay), nothing to write but a /tmp of a size, and the
    system-call filter.

    Args:
        programs: the copy that its class of runs reads; the host's own files are in no place.
        uid: who the place runs as.
        tmpfs: the size of /tmp in bytes.
        network: whether the place gets an empty network of its own (else that of whoever starts bwrap).
        groups: the groups of system calls that it may make beside those of its kind.
    """

    def __init__(self, programs: Copy, *, uid: int, tmpfs: int, network: bool, groups: Sequence[str] = ()) -> None:
        self.programs, self.uid = programs, uid
        self.words: list[str] = []
        self.descriptors: list[int] = []
        self._namespaces(network=network)
        self._programs()
        self.folder("/etc")
        for name, content in policy.ETC.items():
            self.add("--perms", "0444", "--ro-bind-data", self.data(content.encode()), f"/etc/{name}")
        for name in LAID_IN_ETC:
            self.add("--ro-bind-try", self.programs.at(f"/etc/{name}"), f"/etc/{name}")
        self.add(*(["--proc", "/proc"] if self._has_processes else []), "--dev", "/dev")
        self.tmpfs("/tmp", tmpfs)  # noqa: S108 - inside the place
        self.add("--seccomp", self.data(filters.filter_of(policy.KINDS[uid], groups=groups)))

    def add(self, *words: str | Path | int) -> None:
        """Append words."""
        self.words += [str(word) for word in words]

    def data(self, content: bytes) -> int:
        """Put content into anonymous memory, where bwrap reads it, and give its descriptor."""
        descriptor = os.memfd_create("quarterturn", 0)
        self.descriptors.append(descriptor)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def tmpfs(self, place: str, size: int) -> None:
        """Lay an empty folder of a size in memory, which everybody may write (one user lives there)."""
        self.add("--perms", "1777", "--size", max(size, 4096), "--tmpfs", place)

    def folder(self, place: str | Path) -> None:
        """Make a folder and those that lead to it, so that the place's user can pass (bwrap would make them 0700)."""
        for path in (*reversed(Path(place).parents[:-1]), Path(place)):
            self.add("--perms", "0755", "--dir", path)

    def bind(self, source: Path, place: str | Path) -> None:
        """Lay `source` of the host read-only at `place`."""
        self.folder(Path(place).parent)
        self.add("--ro-bind", source, place)

    def environment(self, variables: Mapping[str, str]) -> None:
        """Set the variables of the place; it has no others."""
        for name, value in variables.items():
            self.add("--setenv", name, value)

    def command(self, program: Sequence[str], limits: ResourceLimits, group: cgroup.Group | None) -> list[str]:
        """Close the walls, and give what to execute with `descriptors` passed on."""
        if self._has_processes:
            self._mask(limits.memory)
        self.add("--remount-ro", "/", "--remount-ro", "/dev")  # bwrap leaves these writable, and without a size
        words = "".join(f"{word}\0" for word in self.words).encode()
        bwrap = [tool("bwrap"), "--args", str(self.data(words)), "--"]
        inside = [*bwrap, *self._limited(program, limits, grouped=group is not None)]
        return ["/bin/sh", "-c", JOIN, "join", " ".join(group.doors), *inside] if group else inside

    def close(self) -> None:
        """Close our copies of the descriptors."""
        while self.descriptors:
            os.close(self.descriptors.pop())

    @property
    def _has_processes(self) -> bool:
        return policy.KINDS[self.uid] != "relay"  # which does without, and each cover costs a mount

    def _namespaces(self, *, network: bool) -> None:
        self.add("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
        self.add(*(["--unshare-net"] if network else []))
        self.add("--new-session", "--as-pid-1", "--clearenv", "--hostname", "agent", "--cap-drop", "ALL")
        if os.geteuid() == 0:  # kept until the user has been changed inside, see _limited
            self.add("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP")
        else:
            self.add("--unshare-user", "--uid", self.uid, "--gid", self.uid)

    def _mask(self, memory: int) -> None:
        """Cover all of /proc but the place's own processes."""
        covered = masks(memory)
        for path in covered.files:
            self.add("--ro-bind", "/dev/null", path)  # without devices, so that not even nothing can be read
        for path in covered.folders:
            self.add("--perms", "0555", "--size", "4096", "--tmpfs", path, "--remount-ro", path)
        for path, content in covered.stand_ins.items():
            self.add("--perms", "0444", "--ro-bind-data", self.data(content.encode()), path)

    def _programs(self) -> None:
        for root in self.programs.roots:
            self.bind(self.programs.at(root), root)
        for place in (Path("/") / name for name in LINKED):
            if place.is_symlink():
                self.add("--symlink", place.readlink(), place)

    def _limited(self, program: Sequence[str], limits: ResourceLimits, *, grouped: bool) -> list[str]:
        """Put before a program what runs inside first: the change of user (as root), and the rlimits."""
        words: list[str] = []
        if os.geteuid() == 0:
            words += ["/usr/bin/setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
            words += ["--inh-caps=-all", "--bounding-set=-all", "--"]
        caps = policy.rlimits(limits, grouped=grouped)
        return [*words, "/usr/bin/prlimit", *(f"--{name}={value}" for name, value in caps.items()), "--", *program]


class Running:
    """A bwrap that was started, and the process that is PID 1 inside it."""

    def __init__(self, walls: Walls, command: Sequence[str], *, stdin: int, stdout: int) -> None:
        reading, writing = os.pipe()
        options = command.index("--args")
        self._status = os.fdopen(reading, "rb", buffering=0)
        try:
            self.process = subprocess.Popen(
                [*command[:options], "--json-status-fd", str(writing), *command[options:]],
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                pass_fds=[*walls.descriptors, writing],
                start_new_session=True,
                env={"PATH": "/usr/bin:/bin"},
            )
        except BaseException:
            self._status.close()
            raise
        finally:
            os.close(writing)
            walls.close()

    def wait(self, timeout: float) -> int | None:
        """Wait for its end, and give its exit status, or None where it still runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout)
        return self.process.returncode

    def _is_ours(self, number: int) -> bool:
        status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        return int(status.rpartition(")")[2].split()[1]) == self.process.pid

    def kill(self) -> None:
        """Kill everything in it and wait until it is gone: the kernel ends a PID namespace with its PID 1."""
        if self.process.poll() is None:
            with contextlib.suppress(ValueError, KeyError, TypeError, OSError):
                cgroup.kill(int(json.loads(self._status.readline())["child-pid"]), self._is_ours)
            if self.wait(2) is None:
                self.process.kill()
                self.process.wait()
        self._status.close()
