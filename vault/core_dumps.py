"""Keeping what is in memory from becoming a file.

1. No core file of this process, nor of any that it starts: the limit is handed down.
2. This process is not dumpable (prctl(2)). A machine may pipe cores to a program of its own, which heeds no limit of
   zero; and no process of the same user can trace this one or open its memory. A program started from here is
   dumpable again, so each that is shown a secret says so for itself (`sandbox.gateway.confine`).

What is swapped out is not ours to prevent: `docs/threat-model.md` says what to do.
"""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4  # linux/prctl.h


def leave_no_dumps() -> None:
    """Keep both promises from now on; safe to call twice.

    Raises:
        OSError: the kernel refuses.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "this process cannot be made undumpable")
