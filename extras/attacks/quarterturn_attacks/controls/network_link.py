"""Virtual network link into an agent's place, for positive controls; it ends in a namespace made only for it.

Both ends are made inside the two namespaces; this machine's own sees nothing of it. Addresses are of the documentation
ranges, nobody forwards anything, and the far namespace has no other interface. Needs root and iproute2.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox.attacks.probes.network_exits import WIRE
from sandbox.errors import Lost, Unavailable
from sandbox.isolation.program_copies import interpreter

PEER = Path(__file__).parent / "peer.py"
FAR = "quarterturn1"
FAR_ADDRESSES = ("192.0.2.1/24", "192.0.2.53/24", "198.51.100.9/32", "203.0.113.5/32", "2001:db8::1/64")
NEAR_ADDRESSES = ("192.0.2.2/24", "2001:db8::2/64")
FAR_SERVICES = {
    "tcp": [("192.0.2.1", 80), ("198.51.100.9", 443), ("2001:db8::1", 443)],
    "udp": [("203.0.113.5", 53), ("2001:db8::1", 53), ("192.0.2.53", 53)],
}
NEAR_SERVICES = {
    "tcp": [("127.0.0.11", 53), ("127.0.0.1", 5432)],
    "udp": [("127.0.0.11", 53)],
    "abstract": ["quarterturn-control"],
}


def require() -> None:
    """Make sure that namespaces can be made and wired here.

    Raises:
        Unavailable: we are not root, or a program is missing.
    """
    if os.geteuid() != 0:
        raise Unavailable("controls make namespaces and move wires between them: run them as root, or leave them out")
    missing = [name for name in ("ip", "nsenter", "unshare") if shutil.which(name) is None]
    if missing:
        raise Unavailable(f"controls need {', '.join(missing)}: install Debian's iproute2 and util-linux")


@contextlib.contextmanager
def wired(place: int) -> Iterator[None]:
    """Wire the network namespace of process `place` to a new one, with services at both ends.

    Raises:
        Lost: it could not be done.
    """
    with _peer({**FAR_SERVICES}) as far, _peer({**NEAR_SERVICES, "namespace": f"/proc/{place}/ns/net"}) as near:
        _ip(far.pid, "link", "add", FAR, "type", "veth", "peer", "name", WIRE, "netns", str(place))
        for process, end, addresses in ((far.pid, FAR, FAR_ADDRESSES), (place, WIRE, NEAR_ADDRESSES)):
            _set(process, f"net/ipv6/conf/{end}/disable_ipv6", "0")
            for address in addresses:
                _ip(process, "address", "add", address, "dev", end, *(["nodad"] if ":" in address else []))
            _ip(process, "link", "set", end, "up")
        _ip(place, "route", "add", "default", "via", "192.0.2.1")
        _set(place, "net/ipv4/ping_group_range", "0 65534")
        for peer in (far, near):
            _say(peer, b"\n", b"listening\n")
        yield


@contextlib.contextmanager
def _peer(document: dict[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    words = [interpreter(), "-I", "-S", str(PEER), json.dumps(document)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        try:
            _say(process, b"", b"there\n")
            yield process
        finally:
            process.kill()


def _say(process: subprocess.Popen[bytes], word: bytes, expected: bytes) -> None:
    if process.stdin is None or process.stdout is None:
        return
    process.stdin.write(word)
    process.stdin.flush()
    if process.stdout.readline() != expected:
        raise Lost(f"whoever a control should reach did not say {expected.decode().strip()!r}: is IPv6 switched off?")


def _ip(process: int, *words: str) -> None:
    _within(process, "ip", *words)


def _set(process: int, name: str, value: str) -> None:
    _within(process, "/bin/sh", "-c", 'echo "$1" >"/proc/sys/$2"', "set", value, name)


def _within(process: int, *words: str) -> None:
    done = subprocess.run(["nsenter", f"--net=/proc/{process}/ns/net", *words], capture_output=True, check=False)
    if done.returncode != 0:
        raise Lost(f"the wire of a control could not be laid: {' '.join(words)}: {done.stderr.decode().strip()}")
