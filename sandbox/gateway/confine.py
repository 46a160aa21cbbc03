"""Privilege drop of a gateway process before it receives anything from an agent.

It keeps the sockets that it was handed, and loses its user and all that `sandbox.isolation.confine` takes. Its fork
server has left networks, files and processes behind before (`sandbox.gateway.forkserver`); its system calls are those
of `sandbox.gateway.filter`.
"""

from __future__ import annotations

from sandbox.gateway.filter import session_filter
from sandbox.isolation.confine import Bounds, give_up

UNPRIVILEGED = 65531
MEMORY = 768 * 1024 * 1024
DESCRIPTORS = 128


def confine(cpu_seconds: int, descriptors: int = DESCRIPTORS) -> None:
    """Drop all privileges; the process stays confined until its end.

    Raises:
        OSError: one of the promises cannot be kept.
    """
    give_up(Bounds(UNPRIVILEGED, MEMORY, descriptors, cpu_seconds), session_filter())
