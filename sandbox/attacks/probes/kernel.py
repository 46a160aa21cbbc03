"""Attempts on the kernel: namespaces, other processes' memory, keys, programs in the kernel, privileges, clocks.

A call that would change the kernel is made with arguments that it refuses after its permission check, so that the
errno tells. Where the permission check comes last, the arguments are such that nothing is left to be permitted.
"""

from __future__ import annotations

import os
import platform
import signal
import stat
import subprocess
from functools import partial
from pathlib import Path

from sandbox.attacks.probes.outcomes import ATTEMPTS, REFUSED, Ending, attempt, blocked, escaped, setting
from sandbox.attacks.probes.raw_system_calls import Argument, call, numbered

NEW_NAMESPACE = {"mount": 0x20000, "time": 0x80, "user": 0x10000000, "network": 0x40000000, "pid": 0x20000000}
MONOTONIC = 1  # a clock that nobody can set
NOWHERE = b"/quarterturn/nowhere"
ADDR_NO_RANDOMIZE = 0x0040000
TIOCSTI = 0x5412
DESCRIPTORS, ROOT = -100, b"/"
RWF_NOWAIT, POSIX_FADV_DONTNEED, MADV_MERGEABLE, PR_GET_TSC = 8, 4, 12, 25
NUMBERS = range(1024)  # more than any kernel has: the newest are below 500
UPROBES = {335, 336} if platform.machine() == "x86_64" else set()
"""Calls that the kernel lets through every filter and kills for, wherever it did not write them itself (Linux 6.14)."""

CALLS: dict[str, tuple[str, *tuple[Argument, ...]]] = {
    "io-uring": ("io_uring_setup", 1, 0),
    "mount": ("mount", None, b"/", None, 0, None),
    "unmount": ("umount2", NOWHERE, 0),
    "new-mount-api": ("fsopen", b"tmpfs", 0),
    "open-tree": ("open_tree", DESCRIPTORS, ROOT, 0),
    "move-mount": ("move_mount", -1, b"", -1, b"", 0),
    "mount-attributes": ("mount_setattr", -1, b"", 0x1000, None, 0),
    "list-mounts": ("listmount", 0, 0, 0, 0),
    "pivot-root": ("pivot_root", NOWHERE, NOWHERE),
    "chroot": ("chroot", ROOT),
    "user-namespace": ("unshare", NEW_NAMESPACE["user"]),
    "network-namespace": ("unshare", NEW_NAMESPACE["network"]),
    "mount-namespace": ("unshare", NEW_NAMESPACE["mount"]),
    "pid-namespace": ("unshare", NEW_NAMESPACE["pid"]),
    "time-namespace": ("unshare", NEW_NAMESPACE["time"]),
    "clone-namespace": ("clone", NEW_NAMESPACE["user"] | signal.SIGCHLD, 0, 0, 0, 0),
    "clone3": ("clone3", 0, 0),
    "set-host-name": ("sethostname", os.uname().nodename.encode(), len(os.uname().nodename)),
    "ptrace": ("ptrace", 0, 0, 0, 0),  # PTRACE_TRACEME, which otherwise anybody may
    "process-memory": ("process_vm_readv", 1, 0, 0, 0, 0, 0),
    "process-memory-write": ("process_vm_writev", 1, 0, 0, 0, 0, 0),
    "process-descriptors": ("pidfd_getfd", -1, 0, 0),
    "process-advice": ("process_madvise", -1, 0, 0, 0, 0),
    "keyctl": ("keyctl", 0, -3, 0),
    "add-key": ("add_key", None, None, None, 0, 0),
    "request-key": ("request_key", None, None, None, 0),
    "bpf": ("bpf", 0, 0, 0),
    "perf": ("perf_event_open", 0, 0, -1, -1, 0),
    "userfaultfd": ("userfaultfd", 0xFFFF0001),
    "open-by-handle": ("open_by_handle_at", -1, 0, 0),
    "name-to-handle": ("name_to_handle_at", -1, b"", 0, 0, 0),
    "fanotify": ("fanotify_init", 0xFFFF0000, 0),
    "quota": ("quotactl", 0x80000000, None, 0, 0),
    "personality": ("personality", ADDR_NO_RANDOMIZE),
    "local-descriptors": ("modify_ldt", 0, 0, 0),
    "terminal-injection": ("ioctl", 0, TIOCSTI, b"x"),
    "set-clock": ("clock_settime", MONOTONIC, None),
    "adjust-clock": ("clock_adjtime", 0, bytes(256)),  # no mode: only a look
    "adjust-time": ("adjtimex", bytes(256)),
    "set-time": ("settimeofday", None, None),
    "load-module": ("init_module", None, 0, None),
    "unload-module": ("delete_module", b"quarterturn", 0x800),
    "kexec": ("kexec_load", 0, 0, None, 0xFFFF),
    "reboot": ("reboot", 0, 0, 0, None),
    "swap": ("swapon", None, 0),
    "accounting": ("acct", NOWHERE),
    "kernel-log": ("syslog", 10, None, 0),
    "io-ports": ("iopl", 3),
    "secret-memory": ("memfd_secret", 0),
    "file-attributes": ("file_getattr", DESCRIPTORS, ROOT, bytes(64), 64, 0),
    "set-file-attributes": ("file_setattr", DESCRIPTORS, NOWHERE, bytes(64), 64, 0),
    "set-extended-attributes": ("setxattrat", DESCRIPTORS, NOWHERE, 0, b"user.x", None, 0),
    "security-modules": ("lsm_list_modules", None, None, 0),
    "mount-facts": ("statmount", None, None, 0, 0),
    "cached-pages": ("mincore", 0, 0, None),
    "cached-range": ("cachestat", -1, None, None, 0),
    "cached-read": ("preadv2", -1, None, 0, 0, 0, RWF_NOWAIT),
    "cached-name": ("openat2", DESCRIPTORS, ROOT, None, 0),
    "asynchronous-read": ("io_setup", 0, None),
    "evict-pages": ("fadvise64", -1, 0, 0, POSIX_FADV_DONTNEED),
    "merge-memory": ("madvise", 0, 0, MADV_MERGEABLE),
    "machine-load": ("sysinfo", bytes(128)),
    "file-events": ("inotify_init1", 0),
    "flush-disks": ("syncfs", -1),
    "process-options": ("prctl", PR_GET_TSC, None, 0, 0, 0),
}
ATTEMPTS |= {name: partial(call, *words) for name, words in CALLS.items()}


