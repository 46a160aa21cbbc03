"""Agent sandbox launcher: an empty network with a loopback, in it a relay, then the agent. `python -I -S place.py`.

A process of its own between the runner and two bubblewraps. The order is the safety property:

1. make a network namespace that holds a loopback and nothing else (for an ordinary user inside a user namespace), in
   which nobody but root reads what the kernel counts for the whole machine; and a PID namespace, whose first process
   lives the rest of the place's life: the kernel ends all that is in there with it, whatever signals they ignore. It
   sees its own processes in /proc (`mount_proc`), its own address is random, and it has no IPv6 (`random_address`);
2. start the relay in it and wait until it says that its port listens, so that nobody else can have that port;
3. start the agent's walls, which share that loopback with the relay and nothing more; a shell in them waits for a word
   before it becomes the agent, and gives up where its standard input ends without one;
4. pass the runner's word on;
5. when either ends, kill the other; when the runner goes away, kill both. That first process dies with the one that
   made it, which only waits.

Standard library only, one thread. Standard input is a socket: one JSON line comes in, `{"relay": {"command",
"descriptors"}, "agent": {…}, "patience": seconds}`, and out of it goes `{"ready": true}`; `go` comes in, and out go
`{"started": true}`, then `{"ended": "relay" or "agent", "code"}`; or at any time `{"failed": sentence}`. Standard
output and error are the agent's. Nothing that relay or agent print is believed beyond the relay's "ready", which it
says before any agent is.
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

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_SLAVE = 0x2, 0x4, 0x8, 0x4000, 0x80000
PR_SET_PDEATHSIG = 1
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8913, 0x8914, 0x8916, 1
READY, GO = b"ready\n", b"go\n"
OF_A_NETWORK = (
    *("arp", "dev", "fib_trie", "if_inet6", "icmp", "icmp6", "igmp", "igmp6", "ipv6_route"),
    *("packet", "raw", "raw6", "route", "tcp", "tcp6", "udp", "udp6", "unix"),
)
"""Files in /proc/net that say nothing but what is in one network namespace; others count for the whole machine."""


libc = ctypes.CDLL(None, use_errno=True)


class SandboxFailed(Exception):
    """The sandbox cannot be set up; the sentence says why."""


def namespaces() -> None:
    """Move into a network of our own, bring its loopback up, and have our next child be the first of its processes."""
    user, group = os.geteuid(), os.getegid()
    kinds = CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWNS | (CLONE_NEWUSER if user != 0 else 0)
    if libc.unshare(kinds) != 0:
        raise SandboxFailed(f"the kernel gives no namespaces: {os.strerror(ctypes.get_errno())}")
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with contextlib.suppress(OSError):  # a kernel without IPv6
        Path("/proc/sys/net/ipv6/conf/lo/disable_ipv6").write_text("1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        own = struct.pack("16sHH4s16x", b"lo", socket.AF_INET, 0, random_address())
        fcntl.ioctl(control, SIOCSIFADDR, own[:40])
        request = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack_from("16xh", fcntl.ioctl(control, SIOCGIFFLAGS, request))[0]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))
    if user == 0:
        close_counters()


def mount_proc() -> None:
    """Mount the /proc of our process namespace, for us and our children alone.

    bwrap looks its child up there by the child's number in this namespace. In the /proc of the machine another process
    has that number, or in a container none.
    """
    if libc.mount(None, b"/", None, MS_REC | MS_SLAVE, None) or libc.mount(
        b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, None
    ):
        raise SandboxFailed(f"the kernel mounts no /proc here: {os.strerror(ctypes.get_errno())}")


def close_counters() -> None:
    """Take the right to read counters of the whole machine from everybody else in this network namespace.

    The kernel's files of a network have modes of their own in each namespace, and belong to root. An ordinary user may
    not change them.
    """
    for folder, _, names in os.walk("/proc/thread-self/net"):
        for path in (Path(folder, name) for name in names if name not in OF_A_NETWORK):
            path.chmod(0o400)


def random_address() -> bytes:
    """Return a random address of 127.0.0.0/8, from which whoever names none connects; all of them are the loopback.

    The kernel counts connections by their two addresses and the port, for all namespaces together, and gives ports by
    these counts: between the same two addresses, a later run would read from its ports how often an earlier one
    connected.
    """
    return b"\x7f" + os.urandom(2) + bytes([2 + os.urandom(1)[0] % 252])


class BwrapProcess:
    """The relay or the agent: a bwrap, and the process that is PID 1 inside it."""

    def __init__(self, document: dict[str, Any], stdin: int, stdout: int | None) -> None:
        descriptors = document["descriptors"]
        try:
            self.process = subprocess.Popen(
                document["command"],
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.DEVNULL if stdout == subprocess.PIPE else None,
                pass_fds=descriptors,
                env={"PATH": "/usr/bin:/bin"},
            )
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def go(self) -> None:
        """Give the word that it waits for."""
        assert self.process.stdin is not None  # noqa: S101 - it was asked for
        with contextlib.suppress(BrokenPipeError), self.process.stdin as word:
            word.write(GO)


def kill_all() -> None:
    """Kill every process of this namespace but its first, which we are, and wait until all are gone.

    A place inside is gone when its own first process is: that one becomes our child when its bwrap has ended.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def wait_until_ready(relay: BwrapProcess, runner: socket.socket, patience: float) -> None:
    """Wait until the relay listens."""
    output, deadline = b"", time.monotonic() + patience
    assert relay.process.stdout is not None  # noqa: S101 - it was asked for
    pipe = relay.process.stdout.fileno()
    while READY not in output:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([pipe, runner.fileno()], [], [], max(left, 0))
        if runner.fileno() in ready:
            raise SandboxFailed("the runner went away")
        data = os.read(pipe, 64) if ready else b""
        if not data:
            raise SandboxFailed("the relay did not come up: is the gateway's socket there, and may the relay open it?")
        output += data


