"""System-call filters of agent, world and relay.

Each allows what its list names (`sandbox.isolation.system_calls`), except what the conditions deny:

- Sockets are allowed by family: AF_UNIX, AF_INET and AF_INET6. Network namespaces do not confine AF_VSOCK, and AF_ALG,
  AF_PACKET and the rest are attack surface. AF_NETLINK is not among the three: name lookups work without it, and only
  a listing of interfaces (`getifaddrs`) fails.
- `clone` makes no namespace; `clone3`, whose flags no filter can see, is in no list, so libraries fall back on `clone`.
- No call may ask whether a page of a file is in the machine's cache, evict it, or have the kernel merge equal memory:
  flags of `preadv2` and `pwritev2`, and what `madvise` and `fadvise64` advise.
- Nobody reads counters of the whole machine from a socket, nor connects from an address of their choice without a port.
- What changes how the kernel treats a process is allowed by its name: `prctl`, `arch_prctl` and `personality`.

Values: linux/sched.h, linux/socket.h, asm/ioctls.h, linux/fs.h, asm/mman.h, linux/fadvise.h, linux/prctl.h.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from sandbox.isolation.seccomp import Rule, allowing
from sandbox.isolation.system_calls import GROUPS, NUMBERS, RELAY, WORLD, Numbers

Kind: TypeAlias = Literal["agent", "world", "relay"]

NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
SO_COOKIE, SO_NETNS_COOKIE = 57, 71  # counters of the whole machine
IP_BIND_ADDRESS_NO_PORT = 24  # with it a program connects from an address that others know (`sandbox.boxes.place`)
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)  # as Docker's default profile
OTHER_THAN_PLAIN_FLAGS = 0xFFFFFFFF & ~0x17  # all but RWF_HIPRI, DSYNC, SYNC and APPEND; RWF_NOWAIT is 0x8
MADV_COLD, MADV_PAGEOUT, MADV_MERGEABLE, MADV_HWPOISON, MADV_SOFT_OFFLINE = 20, 21, 12, 100, 101
POSIX_FADV_DONTNEED = 4
ARCH_SET_GS, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS = 0x1001, 0x1002, 0x1003, 0x1004
PROCESS_OPTIONS = (
    *(1, 2, 3, 4),  # PDEATHSIG, DUMPABLE
    *(7, 8),  # KEEPCAPS
    *(15, 16),  # NAME
    *(21, 22),  # SECCOMP
    *(23, 24, 27, 47),  # CAPBSET, GET_SECUREBITS, CAP_AMBIENT
    *(29, 30),  # TIMERSLACK
    *(36, 37),  # CHILD_SUBREAPER
    *(38, 39),  # NO_NEW_PRIVS
    *(41, 42),  # THP_DISABLE
    *(50, 51, 54, 55, 56),  # on aarch64: SVE, PAC_RESET_KEYS, TAGGED_ADDR_CTRL
    *(52, 53),  # SPECULATION_CTRL
    0x53564D41,  # VMA names
)

ADVICE = Rule("madvise", "if", 2, (MADV_COLD, MADV_PAGEOUT, MADV_MERGEABLE, MADV_HWPOISON, MADV_SOFT_OFFLINE))
COOKIES = (
    Rule("getsockopt", "if", 2, (SO_COOKIE, SO_NETNS_COOKIE)),
    Rule("setsockopt", "if", 2, (IP_BIND_ADDRESS_NO_PORT,)),
)
CONDITIONS = (
    Rule("socket", "unless", 0, (AF_UNIX, AF_INET, AF_INET6)),
    Rule("socketpair", "unless", 0, (AF_UNIX,)),
    Rule("clone", "bits", 0, (NAMESPACE_FLAGS,)),
    Rule("personality", "unless", 0, PERSONALITIES),
    Rule("prctl", "unless", 0, PROCESS_OPTIONS),
    Rule("arch_prctl", "unless", 0, (ARCH_SET_GS, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS)),
    Rule("ioctl", "if", 1, (TIOCSTI, TIOCLINUX)),
    *COOKIES,
    Rule("preadv2", "bits", 5, (OTHER_THAN_PLAIN_FLAGS,)),
    Rule("pwritev2", "bits", 5, (OTHER_THAN_PLAIN_FLAGS,)),
    ADVICE,
    Rule("fadvise64", "if", 3, (POSIX_FADV_DONTNEED,)),
)
LISTS: Mapping[Kind, Mapping[str, Numbers]] = {
    "agent": NUMBERS,
    "world": {name: NUMBERS[name] for name in WORLD},
    "relay": {name: NUMBERS[name] for name in RELAY},
}


def filter_of(kind: Kind, machine: str | None = None, groups: Sequence[str] = ()) -> bytes:
    """Return the filter of a place for a machine (this one by default) as an array of `struct sock_filter`.

    Args:
        kind: the kind of place.
        machine: the machine.
        groups: the groups of calls that it may make beside (`sandbox.isolation.system_calls.GROUPS`).

    Raises:
        Unavailable: there are no numbers for that architecture.
    """
    more = {name: numbers for group in groups for name, numbers in GROUPS[group].calls.items()}
    return allowing({**LISTS[kind], **more}, CONDITIONS, machine)
