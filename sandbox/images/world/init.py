"""Init (PID 1) of a world: unpacks the seed, starts the servers, copies bytes, and streams the final state out.

Standard library only, Python 3.11 or newer; nothing of ours is installed beside it. Standard input and output carry
frames (`channel (1 byte) | length (4 bytes, big-endian) | payload`):

1. in: control `{"start": {"token", "servers": [{"name", "command", "environment", "cwd", "on_demand"}], "data"}}`, then
   the seed as a tar on channel 64, ended by an empty frame. Out: control `{"started": n}`.
2. Channel n is the standard input and output of the n-th server; nothing in it is looked at. A server that is
   `"on_demand"` starts with the first frame for it, the others at once. One with a `"backend": {"command",
   "environment", "cwd"}` starts once that program has written the line `ready` on its standard output. A server that
   ends, or whose backend does, is reported with `{"exited": {"server", "code", "stderr"}}` and the world lives on.
3. in: control `{"freeze": token}`. Servers are stopped, then backends, which get the time to write down what they hold
   (SIGTERM, and SETTLE seconds); every other process is killed and reaped, and only then is the data folder read,
   without following a link, and written as a tar on channel 64, ended by an empty frame and `{"frozen": {"entries",
   "bytes"}}` or `{"frozen": {"error"}}` where it is beyond the caps.
4. in: control `{"freeze": token, "keep": true}`. The same, but nothing is stopped: whoever asks knows that the servers
   are at rest. Then control `{"renew": token}` and the next seed as a tar on channel 64, ended by an empty frame, take
   the place of all that the data folder holds, and the servers that run are talked to as in 2.
5. in: control `{"report": token}`. Out: for each program that runs, control `{"running": {"server", "stderr"}}`, and
   then `{"reported": n}`.
6. The end of standard input ends the world at any time: nothing in here outlives the runner.

The input is always read, so that a server that takes nothing cannot hold a freeze up: one whose unread input grows
past INBOX is killed instead. Servers' output waits in their pipes while more than OUTBOX bytes are unsent.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import posixpath
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

HEADER = struct.Struct(">BI")
CONTROL, STATE = 0, 64
MAX_PAYLOAD = 1 << 20
CHUNK = 1 << 16
INBOX = 16 << 20
OUTBOX = 1 << 20
STDERR_TAIL = 2048
GRACE = 0.5  # seconds between SIGTERM and SIGKILL of a server
SETTLE = 15.0  # the same for a backend, which writes down what it holds
READY = b"ready\n"
MAX_ENTRIES = 10_000
MAX_BYTES = 64 << 20
MAX_DEPTH = 100
PR_SET_DUMPABLE = 4


class RunnerGone(Exception):
    """The outside went away, or sent what no runner of ours sends."""


class StateTooLarge(Exception):
    """The data folder holds more than the caps allow."""


def pack(channel: int, payload: bytes) -> bytes:
    """Make one frame."""
    return HEADER.pack(channel, len(payload)) + payload


def control(**message: Any) -> bytes:
    """Make a control frame."""
    return pack(CONTROL, json.dumps(message).encode())


class Input:
    """Standard input: read in a blocking way for the start, and cut into whole frames by the loop."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.buffer = bytearray()

    def fill(self) -> None:
        """Read once."""
        data = os.read(self.fd, CHUNK)
        if not data:
            raise RunnerGone("standard input ended")
        self.buffer += data

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Yield the frames that are complete in the buffer."""
        while len(self.buffer) >= HEADER.size:
            channel, length = HEADER.unpack_from(self.buffer)
            if length > MAX_PAYLOAD:
                raise RunnerGone("a frame is too long")
            end = HEADER.size + length
            if len(self.buffer) < end:
                return
            payload = bytes(self.buffer[HEADER.size : end])
            del self.buffer[:end]
            yield channel, payload

    def next(self) -> tuple[int, bytes]:
        """Wait for the next frame."""
        while True:
            for frame in self.frames():
                return frame
            self.fill()


class Seed:
    """The seed's tar as a file object: reads channel 64 until its empty frame."""

    def __init__(self, source: Input) -> None:
        self.source, self.left, self.ended = source, b"", False

    def read(self, size: int) -> bytes:
        """Read as many bytes as there are, up to `size`."""
        while len(self.left) < size and not self.ended:
            self.left += self.chunk()
        out, self.left = self.left[:size], self.left[size:]
        return out

    def chunk(self) -> bytes:
        """Take the next frame's payload."""
        channel, payload = self.source.next()
        if channel != STATE:
            raise RunnerGone("an unexpected frame came in the middle of the seed")
        self.ended = not payload
        return payload

    def drain(self) -> None:
        """Read on to the empty frame, past the tar's padding."""
        while not self.ended:
            self.chunk()


