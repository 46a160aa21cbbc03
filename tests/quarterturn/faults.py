"""Fails one disk call behind each step of a verb, and checks that the next try recovers.

The import of tasks needs a box, and is tested in `test_crashes.py` alone.

The verb runs in a child that stops behind each of its steps (`crashes.TABLE`), and at its beginning. There strace
attaches to it and answers EIO to its next call of a family: SQLite's calls too, which no patch reaches. The same
command is then given again, and fails at the next place, until it ends undisturbed and no place is left.

After a failed `fsync` the kernel may have forgotten what it was to write, and reports that only once. So whatever a
failed one should have made durable has to be synced again before a verb may say that it is done.
"""

import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .children import Child, ChildResult
from .crashes import Striker, state, step
from .scenes import CLEAR, OVER, Scene, sound, with_keys

Wanted = tuple[tuple[str, int], ...]
FAMILIES = {
    "sync": ("fsync", "fdatasync"),
    "write": ("write", "sendfile", "copy_file_range"),
    "database": ("pwrite64", "ftruncate", "fallocate"),
    "name": ("rename", "renameat", "renameat2", "link", "linkat"),
    "rest": ("mkdir", "mkdirat", "unlink", "unlinkat"),
    "open": ("openat",),
}
SHORT: Wanted = (("sync", 1), ("write", 1), ("database", 1), ("name", 1))
"""What fails behind each step: a family, and which of its calls."""
OF_A_TURN: Wanted = (("sync", 1),)
"""The same for a turn, which has many steps; that a name is refused is in `test_crashes.py`."""
LONG: Wanted = tuple((family, number) for number in range(1, 13) for family in FAMILIES)
BEGINNING = "the beginning"
DRAWN = "home/public/view"
"""What is drawn again whenever it is looked at, and promises nothing."""
_RANDOM = re.compile(r"\.[0-9a-f]{16}")


class Stopper(Striker):
    """Stops this process behind the first step with a call left to fail, and reports what is fsynced."""

    def __init__(self, base: Path, wanted: Wanted, struck: set[str], tell: int) -> None:
        super().__init__(base, "stop", struck, tell)
        self._wanted, self._stopped, real = wanted, False, os.fsync

        def fsync(descriptor: int) -> None:
            path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            try:
                real(descriptor)
            except OSError:
                self._say(f"lost {named(path)}")
                raise
            self._say(f"kept {named(path)}")

        os.fsync = fsync
        self.at(BEGINNING, OSError())

    def at(self, changed: str, error: Exception) -> None:
        for family, number in self._wanted:
            place = f"{step()}{changed}|{family}|{number}"
            if place not in self._struck and not self._stopped:
                self._stopped = True
                self._say(f"stop {place}")
                os.kill(os.getpid(), signal.SIGSTOP)

    def _say(self, line: str) -> None:
        os.writev(self._tell, [f"{line}\n".encode()])  # not `write`: that may be what is to fail


def named(path: str) -> str:
    """Name a file without the random part of its name."""
    return _RANDOM.sub(".*", path)


@dataclass
class Fault:
    """A child in which a call failed.

    Attributes:
        said: how it ended.
        place: where it was, or nothing if it did not stop.
        calls: the calls that failed, with their paths.
        astray: whether one failed that was not on the disk: its own output.
    """

    said: ChildResult
    place: str
    calls: list[str] = field(default_factory=list)
    astray: bool = False


