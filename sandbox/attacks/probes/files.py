"""File attempts: writing others' files, finding leftovers, reaching devices or sockets."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from sandbox.attacks.probes.outcomes import ATTEMPTS, Ending, attempt, blocked, escaped, setting

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
DEVICES = {"console", "full", "null", "ptmx", "random", "tty", "urandom", "zero"}
ENGINES = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")
PRIVATE = ("/etc/shadow", "/etc/ssh", "/root", "/home", "/var/lib/docker", "/var/lib/containers", "/boot", "/mnt")
VIRTUAL = {"proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2", "devtmpfs"}
OF_A_NETWORK = (
    *("arp", "dev", "fib_trie", "if_inet6", "icmp", "icmp6", "igmp", "igmp6", "ipv6_route"),
    *("packet", "raw", "raw6", "route", "tcp", "tcp6", "udp", "udp6", "unix"),
)
HERE = Path(__file__).parent


def writes(path: str | Path, flags: int = os.O_WRONLY) -> Ending:
    """Open something for writing, and write nothing."""
    try:
        os.close(os.open(path, flags | os.O_CLOEXEC, 0o600))
    except OSError as error:
        return blocked(error.strerror)
    if flags & os.O_CREAT:
        Path(path).unlink()
    return escaped(f"{path} can be written")


@attempt("control-groups")
def _control_groups() -> Ending:
    """Look for `release_agent`, or for a group that could be left."""
    mounted = [point for point, kind, _ in _mounts() if kind in ("cgroup", "cgroup2")]
    return _none_can_be_written(*(setting("CONTROL_GROUPS", "").split() or mounted))


def _none_can_be_written(*roots: str) -> Ending:
    """Ask for the permission and open nothing: some files act when they are opened."""
    seen = 0
    for path in itertools.chain.from_iterable(map(_files, roots)):
        seen += 1
        if os.access(path, os.W_OK):
            return escaped(f"{path} can be written")
    return blocked(f"none of {seen} files")


ATTEMPTS |= {
    "write-root": partial(writes, "/quarterturn-probe", CREATE),
    "write-usr": partial(writes, "/usr/share/quarterturn-probe", CREATE),
    "write-shm": partial(writes, "/dev/shm/quarterturn-probe", CREATE),  # noqa: S108 - the attempt
    "write-hosts": partial(writes, "/etc/hosts"),
    "write-resolver": partial(writes, "/etc/resolv.conf"),
    "write-itself": partial(writes, __file__),
    "add-to-itself": partial(writes, HERE / "quarterturn-probe", CREATE),
    "core-pattern": lambda: writes(setting("CORE_PATTERN", "/proc/sys/kernel/core_pattern")),
    "sysrq": lambda: writes(setting("SYSRQ", "/proc/sysrq-trigger")),
    "proc-sys": lambda: _none_can_be_written(setting("PROC_SYS", "/proc/sys")),
    "sys-tree": lambda: _none_can_be_written(setting("SYS", "/sys")),
}


@attempt("machine-state")
def _machine_state() -> Ending:
    """Look for a file of the kernel's that tells of more than the place's own processes."""
    kernels = Path("/proc").stat().st_dev
    own = {"self", "thread-self", "net", "mounts"}
    names = sorted(
        entry.name for entry in Path("/proc").iterdir() if not entry.name.isdigit() and entry.name not in own
    )
    of_proc = itertools.chain.from_iterable(map(_at, (f"/proc/{name}" for name in names)))
    seen = 0
    for path in of_proc:
        seen += 1
        if _read_from(path) == kernels:
            return escaped(f"{path} can be read")
    for path in _files("/sys"):
        seen += 1
        if _read_from(path) is not None:
            return escaped(f"{path} can be read")
    return blocked(f"none of {seen} files")


@attempt("network-counters")
def _network_counters() -> Ending:
    """Look for a file of the network that counts for the whole machine."""
    for path in _files("/proc/self/net"):
        if path.name not in OF_A_NETWORK and _read_from(path) is not None:
            return escaped(f"{path} can be read")
    return blocked("nothing but what is in one network")


def _at(path: str) -> Iterator[Path]:
    return _files(path) if Path(path).is_dir() else iter([Path(path)])


def _read_from(path: Path) -> int | None:
    """Read a byte of a file, and give the device that it is on, or None where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        os.read(descriptor, 1)
        return os.fstat(descriptor).st_dev
    except OSError:
        return None
    finally:
        os.close(descriptor)


@attempt("kernel-memory")
def _kernel_memory() -> Ending:
    last: object = "none of them is there"
    for name in setting("KERNEL_MEMORY", "/proc/kcore /dev/mem /dev/kmem /dev/port /proc/kmsg /dev/kmsg").split():
        try:
            with Path(name).open("rb", buffering=0) as file:
                os.set_blocking(file.fileno(), False)
                if file.read(64):
                    return escaped(f"{name} can be read")
        except OSError as error:
            last = error.strerror
    return blocked(last)


@attempt("device-files")
def _device_files() -> Ending:
    devices = [path for path in _files("/dev") if _is_device(path) and os.access(path, os.R_OK)]
    foreign = [str(path) for path in devices if path.name not in DEVICES and path.parent.name != "pts"]
    return escaped(", ".join(foreign)) if foreign else blocked(f"{len(devices)} harmless ones")


def _is_device(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


@attempt("engine-socket")
def _engine_socket() -> Ending:
    sockets = [place for place in ENGINES if Path(place).exists()]
    return escaped(", ".join(sockets)) if sockets else blocked("not in sight")


@attempt("named-channels")
def _named_channels() -> Ending:
    """Look for a socket or a pipe with a name: a read-only mount keeps neither from carrying bytes."""
    roots = ("/run", "/var", "/tmp", "/opt", "/srv", "/dev", "/etc", str(HERE.parents[2]))  # noqa: S108
    for path in itertools.chain.from_iterable(map(_files, roots)):
        mode = path.lstat().st_mode
        if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
            return escaped(f"{path} is a channel")
    return blocked("none in sight")


@attempt("private-files")
def _private_files() -> Ending:
    points = [point for point, _, _ in _mounts()]
    for path in map(Path, PRIVATE):
        if not os.access(path, os.R_OK):
            continue
        entries = [str(entry) for entry in path.iterdir()] if path.is_dir() else [str(path)]
        if any(not _leads_to_a_mount(entry, points) for entry in entries):
            return escaped(f"{path} can be read")
    return blocked("none of them is there to be read")


def _leads_to_a_mount(entry: str, points: list[str]) -> bool:
    """Our own folders may lie anywhere: the submission's, or the interpreter's."""
    return any(f"{point}/".startswith(f"{entry}/") for point in points)


@attempt("writable-mounts")
def _writable_mounts() -> Ending:
    """Look for something to fill besides a memory file system of a size."""
    for point, kind, options in _mounts():
        if kind in VIRTUAL or (kind == "tmpfs" and "size=" in options) or not os.access(point, os.W_OK):
            continue
        if stat.S_ISDIR(os.lstat(point).st_mode):
            return escaped(f"{point} can be written and has no size")
    return blocked("nothing but memory of a size")


def _mounts() -> list[tuple[str, str, str]]:
    """Return each mount: its point, its kind, and the options of its file system."""
    mounts = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(maxsplit=2)
        mounts.append((left.split()[4], kind, options))
    return mounts


def _files(root: str) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        yield from (Path(folder, name) for name in names)
