"""Attempts through the other system-call ABIs of an x86-64 kernel: i386 and x32.

The socket attempts run as a static 32-bit program.

The program is an ELF32 file of a hundred bytes of code and a table of system calls; it makes each in turn, puts what
it returned into the table, and prints the table. It is put together here and executed out of anonymous memory, so that
no compiler is needed where an agent runs. What it does in i386 assembly:

    _start: mov esi, table
    next:   mov eax, [esi]; test eax, eax; js done
            push esi
            mov ebx, [esi+4]; mov ecx, [esi+8]; mov edx, [esi+12]; mov edi, [esi+20]; mov ebp, [esi+24]
            mov esi, [esi+16]; int 0x80; pop esi
            mov [esi], eax; add esi, 28; jmp next
    done:   mov eax, 4; mov ebx, 1; mov ecx, table; mov edx, SIZE; int 0x80    (write)
            mov eax, 1; xor ebx, ebx; int 0x80                                  (exit)
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import platform
import signal
import socket
import struct
from collections.abc import Sequence
from functools import partial

from sandbox.attacks.probes.network_exits import sends
from sandbox.attacks.probes.outcomes import ATTEMPTS, REFUSED, Ending, attempt, blocked, escaped

BASE, HEADERS = 0x10000000, 52 + 32
SOCKETCALL, SOCKET, CONNECT, SENDTO = 102, 359, 362, 369  # of i386
GETPID_32, GETPID_X32 = 20, 0x40000000 + 39
UNREACHABLE = (*REFUSED, errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
ADDRESS = struct.pack(">2s H 4s 8x", struct.pack("<H", socket.AF_INET), 80, socket.inet_aton("192.0.2.1"))
ECHO = bytes.fromhex("0800f7ff00000000")

Call = tuple[int, ...]


def program(calls: Sequence[Call], data: bytes = b"") -> bytes:
    """Put an ELF32 together; `data` lies at `BASE + HEADERS`."""
    start = BASE + HEADERS + len(data)
    size = 28 * len(calls)

    def code(table: int) -> bytes:
        words = (table, table, size)
        return b"".join((
            b"\xbe" + struct.pack("<I", words[0]),
            b"\x8b\x06\x85\xc0\x78\x1d\x56",
            b"\x8b\x5e\x04\x8b\x4e\x08\x8b\x56\x0c\x8b\x7e\x14\x8b\x6e\x18\x8b\x76\x10\xcd\x80\x5e",
            b"\x89\x06\x83\xc6\x1c\xeb\xdd",
            b"\xb8\x04\x00\x00\x00\xbb\x01\x00\x00\x00\xb9" + struct.pack("<I", words[1]),
            b"\xba" + struct.pack("<I", words[2]) + b"\xcd\x80\xb8\x01\x00\x00\x00\x31\xdb\xcd\x80",
        ))  # fmt: skip

    table = start + len(code(0))
    rows = b"".join(
        struct.pack("<7I", *(word & 0xFFFFFFFF for word in (*call, *[0] * (7 - len(call))))) for call in calls
    )
    body = data + code(table) + rows + struct.pack("<i", -1)
    file_size = HEADERS + len(body)
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack(
        "<HHIIIIIHHHHHH", 2, 3, 1, start, 52, 0, 0, 52, 32, 1, 0, 0, 0
    )  # fmt: skip
    segment = struct.pack("<8I", 1, 0, BASE, BASE, file_size, file_size, 7, 4096)
    return header + segment + body


def run(calls: Sequence[Call], data: bytes = b"") -> list[int] | str:
    """Execute such a program; gives what each call returned, or how the program was ended."""
    file = os.memfd_create("quarterturn")
    os.write(file, program(calls, data))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        os.dup2(writing, 1)
        os.closerange(3, file)
        os.closerange(file + 1, 256)
        try:
            os.execve(file, ["quarterturn"], {})  # noqa: S606 - the attempt itself
        except OSError as error:
            os._exit(100 + (error.errno or 0) % 100)
    os.close(writing)
    os.close(file)
    with os.fdopen(reading, "rb") as pipe:
        output = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == 0 and len(output) == 28 * len(calls):
        return [row[0] for row in struct.iter_unpack("<i24x", output)]
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"not executed: {os.strerror(code - 100)}"


def sockets(calls: Sequence[Call], data: bytes = b"") -> Ending:
    """Judge calls on sockets of which the last one matters, or the first that is refused."""
    if platform.machine() != "x86_64":
        return blocked("this machine has no such programs")
    results = run(calls, data)
    if isinstance(results, str):
        return blocked(results)
    failed = [-value for value in results if value < 0 and value != -errno.EINPROGRESS]
    if failed and failed[0] in UNREACHABLE:
        return blocked(f"{os.strerror(failed[0])}, but the program ran")
    return escaped(os.strerror(failed[0]) if failed else "all of its calls were answered")


def _creates(family: int, kind: int, protocol: int = 0) -> Ending:
    return sockets([(SOCKET, family, kind, protocol)])


def _creates_the_old_way() -> Ending:
    return sockets([(SOCKETCALL, 1, BASE + HEADERS)], struct.pack("<3I", 16, socket.SOCK_RAW, 0))


@sends
def _connects() -> Ending:
    return sockets([(SOCKET, socket.AF_INET, 1, 0), (CONNECT, 3, BASE + HEADERS, len(ADDRESS))], ADDRESS)


def _sends(kind: int, protocol: int) -> Ending:
    packet = BASE + HEADERS + len(ADDRESS)
    made = (SOCKET, socket.AF_INET, kind, protocol)
    return sockets([made, (SENDTO, 3, packet, len(ECHO), 0, BASE + HEADERS, len(ADDRESS))], ADDRESS + ECHO)


ATTEMPTS |= {
    "32-bit-tcp": _connects,
    "32-bit-udp": sends(partial(_sends, socket.SOCK_DGRAM, 0)),
    "32-bit-icmp": sends(partial(_sends, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)),
    "32-bit-raw": partial(_creates, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "32-bit-packet": partial(_creates, 17, socket.SOCK_RAW),
    "32-bit-netlink": partial(_creates, 16, socket.SOCK_RAW),
    "32-bit-vsock": partial(_creates, 40, socket.SOCK_STREAM),
    "32-bit-socketcall": _creates_the_old_way,
}


@attempt("32-bit-program")
def _foreign_program() -> Ending:
    return sockets([(GETPID_32,)])


@attempt("32-bit-call")
def _foreign_call() -> Ending:
    return _executes(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid of i386); int 0x80; ret


@attempt("x32-call")
def _x32_call() -> Ending:
    return _executes(b"\xb8" + struct.pack("<I", GETPID_X32) + b"\x0f\x05\xc3")  # mov eax, …; syscall; ret


def _executes(code: bytes) -> Ending:
    if platform.machine() != "x86_64":
        return blocked("this machine has no such calls")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        reply = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        os.write(writing, struct.pack("<i", reply))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        reply = pipe.read()
    code_of_child = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code_of_child < 0:
        return blocked(f"killed by {signal.Signals(-code_of_child).name}")
    value = struct.unpack("<i", reply)[0]
    return blocked(os.strerror(-value)) if -value in REFUSED else escaped(f"it gave {value}")
