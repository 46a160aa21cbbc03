"""What the kernel shows of processes: their words, descendants, status, limits and memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def first_of(process):
    """Return the first process of a started process's namespace: the program itself."""
    (first,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(first)


def pid_of(pidfd: int) -> int:
    """Return the number of the process behind a descriptor."""
    lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(":\t") for line in lines)["Pid"])


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def below(pid: int) -> dict[int, str]:
    """Return the command line of every descendant of a process."""
    found = {}
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                with suppress(OSError):
                    found[child] = command_line(child)
                    found |= below(child)
    return found


def named(words: str) -> list[int]:
    """Return the processes with these words on their command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if words in command_line(int(process.name)):
                found.append(int(process.name))
    return found


def status_of(pid: int) -> dict[str, str]:
    """Return a process's status by the kernel's names."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def limits_of(pid: int) -> dict[str, list[str]]:
    """Return a process's soft and hard limits by the kernel's names."""
    lines = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
    return {line[:26].strip(): line[26:].split()[:2] for line in lines}


def require_confined(pid: int, user: int, *namespaces: str) -> None:
    """Require that a process runs under a filter and, started by root, as this user with namespaces of its own."""
    status = status_of(pid)
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    if os.geteuid() == 0:
        assert set(status["Uid"].split()) == set(status["Gid"].split()) == {str(user)}
        for capabilities in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(status[capabilities], 16) == 0, capabilities
        for namespace in namespaces:
            assert Path(f"/proc/{pid}/ns/{namespace}").readlink() != Path("/proc/self/ns", namespace).readlink()


def holds(pid: int, *words: bytes) -> list[bytes]:
    """Return which of some words are in a process's memory, its variables and arguments among it."""
    found = {word for mapping in _memory(pid) for word in words if word in mapping}
    return [word for word in words if word in found]


def _memory(pid: int) -> Iterator[bytes]:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as source:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            bounds, modes = line.split()[:2]
            first, last = (int(part, 16) for part in bounds.split("-"))
            if modes.startswith("r"):
                with suppress(OSError, ValueError, OverflowError):
                    source.seek(first)
                    yield source.read(last - first)
