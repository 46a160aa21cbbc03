"""System-call allow-list of a reader or a judge, as data. Everything else is denied, for as long as it lives.

It reads the request that it was handed and writes one reply. It can open nothing, in no way; it makes no socket, no
process, no timer and no memory that can be executed, and signals nobody. Everything that it imports was
loaded by its fork server.
"""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.gateway.filter import PROT_EXEC
from sandbox.isolation.filters import ADVICE
from sandbox.isolation.seccomp import Rule, allowing
from sandbox.isolation.system_calls import NUMBERS, Numbers

NEEDED: Mapping[str, Numbers] = {
    name: NUMBERS[name]
    for name in (
        *("close", "lseek", "read", "write"),  # descriptors that are there
        *("clock_getres", "clock_gettime", "getrandom", "gettimeofday", "time"),
        *("brk", "futex", "madvise", "mmap", "mprotect", "mremap", "munmap"),
        *("exit", "exit_group", "getpid", "gettid", "restart_syscall", "sched_yield"),
        *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack"),
    )
}

CONDITIONS = (
    Rule("mmap", "bits", 2, (PROT_EXEC,)),
    Rule("mprotect", "bits", 2, (PROT_EXEC,)),
    ADVICE,
)


def reading_filter(machine: str | None = None) -> bytes:
    """Return the filter for a machine (this one by default) as an array of `struct sock_filter`.

    Raises:
        Unavailable: there are no numbers for that architecture.
    """
    return allowing(NEEDED, CONDITIONS, machine)