def unpack(seed: Seed, root: str) -> None:
    """Write the seed below `root`: directories, regular files and symbolic links, and nothing outside."""
    folders: list[tuple[Path, int]] = []
    links: set[Path] = set()
    stream: Any = seed
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for info in tar:
            path = posixpath.normpath(info.name)
            if path == ".":
                continue
            if path.startswith(("/", "../")) or path == "..":
                raise ValueError("the seed holds a path that leads out of the data folder")
            place = Path(root) / path
            if not links.isdisjoint((place, *place.parents)):  # it may lead anywhere
                raise ValueError("the seed holds a path that passes through a link")
            if info.issym():
                links.add(place)
            place.parent.mkdir(parents=True, exist_ok=True)
            write(tar, info, place, folders)
    seed.drain()
    for place, mode in reversed(folders):
        place.chmod(mode)


def write(tar: tarfile.TarFile, info: tarfile.TarInfo, place: Path, folders: list[tuple[Path, int]]) -> None:
    """Write one entry of the seed."""
    mode = stat.S_IMODE(info.mode)
    if info.isdir():
        place.mkdir(exist_ok=True)
        folders.append((place, mode))
    elif info.issym():
        place.symlink_to(info.linkname)
    elif info.isreg():
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            source = tar.extractfile(info)
            while source and (data := source.read(CHUNK)):
                file.write(data)
            os.fchmod(file.fileno(), mode)
    else:
        raise ValueError("the seed holds an entry that is no file, folder or link")


def remove(path: Path, *, keep_folder: bool) -> None:
    """Remove a file or folder with all that is in it, or only what is in it."""
    if keep_folder:
        for inner in path.iterdir():
            remove(inner, keep_folder=False)
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


