"""The system calls that nobody behind the wall may make, as data, and the filter that the kernel takes.

One program for agent, relay and world, in every box. Under Docker it is stacked on the engine's own default profile
(the kernel obeys the stricter of the two), under bubblewrap it stands alone, so it names what that profile would deny.

- Another ABI of the machine (i386, with its `socketcall`) kills the process, and the x32 numbers are denied: they
  would be a second door to every call below.
- Sockets are allowed by family: AF_UNIX, AF_INET and AF_INET6. Network namespaces do not confine AF_VSOCK, and AF_ALG,
  AF_PACKET and the rest are attack surface. AF_NETLINK is not among the three: name lookups work without it, and only
  a listing of interfaces (`getifaddrs`) fails.
- `clone3` is *not implemented*, so that libraries fall back to `clone`, whose flags a filter can see.

Formats: seccomp(2), bpf(4) (`struct sock_filter`), the numbers from the kernel's `unistd` headers.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sandbox.errors import Unavailable

# struct seccomp_data: int nr; __u32 arch; __u64 instruction_pointer; __u64 args[6]
NR, ARCH, ARGS = 0, 4, 16

# struct sock_filter: __u16 code; __u8 jt; __u8 jf; __u32 k
INSTRUCTION = struct.Struct("=HBBI")
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
X32_BIT = 0x40000000
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = tuple(AUDIT_ARCH)

NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
SO_COOKIE, SO_NETNS_COOKIE = 57, 71  # counters of the whole machine, as the inode numbers of pidfds are
IP_BIND_ADDRESS_NO_PORT = 24  # with it a program connects from an address that others know (`sandbox.place`)
PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)  # as Docker's default profile


@dataclass(frozen=True, slots=True)
class Rule:
    """One call that is denied.

    Attributes:
        call: its name.
        when: `always`; or, looking at the low 32 bits of argument number `argument`: `unless` it is one of `values`,
            `if` it is one of them, or `bits` where any bit of `values[0]` is set.
        argument: the number of the argument, from 0.
        values: what it is compared with.
        error: the errno that the caller gets.
    """

    call: str
    when: Literal["always", "unless", "if", "bits"] = "always"
    argument: int = 0
    values: tuple[int, ...] = ()
    error: int = errno.EPERM


Numbers: TypeAlias = tuple[int | None, int | None]
"""A call's number on x86_64 and aarch64; None where the architecture has no such call."""

NUMBERS: dict[str, Numbers] = {
    "_sysctl": (156, None),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "create_module": (174, None),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, None),
    "get_mempolicy": (239, 236),
    "getsockopt": (55, 209),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "listmount": (458, 458),
    "lookup_dcookie": (212, 18),
    "lsm_set_self_attr": (460, 460),
    "mbind": (237, 235),
    "migrate_pages": (256, 238),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "query_module": (178, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setns": (308, 268),
    "setsockopt": (54, 208),
    "settimeofday": (164, 170),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "statmount": (457, 457),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sysfs": (139, None),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "ustat": (136, None),
    "vhangup": (153, 58),
}

CONDITIONS = (
    Rule("socket", "unless", 0, (AF_UNIX, AF_INET, AF_INET6)),
    Rule("socketpair", "unless", 0, (AF_UNIX,)),
    Rule("clone", "bits", 0, (NAMESPACE_FLAGS,)),
    Rule("clone3", error=errno.ENOSYS),
    Rule("personality", "unless", 0, PERSONALITIES),
    Rule("ioctl", "if", 1, (TIOCSTI, TIOCLINUX)),
    Rule("getsockopt", "if", 2, (SO_COOKIE, SO_NETNS_COOKIE)),
    Rule("setsockopt", "if", 2, (IP_BIND_ADDRESS_NO_PORT,)),
    Rule("pidfd_open", error=errno.ENOSYS),
)
_CONDITIONAL = {rule.call for rule in CONDITIONS}
RULES: tuple[Rule, ...] = (*CONDITIONS, *(Rule(name) for name in NUMBERS if name not in _CONDITIONAL))


def program(machine: str | None = None, rules: Sequence[Rule] = RULES) -> bytes:
    """Give the filter for a machine (this one by default) as an array of `struct sock_filter`.

    Raises:
        Unavailable: there are no numbers for that architecture.
    """
    return _assembled(machine, ((NUMBERS[rule.call], _block(rule)) for rule in rules), ALLOW)


def allowing(numbers: Mapping[str, Numbers], conditions: Sequence[Rule] = (), machine: str | None = None) -> bytes:
    """Give a filter that allows these calls, but for what the conditions deny of them, and nothing else.

    A call may have several conditions, if all but its last are `unless`.

    Raises:
        Unavailable: there are no numbers for that architecture.
    """
    blocks: dict[str, list[bytes]] = {}
    for rule in conditions:
        blocks[rule.call] = blocks.get(rule.call, [])[:-1] + _block(rule)  # what was allowed is looked at again
    each = ((number, blocks.get(call, [_do(RETURN, ALLOW)])) for call, number in numbers.items())
    return _assembled(machine, each, ERRNO | errno.EPERM)


def _assembled(machine: str | None, blocks: Iterable[tuple[Numbers, list[bytes]]], otherwise: int) -> bytes:
    """Put one block behind each call's number; a foreign ABI never gets that far."""
    machine = machine or platform.machine()
    if machine not in AUDIT_ARCH:
        raise Unavailable(f"there is no system-call filter for {machine}: the wall runs on {' and '.join(MACHINES)}")
    code = [_do(LOAD, ARCH), _jump(EQUAL, AUDIT_ARCH[machine], 1, 0), _do(RETURN, KILL), _do(LOAD, NR)]
    if machine == "x86_64":
        code += [_jump(AT_LEAST, X32_BIT, 0, 1), _do(RETURN, ERRNO | errno.EPERM)]
    for numbers, block in blocks:
        number = numbers[MACHINES.index(machine)]
        if number is not None:
            code += [_jump(EQUAL, number, 0, len(block)), *block]
    return b"".join([*code, _do(RETURN, otherwise)])


def _block(rule: Rule) -> list[bytes]:
    """Assemble what follows once the call's number matched; every path through it ends in a return."""
    deny, allow = _do(RETURN, ERRNO | rule.error), _do(RETURN, ALLOW)
    if rule.when == "always":
        return [deny]
    load = _do(LOAD, ARGS + 8 * rule.argument)  # the low half: both machines are little-endian
    test = ANY_BIT if rule.when == "bits" else EQUAL
    count = len(rule.values)
    tests = [_jump(test, value, count - place, 0) for place, value in enumerate(rule.values)]
    miss, hit = (deny, allow) if rule.when == "unless" else (allow, deny)
    return [load, *tests, miss, hit]


def _do(code: int, k: int) -> bytes:
    return INSTRUCTION.pack(code, 0, 0, k)


def _jump(code: int, k: int, then: int, otherwise: int) -> bytes:
    return INSTRUCTION.pack(code, then, otherwise, k)
