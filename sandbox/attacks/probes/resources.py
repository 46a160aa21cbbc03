"""Attempts to exhaust resources: memory in every form, processes, files, time.

How much is asked for comes with the environment, and is always more than a box gives. Where the kernel may answer by
killing somebody, a child asks, and makes itself the first to be killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from sandbox.attacks.probes.outcomes import Ending, attempt, blocked, bounded, escaped, setting
from sandbox.attacks.probes.raw_system_calls import raw

MIB = 1 << 20
PAGE = b"x" * 4096
SPINNERS = 8
F_SETPIPE_SZ = 1031


def hogs(goal: int, take: Callable[[Callable[[int], None]], None]) -> Ending:
    """Let a child take until it has `goal` bytes or something stops it, and say how far it came."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _kill_me_first()
        held = 0

        def took(size: int) -> None:
            nonlocal held
            held += size
            os.write(writing, held.to_bytes(8, "big"))
            if held >= goal:
                os._exit(0)

        try:
            take(took)
        except (MemoryError, OSError):
            os._exit(1)
        os._exit(1)
    os.close(writing)
    tail = b""
    with os.fdopen(reading, "rb") as pipe:
        while data := pipe.read(4096):
            tail = (tail + data)[-8:]
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    reached = int.from_bytes(tail, "big") / MIB
    return escaped(f"{reached:.0f} MiB") if code == 0 else bounded(f"stopped at {reached:.0f} MiB")


def _kill_me_first() -> None:
    Path("/proc/self/oom_score_adj").write_text("1000")


def _memory_goal() -> int:
    return int(setting("MEMORY", str(512 * MIB)))


@attempt("memory")
def _memory() -> Ending:
    def take(took: Callable[[int], None]) -> None:
        blocks = []
        while True:
            blocks.append(b"x" * MIB)
            took(MIB)

    return hogs(_memory_goal(), take)


@attempt("shared-memory")
def _shared_memory() -> Ending:
    def take(took: Callable[[int], None]) -> None:
        with mmap.mmap(-1, _memory_goal(), mmap.MAP_SHARED | mmap.MAP_ANONYMOUS) as pages:
            for place in range(0, len(pages), MIB):
                pages[place : place + MIB] = b"x" * MIB
                took(MIB)

    return hogs(_memory_goal(), take)


@attempt("system-v-memory")
def _system_v_memory() -> Ending:
    def take(took: Callable[[int], None]) -> None:
        while True:
            segment, _ = raw("shmget", 0, 4 * MIB, 0o1600)
            place, _ = raw("shmat", segment, 0, 0) if segment >= 0 else (-1, 0)
            raw("shmctl", segment, 0, None)  # IPC_RMID: it is gone with whoever attached it
            if place < 0:
                raise MemoryError
            ctypes.memset(place, 1, 4 * MIB)
            took(4 * MIB)

    return hogs(_memory_goal(), take)


@attempt("memory-files")
def _memory_files() -> Ending:
    def take(took: Callable[[int], None]) -> None:
        while True:
            file = os.memfd_create("quarterturn")
            took(os.write(file, b"x" * 4 * MIB))

    return hogs(_memory_goal(), take)


@attempt("pipe-buffers")
def _pipe_buffers() -> Ending:
    def take(took: Callable[[int], None]) -> None:
        pipes = []
        while True:
            pipes.append(os.pipe())
            size = fcntl.fcntl(pipes[-1][1], F_SETPIPE_SZ, MIB)
            took(os.write(pipes[-1][1], b"x" * size))

    return hogs(_memory_goal(), take)


@attempt("socket-buffers")
def _socket_buffers() -> Ending:
    def take(took: Callable[[int], None]) -> None:
        pairs = []
        while True:
            pairs.append(socket.socketpair())
            for end in pairs[-1]:
                end.settimeout(0)
                try:
                    while True:
                        took(end.send(PAGE))
                except BlockingIOError:
                    continue

    return hogs(int(setting("SOCKETS", str(256 * MIB))), take)


