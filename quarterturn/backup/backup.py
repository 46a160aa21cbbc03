"""Online backup of a home: a folder with everything that cannot be made again, and a manifest of it.

    manifest.json   what is here, with the SHA-256 of each file
    quarterturn.toml, set.toml, the witnesses' policy, servers/…, rows.db, head/signed, public/…, and on request keys/…

The log is written row first, then tiles, then the signed head, then the public copy. A backup copies in the reverse
order, so whatever had to be written first is never the older of two things in it:

    1. the public checkpoint    2. the signed head    3. the rows    4. the log's files and the releases    5. the rest

The folder gets its name only when it is complete: it is written beside its place, forced to the disk and renamed. Keys
are left out unless they are asked for; they are then copied as they lie in the home, under the ring's passphrase, and
refused where the ring has none. Password files that the settings name are left out. All rows of a backup are under one
key of the ring, which the manifest names: no backup is made while that key is being changed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from quarterturn.backup import rows
from quarterturn.errors import Refused, Unavailable
from quarterturn.home.paths import HomePaths
from quarterturn.servers.home_servers import kept_files
from vault.canonical import canonical
from vault.errors import reason_and_step
from vault.files import list_files, make_folder, sync
from vault.keys import private_files, ring_file
from vault.keys.unlocking import protected
from vault.ledger.audit.command import read_keys
from vault.ledger.signatures.checkpoint import Checkpoint, open_checkpoint
from vault.ledger.signatures.note import Verifier, read_line, take_apart
from vault.ledger.tree.tiles import HEAD

FORMAT = "quarterturn/backup/v1"
MANIFEST, ROWS = "manifest.json", "rows.db"


class Backups:
    """Backups of one home; no passphrase is needed.

    Args:
        engine: opens the database, once nothing speaks against the backup.
        places: where everything is.
        policy: the witnesses' policy, as the settings name it.
        origin: the log's name.
        clock: the present moment, with its time zone.
    """

    def __init__(
        self, engine: Callable[[], Engine], places: HomePaths, policy: str, origin: str, clock: Callable[[], datetime]
    ) -> None:
        self._engine, self._places, self._policy, self._origin, self._clock = engine, places, policy, origin, clock

    def write(self, destination: Path, *, with_keys: bool) -> dict[str, Any]:
        """Write a backup into a new folder, and give its manifest.

        Raises:
            Refused: the folder is there already or lies in the home, or the keys would lie open in it.
            Unavailable: the ring's key is being changed.
        """
        destination, places = destination.resolve(), self._places
        if destination.exists():
            raise Refused(f"{destination} is there already: name a new folder")
        if destination.is_relative_to(places.home):
            raise Refused(f"{destination} lies in the home: a backup belongs on another disk")
        if with_keys and not protected(places.ring):
            raise Refused("the key ring has no passphrase, so its file is the key: it is not put into a backup")
        ring = _settled(places)
        with whole(destination, f"the backup {destination}") as folder:
            _copy(places.log / HEAD, folder / "public" / "log" / HEAD)  # 1
            _copy(places.head, folder / "head" / places.head.name)  # 2
            revision = rows.take(self._engine(), folder / ROWS)  # 3
            for path in _public(places):  # 4
                _copy(path, folder / "public" / path.relative_to(places.public))
            for path in (places.settings, places.set_file):  # 5
                if path.is_file():
                    _copy(path, folder / path.name)
            policy = (places.home / self._policy).resolve()
            if policy != places.home and policy.is_relative_to(places.home):
                _copy(policy, folder / policy.relative_to(places.home))
            for path in kept_files(places.servers):
                _copy(path, folder / path.relative_to(places.home))
            if with_keys:
                for path in list_files(places.ring.parent):
                    _copy(path, folder / "keys" / path.relative_to(places.ring.parent))
            if _settled(places) != ring:
                raise Unavailable("the key ring was changed meanwhile: make the backup again")
            manifest = self._manifest(folder, revision, ring["primary"])
            private_files.create(folder / MANIFEST, canonical(manifest), "manifest")
        return manifest

    def _manifest(self, folder: Path, revision: str, key_id: str) -> dict[str, Any]:
        note = folder / "head" / self._places.head.name
        head = head_of(folder, note.read_bytes())[0] if note.exists() else None
        return {
            "format": FORMAT,
            "made_at": self._clock().isoformat(),
            "origin": self._origin,
            "revision": revision,
            "head": {"size": head.size, "root": head.root.hex()} if head else None,
            "keys": (folder / "keys").is_dir(),
            "key_id": key_id,
            "files": {
                str(path.relative_to(folder)): {"sha256": digest(path), "size": path.stat().st_size}
                for path in list_files(folder)
            },
        }


@contextmanager
def whole(destination: Path, what: str) -> Iterator[Path]:
    """Yield a new folder that becomes `destination` at the end of the block, or is removed if the block breaks off.

    Raises:
        Unavailable: the disk failed; nothing is there, also where it cannot be known whether its name is on the disk.
    """
    try:
        make_folder(destination.parent)
        with private_files.folder_beside(destination) as folder:
            yield folder
            _settle(folder)
            folder.rename(destination)
            try:
                sync(destination.parent)
            except OSError:
                destination.rename(folder)
                raise
    except OSError as error:
        place = error.filename or destination
        raise Unavailable(f"{what} cannot be written: {place}: {reason_and_step(error)}; nothing is there") from None


def _settle(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        sync(path)


def digest(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def head_of(folder: Path, note: bytes, later: Sequence[str] = ()) -> tuple[Checkpoint, bytes]:
    """Check a signed head with the public keys of a home or a backup, and give it without witnesses' lines.

    Args:
        folder: of the home or the backup.
        note: the signed head.
        later: keys that the log got after the backup was made.

    Raises:
        Malformed, Broken: it is none, or another log's.
    """
    keys = [Verifier.parse(key) for key in [*read_keys(folder / "public" / "log.vkey"), *later]]
    head, _ = open_checkpoint(note, keys)
    text, lines = take_apart(note)
    own = next(line for line in lines if read_line(line)[:2] in [(key.name, key.key_id) for key in keys])
    return head, f"{text}\n{own}\n".encode()


def _public(places: HomePaths) -> list[Path]:
    """List what is public, but for the view, which is drawn from the rows when the service starts."""
    return [
        path for path in list_files(places.public) if path != places.log / HEAD and not path.is_relative_to(places.view)
    ]


def _settled(places: HomePaths) -> dict[str, Any]:
    """Return the ring's document while it holds one key: what is sealed is under that one, and no copy needs two rings.

    Raises:
        Unavailable: its key is being changed.
    """
    document = ring_file.read(places.ring)
    if len(document["keys"]) > 1:
        raise Unavailable("the ring's key is being changed: finish that with `quarterturn keys rotate`, then back up")
    return document


def _copy(source: Path, target: Path) -> None:
    """Copy a file; one that is gone meanwhile was a tile that nothing signed stands on, or is not written yet."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        target.unlink(missing_ok=True)
        return
    target.chmod(0o600)
