"""Reader of the public view: the folder that everybody may copy, and nothing else.

It has no database, no key and no home. So a private task's id is as unknown as one that never existed: neither is among
the published tasks, and both are answered from the same line.

It reads a few small files for each answer and keeps nothing: whole answers are cached before it (`response_cache`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quarterturn.public_view import (
    ARCHIVE,
    ARCHIVES,
    DEV,
    DIGEST,
    FINDINGS,
    LEADERBOARDS,
    NAMES,
    PASSES,
    RETIRED,
    ROTATIONS,
    TASK_LISTS,
)
from rotation.calendar import is_month, is_release
from rotation.turn.attestation import MONTHS, SIGNERS
from vault.ledger.release.contents import ATTESTATION, MANIFEST, OPENINGS, TASKS
from vault.ledger.release.month import FILES
from vault.ledger.tree.tiles import KEPT

KEY, DEV_SET = "log.vkey", "dev"


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
class Archive:
    """A release in one file.

    Attributes:
        path: where it lies.
        bytes: its length.
        sha256: its digest, in hex.
    """

    path: Path
    bytes: int
    sha256: str

    @property
    def etag(self) -> str:
        """The ETag: the digest whole, so that a client that knows it can ask for the rest of just this file."""
        return f'"{self.sha256}"'

    def as_json(self) -> dict[str, Any]:
        """Return what lists say of it."""
        return {"url": f"/releases/{self.path.name}", "bytes": self.bytes, "sha256": self.sha256}


class PublicView:
    """The published files below one folder."""

    def __init__(self, public: Path) -> None:
        self._public, self.log = public, public / "log"
        self._view, self._releases, self._months = public / "view", public / "releases", public / MONTHS

    @property
    def folders(self) -> Sequence[Path]:
        """The folders in which a name appears or is replaced whenever anything here changes."""
        view = [self._view, *(self._view / name for name in (LEADERBOARDS, TASK_LISTS, RETIRED, PASSES, ARCHIVES))]
        return [self._public, *view, self._releases, self._months, self.log, self.log / KEPT]

    # -- documents ----------------------------------------------------------------------------------------------------

    def rotations(self) -> Document | None:
        """Return the turns and cohorts."""
        return self._document(self._view / ROTATIONS)

    def findings(self) -> Document | None:
        """Return the findings in sum."""
        return self._document(self._view / FINDINGS)

    def key(self) -> Document | None:
        """Return the log's public key."""
        return self._document(self._public / KEY)

    def signers(self) -> Document | None:
        """Return the list of those who signed months."""
        return self._document(self._public / SIGNERS)

    def signed(self) -> Sequence[str]:
        """Name the months whose turn was signed, the oldest first."""
        return sorted(path.name for path in self._months.glob("*") if is_month(path.name))

    def of_month(self, month: str, file: str) -> Document | None:
        """Return a signed file of a turn."""
        known = is_month(month) and file in FILES
        return self._document(self._months / month / file) if known else None

    def months(self) -> Sequence[str]:
        """Name the months that have a leaderboard, the oldest first."""
        return sorted(p.stem for p in (self._view / LEADERBOARDS).glob("*.json") if is_month(p.stem))

    def leaderboard(self, month: str) -> Document | None:
        """Return a month's leaderboard, each line with the display name that its agent has now, or None."""
        written = self._document(self._view / LEADERBOARDS / f"{month}.json") if is_month(month) else None
        return written and Document.of(self._named(json.loads(written.body)))

    def _named(self, leaderboard: dict[str, Any]) -> bytes:
        names = self._document(self._view / NAMES)
        entries = json.loads(names.body)["names"] if names else []
        chosen = {(entry["submitter"], entry["name"]): entry["display_name"] for entry in entries}
        for line in leaderboard["lines"]:
            line["display_name"] = chosen.get((line["submitter"], line["name"]))
        return json.dumps(leaderboard, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    # -- tasks --------------------------------------------------------------------------------------------------------

    def tasks(self, of: str | None = None) -> list[dict[str, Any]]:
        """List the dev set and then every released task, the oldest release first; or one of these sets."""
        lists = [self._listed(name) for name in (DEV_SET, *self.releases()) if of in (None, name)]
        return [item for listed in lists if listed is not None for item in json.loads(listed)]

    def task(self, name: str) -> dict[str, Any] | None:
        """Return a published task whole, with what its commitment is opened with where it was released."""
        for of in (DEV_SET, *self.releases()):
            listed = self._listed(of)
            if listed is not None and name.encode() in listed:
                for item in json.loads(listed):
                    if item["id"] == name:
                        task, opening = self._whole(of, name)
                        return {"id": name, "set": of, "sha256": item["sha256"], "task": task, "opening": opening}
        return None

    def _listed(self, of: str) -> bytes | None:
        document = self._document(self._view / TASK_LISTS / f"{of}.json")
        return document.body if document else None

    def _whole(self, of: str, name: str) -> tuple[Any, Any]:
        if of == DEV_SET:
            tasks = json.loads((self._view / DEV).read_bytes())["tasks"]
            return next(task for task in tasks if task["id"] == name), None
        return tuple(_line_of(self._releases / of / file, name) for file in (TASKS, OPENINGS))

    def retired_results(self, of: str | None = None) -> list[dict[str, Any]]:
        """Count retired tasks, or those of a release, that each run passed.

        Each count has `run`, `by` (server, category or language), `name`, `attempted` and `passed`.
        """
        releases = [release for release in self.releases() if of in (None, release)]
        documents = (self._document(self._view / RETIRED / f"{release}.json") for release in releases)
        return [count for document in documents if document for count in json.loads(document.body)]

    def passes(self, release: str, task: str) -> dict[str, Any] | None:
        """Say how many runs were `served` a retired task, and which of them `passed`; None where nobody counted."""
        document = self._document(self._view / PASSES / f"{release}.json")
        return json.loads(document.body).get(task) if document else None

    def lines(self) -> list[dict[str, Any]]:
        """List the lines of all leaderboards, each with its `month`; the newest month first."""
        documents = [(month, self.leaderboard(month)) for month in reversed(self.months())]
        return [
            {**line, "month": month}
            for month, document in documents
            if document
            for line in json.loads(document.body)["lines"]
        ]

    # -- releases -----------------------------------------------------------------------------------------------------

    def releases(self) -> Sequence[str]:
        """Name the releases, the oldest first."""
        if not self._releases.is_dir():
            return ()
        return sorted(path.name for path in self._releases.iterdir() if is_release(path.name))

    def files(self, release: str) -> Mapping[str, Path]:
        """Map the names of a release's files to where they lie; none where there is no such release."""
        folder = self._releases / release
        if not is_release(release) or not folder.is_dir():
            return {}
        paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
        return {path.relative_to(folder).as_posix(): path for path in paths}

    def manifest(self, release: str) -> Document | None:
        """Return a release's manifest."""
        return self._document(self._releases / release / MANIFEST) if is_release(release) else None

    def archive(self, release: str) -> Archive | None:
        """Return a release in one file, or None where there is no such release, or no archive of it yet."""
        path, digest = self._view / ARCHIVES / f"{release}{ARCHIVE}", self.archive_digest(release)
        if digest is None or not path.is_file():
            return None
        return Archive(path, path.stat().st_size, digest.body.decode().partition(" ")[0])

    def archive_digest(self, release: str) -> Document | None:
        """Return the digest of that file, as `sha256sum` writes it."""
        path = self._view / ARCHIVES / f"{release}{DIGEST}"
        return self._document(path) if is_release(release) else None

    def attestation(self, release: str) -> Document | None:
        """Return the statement of which tasks a release published."""
        return self._document(self._releases / release / ATTESTATION) if is_release(release) else None

    @staticmethod
    def _document(path: Path) -> Document | None:
        try:
            return Document.of(path.read_bytes())
        except OSError:
            return None


def _line_of(path: Path, name: str) -> Any:
    """Return the line of a task in a file of a release."""
    candidates = (json.loads(line) for line in path.read_bytes().splitlines() if name.encode() in line)
    return next(line for line in candidates if line["id"] == name)
