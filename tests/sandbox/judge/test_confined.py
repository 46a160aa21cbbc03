"""Tests of the confinement of readers and judges, from inside, by operations that only these tests add."""

import fcntl
import json
import os
import socket
import struct
import termios
from pathlib import Path

import pytest

from sandbox.boxes import policy
from sandbox.gateway import confine as gateway
from sandbox.isolation.filters import CONDITIONS
from sandbox.isolation.forkserver import ForkServer
from sandbox.isolation.seccomp import MACHINES
from sandbox.judge import JUDGING, message
from sandbox.judge.child import JUDGE_USER, READER_USER
from sandbox.judge.filter import NEEDED, reading_filter
from sandbox.judge.process import ask
from sandbox.model_gateway import confine as model

from ...patience import PATIENCE, until
from ..processes import limits_of, pid_of, require_confined, status_of

pytestmark = pytest.mark.slow

WITHIN = """
import ctypes, json, mmap, os, socket
from sandbox.isolation.forking import serve
from sandbox.judge import message
from sandbox.judge.child import run, {user} as USER
from sandbox.judge.{module} import OPERATIONS, _prepare

libc = ctypes.CDLL(None, use_errno=True)

def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)

TRIES = {{
    "read a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "make a file": lambda: os.open("/made", os.O_CREAT | os.O_WRONLY),
    "look at a file": lambda: os.stat("/"),
    "list a folder": lambda: os.listdir("/"),
    "a file in memory": lambda: os.memfd_create("x"),
    "a socket": lambda: socket.socket(socket.AF_INET),
    "a local socket": lambda: socket.socket(socket.AF_UNIX),
    "a pair of sockets": socket.socketpair,
    "a vsock": lambda: call("socket", 40, 1, 0),
    "netlink": lambda: call("socket", 16, 3, 0),
    "a pipe": os.pipe,
    "an epoll": lambda: call("epoll_create1", 0),
    "fork": os.fork,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "a signal to another": lambda: os.kill(1, 0),
    "a signal to whoever forked it": lambda: call("tgkill", os.getppid() or 1, os.getppid() or 1, 0),
    "tracing": lambda: call("ptrace", 0, 0, 0, 0),
    "a namespace": lambda: call("unshare", 0x10000000),
    "a mount": lambda: call("mount", b"none", b"/", b"tmpfs", 0, None),
    "another user": lambda: os.setuid(0),
    "executable memory": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC),
    "memory made executable": lambda: call(
        "mprotect", ctypes.c_void_p(ctypes.addressof(SPARE) & ~4095), ctypes.c_size_t(4096), 7),
}}
SPARE = ctypes.create_string_buffer(8192)

def attempts(header, parts):
    said = {{}}
    for name, attempt in TRIES.items():
        try:
            attempt()
            said[name] = None
        except OSError as error:
            said[name] = error.errno
    return message.answer("done", part=json.dumps(said).encode())

def wait(header, parts):
    for number in range(3, 64):
        try:
            os.read(number, 1)
        except OSError:
            continue
        return message.answer("done")

if {prepared}:
    serve(_prepare, lambda descriptors: run(USER, {{**OPERATIONS, "attempts": attempts, "wait": wait}}, descriptors))
"""
KINDS = {"reader": ("READER_USER", READER_USER), "judge": ("JUDGE_USER", JUDGE_USER)}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    user, number = KINDS[request.param]
    server = ForkServer("-c", WITHIN.format(module=request.param, user=user, prepared=True))
    yield server, number
    server.close()


@pytest.fixture
def waiting(kind):
    """Yield a child that waits in the middle of its work, as the kernel shows it."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            child = kind[0].spawn([theirs.fileno()])
        ours.sendall(message.framed(message.pack({"do": "wait"})))
        assert child.wait_born(PATIENCE)
        yield pid_of(child.pidfd), ours
        child.kill()
        child.close()


def test_it_can_do_nothing_but_think_and_answer(kind):
    outcome, _, (part,) = ask(kind[0], message.pack({"do": "attempts"}), 1 << 20, PATIENCE)
    assert outcome == "done"
    said = json.loads(part)
    assert len(said) > 20
    assert set(said.values()) == {1}, said


@pytest.mark.needs("root")
def test_the_privileges_that_it_gave_up(kind, waiting):
    pid, ours = waiting
    process = Path(f"/proc/{pid}")
    _until_it_waits(pid, ours)
    require_confined(pid, kind[1], "net", "ipc", "mnt")
    limits = limits_of(pid)
    assert limits["Max processes"] == limits["Max file size"] == limits["Max core file size"] == ["0", "0"]
    assert "unlimited" not in {limits[name][0] for name in ("Max cpu time", "Max data size", "Max address space")}
    if os.geteuid() == 0:
        assert not list((process / "root").iterdir()), "its root holds nothing"
    links = [str(link.readlink()) for link in (process / "fd").iterdir()]
    assert sorted({link.partition(":")[0] for link in links}) == ["/dev/null", "socket"], links
    assert sum(link.startswith("socket:") for link in links) == 1
    ours.send(b"!")
    ours.settimeout(PATIENCE)
    assert message.reply(ours.recv(1 << 16))[0] == "done"


def _until_it_waits(pid, ours):
    """Wait until the child has given up its privileges and read its whole request, and nothing but the request."""

    def waits():
        filtered = status_of(pid)["Seccomp"] == "2" and len(list(Path(f"/proc/{pid}/fd").iterdir())) == 4
        return filtered and not struct.unpack("i", fcntl.ioctl(ours, termios.TIOCOUTQ, b"\0" * 4))[0]

    until(waits, "the child to read its request")


def test_without_the_walls_the_same_attempts_succeed():
    import subprocess
    import sys

    safe = ("read a file", "look at a file", "list a folder", "a file in memory", "a local socket", "a pair of sockets")
    safe += ("a pipe", "an epoll", "executable memory", "memory made executable")
    source = WITHIN.format(module="reader", user="READER_USER", prepared=False)
    source += f"\nTRIES = {{name: TRIES[name] for name in {safe}}}\nprint(json.dumps(json.loads("
    source += "message.reply(attempts({}, []))[2][0])))"
    done = subprocess.run([sys.executable, "-I", "-c", source], capture_output=True, check=True)
    assert set(json.loads(done.stdout).values()) == {None}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_fits_into_the_kernel_and_names_nothing_that_opens_or_makes(machine):
    assert len(reading_filter(machine)) // 8 < 4096
    assert NEEDED.keys() & {rule.call for rule in CONDITIONS} == {"madvise"}
    words = ("exec", "open", "connect", "clone", "fork", "socket", "pipe", "send", "recv", "accept", "kill", "ioctl")
    assert not [name for name in NEEDED if name.startswith(words)]


@pytest.mark.needs("root")
def test_readers_say_that_neither_files_nor_networks_are_in_reach():
    assert JUDGING.in_reach() == []


def test_no_two_kinds_of_process_share_a_user():
    users = [policy.WORLD_UID, policy.RELAY_UID, policy.AGENT_UID, gateway.UNPRIVILEGED, model.UNPRIVILEGED]
    users += [READER_USER, JUDGE_USER]
    assert len(set(users)) == len(users)
