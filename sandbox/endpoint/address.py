"""Address check for hosted endpoints: only addresses that are public on the internet, never one near us (SSRF guard).

A submitter chooses the URL, and we connect to it from inside our own network. So:

1. the URL has one plain form: https, a name with a dot or a plain address, no user, no fragment; a number that some
   resolvers read as an address (`2130706433`, `0x7f.1`, `0177.0.0.1`) is refused as it stands;
2. the name is resolved once, and what is connected to later is that address, never the name again, so that nobody can
   answer with a good address first and a bad one afterwards;
3. every address of the name must be public: a single one that is not refuses the URL;
4. public is what the special-purpose registries leave: of IPv6 only global unicast (2000::/3), so that mapped,
   translated, local and multicast forms are out without being named, less the blocks that stand for something else;
5. an address of this machine itself is refused, public or not.

`Exceptions` lift 3 to 5, and https, for addresses in a list: for tests, and never for a run that counts.

Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), the IPv6 address space registry.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path

from sandbox.errors import Malformed, Refused, Unavailable

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolver = Callable[[str, int], Sequence[str]]
"""From a name and a port to all of its addresses, the one to try first; raises OSError."""

MAX_URL = 2000
HTTPS = 443
FIRST_HIGH_PORT = 1024

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<target>(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?"
    r"(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?)"
)
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)+(?![0-9]+$|0x){_LABEL}")  # a last label of digits would be read as an address

SPECIAL: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(block), what)
    for block, what in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a carrier"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a cloud's own agent"),
        ("169.254.0.0/16", "link-local, where clouds keep their metadata"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "for protocols"),
        ("192.0.2.0/24", "for documentation"),
        ("192.31.196.0/24", "anycast of AS112"),
        ("192.52.193.0/24", "for multicast tunnels"),
        ("192.88.99.0/24", "relays to 6to4"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "anycast of AS112"),
        ("198.18.0.0/15", "for benchmarks of networks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("2001::/23", "for protocols, Teredo and ORCHID among them"),
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "6to4, which holds an IPv4 address"),
        ("2620:4f:8000::/48", "anycast of AS112"),
        ("3fff::/20", "for documentation"),
    )
)
GLOBAL_UNICAST = IPv6Network("2000::/3")


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Exceptions to the address rules, for tests; never for a run that counts.

    Attributes:
        ranges: addresses in these are reached whatever they are, and over plain HTTP too.
        authority: a file of certificates (PEM) that are believed beside the machine's own.
    """

    ranges: tuple[Network, ...] = ()
    authority: Path | None = None

    @classmethod
    def of(cls, ranges: Sequence[str], authority: Path | None) -> Exceptions:
        """Read what was given on a command line.

        Raises:
            Malformed: one is no range of addresses.
        """
        try:
            return cls(tuple(ip_network(network) for network in ranges), authority)
        except ValueError as error:
            raise Malformed(f"{error}; give a range such as 203.0.113.0/24") from None

    def __bool__(self) -> bool:
        return bool(self.ranges or self.authority)

    def lift(self, address: Address) -> bool:
        """Say whether this address is one of the exceptions."""
        return any(address in block for block in self.ranges)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL in its one form.

    Attributes:
        scheme: `https` or `http`.
        host: a name, or an address without brackets.
        port: where it listens.
        target: path and query.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host as the `Host` field has it: with its port where that is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = HTTPS if self.scheme == "https" else 80
        return host if self.port == usual else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole; it is what is hashed and signed."""
        return f"{self.scheme}://{self.authority}{self.target}"


class Unresolved(Unavailable):
    """A name has no address or cannot be resolved: this machine may be at fault, or the owner of the name."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """A target, and the one address at which it will be reached."""

    target: Target
    address: Address


def parse(url: str) -> Target:
    """Read a URL.

    Raises:
        Malformed: it has another form than `https://host[:port]/path[?query]`.
        Refused: its port is one of the low ones, which belong to other protocols.
    """
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    match = _URL.fullmatch(f"{scheme.lower()}{mark}{host.lower()}{slash}{path}") if len(url) <= MAX_URL else None
    if match is None:
        raise Malformed(
            f"{url[:100]!r} is not the URL of an endpoint: give https://name/path, without user, password and fragment"
        )
    default = HTTPS if match["scheme"] == "https" else 80
    port = int(match["port"]) if match["port"] else default
    if port != default and not FIRST_HIGH_PORT <= port <= 65535:  # noqa: PLR2004 the last port
        raise Refused(f"port {port} of {url[:100]!r} belongs to another protocol; use 443, or one from 1024 on")
    target = match["target"]
    return Target(match["scheme"], _host(match["host"]), port, target if target.startswith("/") else f"/{target}")


def why_not(address: Address) -> str:
    """Return the reason why nothing is sent to an address, or "" where it is public."""
    if isinstance(address, IPv6Address) and (address not in GLOBAL_UNICAST or address.scope_id is not None):
        return "not global unicast"
    return next((what for block, what in SPECIAL if address in block), "")


def resolve(name: str, port: int) -> list[str]:
    """Ask the machine's resolver for all addresses of a name."""
    entries = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def is_ours(address: Address) -> bool:
    """Say whether this machine has the address: only then can a socket be bound to it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 IP's version
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def pin(
    target: Target,
    exceptions: Exceptions,
    *,
    resolver: Resolver = resolve,
    ours: Callable[[Address], bool] = is_ours,
) -> Pinned:
    """Choose the one address that will be connected to.

    Raises:
        Refused: an address of the name is not public, or the URL is http.
        Unresolved: the name cannot be resolved.
    """
    if target.scheme != "https" and not exceptions.ranges:
        raise Refused(f"{target.url[:100]} is not https: a task is never sent in the clear")
    addresses = [_address(target.host)] if _is_literal(target.host) else _resolved(target, resolver)
    for address in addresses:
        if exceptions.lift(address):
            continue
        if reason := why_not(address) or ("this machine itself" if ours(address) else ""):
            raise Refused(f"{target.host} leads to {address} ({reason}): tasks are sent to public addresses only")
        if target.scheme != "https":
            raise Refused(f"{target.url[:100]} is not https: a task is never sent in the clear")
    return Pinned(target, addresses[0])


def _resolved(target: Target, resolver: Resolver) -> list[Address]:
    try:
        addresses = [_address(text) for text in resolver(target.host, target.port)]
    except (OSError, UnicodeError) as error:
        raise Unresolved(
            f"{target.host} cannot be resolved ({error}); check the name, and this machine's DNS"
        ) from None
    if not addresses:
        raise Unresolved(f"{target.host} has no address; check the name")
    return addresses


def _host(text: str) -> str:
    """Return a host in its one form: a name with a dot, or an address as it is always written."""
    if text.startswith("["):
        text = text[1:-1]
        if _is_literal(text) and ":" in text:
            return str(_address(text))
    elif (_is_literal(text) and ":" not in text) or (len(text) <= 253 and _NAME.fullmatch(text)):  # noqa: PLR2004 RFC 1035
        return text
    raise Malformed(f"{text[:100]!r} is neither a name with a dot nor a plain address; give the endpoint's full name")


def _is_literal(text: str) -> bool:
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def _address(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError:
        raise Refused(f"the resolver gave {text[:60]!r}, which is no address") from None
