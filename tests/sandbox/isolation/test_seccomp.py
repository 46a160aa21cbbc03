"""Tests of the seccomp filters, interpreted in Python and applied by the real kernel."""

import errno
import platform
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.attacks.probes import raw_system_calls
from sandbox.errors import Unavailable
from sandbox.gateway.filter import NEEDED as GATEWAY
from sandbox.gateway.filter import session_filter
from sandbox.isolation import seccomp
from sandbox.isolation.filters import CONDITIONS, LISTS, filter_of
from sandbox.isolation.seccomp import ALLOW, AUDIT_ARCH, ERRNO, KILL, MACHINES, SHARED_NUMBERS, allowing, numbers_of
from sandbox.isolation.system_calls import NUMBERS
from sandbox.judge.filter import NEEDED as READER
from sandbox.judge.filter import reading_filter

I386 = 0x40000003
DENIED = ERRNO | errno.EPERM


def decide(code: bytes, nr: int, *args: int, arch: int) -> int:
    """Interpret the filter as the kernel would: only the subset of classic BPF that it uses."""
    data = struct.pack("=IIQ6Q", nr & 0xFFFFFFFF, arch, 0, *args, *[0] * (6 - len(args)))
    instructions = list(seccomp.INSTRUCTION.iter_unpack(code))
    at = accumulator = 0
    while True:
        operation, then, otherwise, k = instructions[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, k)[0]
        elif operation == 0x06:
            return k
        else:
            tests = {0x15: accumulator == k, 0x25: accumulator > k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}
            at += then if tests[operation] else otherwise


@pytest.fixture(params=MACHINES)
def judge(request):
    """Return the decision of one machine's filter on a call by name."""
    code, place = filter_of("agent", request.param), MACHINES.index(request.param)

    def ask(name: str, *args: int) -> int:
        number = (NUMBERS.get(name) or raw_system_calls.NUMBERS[name])[place]
        assert number is not None
        return decide(code, number, *args, arch=AUDIT_ARCH[request.param])

    return ask


@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET, socket.AF_INET6])
def test_the_three_families_are_open(judge, family):
    assert judge("socket", family) == ALLOW


@pytest.mark.parametrize("family", [0, 3, 9, 11, 16, 17, 38, 40, 44, 45, 0x10001])
def test_every_other_family_is_denied(judge, family):
    assert judge("socket", family) == DENIED
    assert judge("socketpair", family) == DENIED


def test_the_kernel_looks_at_the_low_half_of_a_family_and_so_does_the_filter(judge):
    assert judge("socket", (1 << 32) | 40) == DENIED
    assert judge("socket", (1 << 32) | 2) == ALLOW


def test_a_pair_is_local_or_not_at_all(judge):
    assert judge("socketpair", 1) == ALLOW
    assert judge("socketpair", 2) == DENIED


