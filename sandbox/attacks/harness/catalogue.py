"""Catalogue of attempts made inside an agent's place: the control that stops each, and its positive control.

A positive control is the same program without the one control that should stop it (`Without`), in namespaces that the
test made itself: only because it gets through there does "blocked" prove anything. Where no positive control is
harmless, the reason is given instead.

An attempt that would change the host's kernel is never made unprotected. Its filter stays in force and only gives
another errno: that the attempt meets the other one shows that it is the filter which answers (`other_errno`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Setting = Literal["lowered", "processes", "outside", "alone"]
WIRE = "a wire to a namespace of the test's own"
SAME_CHECK = "the same check on a file of the process's own"


@dataclass(frozen=True, slots=True)
class Without:
    """What an attempt is made without, so that it gets through.

    Attributes:
        given: in words, what its place has or lacks; empty where the other fields say it.
        calls: calls that the filter lets through, whatever their arguments.
        other_errno: they stay refused, with another errno.
        unnamed: every call that the filter does not name stays refused, with another errno.
        filtered: whether there is a filter at all.
        capabilities: those that are kept.
        root: whether it runs as root.
        privileges: whether new privileges may be had.
        limits: rlimits that are lifted, by the names of prlimit(1).
        environment: variables for the attempt.
        setting: where it is made: in a place without the walls that a process can put up for itself (`lowered`), in one
            that shares the processes of the machine, outside of any box, or alone in a place with tenfold caps.
    """

    given: str = ""
    calls: tuple[str, ...] = ()
    other_errno: bool = False
    unnamed: bool = False
    filtered: bool = True
    capabilities: tuple[str, ...] = ()
    root: bool = False
    privileges: bool = False
    limits: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    setting: Setting = "lowered"

    def __str__(self) -> str:
        """Say it in a phrase."""
        parts = [self.given] if self.given else []
        if self.calls:
            how = "gives another errno for" if self.other_errno else "allows"
            parts.append(f"the filter {how} {', '.join(self.calls)}")
        if self.unnamed:
            parts.append("the filter gives another errno for all that it does not name")
        if not self.filtered:
            parts.append("no filter")
        if self.capabilities:
            parts.append("with " + ", ".join(f"CAP_{name}" for name in self.capabilities))
        if self.root and not self.given:
            parts.append("as root of the place")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class ProbeEntry:
    """One attempt.

    Attributes:
        group: `network`, `kernel`, `files` or `resources`.
        control: what stops it, as a phrase.
        positive: its positive control, or why there is none.
        short: whether it belongs to the short form.
        apart: whether it is made in a place of its own, because it may bring down what else is in there.
    """

    group: str
    control: str
    positive: Without | str
    short: bool = True
    apart: bool = False


def _rows(group: str, rows: Mapping[str, tuple[str, Without | str]]) -> dict[str, ProbeEntry]:
    return {name: ProbeEntry(group, control, positive) for name, (control, positive) in rows.items()}


def _filter(*calls: str, with_: tuple[str, ...] = ()) -> tuple[str, Without]:
    control = "seccomp" + "".join(f", no CAP_{name}" for name in with_)
    return control, Without(calls=calls, capabilities=with_)


def _never(call: str) -> tuple[str, Without]:
    return "seccomp, no capability", Without(calls=(call,), other_errno=True)


def _other(call: str) -> tuple[str, Without]:
    """Return the row of a call that an older kernel lacks."""
    return "seccomp", Without(calls=(call,), other_errno=True)


def _same(name: str, stand_in: str) -> Without:
    return Without(SAME_CHECK, environment={f"PROBE_{name}": stand_in})


ONLY_LOOPBACK = "a network namespace with a loopback and nothing else"
FAMILIES = "socket families by allow-list"
FOREIGN = "seccomp kills other ABIs"
READ_ONLY = "a read-only root"
GROUP = "a control group"
NOT_ROOT = "no process in the place is root"
KEPT = "/proc/self/comm"  # a file that every process may write, in a tree of its own

NETWORK: dict[str, tuple[str, Without | str]] = {
    "egress-canary": (ONLY_LOOPBACK, Without(WIRE)),
    "tcp": ("no route", Without(WIRE)),
    "tcp-fast-open": ("no route", Without(WIRE)),
    "udp": ("no route", Without(WIRE)),
    "tcp-ipv6": ("no route", Without(WIRE)),
    "udp-ipv6": ("no route", Without(WIRE)),
    "multicast": ("no route", Without(WIRE)),
    "icmp": ("no route", Without(WIRE)),
    "icmp-ipv6": ("no route", Without(WIRE)),
    "icmp-raw": ("no CAP_NET_RAW, no route", Without(WIRE, capabilities=("NET_RAW",))),
    "dns": ("the resolver is 127.0.0.1, where nothing listens", Without(f"{WIRE}, with a resolver at its other end")),
    "dns-outside": ("no route", Without(WIRE)),
    "dns-embedded": ("no engine network, so none of its resolvers", Without("a resolver listens at 127.0.0.11")),
    "dns-tcp": ("no engine network, so none of its resolvers", Without("a resolver listens at 127.0.0.11")),
    "resolver-config": ("a resolver file of our own", Without("a resolver file that names 192.0.2.53")),
    "host-name": ("a UTS namespace of its own", Without("another host name")),
    "host-gateway": ("no gateway", Without(f"{WIRE}, which is its gateway")),
    "bridge-addresses": ("no route", Without(f"{WIRE} as default route; only a route is asked for")),
    "metadata-address": ("no route", Without(f"{WIRE} as default route; only a route is asked for")),
    "interfaces": (ONLY_LOOPBACK, Without(WIRE)),
    "routes": (ONLY_LOOPBACK, Without(WIRE)),
    "neighbours": (ONLY_LOOPBACK, Without(WIRE)),
    "loopback-services": ("the loopback is not the host's", Without("a service listens on it")),
    "port-hijack": (
        "the relay listens before the agent starts",
        Without("a port where nobody listens", environment={"PROBE_PORT": "8701"}),
    ),
    "configure-interface": ("no CAP_NET_ADMIN", Without(capabilities=("NET_ADMIN",))),
    "transparent-socket": ("no CAP_NET_ADMIN", Without(capabilities=("NET_ADMIN",))),
    "raw-socket": ("no CAP_NET_RAW", Without(capabilities=("NET_RAW",))),
    "af-packet": (FAMILIES, Without(calls=("socket",), capabilities=("NET_RAW",))),
    "af-vsock": (FAMILIES, Without("the socket is created and nothing more", calls=("socket",))),
    "af-netlink": (FAMILIES, Without(calls=("socket",))),
    "af-alg": (FAMILIES, Without(calls=("socket",), other_errno=True)),  # creating one may load a module
    "socket-families": (
        FAMILIES,
        Without("AF_NETLINK alone, since others may load a module", ("socket",), environment={"PROBE_FAMILIES": "16"}),
    ),
    "socket-pairs": (FAMILIES, Without(calls=("socketpair",))),
    "abstract-sockets": ("abstract names belong to the network namespace", Without("another process binds one there")),
    "gateway-socket": ("the socket is mounted for the relay alone", Without("the socket's folder is mounted")),
    "32-bit-tcp": (FOREIGN, Without(WIRE, filtered=False)),
    "32-bit-udp": (FOREIGN, Without(WIRE, filtered=False)),
    "32-bit-icmp": (FOREIGN, Without(WIRE, filtered=False)),
    "32-bit-raw": (FOREIGN, Without(filtered=False, capabilities=("NET_RAW",))),
    "32-bit-packet": (FOREIGN, Without(filtered=False, capabilities=("NET_RAW",))),
    "32-bit-netlink": (FOREIGN, Without(filtered=False)),
    "32-bit-vsock": (FOREIGN, Without("the socket is created and nothing more", filtered=False)),
    "32-bit-socketcall": (FOREIGN, Without(filtered=False)),
}

KERNEL: dict[str, tuple[str, Without | str]] = {
    "32-bit-program": (FOREIGN, Without(filtered=False)),
    "32-bit-call": (FOREIGN, Without(filtered=False)),
    "x32-call": (
        "seccomp denies the x32 numbers",
        "most kernels are built without x32 and answer such a call as the filter does",
    ),
    "io-uring": _filter("io_uring_setup"),
    "mount": _filter("mount", with_=("SYS_ADMIN",)),
    "unmount": _filter("umount2", with_=("SYS_ADMIN",)),
    "new-mount-api": _filter("fsopen", with_=("SYS_ADMIN",)),
    "open-tree": _filter("open_tree"),
    "move-mount": _filter("move_mount", with_=("SYS_ADMIN",)),
    "mount-attributes": _filter("mount_setattr"),
    "list-mounts": _filter("listmount"),
    "pivot-root": _filter("pivot_root", with_=("SYS_ADMIN",)),
    "chroot": _filter("chroot", with_=("SYS_CHROOT",)),
    "user-namespace": _filter("unshare"),
    "network-namespace": _filter("unshare", with_=("SYS_ADMIN",)),
    "mount-namespace": _filter("unshare", with_=("SYS_ADMIN",)),
    "pid-namespace": _filter("unshare", with_=("SYS_ADMIN",)),
    "time-namespace": _filter("unshare", with_=("SYS_ADMIN",)),
    "clone-namespace": ("seccomp checks the flags of clone", Without(calls=("clone",))),
    "clone3": ("seccomp: clone3 is not implemented", Without(calls=("clone3",))),
    "setns": _filter("setns", with_=("SYS_ADMIN",)),
    "set-host-name": _filter("sethostname", with_=("SYS_ADMIN",)),
    "device-node": ("no CAP_MKNOD", Without(capabilities=("MKNOD",))),
    "ptrace": _filter("ptrace"),
    "process-memory": _filter("process_vm_readv"),
    "process-memory-write": _filter("process_vm_writev"),
    "process-descriptors": _filter("pidfd_getfd"),
    "process-advice": _filter("process_madvise"),
    "compare-processes": _filter("kcmp"),
    "keyctl": _filter("keyctl"),
    "add-key": _filter("add_key"),
    "request-key": _filter("request_key"),
    "bpf": _filter("bpf", with_=("SYS_ADMIN",)),
    "perf": _filter("perf_event_open"),
    "userfaultfd": _filter("userfaultfd"),
    "open-by-handle": _filter("open_by_handle_at", with_=("DAC_READ_SEARCH",)),
    "name-to-handle": _filter("name_to_handle_at"),
    "fanotify": _filter("fanotify_init", with_=("SYS_ADMIN",)),
    "quota": _filter("quotactl"),
    "personality": ("seccomp checks the persona", Without(calls=("personality",))),
    "local-descriptors": _filter("modify_ldt"),
    "terminal-injection": ("seccomp checks the request", Without(calls=("ioctl",))),
    "set-clock": _filter("clock_settime"),
    "adjust-clock": _filter("clock_adjtime"),
    "adjust-time": _filter("adjtimex"),
    "set-time": _never("settimeofday"),
    "load-module": _never("init_module"),
    "unload-module": _never("delete_module"),
    "kexec": _never("kexec_load"),
    "reboot": _never("reboot"),
    "swap": _never("swapon"),
    "accounting": _never("acct"),
    "kernel-log": _never("syslog"),
    "io-ports": _never("iopl"),
    "unnamed-calls": ("seccomp refuses every call that its list does not name", Without(unnamed=True)),
    "secret-memory": _other("memfd_secret"),
    "file-attributes": _other("file_getattr"),
    "set-file-attributes": _other("file_setattr"),
    "set-extended-attributes": _other("setxattrat"),
    "security-modules": _other("lsm_list_modules"),
    "mount-facts": _other("statmount"),
    "cached-pages": _filter("mincore"),
    "cached-range": _other("cachestat"),
    "cached-read": ("seccomp checks the flags", Without(calls=("preadv2",))),
    "cached-name": _other("openat2"),
    "asynchronous-read": _filter("io_setup"),
    "evict-pages": ("seccomp checks the advice", Without(calls=("fadvise64",))),
    "merge-memory": ("seccomp checks the advice", Without(calls=("madvise",))),
    "machine-load": _filter("sysinfo"),
    "file-events": _filter("inotify_init1"),
    "flush-disks": _filter("syncfs"),
    "process-options": ("seccomp checks the option", Without(calls=("prctl",))),
    "become-root": ("no CAP_SETUID", Without(capabilities=("SETUID",))),
    "new-privileges": ("no_new_privs", Without("no_new_privs is left unset", privileges=True, setting="outside")),
    "set-user-id": ("no_new_privs", Without("no_new_privs is left unset", privileges=True, setting="outside")),
    "capabilities": (
        "every capability dropped, also from the bounding set where root started the box",
        Without(capabilities=("NET_BIND_SERVICE",)),
    ),
    "other-processes": (
        "a PID namespace of its own; the relay is in another",
        Without("the machine's processes are shared", setting="processes"),
    ),
    "descriptors": ("close-on-exec", "a descriptor left open would be one of the host's"),
}

FILES: dict[str, tuple[str, Without | str]] = {
    "write-root": (READ_ONLY, Without("a root that can be written, by its root", root=True)),
    "write-usr": (READ_ONLY, Without("a folder there that can be written, by its root", root=True)),
    "write-shm": ("no shared memory, or a read-only one", Without("shared memory", root=True)),
    "write-hosts": (READ_ONLY, Without("a file that can be written, by its root", root=True)),
    "write-resolver": (READ_ONLY, Without("a file that can be written, by its root", root=True)),
    "write-itself": ("the submission is mounted read-only", Without("mounted writable, by its root", root=True)),
    "add-to-itself": ("the submission is mounted read-only", Without("mounted writable, by its root", root=True)),
    "core-pattern": (f"{NOT_ROOT}, and /proc/sys is read-only or not theirs", _same("CORE_PATTERN", KEPT)),
    "sysrq": (f"{NOT_ROOT}, and /proc is masked or not theirs", _same("SYSRQ", KEPT)),
    "proc-sys": (f"{NOT_ROOT}, and /proc/sys is read-only or not theirs", _same("PROC_SYS", "/proc/self")),
    "sys-tree": ("/sys is read-only, or absent", _same("SYS", "/proc/self")),
    "control-groups": ("control groups are read-only, or absent", _same("CONTROL_GROUPS", "/proc/self")),
    "kernel-memory": (f"{NOT_ROOT}, and readable kernel memory is masked", _same("KERNEL_MEMORY", "/proc/self/maps")),
    "machine-state": ("/proc is covered by allow-list, and /sys is not there", Without("the kernel's own /proc")),
    "network-counters": (
        "root removed the permission to read them",
        Without(root=True, capabilities=("DAC_OVERRIDE",)),
    ),
    "device-files": ("a /dev of our own", Without("one more device in it: a second /dev/null, as /dev/kvm")),
    "engine-socket": ("no engine's socket is ever mounted", Without("a socket of ours stands in its place")),
    "named-channels": (
        "a submission is copied without its sockets and pipes, and the other mounts have none",
        Without("the submission's folder holds a pipe"),
    ),
    "private-files": (
        "none of the host's files is mounted",
        Without("a file of ours stands in /mnt, or it is root", root=True),
    ),
    "writable-mounts": (
        "everything is read-only except memory of a fixed size",
        Without("a root that can be written", root=True),
    ),
}

TENFOLD = "the cap is lifted tenfold"
RESOURCES: dict[str, tuple[str, Without | str]] = {
    "memory": (f"{GROUP}, or RLIMIT_DATA", Without(TENFOLD)),
    "shared-memory": (GROUP, Without(TENFOLD)),
    "system-v-memory": (GROUP, Without(TENFOLD)),
    "memory-files": (GROUP, Without(TENFOLD)),
    "pipe-buffers": (
        f"{GROUP}, RLIMIT_NOFILE, and the kernel's cap for a user",
        Without(TENFOLD, capabilities=("SYS_ADMIN",), limits=("nofile",)),
    ),
    "socket-buffers": (f"{GROUP}, RLIMIT_NOFILE", Without(TENFOLD, limits=("nofile",))),
    "locked-memory": ("RLIMIT_MEMLOCK", Without(TENFOLD, limits=("memlock",))),
    "processes": (f"{GROUP}, or RLIMIT_NPROC", Without(TENFOLD)),
    "threads": (f"{GROUP}, or RLIMIT_NPROC", Without(TENFOLD)),
    "fork-bomb": (f"{GROUP}, or RLIMIT_NPROC", Without(TENFOLD, setting="alone")),
    "disk": ("a tmpfs with a size", Without(TENFOLD)),
    "inodes": (f"{GROUP}, or a tmpfs with a number of files", Without(TENFOLD, setting="alone")),
    "sparse-file": ("RLIMIT_FSIZE", Without("RLIMIT_FSIZE is lifted", limits=("fsize",))),
    "open-files": ("RLIMIT_NOFILE", Without(TENFOLD, limits=("nofile",))),
    "core-dump": ("RLIMIT_CORE", Without("RLIMIT_CORE is lifted; nothing is dumped", limits=("core",))),
    "message-queue": ("RLIMIT_MSGQUEUE", Without("RLIMIT_MSGQUEUE is lifted", limits=("msgqueue",))),
    "raise-limits": ("no CAP_SYS_RESOURCE", Without(capabilities=("SYS_RESOURCE",))),
    "priority": ("no CAP_SYS_NICE", Without(capabilities=("SYS_NICE",))),
    "never-killed": ("no CAP_SYS_RESOURCE", Without(capabilities=("SYS_RESOURCE",))),
    "cpu": (f"{GROUP}, or RLIMIT_CPU", Without(TENFOLD, setting="alone")),
    "log-flood": ("no engine log; the output that is kept is capped", Without(TENFOLD, setting="alone")),
    "never-ending": ("a deadline, after which its PID namespace ends", Without("no deadline", setting="alone")),
}

APART = ("fork-bomb", "inodes", "cpu", "log-flood", "never-ending")
HOGS = (
    "memory",
    "shared-memory",
    "system-v-memory",
    "memory-files",
    "pipe-buffers",
    "socket-buffers",
    "processes",
    "threads",
)
SENTRY = {  # where gVisor stands between: what is got there is of its own kernel, and ends with the place
    "machine-state",
    "network-counters",
    "transparent-socket",
    "32-bit-call",
    "device-node",
    "device-files",
    "new-privileges",
    "capabilities",
    "message-queue",
    "priority",
    "never-killed",
    "processes",
    "threads",
    "fork-bomb",
    "cpu",  # as it counts itself; what counts is the control group around it
}
LONG = (
    "network-counters",
    "proc-sys",
    "sys-tree",
    "set-user-id",
    "shared-memory",
    "system-v-memory",
    "memory-files",
    "pipe-buffers",
    "socket-buffers",
    *APART,
)


def _all() -> dict[str, ProbeEntry]:
    rows = _rows("network", NETWORK) | _rows("kernel", KERNEL) | _rows("files", FILES) | _rows("resources", RESOURCES)
    return {
        name: ProbeEntry(row.group, row.control, row.positive, short=name not in LONG, apart=name in APART)
        for name, row in rows.items()
    }


ROWS: Mapping[str, ProbeEntry] = _all()
