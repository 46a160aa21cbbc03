"""Attacks that show what each group of system calls opens, from a world that has it and from one that has not."""

import os
import platform
import re
from dataclasses import replace

import pytest

from sandbox.boxes.box import ResourceLimits
from sandbox.boxes.bwrap.box import BwrapBox
from sandbox.boxes.docker.container_config import IsolatedProgram
from sandbox.boxes.docker.images import EngineImage
from sandbox.isolation.seccomp import MACHINES
from sandbox.isolation.system_calls import GROUPS, NUMBERS, WORLD
from sandbox.world import frames
from verifiers.tree import DIRECTORY, FileTree

from ...patience import PATIENCE
from ..builders import a_server

BOX = BwrapBox()
PLACE = MACHINES.index(platform.machine()) if platform.machine() in MACHINES else 0
HEAD = """
import ctypes, errno, os, select, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def ask(name, *arguments):
    result = libc.syscall(NUMBERS[name], *arguments)
    if result < 0 and ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
        print("denied", flush=True)
        time.sleep(600)
    return result
"""
ATTACKS = {
    "watch-files": """
watch = ask("inotify_init1", 0)
assert ask("inotify_add_watch", watch, b"/usr/bin/tr", 0x20) > 0  # IN_OPEN, on the copy that worlds share
print("watching", flush=True)
select.select([watch], [], [])
print("another world opened tr", flush=True)
""",
    "machine-load": """
about = ctypes.create_string_buffer(256)
ask("sysinfo", about)
print("the machine has", struct.unpack_from("L", about, 32)[0], "bytes", flush=True)
""",
    "asynchronous-reads": """
context = ctypes.c_ulong()
ask("io_setup", 1, ctypes.byref(context))
file = os.open("/usr/bin/tr", os.O_RDONLY)
os.pread(file, 1, 0)
page = ctypes.create_string_buffer(1)
RWF_NOWAIT, PREAD = 8, 0
request = ctypes.create_string_buffer(struct.pack("QIIHhIQQqQII", 0, 0, RWF_NOWAIT, PREAD, 0, file,
                                                  ctypes.addressof(page), 1, 0, 0, 0, 0))
requests, events = (ctypes.c_void_p * 1)(ctypes.addressof(request)), ctypes.create_string_buffer(32)
assert ask("io_submit", context, 1, requests) == 1
assert ask("io_getevents", context, 1, 1, events, None) == 1
answer = struct.unpack("QQqq", events.raw)[2]
print("in memory" if answer == 1 else f"not in memory ({answer})", flush=True)
""",
    "resolve-paths": """
RESOLVE_CACHED = 0x20
how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_PATH, 0, RESOLVE_CACHED))
os.stat("/usr/bin/tr")
known = ask("openat2", -100, b"/usr/bin/tr", how, 24)
unknown = ask("openat2", -100, b"/usr/lib/nobody-looked-at-this", how, 24)
print("in the cache" if known > 0 and unknown < 0 else "no difference", flush=True)
""",
    "as-agents": """
file = ask("memfd_create", b"", 0)
os.write(file, b"#!/bin/echo from memory\\n")
os.execv(f"/proc/self/fd/{file}", ["it"])
""",
}
SEES = {
    "watch-files": "another world opened tr",
    "machine-load": f"the machine has {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')} bytes",
    "asynchronous-reads": "in memory",
    "resolve-paths": "in the cache",
    "as-agents": "from memory /proc/self/fd/",
}


def attacker(group, groups):
    numbers = {name: pair[PLACE] for name, pair in GROUPS[group].calls.items()}
    script = f"NUMBERS = {numbers}\n{HEAD}{ATTACKS[group]}\ntime.sleep(600)\n"
    return a_server("attacker", "/usr/bin/env", "python3", "-I", "-S", "-c", script, system_calls=groups)


def first_lines(channel, until):
    """Return what the server writes until a line has a text."""
    text = ""
    channel.settimeout(PATIENCE)
    while until not in text:
        data = channel.recv(1 << 16)
        assert data, text
        text += data[5:].decode()
    return text


def run_tr(seed):
    """Let another world run a program that both read from one copy."""
    other = BOX.world([a_server("other", "/usr/bin/tr", "a", "b")], seed, ResourceLimits())
    try:
        with other.channel() as channel:
            channel.sendall(frames.pack(1, b"a") + frames.pack(1, b""))
            first_lines(channel, "b")
    finally:
        other.close()


@pytest.mark.box
@pytest.mark.parametrize("group", GROUPS)
def test_what_a_group_opens_is_seen_from_a_world_that_has_it_and_from_no_other(group):
    seed = FileTree({"files": DIRECTORY})
    for groups in ((), (group,)):
        world = BOX.world([attacker(group, groups)], seed, ResourceLimits())
        try:
            with world.channel() as channel:
                if not groups:
                    assert "denied" in first_lines(channel, "\n")
                    continue
                if group == "watch-files":
                    assert "watching" in first_lines(channel, "\n")
                    run_tr(seed)
                assert re.search(SEES[group], first_lines(channel, "\n"))
        finally:
            world.close()


def test_no_group_gives_what_reaches_other_processes_or_the_kernel():
    given = {name for group in GROUPS.values() for name in group.calls} | set(WORLD)
    for name in ("ptrace", "process_vm_readv", "mount", "unshare", "setns", "bpf", "io_uring_setup", "mincore"):
        assert name not in given
    assert set(GROUPS["as-agents"].calls) | set(WORLD) == set(NUMBERS)


def test_a_container_loads_the_filter_of_its_groups():
    image = EngineImage("x", "sha256:1")
    walled = IsolatedProgram(image, ["x"], 65532, ResourceLimits(), groups=("as-agents", "watch-files"))
    assert walled.document()["Entrypoint"][1] == "/.filters/world+as-agents+watch-files"
    assert replace(walled, groups=()).document()["Entrypoint"][1] == "/.filters/world"
