"""Kills a verb, or fails its disk, at each lasting change; `python -m tests.quarterturn.crashes` prints the page.

A verb runs in a forked child, and is struck right before the first lasting change that was not struck yet: a commit of
the rows, or a file that gets its name. The strike is SIGKILL, or an answer that the disk is full. Then the same command
is given again and struck at the next change, until it ends undisturbed. So every change is struck once, each time in
the process that resumes after the last strike, and at the end the home must equal one that was never struck.
"""

import errno
import json
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.engine import default

from quarterturn.backup import backup, restore  # noqa: F401 - not in each child again
from quarterturn.cli import run
from quarterturn.keys import rekeying  # noqa: F401
from quarterturn.month import monthly_turn  # noqa: F401
from quarterturn.tasks import review  # noqa: F401
from rotation.generation import import_tasks  # noqa: F401
from rotation.turn.turn_facts import STEPS

from .children import Child, ChildResult

THINGS = {
    r"home/keys/(.*/)?\..*": "",
    r"home/keys/ring\.json": "the key ring",
    r"home/keys/log\.key": "the log's key",
    r"home/keys/.*\.key": "the other signing keys",
    r"home/public/(log\.vkey|endpoint\.pem)": "the public keys",
    r"home/set\.toml": "the set file",
    r"home/quarterturn\.toml": "the settings",
    r"home/head/signed": "the signed head",
    r"home/public/log/tile/.*": "the log's tiles",
    r"home/public/log/checkpoint.*": "the checkpoint",
    r"home/public/allowed_signers": "the list of signers",
    r"home/public/months/\..*": "the month's files",
    r"home/public/months/[^/]*": "the month's folder",
    r"home/public/releases/\..*": "the release's files",
    r"home/public/releases/[^/]*": "the release's folder",
    r"home/public/view/.*": "the view",
    r"\.copy\.[^/]*/manifest\.json": "the manifest",
    r"copy": "the backup's folder",
    r"\.new\.[^/]*/quarterturn\.db": "the database",
    r"new": "the new home's folder",
}
"""What a file is, by the path that it gets; nothing for one that only keeps an old file until the new one is there."""

COMMITS = {
    "vault.store.tasks.open": "the access log",
    "vault.store.tasks.open_blob": "the access log",
    "vault.store.tasks.open_blobs": "the access log",
    "vault.store.blobs._new": "a key of the vault's own",
}
"""What a commit is for, by who asked for it; any other is of the verb's own rows."""


@dataclass(frozen=True)
class Step:
    """A lasting change of a verb.

    Attributes:
        name: what changes, and in which step of the turn.
        means: what is true from then on.
        left: what is there of the verb if it ends just before: "nothing" or "a part".
    """

    name: str
    means: str
    left: str = "a part"


