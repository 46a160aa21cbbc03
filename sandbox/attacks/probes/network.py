"""Attempts on the network: to send something, to reach another host, to open a socket of another family.

Addresses that something is sent to are of the documentation ranges. The bridges and metadata services of real networks
lie in other ranges: for those the kernel is asked for a route, which sends nothing.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from functools import partial
from pathlib import Path

from sandbox.attacks.probes.network_exits import PROBE_TIMEOUT_SECONDS, interfaces, reaches, routed, routes, sends
from sandbox.attacks.probes.outcomes import ATTEMPTS, REFUSED, Ending, attempt, blocked, escaped, setting

RESOLVERS = ("127.0.0.1", "127.0.0.11", "127.0.0.53")  # ours, an engine's, systemd's
QUERY = bytes.fromhex("abcd01000001000000000000") + b"\x06canary\x07example\x00" + bytes.fromhex("00010001")
FAMILIES = range(1, 64)
SIOCGIFFLAGS, SIOCSIFFLAGS = 0x8913, 0x8914
AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK = 16, 17, 38, 40
UNKNOWN = (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT, errno.EPROTOTYPE, errno.EINVAL)
ICMP_ECHO, ICMPV6_ECHO = bytes.fromhex("0800f7ff00000000"), bytes.fromhex("8000000000000000")


@attempt("multicast")
@sends
def _multicast() -> Ending:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return _sent(sock, b"x", ("233.252.0.1", 9))


def _ping(family: int, kind: int, protocol: int, packet: bytes, address: str) -> Ending:
    try:
        with socket.socket(family, kind, protocol) as sock:
            return _sent(sock, packet, (address, 0))
    except OSError as error:
        return blocked(error.strerror)


def _sent(sock: socket.socket, packet: bytes, address: tuple[str, int]) -> Ending:
    try:
        sock.sendto(packet, address)
    except OSError as error:
        return blocked(error.strerror)
    return escaped("it was sent")


@attempt("dns")
@sends
def _dns() -> Ending:
    try:
        return escaped(socket.getaddrinfo("canary.example", 80))
    except OSError as error:
        return blocked(error)


def _asks(kind: int, resolvers: tuple[str, ...]) -> Ending:
    last: object = ""
    for resolver in resolvers:
        with socket.socket(socket.AF_INET, kind) as sock:
            sock.settimeout(PROBE_TIMEOUT_SECONDS)
            try:
                sock.connect((resolver, 53))
                sock.send(QUERY if kind == socket.SOCK_DGRAM else len(QUERY).to_bytes(2, "big") + QUERY)
                return escaped(f"{resolver} gave {len(sock.recv(512))} bytes")
            except TimeoutError:
                return escaped(f"{resolver} gave no answer, but no refusal either")
            except OSError as error:
                last = error.strerror
    return blocked(last)


ATTEMPTS |= {
    name: sends(made)
    for name, made in {
        "egress-canary": partial(reaches, socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
        "tcp": partial(reaches, socket.AF_INET, socket.SOCK_STREAM, ("198.51.100.9", 443)),
        "tcp-fast-open": partial(reaches, socket.AF_INET, socket.SOCK_STREAM, ("198.51.100.9", 443), fast=True),
        "udp": partial(reaches, socket.AF_INET, socket.SOCK_DGRAM, ("203.0.113.5", 53)),
        "tcp-ipv6": partial(reaches, socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 443)),
        "udp-ipv6": partial(reaches, socket.AF_INET6, socket.SOCK_DGRAM, ("2001:db8::1", 53)),
        "icmp": partial(_ping, socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP, ICMP_ECHO, "192.0.2.1"),
        "icmp-ipv6": partial(
            _ping, socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6, ICMPV6_ECHO, "2001:db8::1"
        ),
        "icmp-raw": partial(_ping, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP, ICMP_ECHO, "192.0.2.1"),
        "dns-outside": partial(_asks, socket.SOCK_DGRAM, ("192.0.2.53",)),
        "dns-embedded": partial(_asks, socket.SOCK_DGRAM, RESOLVERS),
        "dns-tcp": partial(_asks, socket.SOCK_STREAM, RESOLVERS),
    }.items()
}


@attempt("resolver-config")
def _resolver_config() -> Ending:
    lines = [line.split() for line in Path("/etc/resolv.conf").read_text().splitlines()]
    settings = [" ".join(words) for words in lines if words and not words[0].startswith(("#", ";"))]
    foreign = [line for line in settings if line.split()[0] != "options" and line != "nameserver 127.0.0.1"]
    return escaped(f"it tells {len(foreign)} things of the host") if foreign else blocked("nothing but 127.0.0.1")


@attempt("host-name")
def _host_name() -> Ending:
    name = os.uname().nodename
    return blocked("every place has the same") if name == "agent" else escaped("it is not the one of every place")


@attempt("host-gateway")
@sends
def _host_gateway() -> Ending:
    gateways = [gateway for _, _, gateway in routes() if int(gateway)]
    if not gateways:
        return blocked("the routing table names none")
    return reaches(socket.AF_INET, socket.SOCK_STREAM, (str(gateways[0]), 80))


@attempt("bridge-addresses")
@sends
def _bridge_addresses() -> Ending:
    tens = [f"10.{second}.0.1" for second in range(256)]
    hundreds = [f"100.{second}.0.1" for second in range(64, 128)]
    engines = [f"172.{second}.0.1" for second in range(16, 32)] + [f"192.168.{third}.1" for third in range(256)]
    return routed(*engines, *tens, *hundreds)


@attempt("metadata-address")
@sends
def _metadata_address() -> Ending:
    local = [f"169.254.{third}.{last}" for third in range(256) for last in (1, 2, 123, 169, 170, 253, 254)]
    return routed(*local, "fd00:ec2::254", "fd20:ce::254")


@attempt("interfaces")
def _interfaces() -> Ending:
    names = interfaces()
    return escaped(", ".join(names)) if names else blocked("only lo")


@attempt("routes")
def _routes() -> Ending:
    four, table = routes(), Path("/proc/net/ipv6_route")
    six = [line for line in table.read_text().splitlines() if line.split()[-1] != "lo"] if table.exists() else []
    return escaped(f"{len(four)} and {len(six)} routes") if four or six else blocked("none")


@attempt("neighbours")
def _neighbours() -> Ending:
    entries = Path("/proc/net/arp").read_text().splitlines()[1:]
    return escaped(f"{len(entries)} in sight") if entries else blocked("none in sight")


@attempt("loopback-services")
def _loopback_services() -> Ending:
    ports = []
    for port in (22, 53, 80, 111, 2375, 2376, 3306, 5432, 6379, 8080, 8443):
        with socket.socket(socket.AF_INET) as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                ports.append(str(port))
    return escaped(f"listening: {', '.join(ports)}") if ports else blocked("nothing listens but the relay")


@attempt("port-hijack")
def _port_hijack() -> Ending:
    last: OSError | None = None
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        with socket.socket(socket.AF_INET) as sock:
            sock.setsockopt(socket.SOL_SOCKET, option, 1)
            try:
                sock.bind(("0.0.0.0", int(setting("PORT", "8700"))))  # noqa: S104 - the attempt itself
                sock.listen()
            except OSError as error:
                last = error
            else:
                return escaped("the relay's port was taken")
    return blocked(last)


@attempt("configure-interface")
def _configure_interface() -> Ending:
    """Set the loopback's flags to what they are."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        flags = fcntl.ioctl(sock, SIOCGIFFLAGS, struct.pack("16sh22x", b"lo", 0))
        try:
            fcntl.ioctl(sock, SIOCSIFFLAGS, flags)
        except OSError as error:
            return blocked(error.strerror)
    return escaped("interfaces can be set up")


