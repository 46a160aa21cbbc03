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


def look_at_append(conftest, folder: Path, number: int, way: str, problems: list[str]) -> int:
    month = conftest.Month(folder, f"{way}-{number}")
    rows = [b"leaf %d" % place for place in range(BEFORE + FRESH)]
    month.writer.append(rows[:BEFORE], 0)
    status = child(number, way, lambda: month.writer.append(rows[BEFORE:], BEFORE))
    if status not in (NEVER, SURVIVED, KILLED, FAILED):
        problems.append(f"call {number}: the child ended with {status}")
    log = month.folder / "log"
    _, wrong = fsck(log, [month.signer.verifier])  # what a reader meets at this moment
    problems += [f"call {number}, for a reader: {item}" for item in wrong]
    month.writer.append(rows[BEFORE : BEFORE + 4], BEFORE)  # another batch than the one that was interrupted
    head = month.writer.append(rows, 0)
    problems += [f"call {number}, after restart: {item}" for item in month.writer.fsck()]
    if head.root != root([leaf_hash(row) for row in rows]) or head.size != len(rows):
        problems.append(f"call {number}: a leaf was lost")
    if strangers := [p.name for p in log.rglob("*") if p.name.startswith(".")]:
        problems.append(f"call {number}: {strangers} were left")
    return status


def look_at_publish(conftest, folder: Path, number: int, way: str, problems: list[str]) -> int:
    month = conftest.Month(folder, f"{way}-{number}").play()
    content = month.content()
    month.log_retirement(content, content.files())
    release = month.folder / "releases" / "Historical-2026-12"
    release.parent.mkdir()
    work = lambda: conftest.write_bundle(release, content, month.folder / "log")  # noqa: E731
    status = child(number, way, work)
    if status not in (NEVER, SURVIVED, KILLED, FAILED):
        problems.append(f"call {number}: the child ended with {status}")
    if release.exists() and not audit(release, month.keys).ok:
        problems.append(f"call {number}: half a release is there")
    work()
    if not audit(release, month.keys).ok or [p.name for p in release.parent.iterdir()] != [release.name]:
        problems.append(f"call {number}: the restart did not finish the release")
    return status


def main() -> None:
    what, way, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    spec = importlib.util.spec_from_file_location("stage", Path(__file__).with_name("conftest.py"))
    conftest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conftest)
    look = {"append": look_at_append, "publish": look_at_publish}[what]
    problems: list[str] = []
    for number in itertools.count():
        status = look(conftest, folder, number, way, problems)
        shutil.rmtree(folder / f"{way}-{number}")
        if status == NEVER:
            break
    orm = sorted({"sqlalchemy", "sqlmodel"} & sys.modules.keys())
    sys.stdout.write(json.dumps({"calls": number, "problems": problems, "orm": orm}))


if __name__ == "__main__":
    main()
