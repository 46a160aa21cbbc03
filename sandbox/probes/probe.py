"""Tries to get out of an agent's place, and says how each attempt ended. Standard library only; runs as the agent.

`probe.py [NAME...]` runs all attempts, or those named, each in a process of its own, and prints one JSON object a line:
`{"name", "outcome", "detail"}`. `blocked` means that it was refused, `bounded` that it got so far and no further, and
`escaped` that nothing stopped it.

Nothing here harms a machine that has no wall. Whatever would send a packet is not even tried where there is an
interface or a route besides the loopback: that alone is an escape, and nothing may leave. Addresses are of the
documentation ranges (RFC 5737, RFC 3849). A call that would change the kernel is made with arguments that it refuses
after its permission check, so that the errno tells.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import mmap
import os
import platform
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

PORT = 8700
REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
PATIENCE = 3.0
ATTEMPT_SECONDS = 20
MANY_FILES = 4096
MIB = 1 << 20

NUMBERS = {  # x86_64, aarch64
    "bpf": (321, 280),
    "clone": (56, 220),
    "io_uring_setup": (425, 425),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "open_by_handle_at": (304, 265),
    "perf_event_open": (298, 241),
    "process_vm_readv": (310, 270),
    "ptrace": (101, 117),
    "setns": (308, 268),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000

Ending = tuple[str, str]
Attempt = Callable[[], Ending]
ATTEMPTS: dict[str, Attempt] = {}


def attempt(name: str) -> Callable[[Attempt], Attempt]:
    """Name an attempt."""

    def keep(function: Attempt) -> Attempt:
        ATTEMPTS[name] = function
        return function

    return keep


def blocked(detail: object) -> Ending:
    """It was refused."""
    return "blocked", str(detail)


def bounded(detail: object) -> Ending:
    """It got so far and no further."""
    return "bounded", str(detail)


def escaped(detail: object) -> Ending:
    """Nothing stopped it."""
    return "escaped", str(detail)


# ---- network ---------------------------------------------------------------------------------------------------------


def exits() -> str:
    """Name an interface or a route that leads out, or give nothing."""
    names = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    others = [name for name in names if name != "lo" and not _unused(name)]
    routes = Path("/proc/net/route").read_text().splitlines()[1:]
    return ", ".join([*(f"interface {name}" for name in others), *(f"route {line.split()[1]}" for line in routes)])


def _unused(name: str) -> bool:
    """A tunnel's fallback device (`sit0`, `tunl0`) is in every network namespace, and down."""
    with contextlib.suppress(OSError):
        return not int(Path(f"/sys/class/net/{name}/flags").read_text(), 16) & 1
    return name.endswith("0") and name[:-1] in ("sit", "tunl", "gre", "gretap", "erspan", "ip_vti", "ip6tnl", "ip6gre")


def sends(function: Attempt) -> Attempt:
    """Guard what would send: with a way out there is no need to prove that it leads out."""

    def guarded() -> Ending:
        way = exits()
        return escaped(f"{way}; nothing was sent") if way else function()

    return guarded


def connects(family: int, kind: int, address: tuple[str, int]) -> Ending:
    """Try to reach an address: only a refusal of the kernel counts as blocked, for a time-out means a packet left."""
    with socket.socket(family, kind) as sock:
        sock.settimeout(PATIENCE)
        try:
            sock.connect(address)
            sock.send(b"x")
        except TimeoutError:
            return escaped("no answer, but no refusal either")
        except OSError as error:
            return blocked(error.strerror)
    return escaped("it was sent")


@attempt("egress-canary")
@sends
def _egress_canary() -> Ending:
    return connects(socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80))


@attempt("tcp")
@sends
def _tcp() -> Ending:
    return connects(socket.AF_INET, socket.SOCK_STREAM, ("198.51.100.9", 443))


@attempt("udp")
@sends
def _udp() -> Ending:
    return connects(socket.AF_INET, socket.SOCK_DGRAM, ("203.0.113.5", 53))


@attempt("ipv6")
@sends
def _ipv6() -> Ending:
    return connects(socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 443))


