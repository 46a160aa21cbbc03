"""Privilege drop of a process, for good, before it reads any untrusted byte.

`give_up` is for one child: its user, its capabilities, new privileges, core dumps and tracing, new processes, files
beyond a size of zero, more memory, descriptors and processor time than it needs, and every system call that its filter
does not name. `own_processes` and `leave` are for a fork server, before and after it has loaded everything: it leaves
the machine's processes, files and networks behind, for all its children at once, because a namespace for each would
cost more than all the rest.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.isolation.seccomp import INSTRUCTION

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 4, 22, 24  # linux/prctl.h
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2  # linux/seccomp.h
_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000  # linux/sched.h
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_REC, _MS_PRIVATE = 1, 2, 4, 8, 32, 16384, 1 << 18
_MNT_DETACH = 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
MAPPED = 2 * 1024**3
"""Bytes of address space beyond what may be written: programs, libraries, and stacks that threads reserve."""
KILLED_FIRST = "500"
"""Of a thousand: where memory runs out, a process that parses what strangers wrote ends before one that holds keys."""
_CAPABILITY_VERSION = 0x20080522  # linux/capability.h, version 3
_CAPABILITIES = 64  # more than any kernel has

_libc = ctypes.CDLL(None, use_errno=True)
_in_own_users = False


@dataclass(frozen=True, slots=True)
class Bounds:
    """The caps on one child: the user that it runs as where we are root, bytes, descriptors, and processor seconds."""

    user: int
    memory: int
    descriptors: int
    cpu_seconds: int


def give_up(bounds: Bounds, filtered: bytes) -> None:
    """Drop all privileges; the process stays confined until its end.

    Args:
        bounds: its caps.
        filtered: the filter of its system calls, as an array of `struct sock_filter`.

    Raises:
        OSError: one of the promises cannot be kept.
    """
    give_up_rights(bounds.user)
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, bounds.cpu_seconds),
        (resource.RLIMIT_DATA, bounds.memory),
        (resource.RLIMIT_AS, bounds.memory + MAPPED),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, bounds.descriptors),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(limit, (value, value))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_DUMPABLE, 0)
    die_with_parent()  # late: a change of user clears it
    load(filtered)  # last: nothing of the above could be done under it


def give_up_rights(user: int) -> None:
    """Change to a user, where we are root, without any capability or a way to regain one.

    Raises:
        OSError: the kernel refuses it.
    """
    _drop_bounding_set()
    if os.geteuid() == 0:
        with suppress(PermissionError):
            os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    _drop_capabilities()


def own_processes() -> None:
    """Go on as the first process of a PID namespace, with shared memory and a host name of its own, if we may.

    Whoever was executed waits for it and takes it along: the kernel ends all its children with it, and none of them
    sees or signals a process of the machine's. An ordinary user makes a user namespace for it.
    """
    global _in_own_users  # noqa: PLW0603 - a fact about this process
    users = 0 if os.geteuid() == 0 else _CLONE_NEWUSER
    if _libc.unshare(users | _CLONE_NEWPID | _CLONE_NEWIPC | _CLONE_NEWUTS) != 0:
        return
    _in_own_users = bool(users)
    first = os.fork()
    if first != 0:
        os.waitpid(first, 0)
        os._exit(0)
    die_with_parent()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(KILLED_FIRST, encoding="ascii")


def leave() -> frozenset[str]:
    """Leave the machine's networks and files behind, and name those that could not be left: `networks`, `files`.

    Root makes the namespaces by itself, anybody else inside a user namespace, where the kernel lets them. The new root
    is a folder in memory that holds nothing and cannot be written.
    """
    if os.geteuid() != 0 and not _in_own_users and _libc.unshare(_CLONE_NEWUSER) != 0:
        return frozenset({"networks", "files"})
    networks = frozenset() if _libc.unshare(_CLONE_NEWNET) == 0 else frozenset({"networks"})
    return networks if _empty_root() else networks | {"files"}


def _drop_bounding_set() -> None:
    """Empty the capability bounding set, so that no program could give a capability back."""
    for capability in range(_CAPABILITIES):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            return  # there are no more, or it is not ours to drop


def _drop_capabilities() -> None:
    """Let go of those that this process has; a change of user has done so already, a user namespace gives new ones."""
    header, nothing = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if _libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset was refused")


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that made it ends; a change of user takes that back."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _empty_root() -> bool:
    """Move into an empty root, out of reach of what was mounted before, and say whether it is so."""
    if _libc.unshare(_CLONE_NEWNS) != 0:
        return False
    bare, flags = b"/tmp", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    if _mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE) or _mount(
        b"none", bare, b"tmpfs", flags, b"size=4k,mode=555"
    ):
        return False
    os.chdir(bare)
    if _libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b".") != 0:
        return False
    _libc.umount2(b".", _MNT_DETACH)
    os.chdir("/")
    return not _mount(b"none", b"/", None, _MS_REMOUNT | _MS_RDONLY | flags) and not list(Path("/").iterdir())


def _mount(source: bytes, target: bytes, kind: bytes | None, flags: int, options: bytes | None = None) -> int:
    return int(_libc.mount(source, target, kind, ctypes.c_ulong(flags), options))


class _Program(ctypes.Structure):
    """`struct sock_fprog` of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def load(code: bytes) -> None:
    """Load a filter of system calls, as an array of `struct sock_filter`; it stays until the end."""
    program = _Program(len(code) // INSTRUCTION.size, code)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _prctl(option: int, value: int, third: int = 0) -> None:
    if _libc.prctl(option, value, ctypes.c_void_p(third), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")
