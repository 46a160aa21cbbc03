"""Tests of the gateway's system call filter, in a process that runs under it."""

import json
import subprocess
import sys
import time

import pytest

from sandbox.gateway.filter import CONDITIONS, NEEDED, session_filter
from sandbox.isolation.filters import CONDITIONS as BOX_CONDITIONS
from sandbox.isolation.filters import LISTS
from sandbox.isolation.seccomp import MACHINES

ATTEMPTS = """
import ctypes, fcntl, json, mmap, os, signal, socket, sys

def kill():
    os.kill(os.getppid(), 0)

def kill_a_thread():
    if ctypes.CDLL(None, use_errno=True).tgkill(os.getppid(), os.getppid(), 0):
        raise OSError(ctypes.get_errno(), "tgkill")

def executable():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)

def bind():
    listener.bind("\\0quarterturn-test")

tries = {
    "execve": lambda: os.execv("/bin/true", ["true"]),
    "fork": os.fork,
    "read a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "write a file": lambda: os.open("/dev/null", os.O_WRONLY),
    "unlink": lambda: os.unlink("/nowhere"),
    "look": lambda: os.stat("/"),
    "list": lambda: os.listdir("/proc"),
    "inet": lambda: socket.socket(socket.AF_INET),
    "unix": lambda: socket.socket(socket.AF_UNIX),
    "bind": bind,
    "memfd": lambda: os.memfd_create("x"),
    "datagrams": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    "kill": kill,
    "kill a thread": kill_a_thread,
    "signal by a socket": lambda: fcntl.fcntl(listener, 8, os.getppid()),  # F_SETOWN
    "executable": executable,
}
listener = socket.socket(socket.AF_UNIX)
if sys.argv[1] == "confined":
    from sandbox.gateway.confine import confine
    confine(60)
    for name in ("execve", "fork"):
        tries[name] = tries.pop(name)
else:
    for name in ("execve", "fork", "unlink"):
        tries.pop(name)
said = {}
for name, attempt in tries.items():
    try:
        attempt()
        said[name] = None
    except OSError as error:
        said[name] = error.errno
near, far = socket.socketpair()
near.sendall(b"still here")
said["still here"] = far.recv(20).decode()
os.write(1, json.dumps(said).encode())
"""


def tried(how):
    done = subprocess.run([sys.executable, "-c", ATTEMPTS, how], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_it_can_talk_to_whom_it_was_given_and_do_nothing_else():
    said = tried("confined")
    assert said.pop("still here") == "still here"
    assert set(said.values()) == {1}, said


def test_without_the_filter_the_same_attempts_succeed():
    said = tried("free")
    said.pop("still here")
    assert set(said.values()) == {None}, said


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_fits_into_the_kernel_and_allows_nothing_that_the_box_denies(machine):
    assert len(session_filter(machine)) // 8 < 4096
    assert NEEDED.keys() < LISTS["agent"].keys()
    looked_at = NEEDED.keys() & {rule.call for rule in BOX_CONDITIONS}
    assert {rule.call for rule in CONDITIONS} >= looked_at, "what both name is looked at more closely"
    assert not any(name.startswith(("exec", "open", "connect", "clone", "fork")) for name in NEEDED)


def test_time_passes_under_it():
    program = "from sandbox.gateway.confine import confine; confine(60); import time; time.sleep(0.05)"
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", program], check=True)
    assert time.monotonic() - started >= 0.05
