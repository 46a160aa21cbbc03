"""Kills a child at each of its calls to the disk in turn, or makes that call fail, and looks at what is left.

    crasher.py (append|publish) (kill|fail) FOLDER

Prints one JSON object: how many calls there were, and one sentence for each that left something wrong. A program of
its own, so that forking is safe, and so that what it imports is what the ledger needs and nothing more.
"""

import errno
import importlib.util
import itertools
import json
import os
import shutil
import sys
from pathlib import Path

from vault.errors import VaultError
from vault.ledger.audit import audit
from vault.ledger.fsck import fsck
from vault.ledger.merkle import leaf_hash, root

CALLS = ("open", "write", "fsync", "rename", "mkdir", "unlink", "close")
BEFORE, FRESH = 250, 10  # across the border of a tile
NEVER, SURVIVED, KILLED, FAILED = 0, 97, 99, 98


def strike(number: int, way: str) -> list[str]:
    """From now on, die at the `number`th call to the disk, or let it fail; the list then names the call."""
    count = itertools.count()
    struck: list[str] = []

    def wrap(name):
        real = getattr(os, name)

        def call(*args, **kwargs):
            if next(count) == number:
                struck.append(name)
                if way == "kill":
                    os._exit(KILLED)
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*args, **kwargs)

        return call

    for name in CALLS:
        setattr(os, name, wrap(name))
    return struck


def child(number: int, way: str, work) -> int:
    """Fork, strike, work; gives the exit status: NEVER if the work ended before the blow."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            struck = strike(number, way)
            work()
            status = SURVIVED if struck else NEVER
        except VaultError as error:
            status = FAILED if error.kind == "unavailable" else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Append:
    """A log of 250 leaves, put back before each blow, to which ten are appended."""

    def __init__(self, conftest, folder: Path) -> None:
        self.month = conftest.Month(folder)
        self.kept = folder / "kept"
        self.rows = [b"leaf %d" % place for place in range(BEFORE + FRESH)]
        self.month.writer.append(self.rows[:BEFORE], 0)
        shutil.copytree(self.month.folder, self.kept)

    def prepare(self) -> None:
        shutil.rmtree(self.month.folder)
        shutil.copytree(self.kept, self.month.folder)

    def work(self) -> None:
        self.month.writer.append(self.rows[BEFORE:], BEFORE)

    def look(self):
        log, writer = self.month.folder / "log", self.month.writer
        _, wrong = fsck(log, [self.month.signer.verifier])  # what a reader meets at this moment
        yield from (f"for a reader: {item}" for item in wrong)
        writer.append(self.rows[BEFORE : BEFORE + 4], BEFORE)  # another batch than the one that was interrupted
        head = writer.append(self.rows, 0)
        yield from (f"after restart: {item}" for item in writer.fsck())
        if head.root != root([leaf_hash(row) for row in self.rows]) or head.size != len(self.rows):
            yield "a leaf was lost"
        yield from (f"{path.name} was left" for path in log.rglob(".*"))


class Publish:
    """A month of two tasks to retire, whose release is taken away before each blow."""

    def __init__(self, conftest, folder: Path) -> None:
        self.month = conftest.Month(folder).play()
        self.content = self.month.content()
        self.month.log_retirement(self.content, self.content.files())
        self.release = folder / "releases" / "Historical-2026-12"
        self.write = conftest.write_bundle

    def prepare(self) -> None:
        shutil.rmtree(self.release.parent, ignore_errors=True)
        self.release.parent.mkdir()

    def work(self) -> None:
        self.write(self.release, self.content, self.month.folder / "log")

    def look(self):
        if self.release.exists() and not audit(self.release, self.month.keys).ok:
            yield "half a release is there"
        self.work()
        if not audit(self.release, self.month.keys).ok:
            yield "the restart did not finish the release"
        yield from (f"{path.name} was left" for path in self.release.parent.iterdir() if path != self.release)


def main() -> None:
    what, way, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    spec = importlib.util.spec_from_file_location("stage", Path(__file__).with_name("conftest.py"))
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    scene = {"append": Append, "publish": Publish}[what](conftest, folder)
    problems: list[str] = []
    for number in itertools.count():
        scene.prepare()
        status = child(number, way, scene.work)
        if status not in (NEVER, SURVIVED, KILLED, FAILED):
            problems.append(f"call {number}: the child ended with {status}")
        problems += [f"call {number}: {item}" for item in scene.look()]
        if status == NEVER:
            break
    orm = sorted({"sqlalchemy", "sqlmodel"} & sys.modules.keys())
    sys.stdout.write(json.dumps({"calls": number, "problems": problems, "orm": orm}))


if __name__ == "__main__":
    main()
