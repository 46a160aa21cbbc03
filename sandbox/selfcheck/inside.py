"""Does the wall hold? A few seconds of attempts to get out, made from inside an agent's place.

One suite for every box. `sandbox/probes/probe.py` runs there as if it had been submitted, with the relay and a
gateway's socket at which nothing but a fixed answer is to be had; what it printed is turned into `Attempt`s. The first
of them is the egress canary. Each has the control that stops it written beside it. A suite that did not run to its end,
or that could not reach its relay, proves nothing and is an error, never a pass.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sandbox import policy
from sandbox.box import SOCKET_NAME, Box, Limits, Program
from sandbox.errors import Lost
from sandbox.scene import socket_folder
from sandbox.selfcheck.attempt import Attempt, Spec, catalogue

PROBES = Path(__file__).parents[1] / "probes"
MIB = 1 << 20
LIMITS = Limits(memory=128 * MIB, pids=64, tmpfs=16 * MIB, wall=60.0, output=256 * 1024)

ATTEMPTS: Mapping[str, Spec] = catalogue(
    Spec("egress-canary", "network", "a network namespace with a loopback and nothing else", short=True),
    Spec("tcp", "network", "no route", short=True),
    Spec("udp", "network", "no route", short=True),
    Spec("ipv6", "network", "no route", short=True),
    Spec("icmp", "network", "no route", short=True),
    Spec("dns", "network", "the resolver is 127.0.0.1, where nothing listens", short=True),
    Spec("dns-embedded", "network", "no engine network, so none of its resolvers", short=True),
    Spec("interfaces", "network", "a network namespace with a loopback and nothing else", short=True),
    Spec("routes", "network", "a network namespace with a loopback and nothing else", short=True),
    Spec("loopback-services", "network", "the loopback is not the host's", short=True),
    Spec("port-hijack", "network", "the relay listens before the agent starts", short=True),
    Spec("raw-socket", "network", "no CAP_NET_RAW", short=True),
    Spec("af-packet", "network", "socket families by allow-list", short=True),
    Spec("af-vsock", "network", "socket families by allow-list", short=True),
    Spec("af-netlink", "network", "socket families by allow-list", short=True),
    Spec("af-alg", "network", "socket families by allow-list", short=True),
    Spec("abstract-sockets", "network", "abstract names belong to the network namespace", short=True),
    Spec("gateway-socket", "network", "the socket is mounted for the relay alone", short=True),
    Spec("io-uring", "kernel", "seccomp", short=True),
    Spec("mount", "kernel", "seccomp, no CAP_SYS_ADMIN", short=True),
    Spec("user-namespace", "kernel", "seccomp", short=True),
    Spec("network-namespace", "kernel", "seccomp, no CAP_SYS_ADMIN", short=True),
    Spec("clone-namespace", "kernel", "seccomp looks at clone's flags, clone3 is not implemented", short=True),
    Spec("setns", "kernel", "seccomp, no CAP_SYS_ADMIN", short=True),
    Spec("ptrace", "kernel", "seccomp", short=True),
    Spec("process-memory", "kernel", "seccomp", short=True),
    Spec("keyctl", "kernel", "seccomp", short=True),
    Spec("bpf", "kernel", "seccomp", short=True),
    Spec("perf", "kernel", "seccomp", short=True),
    Spec("userfaultfd", "kernel", "seccomp", short=True),
    Spec("open-by-handle", "kernel", "seccomp, no CAP_DAC_READ_SEARCH", short=True),
    Spec("32-bit-call", "kernel", "seccomp kills other ABIs", short=True),
    Spec("become-root", "kernel", "no CAP_SETUID", short=True),
    Spec("new-privileges", "kernel", "no_new_privs", short=True),
    Spec(
        "capabilities",
        "kernel",
        "every capability dropped, also from the bounding set where root started the box",
        short=True,
    ),
    Spec("other-processes", "kernel", "a PID namespace of its own; the relay is in another", short=True),
    Spec("write-root", "files", "a read-only root", short=True),
    Spec("write-usr", "files", "a read-only root", short=True),
    Spec("write-shm", "files", "no shared memory, or a read-only one", short=True),
    Spec("write-hosts", "files", "a read-only root, and a user who does not own the file", short=True),
    Spec("write-itself", "files", "the submission is mounted read-only", short=True),
    Spec("core-pattern", "files", "nobody in there is root, and /proc/sys is read-only or not theirs", short=True),
    Spec("sysrq", "files", "nobody in there is root, and /proc is masked or not theirs", short=True),
    Spec("engine-socket", "files", "no engine's socket is ever mounted", short=True),
    Spec("memory", "resources", "a control group, or RLIMIT_DATA", short=True),
    Spec("processes", "resources", "a control group, or RLIMIT_NPROC", short=True),
    Spec("disk", "resources", "a tmpfs with a size", short=True),
    Spec("open-files", "resources", "RLIMIT_NOFILE", short=True),
    Spec("core-dump", "resources", "RLIMIT_CORE", short=True),
)


def run(box: Box, names: Collection[str]) -> list[Attempt]:
    """Make the attempts that are named, in one agent's place.

    Raises:
        Lost: it did not run to its end, or did not reach its own relay.
        Unavailable: the box cannot be had.
    """
    environment = {  # how much the probe asks for: more than any box gives
        "PROBE_MEMORY": str(2 * LIMITS.memory + policy.RESERVED),
        "PROBE_PIDS": str(4 * LIMITS.pids),
        "PROBE_TMPFS": str(4 * LIMITS.tmpfs),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    program = Program(command=("python3", str(PROBES / "probe.py"), *names), folder=PROBES, environment=environment)
    with _answering() as (sockets, word):
        agent = box.place(program, sockets, LIMITS).start()
        try:
            facts = agent.wait(LIMITS.wall)
        finally:
            agent.kill()
    if facts.running or facts.lost:
        raise Lost(f"the self-check did not end within {LIMITS.wall:g} s: the {box.name} box is not to be trusted")
    return _attempts(names, list(_lines(agent.output())), word, box.name)


def controls(box: Box, names: Collection[str]) -> dict[str, bool]:  # noqa: ARG001 - none yet
    """Say of each named attempt whether it gets through where its control was left out."""
    return {}


def _attempts(names: Collection[str], said: list[dict[str, Any]], word: str, box: str) -> list[Attempt]:
    if not said or not str(said[0].get("reached", "")).endswith(word):
        raise Lost(f"the self-check of the {box} box did not reach its own relay, so what it found proves nothing")
    endings = {line["name"]: line for line in said[1:] if "name" in line}
    missing = set(names) - endings.keys()
    if missing:
        raise Lost(f"the self-check of the {box} box stopped before {', '.join(sorted(missing))}")
    return [
        Attempt(name, ATTEMPTS[name].group, ATTEMPTS[name].control, endings[name]["outcome"], endings[name]["detail"])
        for name in names
    ]


def _lines(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        with suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict):
                yield said


@contextmanager
def _answering() -> Iterator[tuple[Path, str]]:
    """Listen where a gateway would, and give every connection one random word."""
    word = secrets.token_hex(8)
    answer = f"HTTP/1.0 200 OK\r\nContent-Length: {len(word)}\r\n\r\n{word}".encode()
    with socket_folder() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / SOCKET_NAME))
        listener.listen()
        thread = threading.Thread(target=_answer, args=(listener, answer), daemon=True)
        thread.start()
        try:
            yield folder, word
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def _answer(listener: socket.socket, answer: bytes) -> None:
    with suppress(OSError):
        while True:
            with listener.accept()[0] as caller:
                caller.settimeout(5)
                with suppress(OSError):
                    caller.recv(4096)
                    caller.sendall(answer)