@attempt("icmp")
@sends
def _icmp() -> Ending:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as sock:
            sock.sendto(bytes.fromhex("0800f7ff00000000"), ("192.0.2.1", 0))
    except OSError as error:
        return blocked(error.strerror)
    return escaped("it was sent")


@attempt("dns")
@sends
def _dns() -> Ending:
    try:
        return escaped(socket.getaddrinfo("canary.example", 80))
    except OSError as error:
        return blocked(error)


@attempt("dns-embedded")
@sends
def _dns_embedded() -> Ending:
    query = bytes.fromhex("abcd01000001000000000000") + b"\x06canary\x07example\x00" + bytes.fromhex("00010001")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(1)
        try:
            sock.connect(("127.0.0.11", 53))
            sock.send(query)
            sock.send(query)
            return escaped(sock.recv(512)[:20])
        except OSError as error:
            return blocked(error)


@attempt("interfaces")
def _interfaces() -> Ending:
    names = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
    others = [name for name in names if name != "lo" and not _unused(name)]
    return escaped(", ".join(others)) if others else blocked("only lo")


@attempt("routes")
def _routes() -> Ending:
    four = Path("/proc/net/route").read_text().splitlines()[1:]
    table = Path("/proc/net/ipv6_route")
    six = [line for line in table.read_text().splitlines() if line.split()[-1] != "lo"] if table.exists() else []
    return escaped(f"{len(four)} and {len(six)} routes") if four or six else blocked("none")


@attempt("loopback-services")
def _loopback_services() -> Ending:
    found = []
    for port in (22, 53, 80, 111, 2375, 2376, 3306, 5432, 6379, 8080, 8443):
        with socket.socket(socket.AF_INET) as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                found.append(str(port))
    return escaped(f"listening: {', '.join(found)}") if found else blocked("nothing listens but the relay")


@attempt("port-hijack")
def _port_hijack() -> Ending:
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        with socket.socket(socket.AF_INET) as sock:
            sock.setsockopt(socket.SOL_SOCKET, option, 1)
            try:
                sock.bind(("0.0.0.0", PORT))  # noqa: S104 - the attempt itself
                sock.listen()
            except OSError as error:
                last = error
            else:
                return escaped("the relay's port was taken")
    return blocked(last)


def opens(family: int, kind: int, protocol: int = 0) -> Ending:
    """Create a socket and nothing more."""
    try:
        socket.socket(family, kind, protocol).close()
    except OSError as error:
        return blocked(error.strerror)
    return escaped("the socket was created")