@pytest.mark.parametrize("bit", [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
def test_no_namespace_comes_of_clone(judge, bit):
    assert judge("clone", signal.SIGCHLD | bit) == DENIED


def test_threads_and_children_are_made_with_clone(judge):
    assert judge("clone", 0x3D0F00) == ALLOW  # what pthread_create asks for
    assert judge("clone", signal.SIGCHLD) == ALLOW
    assert judge("clone3") == ERRNO | errno.ENOSYS


def test_typing_into_a_terminal_is_denied_and_other_ioctls_are_not(judge):
    assert judge("ioctl", 0, 0x5412) == DENIED
    assert judge("ioctl", 0, 0x541C) == DENIED
    assert judge("ioctl", 0, 0x5401) == ALLOW


def test_only_plain_personalities_are_open(judge):
    assert judge("personality", 0xFFFFFFFF) == ALLOW
    assert judge("personality", 0x0040000) == DENIED  # ADDR_NO_RANDOMIZE


def test_nothing_asks_what_the_page_cache_holds(judge):
    nowait, append = 0x8, 0x10
    assert judge("preadv2", 3, 0, 0, 0, 0, nowait) == DENIED
    assert judge("preadv2", 3, 0, 0, 0, 0, 0x80) == DENIED  # RWF_DONTCACHE, and whatever else is new
    assert judge("preadv2", 3, 0, 0, 0, 0, 0) == judge("pwritev2", 3, 0, 0, 0, 0, append) == ALLOW
    assert judge("fadvise64", 3, 0, 0, 4) == DENIED
    assert judge("fadvise64", 3, 0, 0, 3) == ALLOW
    assert judge("madvise", 0, 0, 12) == judge("madvise", 0, 0, 21) == DENIED
    assert judge("madvise", 0, 0, 4) == ALLOW  # MADV_DONTNEED, which every allocator says
    assert judge("mincore") == DENIED
    assert judge("cachestat") == judge("openat2") == ERRNO | errno.ENOSYS


def test_options_of_a_process_are_allowed_by_name(judge):
    assert judge("prctl", 15) == judge("prctl", 38) == ALLOW
    assert judge("prctl", 25) == judge("prctl", 67) == DENIED  # PR_GET_TSC; PR_SET_MEMORY_MERGE


FILTERS = [*((kind, LISTS[kind]) for kind in LISTS), ("gateway", GATEWAY), ("reader and judge", READER)]


def code_of(kind: str, machine: str) -> bytes:
    if kind in LISTS:
        return filter_of(kind, machine)
    return session_filter(machine) if kind == "gateway" else reading_filter(machine)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("kind", "named"), FILTERS, ids=[kind for kind, _ in FILTERS])
@pytest.mark.parametrize("arguments", [(), (1,) * 6, (0xFFFFFFFFFFFFFFFF,) * 6], ids=["none", "ones", "all bits"])
def test_an_unlisted_call_is_refused_with_any_arguments(kind, named, machine, arguments):
    code, allowed = code_of(kind, machine), set(numbers_of(named, machine).values())
    for number in set(range(1024)) - allowed:
        expected = errno.ENOSYS if number >= SHARED_NUMBERS else errno.EPERM
        assert decide(code, number, *arguments, arch=AUDIT_ARCH[machine]) == ERRNO | expected, number
    assert ALLOW in (decide(code, number, *arguments, arch=AUDIT_ARCH[machine]) for number in allowed)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_listed_call_without_a_condition_is_allowed(machine):
    conditional = {rule.call for rule in CONDITIONS}
    for kind, named in LISTS.items():
        code = filter_of(kind, machine)
        for name, number in numbers_of(named, machine).items():
            if name not in conditional:
                assert decide(code, number, *[0xFFFFFFFFFFFFFFFF] * 6, arch=AUDIT_ARCH[machine]) == ALLOW, name


def test_one_number_alone_and_one_at_either_end_are_ranges_too():
    code = allowing({"read": (0, 63), "write": (1, 64), "close": (3, 57)}, machine="x86_64")
    answers = [decide(code, number, arch=AUDIT_ARCH["x86_64"]) for number in range(5)]
    assert answers == [ALLOW, ALLOW, DENIED, ALLOW, DENIED]


def test_a_world_and_a_relay_may_make_no_more_than_an_agent():
    assert LISTS["relay"].keys() < LISTS["world"].keys() < LISTS["agent"].keys()
    assert not LISTS["relay"].keys() & {"clone", "fork", "vfork", "unlink", "rename", "mkdir", "memfd_create"}


def test_another_abi_is_killed_before_its_numbers_are_looked_at():
    for machine in MACHINES:
        for other in {I386, *AUDIT_ARCH.values()} - {AUDIT_ARCH[machine]}:
            assert decide(filter_of("agent", machine), 102, arch=other) == KILL


def test_x32_numbers_are_denied_on_x86_64():
    assert decide(filter_of("agent", "x86_64"), 0x40000000 | 41, 40, arch=AUDIT_ARCH["x86_64"]) == DENIED
    assert decide(filter_of("agent", "x86_64"), 0x40000000, arch=AUDIT_ARCH["x86_64"]) == DENIED


def test_a_machine_with_no_numbers_is_named():
    with pytest.raises(Unavailable, match="riscv64"):
        filter_of("agent", "riscv64")


@pytest.mark.needs("headers")
def test_the_numbers_are_the_kernels_own():
    header = Path(f"/usr/include/{platform.machine()}-linux-gnu/asm/unistd_64.h")
    if platform.machine() != "x86_64":
        header = Path("/usr/include/asm-generic/unistd.h")
    defined = {
        words[1].removeprefix("__NR_"): int(words[2])
        for line in header.read_text().splitlines()
        if len(words := line.split()) == 3 and words[0] == "#define" and words[2].isdigit()
    }
    place = MACHINES.index(platform.machine())
    every = {**raw_system_calls.NUMBERS, **NUMBERS}
    checked = {name for name in every if name in defined}
    assert len(checked) > 280
    assert {name: every[name][place] for name in checked} == {name: defined[name] for name in checked}


# Loads the filter for good and then makes real calls; numbers printed are errno, or 0.
LOADER = """
import ctypes, os, sys
code = bytes.fromhex(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
class Prog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Prog(len(code) // 8, code)), 0, 0) == 0, ctypes.get_errno()
def call(number, *args):
    ctypes.set_errno(0)
    return 0 if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, args)) >= 0 else ctypes.get_errno()
"""


def under_filter(body: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", LOADER + body, filter_of("agent").hex()]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("socket", (40, 1, 0)),  # AF_VSOCK: created, never connected
        ("socket", (16, 3, 0)),
        ("socket", (38, 5, 0)),
        ("io_uring_setup", (1, 0)),
        ("keyctl", (0, 0)),
        ("bpf", (0, 0, 0)),
        ("ptrace", (0, 0, 0, 0)),
        ("unshare", (0x10000000,)),
        ("mount", (0, 0, 0, 0, 0)),
        ("userfaultfd", (0,)),
        ("perf_event_open", (0, 0, 0, 0, 0)),
    ],
)
def test_the_real_kernel_denies_the_real_call(name, arguments):
    number = (NUMBERS.get(name) or raw_system_calls.NUMBERS[name])[MACHINES.index(platform.machine())]
    done = under_filter(f"print(call({number}, *{arguments}))")
    refused = errno.EPERM if number < SHARED_NUMBERS else errno.ENOSYS
    assert done.stdout.strip() == str(refused), done.stderr


