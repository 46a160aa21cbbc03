"""Kills a verb, or fails its disk, at each lasting change that the page `docs/reference/crashes.md` lists.

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


def table_of(page: str) -> dict[str, list[tuple[str, str]]]:
    """Read for each verb its changes from the page, and what is left of it if it ends just before each of them."""
    sections = re.findall(r"^## `([\w ]+)`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    row = re.compile(r"^\| \d+ \| (.+?) \| .+ \| (nothing|a part) \|$", re.MULTILINE)
    return {verb: row.findall(text) for verb, text in sections}


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "crashes.md"
TABLE = table_of(PAGE.read_text(encoding="utf-8"))


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
            if not Path(target).is_relative_to(self._base):  # a cache of the user's, which promises nothing
                return real(source, target, **how)
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
        name = f"{step()}{changed}"
        if name in self._struck:
            return
        self._struck.add(name)
        os.write(self._tell, f"{name}\n".encode())
        if self._way == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise error


def thing(path: Path) -> str:
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
    """Return a verb as work for a child."""
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
