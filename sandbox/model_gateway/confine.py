"""What the model process gives up before it hears of any session.

Unlike a gateway it keeps the network, which it is for, and threads, in which names are looked up. It loses its user
(where it was root), new privileges, core dumps, being traced or read by others of its user, and files beyond a size of
zero. It is not ended with the thread that started it but with its control socket.
"""

from __future__ import annotations

import ctypes
import os
import resource
from contextlib import suppress

UNPRIVILEGED = 65530
MEMORY = 2 * 1024 * 1024 * 1024
DESCRIPTORS = 1024
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38  # linux/prctl.h

_libc = ctypes.CDLL(None, use_errno=True)


def confine() -> None:
    """Give everything up; the process stays so until its end.

    Raises:
        OSError: one of the promises cannot be kept.
    """
    if os.geteuid() == 0:
        with suppress(PermissionError):
            os.setgroups([])
        os.setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
        os.setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
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