@attempt("transparent-socket")
def _transparent_socket() -> Ending:
    with socket.socket(socket.AF_INET) as sock:
        try:
            sock.setsockopt(socket.SOL_IP, 19, 1)  # IP_TRANSPARENT: speak with an address that is not ours
        except OSError as error:
            return blocked(error.strerror)
    return escaped("it may speak for others")


def opens(family: int, kind: int, protocol: int = 0) -> Ending:
    """Create a socket and nothing more."""
    try:
        socket.socket(family, kind, protocol).close()
    except OSError as error:
        if error.errno in (*REFUSED, *UNKNOWN):
            return blocked(error.strerror)
        return escaped(error.strerror)
    return escaped("the socket was created")


ATTEMPTS |= {
    "raw-socket": partial(opens, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "af-packet": partial(opens, AF_PACKET, socket.SOCK_RAW),
    "af-vsock": partial(opens, AF_VSOCK, socket.SOCK_STREAM),
    "af-netlink": partial(opens, AF_NETLINK, socket.SOCK_RAW),
    "af-alg": partial(opens, AF_ALG, socket.SOCK_SEQPACKET),
}


@attempt("socket-families")
def _socket_families() -> Ending:
    opened, allowed = [], (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
    families = [int(word) for word in setting("FAMILIES", "").split()] or [f for f in FAMILIES if f not in allowed]
    for family in families:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            if opens(family, kind)[0] == "escaped":
                opened.append(f"{family}")
                break
    return escaped(f"families {', '.join(opened)}") if opened else blocked(f"none of {len(families)} others")


@attempt("socket-pairs")
def _socket_pairs() -> Ending:
    try:
        for end in socket.socketpair(socket.AF_INET, socket.SOCK_STREAM):
            end.close()
    except OSError as error:
        return blocked(error.strerror) if error.strerror == os.strerror(1) else escaped(error.strerror)
    return escaped("a pair was made")


@attempt("abstract-sockets")
def _abstract_sockets() -> Ending:
    lines = Path("/proc/net/unix").read_text().splitlines()[1:]
    names = [words[-1] for words in map(str.split, lines) if words[-1].startswith(("@", "/"))]
    return escaped(f"{len(names)} named sockets, {names[0]} among them") if names else blocked("no named socket")


@attempt("gateway-socket")
def _gateway_socket() -> Ending:
    places = ["/gw"] if Path("/gw").exists() else []
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    places += [place for place in mounts if place.startswith("/gw")]
    return escaped(", ".join(places)) if places else blocked("not in sight")
