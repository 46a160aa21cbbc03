"""Restore of a home from a backup, all of it or nothing.

1. Every file is compared with the manifest before anything is written, and nothing else may lie beside them.
2. The newest head that was ever signed must be given from outside: a backup cannot know what was signed after it. It
   must bear this log's signature, and not contradict the backup's own head.
3. The home is written beside its place and renamed. Where the rows go to an external database, that must be empty, and
   gets all rows or none; it is written last before the home gets its name.
4. A home whose newest head is beyond its rows and tiles can be read but signs nothing: whatever would promise anything
   is refused, with the next step (`vault.store.public_log`, `vault.ledger.write.append`).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quarterturn import settings
from quarterturn.backup import rows
from quarterturn.backup.backup import FORMAT, MANIFEST, ROWS, digest, head_of, whole
from quarterturn.errors import Malformed, NotFound, Refused, Unavailable
from quarterturn.home.paths import SQLITE, HomePaths
from vault.database import open_engine
from vault.errors import Broken, reason_and_step
from vault.errors import Malformed as NotUnderstood
from vault.files import make_folder, sync
from vault.ledger.audit.command import read_keys


@dataclass(frozen=True, slots=True)
class RestoredHome:
    """A home that was made out of a backup.

    Attributes:
        home: its folder.
        made_at: when the backup was made.
        lacks: the ring's key that its own ring must hold, where the backup had no keys.
        held: how many leaves of the log the backup has.
        signed: how many were signed; where they are more, the home signs nothing.
    """

    home: Path
    made_at: str
    lacks: str | None
    held: int
    signed: int

    @property
    def signs(self) -> bool:
        """Whether the home may sign."""
        return self.signed == self.held


def restore(
    source: Path, home: Path, newest: Path | None, database: str | None, keys: Path | None = None
) -> RestoredHome:
    """Make a home out of a backup.

    Args:
        source: the backup's folder.
        home: the new home; nothing is there yet, or an empty folder.
        newest: a file with the newest signed head of the log that is known.
        database: an address that is used instead of the settings', or None.
        keys: a file with the log's newest public keys, where they were changed after the backup.

    Raises:
        NotFound: there is no backup.
        Malformed: what is there is none, or no head was named.
        Broken: a file is not what the manifest says.
        Refused: something is in the way, or the head contradicts the backup.
    """
    source, home = source.resolve(), home.resolve()
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise Refused(f"{home} is not empty: name a new folder; nothing was written")
    manifest = _verified(source)
    later = read_keys(keys) if keys is not None else []
    note, signed = _newest(source, manifest, newest, later)
    outside: Path | None = None
    try:
        with whole(home, f"the home {home}") as folder:
            _write(source, folder, manifest)
            if note is not None:
                (folder / "head" / "signed").write_bytes(note)
                _know(folder / "public" / "log.vkey", later)
            outside = _rows(folder, home, database)
    except BaseException:
        if outside is not None:
            outside.unlink(missing_ok=True)
        raise
    with_keys = any(name.startswith("keys/") for name in manifest["files"])
    lacks = None if with_keys else manifest["key_id"]
    return RestoredHome(home, manifest["made_at"], lacks, _held(manifest), signed)


def _held(manifest: Any) -> int:
    return manifest["head"]["size"] if manifest["head"] else 0


def _verified(source: Path) -> Any:
    """Return the manifest of a backup whose every file is what it says (rule 1)."""
    if not (source / MANIFEST).is_file():
        raise NotFound(f"there is no backup at {source}: a backup is a folder with a {MANIFEST}")
    manifest = _read(source)
    listed = {name: entry["sha256"] for name, entry in manifest["files"].items()}
    present = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_symlink() or not path.is_dir()}
    if strange := sorted(present - listed.keys() - {MANIFEST}):
        raise Broken(f"The backup {source} holds what its manifest does not know: {strange[0]}.", where=strange[0])
    for name, expected in sorted(listed.items()):
        path = source / name
        if path.is_symlink() or name not in present or digest(path) != expected:
            plain = name in present and not path.is_symlink()
            raise Broken(
                f"The backup {source} is damaged: {name} is not what was backed up. Use another one.",
                where=f"{name}: sha256",
                expected=expected,
                found=digest(path) if plain else None,
            )
    return manifest


def _read(source: Path) -> Any:
    try:
        manifest = json.loads((source / MANIFEST).read_bytes())
        head = manifest["head"]
        sound = manifest["format"] == FORMAT and isinstance(manifest["key_id"], str)
        sound = sound and (head is None or (isinstance(head["size"], int) and bool(head["root"])))
        sound = sound and all(isinstance(entry["sha256"], str) for entry in manifest["files"].values())
    except (ValueError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise Malformed(f"{source / MANIFEST} is no manifest of {FORMAT}")
    return manifest


def _newest(source: Path, manifest: Any, newest: Path | None, later: Sequence[str]) -> tuple[bytes | None, int]:
    """Return the head to go on from if it is not the backup's own, and how many leaves were signed (rule 2)."""
    own, held = manifest["head"], _held(manifest)
    if newest is None:
        if own is None:
            return None, held
        raise Malformed(
            f"name the newest head that was signed, with --head: head/signed of the old home if its disk can be read, "
            f"else the newest public checkpoint that anybody kept; {source / 'head' / 'signed'} if nothing was signed "
            "after this backup"
        )
    try:
        note = newest.read_bytes()
    except OSError as error:
        raise NotFound(f"{newest} cannot be read: {error.strerror}") from None
    try:
        head, plain = head_of(source, note, later)
    except (NotUnderstood, Broken) as error:
        raise error.with_message(
            f"{newest} is no head of this log that the backup can check: {error}. Where the log's key was changed "
            "after the backup, name the log.vkey of after that with --key",
            str(newest),
        ) from None
    if head.size < held:
        raise Refused(f"{newest} has {head.size} leaves, and the backup itself {held}: name the newest head there is")
    if head.size == held and own and head.root.hex() != own["root"]:
        raise Refused(f"{newest} and the backup are two logs of one size, {held}: somebody signed twice; keep both")
    if head.size == held:
        return None, held
    return plain, head.size