def fail(work: Callable[[], int], base: Path, wanted: Wanted, struck: set[str]) -> Fault:
    """Run a verb and fail a call behind the first step where a wanted one has not failed yet."""
    child = Child(work, lambda tell: Stopper(base, wanted, struck, tell))
    if (said := child.wait()) is not None:
        return Fault(said, "")
    place = child.reported[-1].removeprefix("stop ")
    _, family, number = place.rsplit("|", 2)
    names = ",".join(FAMILIES[family])
    inject = f"inject={names}:error=EIO:when={number}"
    command = ["strace", "-p", str(child.pid), "-f", "-y", "-o", "/dev/stdout", "-e", f"trace={names}", "-e", inject]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        assert strace.stdout is not None
        held = "attached" in strace.stderr.readline()
        os.kill(child.pid, signal.SIGCONT if held else signal.SIGKILL)
        failed = []
        for line in strace.stdout:
            if "(INJECTED)" in line:
                failed.append(line.strip())
                strace.terminate()  # it lets go of the child, which costs nothing from here on
        said = child()
        strace.stderr.read()
    assert held, "strace could not take hold of the child"
    calls = [call for line in failed if (call := _call(line, base))]
    return Fault(said, place, calls, len(calls) < len(failed))


def _call(line: str, base: Path) -> str:
    """Name a call of strace's, if it is on what lies in `base`: `4711 fsync(5</home/keys>) = ...`."""
    call, _, rest = line.partition(" ")[2].strip().partition("(")
    found = re.match(rf'(\d+<|(AT_FDCWD<[^>]*>, )?"){re.escape(str(base))}(?:/([^>"]*))?[>"]', rest)
    return f"{call} {named(found[3] or '.')}" if found else ""


@dataclass
class Found:
    """Result of one failed call.

    Attributes:
        calls: the calls that failed, and how often.
        wrong: one sentence for each thing that is wrong.
    """

    calls: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def play(
    scene: Scene, name: str, wanted: Wanted, unharmed: dict[str, Any], prepare: Callable[[], Callable[[], int]]
) -> Found:
    """Fail every call of a verb once.

    Args:
        scene: where.
        name: the verb.
        wanted: what fails behind each step.
        unharmed: the state after a verb for which nothing failed.
        prepare: makes ready for the verb in an empty scene, and gives it.
    """
    found, struck, lost = Found(), set[str](), set[str]()
    begun, work = False, prepare()
    while True:
        fault = fail(work, scene.base, wanted, struck)
        struck.add(fault.place)
        found.calls.update(fault.calls)
        lost = _lost(lost, fault.said)
        if fault.said.code == 0 or fault.astray or (begun and OVER in fault.said.text):
            wrong = [] if fault.astray else [*_unsound(scene, name, unharmed), *_forgotten(scene.base, lost)]
        else:
            wrong = [*_unclear(fault.said)] if fault.place else [f"it does not go on: {fault.said.text}"]
        found.wrong += [f"{fault.place} {fault.calls}: {one}" for one in wrong]
        if not fault.place and (wrong or not begun):
            return found
        begun = fault.said.code != 0 and not fault.astray and OVER not in fault.said.text
        if not begun:
            scene.clear()
            work, lost = prepare(), set()


def _lost(before: set[str], said: ChildResult) -> set[str]:
    """Return what a failed call should have made durable and no later one did."""
    lost = set(before)
    for change in said.struck:
        kind, _, path = change.partition(" ")
        if kind == "lost":
            lost.add(path)
        elif kind == "kept":
            lost.discard(path)
    return lost


def _forgotten(base: Path, lost: set[str]) -> Iterator[str]:
    yield from (f"{path} was not forced to the disk again" for path in lost if not path.startswith(f"{base}/{DRAWN}"))


def _unclear(said: ChildResult) -> Iterator[str]:
    if said.code not in CLEAR or "Traceback" in said.text or "internal error" in said.text:
        yield f"it ended with {said.code}: {said.text}"
    if not said.sentence.startswith("quarterturn: ") or "a file: " in said.sentence:
        yield f"no clear sentence: {said.sentence}"


def _unsound(scene: Scene, name: str, unharmed: dict[str, Any]) -> Iterator[str]:
    now = state(scene.base)
    for what in unharmed.keys() | now.keys():
        if now.get(what) != unharmed.get(what):
            yield f"{what} are not as in a home where nothing failed: {now.get(what)}"
    try:
        sound(scene.home if name != "restore" else with_keys(scene))
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