@attempt("locked-memory")
def _locked_memory() -> Ending:
    size = int(setting("LOCKED", str(MIB // 2)))
    with mmap.mmap(-1, size) as pages:
        place = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        made, error = raw("mlock", place, size)
        return escaped(f"{size} bytes") if made == 0 else bounded(os.strerror(error))


@attempt("processes")
def _processes() -> Ending:
    goal = int(setting("PIDS", "256"))
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


@attempt("threads")
def _threads() -> Ending:
    goal, go = int(setting("PIDS", "256")), threading.Event()
    threading.stack_size(64 * 1024)
    made = []
    try:
        for _ in range(goal):
            made.append(threading.Thread(target=go.wait, daemon=True))
            made[-1].start()
    except RuntimeError:
        return bounded(f"stopped at {len(made) - 1}")
    finally:
        go.set()
    return escaped(f"{goal} threads")


@attempt("fork-bomb")
def _fork_bomb() -> Ending:
    """Double until there are more processes than the goal.

    No clock decides: each process holds one pipe until it has forked often enough or was refused, and waits on the
    other until all of them were counted.
    """
    goal = int(setting("PIDS", "256"))
    forked, forking = os.pipe()
    counted, counting = os.pipe()
    if os.fork() == 0:
        os.close(counting)
        for _ in range(goal.bit_length()):
            with contextlib.suppress(OSError):
                os.fork()
        os.close(forking)
        os.read(counted, 1)
        os._exit(0)
    os.close(forking)
    os.read(forked, 1)
    count = sum(entry.name.isdigit() for entry in Path("/proc").iterdir())
    os.close(counting)
    return escaped(f"{count} processes") if count >= goal else bounded(f"never more than {count}")


@attempt("disk")
def _disk() -> Ending:
    goal = int(setting("TMPFS", str(64 * MIB)))
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


@attempt("inodes")
def _inodes() -> Ending:
    """Fill /tmp with empty files; each costs the kernel about a kilobyte."""
    goal = int(setting("INODES", "100000"))
    for number in range(goal):
        try:
            os.close(os.open(f"/tmp/{number}", os.O_CREAT | os.O_WRONLY))  # noqa: S108 - the attempt itself
        except OSError as error:
            return bounded(f"stopped at {number}: {error.strerror}")
    return escaped(f"{goal} files")


@attempt("sparse-file")
def _sparse_file() -> Ending:
    place = Path("/tmp/quarterturn-sparse")  # noqa: S108 - the attempt itself
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with place.open("wb") as file:
            os.ftruncate(file.fileno(), 1 << 40)
    except OSError as error:
        return blocked(error.strerror)
    finally:
        place.unlink(missing_ok=True)
    return escaped("a file of a terabyte")


@attempt("open-files")
def _open_files() -> Ending:
    goal, held = int(setting("FILES", "4096")), []
    try:
        for _ in range(goal):
            held.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return bounded(f"stopped at {len(held)}: {error.strerror}")
    finally:
        for file in held:
            os.close(file)
    return escaped(f"{goal} files")


@attempt("core-dump")
def _core_dump() -> Ending:
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return blocked("none is written") if hard == 0 else escaped(f"up to {hard}")


@attempt("message-queue")
def _message_queue() -> Ending:
    made, error = raw("mq_open", b"quarterturn", os.O_RDWR | os.O_CREAT, 0o600, None)
    return escaped("a queue was made") if made >= 0 else blocked(os.strerror(error))


@attempt("raise-limits")
def _raise_limits() -> Ending:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1))
    except (OSError, ValueError) as error:
        return blocked(error)
    return escaped("limits can be raised")


@attempt("priority")
def _priority() -> Ending:
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except OSError as error:
        return blocked(error.strerror)
    return escaped("it goes before all others")


@attempt("never-killed")
def _never_killed() -> Ending:
    try:
        Path("/proc/self/oom_score_adj").write_text("-1000")
    except OSError as error:
        return blocked(error.strerror)
    return escaped("the kernel would kill others first")


@attempt("cpu")
def _cpu() -> Ending:
    """Spin in several processes, and compare the time that they got with the time that passed."""
    quota, seconds = float(setting("CPUS", "1")), float(setting("CPU_SECONDS", "3"))
    start = time.monotonic()
    children = [_spinner(start + seconds) for _ in range(SPINNERS)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    share = (used.ru_utime + used.ru_stime) / (time.monotonic() - start)
    if any(code < 0 for code in codes):
        return bounded(f"ended after {used.ru_utime:.1f} s of computing")
    return (bounded if share < 2 * quota else escaped)(f"{share:.2f} processors")


def _spinner(until: float) -> int:
    child = os.fork()
    if child == 0:
        while time.monotonic() < until:
            pass
        os._exit(0)
    return child


@attempt("log-flood")
def _log_flood() -> Ending:
    """Print a gigabyte."""
    left, block = int(setting("FLOOD", str(1 << 30))), b"x" * (1 << 20)
    while left > 0:
        left -= os.write(1, block)
    return escaped("all of it was taken")


@attempt("never-ending")
def _never_ending() -> Ending:
    """Ignore every signal that can be ignored, leave a daemon behind, and never end; each says that it lives."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGALRM}:
        if number < signal.SIGRTMIN:
            signal.signal(number, signal.SIG_IGN)
    signal.alarm(0)
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
    while True:
        try:
            with socket.create_connection(("127.0.0.1", 8700), 1) as sock:
                sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
                sock.recv(64)
        except OSError:
            pass
        time.sleep(0.05)
