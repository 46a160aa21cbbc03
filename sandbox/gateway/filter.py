"""System-call allow-list of a gateway's session, as data. Everything else is denied, for as long as it lives.

The session keeps the sockets that it was handed, memory, time and randomness. It can create none of these: a file
opened in any way, a process, a program started, a socket connected or bound, a signal to somebody else (other gateways
have its user), or memory that can be executed. What a session needs was seen by tracing it; everything that it imports
was loaded before (`sandbox.gateway.warmup`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fcntl import F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_GETFL, F_SETFD, F_SETFL
from socket import SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM

from sandbox.isolation.filters import ADVICE, AF_UNIX, COOKIES
from sandbox.isolation.seccomp import Rule, allowing
from sandbox.isolation.system_calls import NUMBERS, Numbers

PROT_EXEC = 4
FIONREAD, FIONBIO, FIOCLEX = 0x541B, 0x5421, 0x5451

NEEDED: Mapping[str, Numbers] = {
    name: NUMBERS[name]
    for name in (
        # sockets that are there: the world's, the runner's, the listener and what comes to it
        *("accept4", "getpeername", "getsockname", "getsockopt", "listen", "recvfrom", "recvmsg", "sendmsg", "sendto"),
        *("setsockopt", "shutdown", "socketpair"),
        # descriptors that are there
        *("close", "dup", "fcntl", "fstat", "ioctl", "lseek", "read", "readv", "write", "writev"),
        # waiting
        *("clock_nanosleep", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2"),
        *("futex", "nanosleep", "poll", "ppoll", "pselect6", "restart_syscall", "sched_yield", "select"),
        # time and chance
        *("clock_getres", "clock_gettime", "getrandom", "gettimeofday", "time"),
        # memory
        *("brk", "madvise", "membarrier", "mmap", "mprotect", "mremap", "munmap"),
        # itself, and its end
        *("exit", "exit_group", "getpid", "getrusage", "gettid", "rseq", "rt_sigaction", "rt_sigprocmask"),
        *("rt_sigreturn", "sched_getaffinity", "set_robust_list", "sigaltstack", "tgkill"),
    )
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
    *COOKIES,
    ADVICE,
)


def session_filter(machine: str | None = None) -> bytes:
    """Return the filter of this process for a machine (this one by default) as an array of `struct sock_filter`.

    Raises:
        Unavailable: there are no numbers for that architecture.
    """
    return allowing(NEEDED, (*CONDITIONS, Rule("tgkill", "unless", 0, (os.getpid(),))), machine)
