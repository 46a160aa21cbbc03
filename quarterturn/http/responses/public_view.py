"""Reader of the public view: the folder that everybody may copy, and nothing else.

It has no database, no key and no home. So a private task's id is as unknown as one that never existed: neither is among
the published tasks, and both are answered from the same line.

Files are cached in memory until they change, which a release never does; so are answers that are made of them.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quarterturn.public_view import DEV, FINDINGS, LEADERBOARDS, ROTATIONS
from rotation.turn.attestation import MONTHS, SIGNERS
from vault.canonical import digest
from vault.ledger.release.contents import ATTESTATION, MANIFEST, OPENINGS, TASKS
from vault.ledger.release.month import FILES
from vault.ledger.tree.tiles import KEPT

RELEASE = re.compile(r"Historical-2\d{3}-(0[1-9]|1[0-2])", re.ASCII)
MOST_MADE = 256  # answers that are kept
KEY = "log.vkey"
MONTH = re.compile(r"2\d{3}-(0[1-9]|1[0-2])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Document:
    """Published bytes, and the ETag of that version."""

    body: bytes = field(repr=False)
    etag: str

    @classmethod
    def of(cls, body: bytes) -> Document:
        """Tag bytes with their hash."""
        return cls(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


@dataclass(frozen=True, slots=True)
class PublicTask:
    """A public task: retired and published, or of the dev set.

    Attributes:
        id: its id.
        of: `dev`, or the release that published it.
        task: the document.
        sha256: of its canonical bytes.
        opening: of a released one what its commitment is opened with.
    """

    id: str
    of: str
    task: Mapping[str, Any] = field(repr=False)
    sha256: str
    opening: Mapping[str, Any] | None = field(default=None, repr=False)

    def item(self) -> dict[str, Any]:
        """Give its line of the list."""
        mix = ("server", "category", "difficulty", "max_steps")
        return {"id": self.id, "set": self.of, "sha256": self.sha256} | {name: self.task[name] for name in mix}

    def whole(self) -> dict[str, Any]:
        """Give all of it."""
        return {"id": self.id, "set": self.of, "sha256": self.sha256, "task": self.task, "opening": self.opening}


class PublicView:
    """The published files below one folder."""

    def __init__(self, public: Path) -> None:
        self._public, self.log = public, public / "log"
        self._view, self._releases, self._months = public / "view", public / "releases", public / MONTHS
        self._kept: dict[Path, tuple[tuple[int, int], Document]] = {}
        self._of_release: dict[str, tuple[PublicTask, ...]] = {}
        self._tasks: tuple[Hashable, tuple[PublicTask, ...], Mapping[str, PublicTask]] = (None, (), {})
        self._made: dict[tuple[Hashable, Hashable], Document] = {}
        self._lock = threading.Lock()

    @property
    def folders(self) -> Sequence[Path]:
        """The folders in which a name appears or is replaced whenever anything here changes."""
        ours = [self._view, self._view / LEADERBOARDS, self._releases, self._months]
        return [self._public, *ours, self.log, self.log / KEPT]

    def made(self, of: Hashable, key: Hashable, make: Callable[[], bytes]) -> Document:
        """Give the cached answer made of the version `of` of the published files, or make it."""
        document = self._made.get((of, key))
        if document is None:
            if len(self._made) >= MOST_MADE:
                self._made = {}
            document = self._made[of, key] = Document.of(make())
        return document

    # -- documents ----------------------------------------------------------------------------------------------------

    def rotations(self) -> Document | None:
        """Give the turns and cohorts."""
        return self._document(self._view / ROTATIONS)

    def findings(self) -> Document | None:
        """Give the findings in sum."""
        return self._document(self._view / FINDINGS)

    def key(self) -> Document | None:
        """Give the log's public key."""
        return self._document(self._public / KEY)

    def signers(self) -> Document | None:
        """Give the list of those who signed months."""
        return self._document(self._public / SIGNERS)

    def signed(self) -> Sequence[str]:
        """Name the months whose turn was signed, the oldest first."""
        return sorted(path.name for path in self._months.glob("*") if MONTH.fullmatch(path.name))

    def of_month(self, month: str, file: str) -> Document | None:
        """Give a signed file of a turn."""
        known = MONTH.fullmatch(month) and file in FILES
        return self._document(self._months / month / file) if known else None

    def months(self) -> Sequence[str]:
        """Name the months that have a leaderboard, the oldest first."""
        return sorted(p.stem for p in (self._view / LEADERBOARDS).glob("*.json") if MONTH.fullmatch(p.stem))

    def leaderboard(self, month: str) -> Document | None:
        """Give a month's leaderboard."""
        return self._document(self._view / LEADERBOARDS / f"{month}.json") if MONTH.fullmatch(month) else None

    # -- tasks --------------------------------------------------------------------------------------------------------

    def tasks(self) -> Sequence[PublicTask]:
        """List the dev set, and then every released task, the oldest release first."""
        return self._all()[0]

    def task(self, name: str) -> PublicTask | None:
        """Give a published task."""
        return self._all()[1].get(name)

    def version(self) -> Hashable:
        """Give a version that changes whenever a task is published."""
        self._all()
        return self._tasks[0]

    def _all(self) -> tuple[Sequence[PublicTask], Mapping[str, PublicTask]]:
        dev, releases = self._document(self._view / DEV), self.releases()
        version = (dev.etag if dev else None, tuple(releases))
        if self._tasks[0] != version:
            all_tasks = [
                *(_dev_tasks(dev.body) if dev else ()),
                *(t for name in releases for t in self._released(name)),
            ]
            self._tasks = (version, tuple(all_tasks), {task.id: task for task in all_tasks})
        return self._tasks[1], self._tasks[2]

    def _released(self, name: str) -> tuple[PublicTask, ...]:
        if name not in self._of_release:
            self._of_release[name] = tuple(_released_tasks(self._releases / name, name))
        return self._of_release[name]

    # -- releases -----------------------------------------------------------------------------------------------------

    def releases(self) -> Sequence[str]:
        """Name the releases, the oldest first."""
        if not self._releases.is_dir():
            return ()
        return sorted(path.name for path in self._releases.iterdir() if RELEASE.fullmatch(path.name))

    def files(self, release: str) -> Mapping[str, Path]:
        """Map the names of a release's files to where they lie; none where there is no such release."""
        folder = self._releases / release
        if not RELEASE.fullmatch(release) or not folder.is_dir():
            return {}
        paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
        return {path.relative_to(folder).as_posix(): path for path in paths}

    def manifest(self, release: str) -> Document | None:
        """Give a release's manifest."""
        return self._document(self._releases / release / MANIFEST) if RELEASE.fullmatch(release) else None

    def attestation(self, release: str) -> Document | None:
        """Give the statement of which tasks a release published."""
        return self._document(self._releases / release / ATTESTATION) if RELEASE.fullmatch(release) else None

    def _document(self, path: Path) -> Document | None:
        """Read a file, if it is not the one that was read before."""
        try:
            status = path.stat()
        except OSError:
            return None
        version = (status.st_mtime_ns, status.st_ino)
        with self._lock:
            known = self._kept.get(path)
            if known is None or known[0] != version:
                known = self._kept[path] = (version, Document.of(path.read_bytes()))
            return known[1]


def _dev_tasks(data: bytes) -> Iterator[PublicTask]:
    for task in json.loads(data)["tasks"]:
        yield PublicTask(task["id"], "dev", task, digest(task))


def _released_tasks(folder: Path, name: str) -> Iterator[PublicTask]:
    lines = (folder / TASKS).read_bytes().splitlines()
    openings = (json.loads(line) for line in (folder / OPENINGS).read_bytes().splitlines())
    for line, opening in zip(lines, openings, strict=True):
        task = json.loads(line)
        yield PublicTask(task["id"], name, task, hashlib.sha256(line).hexdigest(), opening)