TABLE: dict[str, tuple[Step, ...]] = {
    "init": (
        Step("the key ring", "what was begun with one passphrase is not gone on with by another", "nothing"),
        Step("the log's key", "the log will be signed with it"),
        Step("the public keys", "strangers can verify; written anew by whoever goes on"),
        Step("the other signing keys", "endpoints and months will be signed with them"),
        Step("the rows", "the database has its tables"),
        Step("the set file", "the home has its set; written anew by whoever goes on"),
        Step("the settings", "it is a home, and `init` never touches it again"),
    ),
    "task import": (
        Step("the access log", "it says that other tasks were opened, to compare them with", "nothing"),
        Step("a key of the vault's own", "skeletons can be compared without being known", "nothing"),
        Step("the rows", "all drafts of the file are kept, sealed and admitted"),
    ),
    "task review": (Step("the rows", "the decision stands for all tasks that it was made for", "nothing"),),
    "turn run": (
        Step("begin: the rows", "the turn is under way, and no run of its month is opened any more", "nothing"),
        Step("stop: the rows", "step 1 is done"),
        Step("close: the rows", "step 2: runs that were open are closed, or aborted where nothing was served"),
        Step("check: the access log", "it says that the seed of the spot check, and what it chose, were opened"),
        Step("check: the rows", "step 3: what was chosen is judged again, and how many differ is fixed"),
        Step("retire: the access log", "it says that a retiring task was opened for the manifest"),
        Step("retire: the rows", "step 4: the `retire` leaf is in the rows, and the cohort is retired"),
        Step("publish: the log's tiles", "the leaf's hash and bytes are on the disk, signed by nothing"),
        Step("publish: the signed head", "the head is signed, and no other one of this size ever will be"),
        Step("publish: the checkpoint", "the head is kept under its size"),
        Step("after: the signed head", "it is there as it was, and now surely on the disk, before it is made public"),
        Step("after: the checkpoint", "the head is public; whoever opens the log next makes up for it"),
        Step("publish: the access log", "it says that a retired task was opened for the release"),
        Step("publish: the release's files", "a part of the release lies in a folder that nobody reads"),
        Step("publish: the release's folder", "the release is there, whole"),
        Step("publish: the rows", "step 5: its tasks count as published"),
        Step("commit: the rows", "step 6: who enters is chosen, and the commitments are leaves in the rows"),
        Step("set: the rows", "step 7: the `set` statement is a leaf in the rows"),
        Step("set: the log's tiles", "the leaves' hashes and bytes are on the disk, signed by nothing"),
        Step("sign: the log's tiles", "the same, by whoever goes on"),
        Step("sign: the signed head", "the head over the promises is signed"),
        Step("sign: the checkpoint", "the head over the promises is public"),
        Step("sign: the list of signers", "it names the keys of all months, as it did before"),
        Step("sign: the month's files", "a part of the month's signatures lies in a folder that nobody reads"),
        Step("sign: the month's folder", "the signed month is public, whole"),
        Step("sign: the rows", "step 8 is done"),
        Step("activate: the rows", "step 9: the new tasks are live, and the turn is finished"),
        Step("after: the rows", "the detectors have run; if not, they run after the next run or turn"),
        Step("after: the view", "the pages' files are of today; without it, `serve` draws them when it starts"),
    ),
    "release path": (
        Step("the access log", "it says that a published task was opened for the release", "nothing"),
        Step("the release's files", "a part of the release lies in a folder that nobody reads", "nothing"),
        Step("the release's folder", "the release is there, whole", "nothing"),
    ),
    "keys rotate": (
        Step("begin: the key ring", "the ring has a fresh key, under which everything new is sealed", "nothing"),
        Step("begin: the rows", "the access log says who began"),
        Step("rewrap: the rows", "some hundred rows are under the fresh key; whoever goes on takes the next"),
        Step("rewrap: the other signing keys", "their file is under the fresh key"),
        Step("rewrap: the log's key", "its file is under the fresh key"),
        Step("finish: the rows", "the access log says that nothing needs the old key"),
        Step("finish: the key ring", "the old key is gone"),
    ),
    "backup": (
        Step("the manifest", "the copy is complete, in a folder that nobody reads", "nothing"),
        Step("the backup's folder", "the backup is there, whole", "nothing"),
    ),
    "restore": (
        Step("the database", "the copy is complete, in a folder that nobody reads", "nothing"),
        Step("the new home's folder", "the home is there, whole", "nothing"),
    ),
}


# -- striking ---------------------------------------------------------------------------------------------------------