def test_ordinary_programs_live_on_under_the_filter():
    done = under_filter(
        "import socket, subprocess, threading\n"
        "threading.Thread(target=lambda: None).start()\n"
        "a, b = socket.socketpair(); socket.socket(socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET).close()\n"
        "print(socket.getaddrinfo('localhost', 80)[0][4][1])\n"
        "print(subprocess.run(['/bin/echo', 'x'], capture_output=True).stdout)"
    )
    assert done.stdout.split() == ["80", "b'x\\n'"], done.stderr


@pytest.mark.skipif(platform.machine() != "x86_64", reason="i386 calls exist on x86_64 only")
def test_a_32_bit_call_kills():
    # mov eax, 20 (getpid of i386); int 0x80; ret
    done = under_filter(
        "import mmap\n"
        "page = mmap.mmap(-1, 4096, prot=7); page.write(bytes.fromhex('b814000000cd80c3'))\n"
        "address = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "print(ctypes.CFUNCTYPE(ctypes.c_int)(address)())"
    )
    assert done.returncode == -signal.SIGSYS


def test_without_the_filter_the_32_bit_call_is_answered_so_the_kill_was_ours():
    body = (
        "import mmap, ctypes, os\n"
        "page = mmap.mmap(-1, 4096, prot=7); page.write(bytes.fromhex('b814000000cd80c3'))\n"
        "address = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
        "print(ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid())"
    )
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGSEGV:  # this kernel was built without 32-bit calls
        return
    assert done.stdout.strip() == "True"