@attempt("raw-socket")
def _raw_socket() -> Ending:
    return opens(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt("af-packet")
def _af_packet() -> Ending:
    return opens(17, socket.SOCK_RAW)


@attempt("af-vsock")
def _af_vsock() -> Ending:
    return opens(40, socket.SOCK_STREAM)


@attempt("af-netlink")
def _af_netlink() -> Ending:
    return opens(16, socket.SOCK_RAW)


@attempt("af-alg")
def _af_alg() -> Ending:
    return opens(38, socket.SOCK_SEQPACKET)


@attempt("abstract-sockets")
def _abstract_sockets() -> Ending:
    lines = Path("/proc/net/unix").read_text().splitlines()[1:]
    found = [words[-1] for words in map(str.split, lines) if words[-1].startswith(("@", "/"))]
    return escaped(f"{len(found)} named sockets, {found[0]} among them") if found else blocked("no named socket")


@attempt("gateway-socket")
def _gateway_socket() -> Ending:
    places = [place for place in ("/gw", "/gw/gateway.sock") if Path(place).exists()]
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    places += [place for place in mounts if place.startswith("/gw")]
    return escaped(", ".join(places)) if places else blocked("not in sight")


# ---- kernel ----------------------------------------------------------------------------------------------------------


def call(name: str, *arguments: int | ctypes.Array[ctypes.c_char] | None) -> Ending:
    """Make a system call; a refusal blocks, and any other answer means that its permission check was passed."""
    numbers = NUMBERS[name]
    libc = ctypes.CDLL(None, use_errno=True)
    ctypes.set_errno(0)
    number = numbers[platform.machine() == "aarch64"]
    made = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    if made == 0 and name == "clone":
        os._exit(0)  # the child that should not be
    said = ctypes.get_errno()
    if made < 0 and said in REFUSED:
        return blocked(os.strerror(said))
    return escaped(os.strerror(said) if made < 0 else f"it gave {made}")


@attempt("io-uring")
def _io_uring() -> Ending:
    return call("io_uring_setup", 1, 0)


@attempt("mount")
def _mount() -> Ending:
    return call("mount", None, ctypes.create_string_buffer(b"/"), None, 0, None)


@attempt("user-namespace")
def _user_namespace() -> Ending:
    return call("unshare", CLONE_NEWUSER)


@attempt("network-namespace")
def _network_namespace() -> Ending:
    return call("unshare", CLONE_NEWNET)


@attempt("clone-namespace")
def _clone_namespace() -> Ending:
    return call("clone", CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0)


@attempt("setns")
def _setns() -> Ending:
    with Path("/proc/self/ns/net").open() as namespace:
        return call("setns", namespace.fileno(), 0)


@attempt("ptrace")
def _ptrace() -> Ending:
    return call("ptrace", 0, 0, 0, 0)  # PTRACE_TRACEME, which otherwise anybody may


@attempt("process-memory")
def _process_memory() -> Ending:
    return call("process_vm_readv", os.getpid(), 0, 0, 0, 0, 0)


@attempt("keyctl")
def _keyctl() -> Ending:
    return call("keyctl", 0, -3, 0)


@attempt("bpf")
def _bpf() -> Ending:
    return call("bpf", 0, 0, 0)


@attempt("perf")
def _perf() -> Ending:
    return call("perf_event_open", 0, 0, -1, -1, 0)


@attempt("userfaultfd")
def _userfaultfd() -> Ending:
    return call("userfaultfd", 0xFFFF0000)


@attempt("open-by-handle")
def _open_by_handle() -> Ending:
    return call("open_by_handle_at", -1, 0, 0)


@attempt("32-bit-call")
def _foreign_call() -> Ending:
    if platform.machine() != "x86_64":
        return blocked("this machine has no such calls")
    child = os.fork()
    if child == 0:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid of i386); int 0x80; ret
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return escaped("it was answered") if code == 0 else blocked(f"killed by {signal.Signals(-code).name}")


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


@attempt("capabilities")
def _capabilities() -> Ending:
    held = {name: status(name) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    return escaped(held) if any(int(value, 16) for value in held.values()) else blocked("none")


@attempt("other-processes")
def _other_processes() -> Ending:
    mine = {os.getpid(), os.getppid(), 1}
    seen = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()} - mine
    return escaped(f"{len(seen)} in sight") if seen else blocked("none in sight")


# ---- files -----------------------------------------------------------------------------------------------------------


def writes(path: str, flags: int = os.O_WRONLY) -> Ending:
    """Open something for writing, and write nothing."""
    try:
        os.close(os.open(path, flags | os.O_CLOEXEC, 0o600))
    except OSError as error:
        return blocked(error.strerror)
    if flags & os.O_CREAT:
        Path(path).unlink()
    return escaped(f"{path} can be written")


@attempt("write-root")
def _write_root() -> Ending:
    return writes("/quarterturn-probe", os.O_WRONLY | os.O_CREAT | os.O_EXCL)


@attempt("write-usr")
def _write_usr() -> Ending:
    return writes("/usr/bin/quarterturn-probe", os.O_WRONLY | os.O_CREAT | os.O_EXCL)


@attempt("write-shm")
def _write_shm() -> Ending:
    return writes("/dev/shm/quarterturn-probe", os.O_WRONLY | os.O_CREAT | os.O_EXCL)  # noqa: S108 - the attempt


@attempt("write-hosts")
def _write_hosts() -> Ending:
    return writes("/etc/hosts")


@attempt("write-itself")
def _write_itself() -> Ending:
    return writes(__file__)


@attempt("core-pattern")
def _core_pattern() -> Ending:
    return writes("/proc/sys/kernel/core_pattern")