@attempt("unnamed-calls")
def _unnamed_calls() -> Ending:
    """Make every call that the filter does not name, with arguments that no call can use."""
    named = {int(number) for number in setting("NAMED", "").split()}
    if not named:
        return escaped("nobody said which calls are named")
    answers = {number: numbered(number, *[-1] * 6) for number in NUMBERS if number not in named | UPROBES}
    through = [f"{number}: {os.strerror(error)}" for number, (_, error) in answers.items() if error not in REFUSED]
    return escaped(f"{len(through)}: {through[0]}") if through else blocked(f"{len(answers)} of them")


@attempt("setns")
def _setns() -> Ending:
    with Path("/proc/self/ns/net").open() as namespace:
        return call("setns", namespace.fileno(), 0)


@attempt("compare-processes")
def _compare_processes() -> Ending:
    return call("kcmp", os.getpid(), os.getpid(), 0, 1, 2)


@attempt("device-node")
def _device_node() -> Ending:
    """Make one more /dev/null."""
    place = Path("/tmp/quarterturn-null")  # noqa: S108 - the attempt itself
    try:
        os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except OSError as error:
        return blocked(error.strerror)
    place.unlink()
    return escaped("a device was made")


@attempt("become-root")
def _become_root() -> Ending:
    if os.getuid() == 0:
        return escaped("it is root")
    try:
        os.setuid(0)
    except OSError as error:
        return blocked(error.strerror)
    return escaped("it became root")


def status(name: str) -> str:
    """Read a line of our own status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next((line.split()[1] for line in lines if line.startswith(f"{name}:")), "")


@attempt("new-privileges")
def _new_privileges() -> Ending:
    return blocked("no_new_privs is set") if status("NoNewPrivs") == "1" else escaped("set-user-ID programs work")


@attempt("set-user-id")
def _set_user_id() -> Ending:
    """Start a set-user-ID program that only prints its help.

    The loader tells of itself only where the program got no other user than ours.
    """
    folders = ("/usr/bin", "/bin", "/usr/sbin")
    programs = [path for folder in folders for path in Path(folder).glob("*") if _sets_user(path)]
    for path in programs:
        done = subprocess.run(
            [path, "--help"],
            env={"LD_SHOW_AUXV": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=10,
            check=False,
        )
        if b"AT_EUID" not in done.stdout:
            return escaped(f"{path.name} ran as root")
    return blocked(f"{len(programs)} programs ran as whoever started them")


def _sets_user(path: Path) -> bool:
    try:
        seen = path.stat()
    except OSError:
        return False
    return bool(seen.st_mode & stat.S_ISUID) and seen.st_uid == 0 and os.access(path, os.X_OK)


@attempt("capabilities")
def _capabilities() -> Ending:
    held = {name: status(name) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    return escaped(held) if any(int(value, 16) for value in held.values()) else blocked("none")


@attempt("other-processes")
def _other_processes() -> Ending:
    own = {os.getpid(), os.getppid(), 1}
    seen = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()} - own
    return escaped(f"{len(seen)} in sight") if seen else blocked("none in sight")


@attempt("descriptors")
def _descriptors() -> Ending:
    """Look for something open that the runner forgot: a file, or a socket that leads out."""
    held = {entry.name: _leads_to(entry) for entry in Path("/proc/self/fd").iterdir()}
    inherited = {to for name, to in held.items() if int(name) > 2}  # noqa: PLR2004 - the three standard ones
    foreign = sorted(to for to in inherited if to and not to.startswith(("pipe:", "/proc/")))
    return escaped(", ".join(foreign)) if foreign else blocked("nothing but what was meant for it")


def _leads_to(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:
        return ""  # the one that this listing itself had open