class Striker:
    """Strikes this process at the first change whose name is not among those already struck."""

    def __init__(self, base: Path, way: str, struck: set[str], tell: int) -> None:
        self._base, self._way, self._struck, self._tell = base, way, struck, tell
        for name in ("link", "rename", "replace"):
            setattr(os, name, self._file(getattr(os, name)))
        default.DefaultDialect.do_commit = self._commit(default.DefaultDialect.do_commit)  # type: ignore[method-assign]

    def _file(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def placed(source: Any, target: Any, **how: Any) -> Any:
            full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
            if changed := thing(Path(target).relative_to(self._base)):
                self.at(changed, full)
            return real(source, target, **how)

        return placed

    def _commit(self, real: Callable[..., None]) -> Callable[..., None]:
        def committed(dialect: Any, connection: Any) -> None:
            kind = next((COMMITS[name] for name in _callers() if name in COMMITS), "the rows")
            full = sqlite3.OperationalError("database or disk is full")
            full.sqlite_errorcode = sqlite3.SQLITE_FULL
            self.at(kind, full)
            real(dialect, connection)

        return committed

    def at(self, changed: str, error: Exception) -> None:
        """Strike, unless this change was struck before."""
        name = f"{step()}{changed}"
        if name in self._struck:
            return
        self._struck.add(name)
        os.write(self._tell, f"{name}\n".encode())
        if self._way == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise error


def thing(path: Path) -> str:
    """Give the kind of a file."""
    return next((words for form, words in THINGS.items() if re.fullmatch(form, str(path))), str(path))


def _callers() -> Iterator[str]:
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        yield f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"


STEPS = {
    "rotation.turn.turn._begin": "begin: ",
    **{f"rotation.turn.closing_steps.{step}": f"{step}: " for step in STEPS[:3]},
    **{f"rotation.turn.release_steps.{step}": f"{step}: " for step in STEPS[3:5]},
    **{f"rotation.turn.activation_steps.{step}": f"{step}: " for step in STEPS[5:]},
    **{f"vault.store.rewrap.{step}": f"{step}: " for step in ("begin", "rewrap", "finish")},
    "quarterturn.month.monthly_turn.run": "after: ",
}


def step() -> str:
    """Name the current step of a verb that has several."""
    return next((STEPS[caller] for caller in _callers() if caller in STEPS), "")


def start(
    work: Callable[[], int], way: str = "", base: Path = Path(), struck: set[str] | None = None
) -> Callable[[], ChildResult]:
    """Start work in a child process; the result waits for its end."""
    return Child(work, (lambda tell: Striker(base, way, struck or set(), tell)) if way else None)


def verb(*words: str | Path) -> Callable[[], int]:
    """Give a verb as work for a child."""
    return lambda: run([str(word) for word in words])


# -- looking ----------------------------------------------------------------------------------------------------------


def state(base: Path) -> dict[str, Any]:
    """Describe a home without random values and times: equal for two homes where the same was done."""
    found: dict[str, Any] = {"files": sorted(_names(base))}
    for home in (base / "home", base / "new"):
        if (home / "quarterturn.db").exists():
            with closing(sqlite3.connect(f"file:{home}/quarterturn.db?mode=ro", uri=True)) as rows:
                found[home.name] = _counts(rows)
        if (home / "keys" / "ring.json").exists():
            found[f"{home.name}'s ring"] = len(json.loads((home / "keys" / "ring.json").read_text())["keys"])
    return found


def _names(base: Path) -> Iterator[str]:
    for path in base.rglob("*"):
        name = str(path.relative_to(base))
        if name.startswith("home/public/view/"):  # drawn from the rows, again and again
            continue
        if path.is_file() and "/." not in f"/{name}" and not name.endswith(("-wal", "-shm", "lock", ".db")):
            yield name


def _counts(rows: sqlite3.Connection) -> dict[str, Any]:
    tables = [name for (name,) in rows.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    counts = {table: rows.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in sorted(tables)}
    for table in ("vault_access", "rotation_scan"):  # the next process opens again, and scans again
        counts.pop(table, None)
    if "vault_task" in counts:
        counts["states"] = sorted(rows.execute("SELECT state, count(*) FROM vault_task GROUP BY state"))
        counts["turns"] = sorted(rows.execute("SELECT month, done, finished_at IS NULL FROM rotation_turn"))
    return counts


@dataclass(frozen=True)
class Blow:
    """How a struck verb ended, and whether anything of it was there then."""

    said: ChildResult
    left: str


def play(work: Callable[[], int], way: str, base: Path) -> list[Blow]:
    """Run a verb and strike it at every change in turn, until a run of it ends undisturbed; that is the last one."""
    untouched, struck = state(base), set[str]()
    blows: list[Blow] = []
    while not blows or blows[-1].said.struck:
        said = start(work, way, base, struck)()
        blows.append(Blow(said, "nothing" if state(base) == untouched else "a part"))
        struck.update(said.struck)
    return blows


# -- the page ---------------------------------------------------------------------------------------------------------

HEAD = """# What is left after a crash

This page is made from the table in `tests/quarterturn/crashes.py`, whose test strikes every verb before each of its
lasting changes: with `kill -9`, and by saying that the disk is full. Afterwards the same command is given again. It
finishes what was begun, or does what was never done; nothing is lost and nothing is there twice.

"Left" says what is there of the verb if it ends just before the change. A file gets its name when it is whole; one that
was never finished leaves at most a file or folder whose name begins with a dot, which nothing reads. The next writer of
the same thing, who holds a lock, removes it. A backup that is never made again leaves such a folder beside its place.

The verbs make files durable before they name them (`fsync`). Where such a call fails, the name is taken back, and what
is already built on is written anew. `tests/quarterturn/faults.py` lets the next `fsync`, rename, write to a file and
write to the database fail behind each step below; for the turn only the next `fsync`, for an import only `fsync` and
the database. Each time there is one clear sentence and an exit code of 6 or 7, and the same command finishes.
`./run test --exhaustive` does so for twelve calls of each kind. One thing is left: where the removal of a key file's
former version cannot be made durable, a power cut may bring that file back, hidden, until the next writer removes it.

`tests/vault/ledger/crasher.py` strikes the log's writer at all of its calls. `tests/quarterturn/test_crashes.py` also
fills a disk to several degrees, makes it read-only, and lets two processes work on one home.
"""


def page() -> str:
    """Write the page."""
    lines = [HEAD]
    for name, steps in TABLE.items():
        lines += [f"## `{name}`", "", "| # | change | what is true once it is made | left |", "|---|---|---|---|"]
        lines += [f"| {n} | {step.name} | {step.means} | {step.left} |" for n, step in enumerate(steps, 1)]
        lines += [""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(page())