class ChildProcess:
    """A process with the three pipes that it talks through, and the end of what it wrote on standard error."""

    def __init__(self, name: str, document: dict[str, Any]) -> None:
        self.name, self.document = name, document
        self.code: int | None = None
        self.stderr = b""
        self.process: subprocess.Popen[bytes] | None = None
        self.pipes: dict[str, Any] = {}

    def start(self) -> None:
        """Start it."""
        self.process = subprocess.Popen(
            self.document["command"],
            env=self.document["environment"],
            cwd=self.document["cwd"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.pipes = {name: getattr(self.process, name) for name in ("stdin", "stdout", "stderr")}
        for pipe in self.pipes.values():
            os.set_blocking(pipe.fileno(), False)

    @property
    def alive(self) -> bool:
        """Say whether it was started and has not ended."""
        return self.process is not None and self.code is None

    def close(self, name: str) -> None:
        """Close one of its pipes; safe to call twice."""
        pipe = self.pipes.pop(name, None)
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()

    def signal(self, number: int) -> None:
        """Signal its process group while it lives."""
        if self.process is not None and self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def pull(self, name: str) -> bytes | None:
        """Read one chunk of its output; empty means that it ended, None that nothing is there."""
        if name not in self.pipes:
            return None
        try:
            return os.read(self.pipes[name].fileno(), CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return b""


class ServerProcess(ChildProcess):
    """One server, and what it has not read yet."""

    def __init__(self, channel: int, document: dict[str, Any]) -> None:
        super().__init__(document["name"], document)
        self.channel = channel
        self.inbox = bytearray()
        self.closing = False  # its input is to be closed once the inbox is empty
        self.over = False  # its input was closed, or it will never be started

    def accept(self, payload: bytes) -> None:
        """Queue input for it, or kill it where it does not read."""
        if self.over or self.closing:
            return
        if not payload:
            self.closing = True
        self.inbox += payload
        if len(self.inbox) > INBOX:
            self.signal(signal.SIGKILL)
            self.shut()

    def push(self) -> None:
        """Write once what it will take of its input."""
        if "stdin" not in self.pipes:
            return
        try:
            sent = os.write(self.pipes["stdin"].fileno(), self.inbox[:CHUNK]) if self.inbox else 0
            del self.inbox[:sent]
        except BlockingIOError:
            return
        except OSError:
            self.shut()
        if self.closing and not self.inbox:
            self.shut()

    def shut(self) -> None:
        """Close its input, and take nothing more for it."""
        self.over = True
        self.inbox.clear()
        self.close("stdin")


class BackendProcess(ChildProcess):
    """What a server stands on: a database, say. The server is started once it is ready."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(server.name, server.document["backend"])
        self.server = server
        self.ready = False
        self.said = b""

    def hear(self, data: bytes) -> bool:
        """Take what it wrote, and say whether it has become ready by that."""
        if self.ready:
            return False
        self.said = (self.said + data)[-CHUNK:]
        self.ready = self.said.startswith(READY) or b"\n" + READY in self.said
        return self.ready

    def settle(self) -> None:
        """Ask it to write down what it holds and end; it deals with its own children."""
        if self.process is not None and self.code is None:
            self.process.send_signal(signal.SIGTERM)


class WorldInit:
    """The loop that copies bytes until a freeze or the end of standard input."""

    def __init__(self, source: Input, sink: int) -> None:
        self.source, self.sink = source, sink
        self.outbox = bytearray()
        self.servers: list[ServerProcess] = []
        self.backends: list[BackendProcess] = []
        self.awaited: dict[int, dict[str, Any]] = {}  # servers that nobody has said a word to
        self.frozen = self.kept = False
        self.alarm, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self.alarm, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def start(self) -> None:
        """Read the start message and the seed, and start every server that does not wait for a word to it."""
        channel, payload = self.source.next()
        document = json.loads(payload)["start"] if channel == CONTROL else {}
        self.token, self.data = document["token"], document["data"]
        unpack(Seed(self.source), self.data)
        for number, server in enumerate(document["servers"], 1):
            if server.get("on_demand"):
                self.awaited[number] = server
            else:
                self.launch(number, server)
        self.outbox += control(started=len(self.servers))

    def renew(self) -> None:
        """Read the renewal and the next seed, which takes the place of what the data folder holds.

        The folders that servers run in stay, and are emptied.
        """
        os.set_blocking(self.source.fd, True)
        channel, payload = self.source.next()
        if channel != CONTROL or json.loads(payload) != {"renew": self.token}:
            raise RunnerGone("a kept world was told something else than its renewal")
        used = {server.document["cwd"] for server in self.servers}
        for path in Path(self.data).iterdir():
            remove(path, keep_folder=str(path) in used)
        unpack(Seed(self.source), self.data)
        self.frozen = self.kept = False

    def launch(self, number: int, document: dict[str, Any]) -> None:
        """Start one server, or first what it stands on."""
        server = ServerProcess(number, document)
        self.servers.append(server)
        if "backend" not in document:
            self.begin(server, server)
            return
        backend = BackendProcess(server)
        self.backends.append(backend)
        self.begin(backend, server)

    def begin(self, program: ChildProcess, server: ServerProcess) -> None:
        """Start a program, or tell that the server cannot be started."""
        try:
            program.start()
        except OSError as error:
            self.give_up(server, 127, os.strerror(error.errno or 0))

    def give_up(self, server: ServerProcess, code: int, stderr: str) -> None:
        """Tell that a server, or what it stands on, is not there (any more)."""
        if server.process is None:
            server.shut()
            self.outbox += pack(server.channel, b"")
        self.outbox += control(exited={"server": server.name, "code": code, "stderr": stderr})

    def run(self) -> None:
        """Copy bytes until a freeze."""
        os.set_blocking(self.source.fd, False)
        os.set_blocking(self.sink, False)
        self.deliver()  # what came right behind the seed lies in the buffer, and nothing may follow to wake us
        while not self.frozen:
            self.turn()

    def turn(self) -> None:
        """Wait until something can be read or written, and do all of it once."""
        poll, jobs = select.poll(), {}
        for fd, mask, job in self.wishes():
            poll.register(fd, mask)
            jobs[fd] = job
        for fd, _ in poll.poll():
            jobs[fd]()

    def wishes(self) -> Iterator[tuple[int, int, Callable[[], None]]]:
        """Say which descriptors to wait for, for what, and what to do then."""
        yield self.alarm, select.POLLIN, self.reap
        yield self.source.fd, select.POLLIN, self.take
        if self.outbox:
            yield self.sink, select.POLLOUT, self.flush
        for server in self.servers:
            if "stdin" in server.pipes and (server.inbox or server.closing):
                yield server.pipes["stdin"].fileno(), select.POLLOUT, server.push
            if "stdout" in server.pipes and len(self.outbox) < OUTBOX:
                yield server.pipes["stdout"].fileno(), select.POLLIN, functools.partial(self.give, server)
        for backend in self.backends:
            if "stdout" in backend.pipes:
                yield backend.pipes["stdout"].fileno(), select.POLLIN, functools.partial(self.hear, backend)
        for program in (*self.servers, *self.backends):
            if "stderr" in program.pipes:
                yield program.pipes["stderr"].fileno(), select.POLLIN, functools.partial(self.mutter, program)

    def take(self) -> None:
        """Read once from the outside."""
        with contextlib.suppress(BlockingIOError):
            self.source.fill()
        self.deliver()

    def deliver(self) -> None:
        """Hand on the frames that are whole."""
        for channel, payload in self.source.frames():
            if channel == CONTROL:
                self.obey(payload)
            else:
                if channel in self.awaited:
                    self.launch(channel, self.awaited.pop(channel))
                for server in self.servers:
                    if server.channel == channel:
                        server.accept(payload)

    def obey(self, payload: bytes) -> None:
        """Freeze, for good or to be renewed, or report, if the token is the right one; anything else is not for us."""
        try:
            message = json.loads(payload)
        except ValueError:
            return
        if isinstance(message, dict) and message.get("freeze") == self.token:
            self.frozen, self.kept = True, message.get("keep") is True
        elif isinstance(message, dict) and message.get("report") == self.token:
            self.report()

    def report(self) -> None:
        """Tell what each program that runs wrote last on standard error."""
        running = [program for program in (*self.servers, *self.backends) if program.alive]
        for program in running:
            self.mutter(program)
            text = program.stderr.decode("utf-8", "replace")
            self.outbox += control(running={"server": program.name, "stderr": text})
        self.outbox += control(reported=len(running))

    def flush(self) -> None:
        """Write once what the outside will take."""
        with contextlib.suppress(BlockingIOError):
            sent = os.write(self.sink, self.outbox[:CHUNK])
            del self.outbox[:sent]

    def give(self, server: ServerProcess) -> None:
        """Pass on one chunk of what a server wrote, or that it wrote its last."""
        data = server.pull("stdout")
        if data is None:
            return
        if not data:
            server.close("stdout")
        self.outbox += pack(server.channel, data)

    def hear(self, backend: BackendProcess) -> None:
        """Wait for a backend's word that it is ready, and start its server; what else it says is dropped."""
        data = backend.pull("stdout")
        if data is None:
            return
        if not data:
            backend.close("stdout")
        if backend.hear(data):
            self.begin(backend.server, backend.server)

    def mutter(self, program: ChildProcess) -> None:
        """Keep the end of what a program writes on standard error."""
        data = program.pull("stderr")
        if data is None:
            return
        if not data:
            program.close("stderr")
        program.stderr = (program.stderr + data)[-STDERR_TAIL:]

    def reap(self) -> None:
        """Collect every child that ended, ours or orphaned, and tell of the servers and backends among them."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self.alarm, CHUNK):
                pass
        while (pid := self.wait()) is not None:
            for program in (*self.servers, *self.backends):
                if program.process is not None and program.process.pid == pid[0]:
                    self.mourn(program, os.waitstatus_to_exitcode(pid[1]))

    @staticmethod
    def wait() -> tuple[int, int] | None:
        """Collect one child that ended, if there is one."""
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        return (pid, status) if pid else None

    def mourn(self, program: ChildProcess, code: int) -> None:
        """Note that a server or a backend ended, and tell unless we ended it."""
        program.code = code
        if program.process is not None:
            program.process.returncode = code
        self.mutter(program)
        if not self.frozen:
            server = program.server if isinstance(program, BackendProcess) else program
            assert isinstance(server, ServerProcess)  # noqa: S101 - there is no third kind
            self.give_up(server, code, program.stderr.decode("utf-8", "replace"))

    def stop(self, settle: float = 0.0) -> None:
        """Stop the servers, then the backends, then kill all else.

        As PID 1 we get every orphan: no child is left, so no process is.
        """
        for server in self.servers:
            server.shut()
            server.signal(signal.SIGTERM)
        self.outlast(self.servers, GRACE)
        if settle:
            for backend in self.backends:
                backend.settle()
            self.outlast(self.backends, settle)
        if os.getpid() == 1:
            while self.children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
                time.sleep(0.001)
        # Where this is no PID 1 (a world with no wall), their groups are all that we know.
        for program in (*self.servers, *self.backends):
            program.signal(signal.SIGKILL)

    def outlast(self, programs: Sequence[ChildProcess], seconds: float) -> None:
        """Wait until these have ended, but no longer than that."""
        deadline = time.monotonic() + seconds
        while any(program.alive for program in programs) and time.monotonic() < deadline:
            time.sleep(0.005)
            self.reap()

    @staticmethod
    def children() -> bool:
        """Collect what has ended, and say whether any child is left."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return False
        return True

    def send(self, data: bytes) -> None:
        """Write all of it, waiting as long as it takes; the runner has a timeout and kills us past it."""
        view = memoryview(data)
        while view:
            select.select([], [self.sink], [])
            with contextlib.suppress(BlockingIOError):
                view = view[os.write(self.sink, view[:CHUNK]) :]

    def freeze(self) -> None:
        """Stop everything else, unless the world is kept, and write the state out."""
        if not self.kept:
            self.stop(SETTLE)
        self.send(bytes(self.outbox))
        self.outbox.clear()
        state = StateArchive(self)
        try:
            state.write(self.data)
        except StateTooLarge as error:
            self.send(control(frozen={"error": str(error)}) + pack(STATE, b""))
            return
        self.send(control(frozen={"entries": state.entries, "bytes": state.bytes}) + pack(STATE, b""))


class StateArchive:
    """Writes a folder as a tar in frames. Nothing else runs any more, so what is looked at cannot change meanwhile."""

    def __init__(self, world: WorldInit) -> None:
        self.world, self.entries, self.bytes = world, 0, 0

    def write(self, root: str) -> None:
        """Write the folder."""
        stream: Any = Frames(self.world)
        with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            folder = self.open(root, None, os.O_DIRECTORY)
            try:
                self.walk(tar, folder, "", 0)
            finally:
                os.close(folder)

    def walk(self, tar: tarfile.TarFile, folder: int, prefix: str, depth: int) -> None:
        """Go by descriptors, so that neither a link nor a path beyond PATH_MAX leads astray."""
        if depth > MAX_DEPTH:
            raise StateTooLarge(f"folders are nested deeper than {MAX_DEPTH}")
        for name in sorted(os.listdir(folder)):
            status = os.lstat(name, dir_fd=folder)
            info = tarfile.TarInfo(prefix + name)
            info.mode = stat.S_IMODE(status.st_mode)
            self.count(status)
            if stat.S_ISDIR(status.st_mode):
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
                inner = self.open(name, folder, os.O_DIRECTORY)
                try:
                    self.walk(tar, inner, f"{prefix}{name}/", depth + 1)
                finally:
                    os.close(inner)
            elif stat.S_ISREG(status.st_mode):
                info.size = status.st_size
                with os.fdopen(self.open(name, folder, os.O_NONBLOCK), "rb") as file:
                    tar.addfile(info, file)
            else:
                self.special(tar, info, status.st_mode, name, folder)

    def special(self, tar: tarfile.TarFile, info: tarfile.TarInfo, mode: int, name: str, folder: int) -> None:
        """Write links as links, and pipes, sockets and devices as an entry with no content."""
        if stat.S_ISLNK(mode):
            info.type, info.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=folder)
        else:
            info.type = tarfile.FIFOTYPE
        tar.addfile(info)

    def open(self, name: str, folder: int | None, flags: int) -> int:
        """Open without following a link; we own everything here, so a mode that keeps us out is lifted."""
        flags |= os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(name, flags, dir_fd=folder)
        except PermissionError:
            os.chmod(name, 0o700, dir_fd=folder)
            return os.open(name, flags, dir_fd=folder)

    def count(self, status: os.stat_result) -> None:
        """Count an entry against the caps."""
        self.entries += 1
        self.bytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if self.entries > MAX_ENTRIES or self.bytes > MAX_BYTES:
            raise StateTooLarge(f"it holds more than {MAX_ENTRIES} entries or {MAX_BYTES} bytes")


class Frames:
    """A file object whose writes become frames of channel 64."""

    def __init__(self, world: WorldInit) -> None:
        self.world = world

    def write(self, data: bytes) -> int:
        """Send it."""
        for start in range(0, len(data), CHUNK):
            self.world.send(pack(STATE, data[start : start + CHUNK]))
        return len(data)


def private_streams() -> tuple[int, int]:
    """Keep the frames' descriptors for ourselves: servers get pipes of their own and can write no control message."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    return source, sink


def undumpable() -> None:
    """Let no process of the same user open our memory through /proc; best effort, the state would be theirs anyway."""
    with contextlib.suppress(ImportError, OSError):
        import ctypes  # noqa: PLC0415 - a world can do without

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def main() -> int:
    """Live a world's whole life and give its exit status."""
    source, sink = private_streams()
    undumpable()
    world = WorldInit(Input(source), sink)
    try:
        world.start()
    except RunnerGone:
        return 0
    except (OSError, ValueError, KeyError, TypeError, tarfile.TarError) as error:
        world.send(control(failed=type(error).__name__))
        return 3
    try:
        world.run()
        world.freeze()
        while world.kept:
            world.renew()
            world.run()
            world.freeze()
    except (RunnerGone, ConnectionError):
        world.stop()
    except Exception as error:  # the last that the outside hears of us; the type says nothing of the state
        world.send(control(failed=type(error).__name__))
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
