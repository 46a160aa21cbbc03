"""Network exits of a place, and the guard that keeps an attempt from sending where there is a real one.

Nothing is sent where there is an interface or a route besides the loopback: that alone is an escape. A control adds one
wire, to a namespace that it made itself; it is passed by its name, and only as long as its address and every route over
it are of the documentation ranges (RFC 5737, RFC 3849, RFC 6676).
"""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
import socket
import struct
from pathlib import Path

from sandbox.attacks.probes.outcomes import Attempt, Ending, blocked, escaped

PROBE_TIMEOUT_SECONDS = 3.0
WIRE = "quarterturn0"  # how a control calls its end
DOCUMENTATION = tuple(map(ipaddress.IPv4Network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))
SIOCGIFADDR = 0x8915
MSG_FASTOPEN = 0x20000000


def interfaces() -> list[str]:
    """Name the interfaces besides the loopback."""
    names = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    return [name for name in names if name != "lo" and not _unused(name)]


def routes() -> list[tuple[str, ipaddress.IPv4Address, ipaddress.IPv4Address]]:
    """Return each route of version 4: its interface, where it leads, and its gateway."""
    words = [line.split() for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    return [(name, _address(to), _address(gateway)) for name, to, gateway, *_ in words]


def ways_out() -> str:
    """Name the interfaces and routes that lead out, a control's own wire aside, or give nothing."""
    wired = _harmless_wire()
    exits = [f"interface {name}" for name in interfaces() if not (wired and name == WIRE)]
    exits += [f"route to {to}" for name, to, _ in routes() if not (wired and name == WIRE)]
    return ", ".join(exits)


def sends(function: Attempt) -> Attempt:
    """Guard what would send: with a way out there is no need to prove that it leads out."""

    def guarded() -> Ending:
        way = ways_out()
        return escaped(f"{way}; nothing was sent") if way else function()

    return guarded


def reaches(family: int, kind: int, address: tuple[str, int], *, fast: bool = False) -> Ending:
    """Try to reach an address: only a refusal of the kernel counts as blocked, for a time-out means a packet left."""
    with socket.socket(family, kind) as sock:
        sock.settimeout(PROBE_TIMEOUT_SECONDS)
        try:
            if fast:
                sock.sendto(b"x", MSG_FASTOPEN, address)
            else:
                sock.connect(address)
                sock.send(b"x")
            if kind == socket.SOCK_DGRAM:
                sock.send(b"x")  # a refusal of the first is told to the second
            return escaped(f"answered with {sock.recv(64)[:16]!r}")
        except (TimeoutError, BlockingIOError):  # under way
            return escaped("no answer, but no refusal either")
        except OSError as error:
            return blocked(error.strerror)


def routed(*addresses: str) -> Ending:
    """Ask the kernel for a route to each address: `connect` of a datagram socket looks it up and sends nothing."""
    last = "no address"
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            try:
                sock.connect((address, 9))
            except OSError as error:
                last = error.strerror or str(error)
            else:
                return escaped(f"there is a route to {address}; nothing was sent")
    return blocked(last)


def _harmless_wire() -> bool:
    if "PROBE_CONTROL" not in os.environ or WIRE not in interfaces():
        return False
    gateways = [gateway for name, _, gateway in routes() if name == WIRE and int(gateway)]
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16s24x", WIRE.encode())
        packed = fcntl.ioctl(sock, SIOCGIFADDR, request)[20:24]
        return all(
            any(address in net for net in DOCUMENTATION) for address in [ipaddress.IPv4Address(packed), *gateways]
        )
    return False


def _address(word: str) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(bytes.fromhex(word)[::-1])


def _unused(name: str) -> bool:
    """A tunnel's fallback device (`sit0`, `tunl0`) is in every network namespace, and down."""
    with contextlib.suppress(OSError):
        return not int(Path(f"/sys/class/net/{name}/flags").read_text(), 16) & 1
    return name.endswith("0") and name[:-1] in ("sit", "tunl", "gre", "gretap", "erspan", "ip_vti", "ip6tnl", "ip6gre")
