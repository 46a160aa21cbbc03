"""What a gateway process gives up before it hears a word from an agent.

It keeps the sockets that it was handed, and loses other network interfaces (where it may make a namespace), its user,
and all that `sandbox.confine` takes; its system calls are those of `sandbox.gateway.filter`.
"""

from __future__ import annotations

import os

from sandbox.confine import Bounds, give_up, leave_networks
from sandbox.gateway.filter import session_filter

UNPRIVILEGED = 65531
MEMORY = 768 * 1024 * 1024
DESCRIPTORS = 128


def confine(cpu_seconds: int, descriptors: int = DESCRIPTORS) -> None:
    """Give everything up; the process stays so until its end.

    Raises:
        OSError: one of the promises cannot be kept.
    """
    if os.geteuid() == 0:
        leave_networks()  # a container may forbid it; then the user must do
    give_up(Bounds(UNPRIVILEGED, MEMORY, descriptors, cpu_seconds), session_filter())
