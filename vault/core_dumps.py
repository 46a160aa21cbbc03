"""Disables core dumps and tracing of this process, so that secrets in memory do not reach a file.

1. The core file limit is zero, for this process and for every process that it starts, which inherit the limit.
2. This process is not dumpable (prctl(2)). A machine may pipe cores to a program of its own, which ignores a limit of
   zero; and no process of the same user can trace this one or open its memory. A program started from here is
   dumpable again, so each program that receives a secret has to do the same for itself (`sandbox.gateway.confine`).

Swapping is not prevented here: `docs/threat-model.md` says what to do.
"""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4  # linux/prctl.h


def disable_core_dumps() -> None:
    """Disable core dumps and make this process not dumpable; safe to call twice.

    Raises:
        OSError: the kernel refuses.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "this process cannot be made undumpable")