def _know(path: Path, later: Sequence[str]) -> None:
    """Add the keys that the log got after the backup, so that whoever reads the copy can check its newest head."""
    known = read_keys(path)
    path.write_text("".join(f"{key}\n" for key in dict.fromkeys([*known, *later])), encoding="utf-8")


def _write(source: Path, folder: Path, manifest: Any) -> None:
    for name in manifest["files"]:
        target = folder / name
        private = not name.startswith("public/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target)
        target.chmod(0o600 if private else 0o644)
        if (copied := digest(target)) != manifest["files"][name]["sha256"]:
            raise Broken(
                f"{source / name} changed while it was read; nothing was restored.",
                where=f"{name}: sha256",
                expected=manifest["files"][name]["sha256"],
                found=copied,
            )
    for name in ("keys", "head"):
        (folder / name).mkdir(mode=0o700, exist_ok=True)
        (folder / name).chmod(0o700)
    (folder / "public").chmod(0o755)


def _rows(folder: Path, home: Path, database: str | None) -> Path | None:
    """Bring the rows to the database of the settings, or to the one that overrides it (rule 3).

    Gives their file if it lies outside of the home.
    """
    chosen = settings.load(folder / settings.FILE)
    url = HomePaths(home).database_url(chosen, database)
    if not url.startswith(SQLITE):
        engine = open_engine(url)
        try:
            rows.put(folder / ROWS, engine)
        finally:
            engine.dispose()
        (folder / ROWS).unlink()
        return None
    place, inside = Path(url.removeprefix(SQLITE)).resolve(), home.resolve()  # `home/../x.db` is not in the home
    if place.is_relative_to(inside):
        target = folder / place.relative_to(inside)
        target.parent.mkdir(parents=True, exist_ok=True)
        (folder / ROWS).rename(target)
        return None
    if place.exists():
        raise Refused(f"there is a database at {place} already; nothing was written")
    _move(folder / ROWS, place)
    return place


def _move(source: Path, place: Path) -> None:
    """Move a file to another disk, whole or not at all."""
    beside = place.with_name(f".{place.name}.new")
    try:
        make_folder(place.parent)
        shutil.copyfile(source, beside)
        beside.chmod(0o600)
        sync(beside)
        beside.rename(place)
        sync(place.parent)
    except OSError as error:
        for path in (beside, place):
            path.unlink(missing_ok=True)
        raise Unavailable(
            f"the database {place} cannot be written: {reason_and_step(error)}; nothing is there"
        ) from None
    source.unlink()
