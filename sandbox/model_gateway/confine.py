"""Privilege drop of the model process before it accepts any session.

Unlike a gateway it keeps the network, which it is for, the right to look names up (files of the resolver, and threads
in which that is done), and the machine's files as far as its user may read them: certificates, and what a library loads
late. It loses its user (where it was root), capabilities, new privileges, core dumps, being traced or read by others of
its user, files beyond a size of zero, and the system calls that start a program, signal somebody, or change a file. It
is ended with its control socket, and with the process that was executed.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Mapping

from sandbox.isolation.confine import die_with_parent, give_up_rights, load
from sandbox.isolation.filters import CONDITIONS
from sandbox.isolation.seccomp import Rule, allowing
from sandbox.isolation.system_calls import NUMBERS, WORLD, Numbers

UNPRIVILEGED = 65530
MEMORY = 2 * 1024 * 1024 * 1024
DESCRIPTORS = 1024
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38  # linux/prctl.h
_GIVEN_UP = frozenset(
    (
        *("chmod", "chown", "creat", "fallocate", "fchmod", "fchmodat", "fchown", "fchownat", "ftruncate", "lchown"),
        *("link", "linkat", "mkdir", "mkdirat", "mknod", "mknodat", "rename", "renameat", "renameat2", "rmdir"),
        *("symlink", "symlinkat", "truncate", "unlink", "unlinkat", "utime", "utimensat", "utimes", "futimesat"),
        *("execve", "fork", "vfork", "kill", "tkill", "pidfd_send_signal", "rt_sigqueueinfo"),
        *("setgid", "setgroups", "setresgid", "setresuid", "setuid", "capset", "setpgid", "setsid"),
        *("shmat", "shmctl", "shmdt", "shmget"),
    )
)
NEEDED: Mapping[str, Numbers] = {name: NUMBERS[name] for name in WORLD if name not in _GIVEN_UP}

_libc = ctypes.CDLL(None, use_errno=True)


def confine() -> None:
    """Give everything up; the process stays so until its end.

    Raises:
        OSError: one of the promises cannot be kept.
    """
    give_up_rights(UNPRIVILEGED)
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, MEMORY),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, min(DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[1])),
    ):
        resource.setrlimit(limit, (value, value))
    for option, value in ((_PR_SET_NO_NEW_PRIVS, 1), (_PR_SET_DUMPABLE, 0)):
        if _libc.prctl(option, value, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"prctl {option} was refused")
    die_with_parent()
    load(model_filter())


def model_filter(machine: str | None = None) -> bytes:
    """Return the filter of this process for a machine (this one by default) as an array of `struct sock_filter`.

    Raises:
        Unavailable: there are no numbers for that architecture.
    """
    own = Rule("tgkill", "unless", 0, (os.getpid(),))
    return allowing(NEEDED, (*CONDITIONS, own), machine)
