"""Compromised worlds: what is read out of one is correct, or is refused, whatever its servers did.

No tool is known to lead that far, and the reader does not rely on that: a hostile program runs as the only server of a
real world (`agents/compromised_server.py`), the world is frozen by its own init and the runner, and the state is judged
as ever.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from quarterturn_attacks.harness.scenario_runner import HOSTILE, MIB, WORKERS
from quarterturn_attacks.harness.scenario_task import scenario_task
from sandbox.attacks.harness.attempt import Attempt, Spec, catalogue
from sandbox.boxes.box import Box, ResourceLimits
from sandbox.errors import Lost, Malformed
from sandbox.judge import JUDGING
from sandbox.runs.task_world import question_of, seed, untouched
from sandbox.servers.registry import Server
from sandbox.world.frozen import FrozenState
from verifiers import tree
from verifiers.language.verdict import Verdict
from verifiers.tree import FileTree

LIMITS = ResourceLimits(memory=256 * MIB, pids=64, tmpfs=32 * MIB)
SECONDS = 120.0  # no attempt is about how long a reading takes
PROGRAM = HOSTILE / "compromised_server.py"

ATTEMPTS: Mapping[str, Spec] = catalogue(
    Spec("frozen-links", "score", "links are read as links, and never followed"),
    Spec("frozen-pipes", "score", "pipes, sockets and devices are entries with no content"),
    Spec("frozen-sparse-file", "score", "sizes are counted before anything is read"),
    Spec("frozen-many-files", "score", "entries are counted as they are read"),
    Spec("frozen-deep-folders", "score", "folders are walked by descriptors, to a capped depth"),
    Spec("frozen-closed-files", "score", "modes are lifted by their owner; names are bytes"),
    Spec("frozen-daemons", "score", "everything else is killed before anything is read"),
    Spec("frozen-init-memory", "score", "the world's first process is not dumpable, and seccomp denies tracing"),
)


def run(box: Box, names: Collection[str]) -> Iterator[Attempt]:
    """Run each named program in a world of its own; see `sandbox.attacks.harness.attempt.SuitePart`."""
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="drill") as pool:
        yield from pool.map(partial(_attempt, box), names)


def controls(box: Box, names: Collection[str]) -> dict[str, bool]:  # noqa: ARG001 - the baseline needs no box
    """Say of each that has a harmless control whether a naive reader is deceived."""
    return {name: _deceived(name) for name in names if name in NAIVE_READERS}


def _attempt(box: Box, name: str) -> Attempt:
    spec = ATTEMPTS[name]
    make = partial(Attempt, name, spec.group, spec.control)
    started = time.monotonic()
    task = scenario_task()
    try:
        state = _frozen(box, name)
        verdict = JUDGING.verdict(question_of(task), state, None, partial(untouched, task.document)).verdict
    except Malformed as error:
        return make("bounded", f"the state was refused: {error}")
    if verdict is not Verdict.FALSE:
        return make("escaped", f"the verdict is {verdict.value}")
    if leaked := [word for word in (b"root:", b"QUARTERTURN") if word in state.tar]:
        return make("escaped", f"{leaked[0]!r} is in it, which is not the world's")
    if torn := [name for name in "0123" if not _whole(state, name)]:
        return make("escaped", f"the state was written to while it was read: {torn}")
    return make("blocked", f"{state.size} bytes were read in {time.monotonic() - started:.1f} s, and judged false")


def _whole(state: FrozenState, number: str) -> bool:
    """Say whether what a daemon wrote one after the other, on either side of what takes long to read, fits together."""
    first, last = (int(JUDGING.look(state, f"files/{letter}{number}") or 0) for letter in "az")
    return first - last in {0, 1}


def _frozen(box: Box, name: str) -> FrozenState:
    """Start a world with the hostile program in it, let it do its worst, and freeze it."""
    world = box.world([_server(name)], seed(scenario_task().document), LIMITS)
    try:
        with world.channel() as channel:
            _wait(channel, name)
            return world.freeze(SECONDS)
    finally:
        world.close()


def _server(name: str) -> Server:
    return Server(
        name="drill",
        package="",
        version="",
        root="files",
        command=("python3", "-I", "-c", PROGRAM.read_text(encoding="utf-8"), name),
        environment={},
        tools={},
        state_schema={},
        seed=lambda _: FileTree({}),
        mutations={},
    )


def _wait(channel: socket.socket, name: str) -> None:
    """Wait until the program says that it is done.

    Raises:
        Lost: it is not, so nothing would be proved.
    """
    output, deadline = b"", time.monotonic() + SECONDS
    while b"done\n" not in output:
        ready, _, _ = select.select([channel], [], [], max(deadline - time.monotonic(), 0))
        data = channel.recv(4096) if ready else b""
        if not data:
            raise Lost(f"the hostile server of {name} was not done within {SECONDS:g} s, so nothing is proved")
        output += data


def _follows(files: Path) -> bool:
    return (files / "colour.txt").read_text() == "heliotrope" and b"root:" in (files / "link0").read_bytes()


def _waits(files: Path) -> bool:
    try:
        subprocess.run(["cat", str(files / "colour.txt")], timeout=1, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        return True
    return False


def _too_long(files: Path) -> bool:
    return (files / "sparse").stat().st_size > LIMITS.memory


def _too_many(files: Path) -> bool:
    return len(os.listdir(files)) > tree.MAX_ENTRIES  # noqa: PTH208 - it is names that are counted


def _too_deep(files: Path) -> bool:
    """Say whether a walk by paths ends before the folders do."""
    return len(list(os.walk(files))) < len(list(os.fwalk(files)))


def _moves_a_cursor(files: Path) -> bool:
    return any("\x1b" in name for name in os.listdir(files))  # noqa: PTH208 - as they would be shown


NAIVE_READERS: Mapping[str, Callable[[Path], bool]] = {
    "frozen-links": _follows,
    "frozen-pipes": _waits,
    "frozen-sparse-file": _too_long,
    "frozen-many-files": _too_many,
    "frozen-deep-folders": _too_deep,
    "frozen-closed-files": _moves_a_cursor,
}


def _deceived(name: str) -> bool:
    """Let the same program spoil a folder of this machine, and read it as one would."""
    with tempfile.TemporaryDirectory(prefix="quarterturn-careless-") as folder:
        for below in ("files", "sqlite"):
            (Path(folder) / below).mkdir()
        environment = {"PATH": os.defpath, "HOSTILE_DATA": folder}
        command = [sys.executable, "-I", "-B", str(PROGRAM), name]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None  # noqa: S101 - it was asked for
            process.stdout.readline()
            try:
                return NAIVE_READERS[name](Path(folder) / "files")
            finally:
                process.kill()