def wait_for_the_first(runner: socket.socket, parts: dict[str, BwrapProcess]) -> dict[str, Any] | None:
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
    """Run the sandbox as its first process; the result is reported once everything in it is gone."""
    parts: dict[str, BwrapProcess] = {}
    try:
        mount_proc()
        relay = parts["relay"] = BwrapProcess(document["relay"], subprocess.DEVNULL, subprocess.PIPE)
        wait_until_ready(relay, runner, document["patience"])
        agent = BwrapProcess(document["agent"], subprocess.PIPE, None)
        parts = {"agent": agent, "relay": relay}  # where both have ended, the agent's end is the one that counts
        runner.send(b'{"ready": true}\n')
        if runner.recv(len(GO)) != GO:
            return None
        agent.go()
        runner.send(b'{"started": true}\n')
        return wait_for_the_first(runner, parts)
    except SandboxFailed as error:
        return {"failed": str(error)}
    except OSError as error:
        return {"failed": f"the place could not be made: {error.strerror}"}
    finally:
        kill_all()


def main() -> int:
    """Read what to start from standard input, and say there what became of it."""
    with socket.socket(fileno=os.dup(0)) as runner:
        line = b""
        while not line.endswith(b"\n"):
            data = runner.recv(1 << 16)
            if not data:
                return 1
            line += data
        try:
            namespaces()
        except (SandboxFailed, OSError) as error:
            tell(runner, {"failed": f"the place could not be made: {error}"})
            return 0
        first = os.fork()
        if first != 0:
            os.waitpid(first, 0)
            return 0
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        end = run(json.loads(line), runner)
        if end is not None:
            tell(runner, end)
    return 0


def tell(runner: socket.socket, end: dict[str, Any]) -> None:
    """Report to the runner how it ended."""
    with contextlib.suppress(OSError):
        runner.send(json.dumps(end).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
