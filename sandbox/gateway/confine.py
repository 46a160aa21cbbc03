"""What a gateway process gives up before it hears a word from an agent.

It keeps the sockets that it was handed, and loses: its user (where it was root), other network interfaces (where it may
make a namespace), new privileges, core dumps and tracing, new processes and threads, files beyond a size of zero,
more memory, descriptors and processor time than a session needs, and every system call that is not in
`sandbox.gateway.filter`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from contextlib import suppress

from sandbox.gateway.filter import session_filter
from sandbox.seccomp import INSTRUCTION

UNPRIVILEGED = 65531
MEMORY = 768 * 1024 * 1024
DESCRIPTORS = 128
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38  # linux/prctl.h
_SECCOMP_MODE_FILTER = 2  # linux/seccomp.h
_CLONE_NEWNET, _CLONE_NEWIPC = 0x40000000, 0x08000000  # linux/sched.h

_libc = ctypes.CDLL(None, use_errno=True)


def confine(cpu_seconds: int, descriptors: int = DESCRIPTORS) -> None:
    """Give everything up; the process stays so until its end.

    Raises:
        OSError: one of the promises cannot be kept.
    """
    if os.geteuid() == 0:
        _libc.unshare(_CLONE_NEWNET | _CLONE_NEWIPC)  # a container may forbid it; then the user below must do
        with suppress(PermissionError):
            os.setgroups([])
        os.setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
        os.setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_DATA, MEMORY),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, descriptors),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(limit, (value, value))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_DUMPABLE, 0)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # late: a change of user clears it
    _filter(session_filter())  # last: nothing of the above could be done under it


class _Program(ctypes.Structure):
    """`struct sock_fprog` of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _filter(code: bytes) -> None:
    program = _Program(len(code) // INSTRUCTION.size, code)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _prctl(option: int, value: int, third: int = 0) -> None:
    if _libc.prctl(option, value, ctypes.c_void_p(third), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} was refused")