@attempt("sysrq")
def _sysrq() -> Ending:
    return writes("/proc/sysrq-trigger")


@attempt("engine-socket")
def _engine_socket() -> Ending:
    places = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")
    found = [place for place in places if Path(place).exists()]
    return escaped(", ".join(found)) if found else blocked("not in sight")


# ---- resources -------------------------------------------------------------------------------------------------------


@attempt("memory")
def _memory() -> Ending:
    goal = int(os.environ.get("PROBE_MEMORY", 512 * MIB))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        kept = []
        with contextlib.suppress(MemoryError):
            for held in range(0, goal, MIB):
                kept.append(b"x" * MIB)
                os.write(writing, (held + MIB).to_bytes(8, "big"))
            os._exit(0)
        os._exit(1)
    os.close(writing)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(reading, "rb") as pipe:
        got = int.from_bytes(pipe.read()[-8:], "big") // MIB
    return escaped(f"{got} MiB") if code == 0 else bounded(f"stopped at {got} MiB")


@attempt("processes")
def _processes() -> Ending:
    goal = int(os.environ.get("PROBE_PIDS", "256"))
    reading, writing = os.pipe()
    children = []
    try:
        for _ in range(goal):
            child = os.fork()
            if child == 0:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            children.append(child)
        ending = escaped(f"{goal} processes")
    except OSError:
        ending = bounded(f"stopped at {len(children)}")
    os.close(writing)
    for child in children:
        os.waitpid(child, 0)
    return ending


@attempt("disk")
def _disk() -> Ending:
    goal = int(os.environ.get("PROBE_TMPFS", 64 * MIB))
    files = [Path(f"/tmp/quarterturn-probe-{number}") for number in range(8)]  # noqa: S108 - the attempt itself
    written = 0
    try:
        for path in files:
            with path.open("wb", buffering=0) as file:
                for _ in range(goal // 8 // MIB):
                    written += file.write(b"x" * MIB)
    except OSError as error:
        return bounded(f"stopped at {written // MIB} MiB: {error.strerror}")
    finally:
        for path in files:
            path.unlink(missing_ok=True)
    return escaped(f"{written // MIB} MiB")


@attempt("open-files")
def _open_files() -> Ending:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return bounded(f"at most {hard}") if hard <= MANY_FILES and soft <= hard else escaped(f"up to {hard}")


@attempt("core-dump")
def _core_dump() -> Ending:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return blocked("none is written") if hard == 0 else escaped(f"up to {hard}")


# ---- the run ---------------------------------------------------------------------------------------------------------


def run(function: Attempt) -> Ending:
    """Run one attempt in a process of its own, so that whatever it gained is lost again."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(ATTEMPT_SECONDS)
        try:
            ending = function()
        except Exception as error:  # an attempt that fails in a way nobody thought of proves nothing
            ending = escaped(f"it failed unexpectedly: {error!r}")
        os.write(writing, json.dumps(ending).encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not said:
        return (blocked if code == -signal.SIGSYS else escaped)(f"its process ended with {code}")
    outcome, detail = json.loads(said)
    return outcome, detail


def reached() -> str:
    """Fetch something through the relay: the one way that must be open, or the rest would prove nothing."""
    deadline = time.monotonic() + PATIENCE
    with socket.create_connection(("127.0.0.1", PORT), PATIENCE) as sock:
        sock.sendall(b"GET / HTTP/1.0\r\nHost: 127.0.0.1:8700\r\n\r\n")
        said = b""
        while time.monotonic() < deadline and (data := sock.recv(4096)):
            said += data
    return said.decode("ascii", "replace")[-64:]


def main(names: list[str]) -> None:
    """Run the attempts and print how they ended."""
    if "QUARTERTURN_URL" in os.environ:
        sys.stdout.write(json.dumps({"reached": reached()}) + "\n")
    for name in names or ATTEMPTS:
        outcome, detail = run(ATTEMPTS[name])
        sys.stdout.write(json.dumps({"name": name, "outcome": outcome, "detail": detail[:200]}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
