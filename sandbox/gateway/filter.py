"""The system calls that a gateway's session needs, as data. Everything else is denied, for as long as it lives.

It keeps the sockets that it was handed, and memory, time and chance. It makes none of: a file opened in any way, a
process, a program started, a socket connected or bound, a signal to somebody else (other gateways have its user), or
memory that can be executed. What a session needs was seen by tracing it; everything that it imports was loaded before
(`sandbox.gateway.warmup`).

Numbers: the kernel's `unistd` headers, as (x86_64, aarch64).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fcntl import F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_GETFL, F_SETFD, F_SETFL
from socket import SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM

from sandbox.seccomp import AF_UNIX, Numbers, Rule, allowing

PROT_EXEC = 4
FIONREAD, FIONBIO, FIOCLEX = 0x541B, 0x5421, 0x5451

NEEDED: Mapping[str, Numbers] = {
    # sockets that are there: the world's, the runner's, the listener and what comes to it
    "accept4": (288, 242),
    "getpeername": (52, 205),
    "getsockname": (51, 204),
    "getsockopt": (55, 209),
    "listen": (50, 201),
    "recvfrom": (45, 207),
    "recvmsg": (47, 212),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "setsockopt": (54, 208),
    "shutdown": (48, 210),
    "socketpair": (53, 199),
    # descriptors that are there
    "close": (3, 57),
    "dup": (32, 23),
    "fcntl": (72, 25),
    "fstat": (5, 80),
    "ioctl": (16, 29),
    "lseek": (8, 62),
    "read": (0, 63),
    "readv": (19, 65),
    "write": (1, 64),
    "writev": (20, 66),
    # waiting
    "clock_nanosleep": (230, 115),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441),
    "epoll_wait": (232, None),
    "eventfd2": (290, 19),
    "futex": (202, 98),
    "nanosleep": (35, 101),
    "poll": (7, None),
    "ppoll": (271, 73),
    "pselect6": (270, 72),
    "restart_syscall": (219, 128),
    "sched_yield": (24, 124),
    "select": (23, None),
    # time and chance
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "getrandom": (318, 278),
    "gettimeofday": (96, 169),
    "time": (201, None),
    # memory
    "brk": (12, 214),
    "madvise": (28, 233),
    "membarrier": (324, 283),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    # itself, and its end
    "exit": (60, 93),
    "exit_group": (231, 94),
    "getpid": (39, 172),
    "getrusage": (98, 165),
    "gettid": (186, 178),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123),
    "set_robust_list": (273, 99),
    "sigaltstack": (131, 132),
    "tgkill": (234, 131),
}
"""`tgkill` is how a program aborts."""

STREAMS = tuple(SOCK_STREAM | close | block for close in (0, SOCK_CLOEXEC) for block in (0, SOCK_NONBLOCK))
CONDITIONS = (
    Rule("socketpair", "unless", 0, (AF_UNIX,)),
    Rule("socketpair", "unless", 1, STREAMS),  # one for datagrams could send to any socket that has a name
    Rule("fcntl", "unless", 1, (F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL)),  # F_SETOWN signals
    Rule("ioctl", "unless", 1, (FIONREAD, FIONBIO, FIOCLEX)),
    Rule("mmap", "bits", 2, (PROT_EXEC,)),
    Rule("mprotect", "bits", 2, (PROT_EXEC,)),
)


def session_filter(machine: str | None = None) -> bytes:
    """Give the filter of this process for a machine (this one by default) as an array of `struct sock_filter`.

    Raises:
        Unavailable: there are no numbers for that architecture.
    """
    return allowing(NEEDED, (*CONDITIONS, Rule("tgkill", "unless", 0, (os.getpid(),))), machine)
