"""An agent's place: one empty network with a loopback, in it the relay and then the agent. `python -I -S place.py`.

A process of its own between the runner and two bubblewraps. The order is the safety property:

1. make a network namespace that holds a loopback and nothing else (for an ordinary user inside a user namespace), in
   which nobody but root reads what the kernel counts for the whole machine;
2. start the relay in it and wait until it says that its port listens, so that nobody else can have that port;
3. start the agent's walls, which share that loopback with the relay and nothing more; a shell in them waits for a word
   before it becomes the agent, and gives up where its standard input ends without one;
4. pass the runner's word on;
5. when either ends, kill the other; when the runner goes away, kill both.

Standard library only, one thread. Standard input is a socket: one JSON line comes in, `{"relay": {"command",
"descriptors"}, "agent": {…}, "patience": seconds}`, and out of it goes `{"ready": true}`; `go` comes in, and out go
`{"started": true}`, then `{"ended": "relay" or "agent", "code"}`; or at any time `{"failed": sentence}`. In a command
the word STATUS stands for the descriptor on which bwrap names the process that is PID 1 inside: with that one the
kernel ends the rest. Standard output and error are the agent's. Nothing that relay or agent print is believed beyond
the relay's "ready", which it says before any agent is.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
READY, GO = b"ready\n", b"go\n"
OF_A_NETWORK = (
    *("arp", "dev", "fib_trie", "if_inet6", "icmp", "icmp6", "igmp", "igmp6", "ipv6_route"),
    *("packet", "raw", "raw6", "route", "tcp", "tcp6", "udp", "udp6", "unix"),
)
"""Files in /proc/net that say nothing but what is in one network namespace; others count for the whole machine."""


class Failed(Exception):
    """The place cannot be had; the sentence says why."""


def network() -> None:
    """Move into a network namespace of our own, and bring its loopback up."""
    user, group = os.geteuid(), os.getegid()
    kinds = CLONE_NEWNET if user == 0 else CLONE_NEWNET | CLONE_NEWUSER
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(kinds) != 0:
        raise Failed(f"the kernel gives no network namespace: {os.strerror(ctypes.get_errno())}")
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack_from("16xh", fcntl.ioctl(control, SIOCGIFFLAGS, request))[0]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))
    if user == 0:
        close_counters()


def close_counters() -> None:
    """Take the right to read counters of the whole machine from everybody else in this network namespace.

    The kernel's files of a network have modes of their own in each namespace, and belong to root. An ordinary user may
    not change them.
    """
    for folder, _, names in os.walk("/proc/thread-self/net"):
        for path in (Path(folder, name) for name in names if name not in OF_A_NETWORK):
            path.chmod(0o400)


class Part:
    """The relay or the agent: a bwrap, and the process that is PID 1 inside it."""

    def __init__(self, document: dict[str, Any], stdin: int, stdout: int | None) -> None:
        reading, writing = os.pipe()
        descriptors = document["descriptors"]
        try:
            self.process = subprocess.Popen(
                [str(writing) if word == "STATUS" else word for word in document["command"]],
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.DEVNULL if stdout == subprocess.PIPE else None,
                pass_fds=[*descriptors, writing],
                env={"PATH": "/usr/bin:/bin"},
            )
        finally:
            os.close(writing)
            for descriptor in descriptors:
                os.close(descriptor)
        self.status = os.fdopen(reading, "rb", buffering=0)

    def go(self) -> None:
        """Give the word that it waits for."""
        assert self.process.stdin is not None  # noqa: S101 - it was asked for
        with contextlib.suppress(BrokenPipeError), self.process.stdin as word:
            word.write(GO)

    def kill(self) -> None:
        """Kill it with everything in it, and wait until it is gone."""
        with contextlib.suppress(ValueError, KeyError, TypeError, ProcessLookupError):
            os.kill(int(json.loads(self.status.readline())["child-pid"]), signal.SIGKILL)
        if self.process.poll() is None:
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


def wait_until_ready(relay: Part, runner: socket.socket, patience: float) -> None:
    """Wait until the relay listens."""
    said, deadline = b"", time.monotonic() + patience
    assert relay.process.stdout is not None  # noqa: S101 - it was asked for
    pipe = relay.process.stdout.fileno()
    while READY not in said:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([pipe, runner.fileno()], [], [], max(left, 0))
        if runner.fileno() in ready:
            raise Failed("the runner went away")
        data = os.read(pipe, 64) if ready else b""
        if not data:
            raise Failed("the relay did not come up: is the gateway's socket there, and may the relay open it?")
        said += data


def wait_for_the_first(runner: socket.socket, parts: dict[str, Part]) -> dict[str, Any] | None:
    """Wait until a part ends, and say which; None means that the runner went away."""
    alarm, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    while True:
        for name, part in parts.items():
            code = part.process.poll()
            if code is not None:
                return {"ended": name, "code": code}
        ready, _, _ = select.select([alarm, runner.fileno()], [], [])
        if runner.fileno() in ready:
            return None
        os.read(alarm, 512)


def run(document: dict[str, Any], runner: socket.socket) -> dict[str, Any] | None:
    """Live the place's whole life; what comes back is told to the runner once everything in it is gone."""
    parts: dict[str, Part] = {}
    try:
        network()
        relay = parts["relay"] = Part(document["relay"], subprocess.DEVNULL, subprocess.PIPE)
        wait_until_ready(relay, runner, document["patience"])
        agent = Part(document["agent"], subprocess.PIPE, None)
        parts = {"agent": agent, "relay": relay}  # where both have ended, the agent's end is the one that counts
        runner.send(b'{"ready": true}\n')
        if runner.recv(len(GO)) != GO:
            return None
        agent.go()
        runner.send(b'{"started": true}\n')
        return wait_for_the_first(runner, parts)
    except Failed as error:
        return {"failed": str(error)}
    except OSError as error:
        return {"failed": f"the place could not be made: {error.strerror}"}
    finally:
        for part in parts.values():
            part.kill()


def main() -> int:
    """Read what to start from standard input, and say there what became of it."""
    with socket.socket(fileno=os.dup(0)) as runner:
        line = b""
        while not line.endswith(b"\n"):
            data = runner.recv(1 << 16)
            if not data:
                return 1
            line += data
        end = run(json.loads(line), runner)
        if end is not None:
            with contextlib.suppress(OSError):
                runner.send(json.dumps(end).encode() + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
