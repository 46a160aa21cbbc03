"""Weakened process for positive controls: applies every control that a process can set for itself, except one.

A control's place lacks the walls that are put up here: the user, the capabilities, the filter. Each attempt's process
takes them on, without the one that should stop that attempt.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import resource
import struct
import zlib
from typing import Any

from sandbox.attacks.probes.raw_system_calls import raw

PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 8, 22, 24, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAPABILITY_VERSION = 0x20080522
CAPABILITIES = range(41)


def read() -> dict[str, Any]:
    """Return what each attempt is to be made without, or nothing where the box's controls apply."""
    text = os.environ.get("PROBE_CONTROL")
    document: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(text))) if text else {}
    return document


def apply_controls(without: dict[str, Any], filters: list[str]) -> None:
    """Apply every control except those that are to be left out."""
    for name, value in without.get("limits", {}).items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), (value, value))
    os.environ.update(without.get("environment", {}))
    mask = sum(1 << number for number in without.get("capabilities", ()))
    libc = ctypes.CDLL(None, use_errno=True)
    for number in CAPABILITIES:
        if not mask >> number & 1:
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    if not without.get("root"):
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    low, high = mask & 0xFFFFFFFF, mask >> 32
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # a change of user closed /proc/self to ourselves
    raw("capset", struct.pack("<II", CAPABILITY_VERSION, 0), struct.pack("<6I", low, low, low, high, high, high))
    for number in without.get("capabilities", ()):
        libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0)  # so that a program which it starts has it too
    if without.get("new-privileges"):
        return
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _filter(libc, bytes.fromhex(filters[without.get("filter", 0)]))


def _filter(libc: ctypes.CDLL, code: bytes) -> None:
    if not code:
        return
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("=H6xQ", len(code) // 8, ctypes.addressof(buffer))
    if libc.prctl(PR_SET_SECCOMP, 2, ctypes.create_string_buffer(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter was not taken")
