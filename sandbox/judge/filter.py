"""The system calls of a reader or a judge, as data. Everything else is denied, for as long as it lives.

It reads the request that it was handed and writes one reply. It can open nothing, in no way; it makes no socket, no
process, no timer and no memory that can be executed, and signals nobody. Everything that it imports was
loaded by its fork server.

Numbers: the kernel's `unistd` headers, as (x86_64, aarch64).
"""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.seccomp import Numbers, Rule, allowing

PROT_EXEC = 4

NEEDED: Mapping[str, Numbers] = {
    # descriptors that are there
    "close": (3, 57),
    "lseek": (8, 62),
    "read": (0, 63),
    "write": (1, 64),
    # time and chance
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "getrandom": (318, 278),
    "gettimeofday": (96, 169),
    "time": (201, None),
    # memory
    "brk": (12, 214),
    "futex": (202, 98),
    "madvise": (28, 233),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    # itself, and its end
    "exit": (60, 93),
    "exit_group": (231, 94),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "restart_syscall": (219, 128),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124),
    "sigaltstack": (131, 132),
}

CONDITIONS = (
    Rule("mmap", "bits", 2, (PROT_EXEC,)),
    Rule("mprotect", "bits", 2, (PROT_EXEC,)),
)


def reading_filter(machine: str | None = None) -> bytes:
    """Give the filter for a machine (this one by default) as an array of `struct sock_filter`.

    Raises:
        Unavailable: there are no numbers for that architecture.
    """
    return allowing(NEEDED, CONDITIONS, machine)
