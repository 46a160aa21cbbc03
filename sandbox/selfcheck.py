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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sandbox import policy
from sandbox.box import SOCKET_NAME, Box, Limits, Program
from sandbox.errors import Lost
from sandbox.scene import socket_folder

Outcome = Literal["blocked", "bounded", "escaped"]

PROBES = Path(__file__).parent / "probes"
MIB = 1 << 20
LIMITS = Limits(memory=128 * MIB, pids=64, tmpfs=16 * MIB, wall=60.0, output=256 * 1024)

# name -> group, the control that stops it
CONTROLS: Mapping[str, tuple[str, str]] = {
    "egress-canary": ("network", "a network namespace with a loopback and nothing else"),
    "tcp": ("network", "no route"),
    "udp": ("network", "no route"),
    "ipv6": ("network", "no route"),
    "icmp": ("network", "no route"),
    "dns": ("network", "the resolver is 127.0.0.1, where nothing listens"),
    "dns-embedded": ("network", "no engine network, so none of its resolvers"),
    "interfaces": ("network", "a network namespace with a loopback and nothing else"),
    "routes": ("network", "a network namespace with a loopback and nothing else"),
    "loopback-services": ("network", "the loopback is not the host's"),
    "port-hijack": ("network", "the relay listens before the agent starts"),
    "raw-socket": ("network", "no CAP_NET_RAW"),
    "af-packet": ("network", "socket families by allow-list"),
    "af-vsock": ("network", "socket families by allow-list"),
    "af-netlink": ("network", "socket families by allow-list"),
    "af-alg": ("network", "socket families by allow-list"),
    "abstract-sockets": ("network", "abstract names belong to the network namespace"),
    "gateway-socket": ("network", "the socket is mounted for the relay alone"),
    "io-uring": ("kernel", "seccomp"),
    "mount": ("kernel", "seccomp, no CAP_SYS_ADMIN"),
    "user-namespace": ("kernel", "seccomp"),
    "network-namespace": ("kernel", "seccomp, no CAP_SYS_ADMIN"),
    "clone-namespace": ("kernel", "seccomp looks at clone's flags, clone3 is not implemented"),
    "setns": ("kernel", "seccomp, no CAP_SYS_ADMIN"),
    "ptrace": ("kernel", "seccomp"),
    "process-memory": ("kernel", "seccomp"),
    "keyctl": ("kernel", "seccomp"),
    "bpf": ("kernel", "seccomp"),
    "perf": ("kernel", "seccomp"),
    "userfaultfd": ("kernel", "seccomp"),
    "open-by-handle": ("kernel", "seccomp, no CAP_DAC_READ_SEARCH"),
    "32-bit-call": ("kernel", "seccomp kills other ABIs"),
    "become-root": ("kernel", "no CAP_SETUID"),
    "new-privileges": ("kernel", "no_new_privs"),
    "capabilities": ("kernel", "every capability dropped, also from the bounding set where root started the box"),
    "other-processes": ("kernel", "a PID namespace of its own; the relay is in another"),
    "write-root": ("files", "a read-only root"),
    "write-usr": ("files", "a read-only root"),
    "write-shm": ("files", "no shared memory, or a read-only one"),
    "write-hosts": ("files", "a read-only root, and a user who does not own the file"),
    "write-itself": ("files", "the submission is mounted read-only"),
    "core-pattern": ("files", "nobody in there is root, and /proc/sys is read-only or not theirs"),
    "sysrq": ("files", "nobody in there is root, and /proc is masked or not theirs"),
    "engine-socket": ("files", "no engine's socket is ever mounted"),
    "memory": ("resources", "a control group, or RLIMIT_DATA"),
    "processes": ("resources", "a control group, or RLIMIT_NPROC"),
    "disk": ("resources", "a tmpfs with a size"),
    "open-files": ("resources", "RLIMIT_NOFILE"),
    "core-dump": ("resources", "RLIMIT_CORE"),
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt and how it ended.

    Attributes:
        name: how it is called everywhere.
        group: `network`, `kernel`, `files` or `resources`.
        control: what stops it.
        outcome: `blocked`, `bounded` (it got so far and no further) or `escaped`.
        detail: what it met.
    """

    name: str
    group: str
    control: str
    outcome: Outcome
    detail: str


def selfcheck(box: Box) -> list[Attempt]:
    """Run the suite in a box; the wall holds if nothing escaped.

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
    program = Program(command=("python3", str(PROBES / "probe.py")), folder=PROBES, environment=environment)
    with _answering() as (sockets, word):
        agent = box.agent(program, sockets, LIMITS)
        try:
            facts = agent.wait(LIMITS.wall)
        finally:
            agent.kill()
    if facts.running or facts.lost:
        raise Lost(f"the self-check did not end within {LIMITS.wall:g} s: the {box.name} box is not to be trusted")
    return _attempts(list(_lines(agent.output())), word, box.name)


def _attempts(said: list[dict[str, Any]], word: str, name: str) -> list[Attempt]:
    if not said or not str(said[0].get("reached", "")).endswith(word):
        raise Lost(f"the self-check of the {name} box did not reach its own relay, so what it found proves nothing")
    endings = {line["name"]: line for line in said[1:] if "name" in line}
    missing = CONTROLS.keys() - endings.keys()
    if missing:
        raise Lost(f"the self-check of the {name} box stopped before {', '.join(sorted(missing))}")
    return [
        Attempt(attempt, group, control, endings[attempt]["outcome"], endings[attempt]["detail"])
        for attempt, (group, control) in CONTROLS.items()
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
