"""Creation of a home (`quarterturn.home.paths`).

`create` works in an order that lets it resume after a crash at any point:

    1. folders, the private ones open to nobody else
    2. the key ring, then the signing keys, each whole or absent
    3. the public keys
    4. the database, with the tables of every room
    5. the set file
    6. the settings, whole or absent: with them it is a home, and is never touched by `create` again
"""

from __future__ import annotations

import errno
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine

from quarterturn import migrations, settings
from quarterturn.errors import Refused, Unavailable
from quarterturn.home.paths import SET_FILE, HomePaths
from quarterturn.progress import NullProgress, Progress
from quarterturn.settings import Settings
from sandbox.endpoint.signature import Sender
from vault.database import open_engine
from vault.errors import Refused as AlreadyThere
from vault.errors import reason_and_step
from vault.file_lock import locked
from vault.files import make_folder, write_atomically
from vault.keys import private_files, signing
from vault.keys.ring import FileKeyRing, KeyRing
from vault.ledger.signatures.note import Signer
from vault.store.tasks import in_use

_QUIET = NullProgress()
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_LOCK_TIMEOUT_SECONDS = 10.0  # for another who makes the same home


def create(
    home: Path,
    chosen: Settings,
    passphrase: bytes | None,
    database: str | None = None,
    at: datetime | None = None,
    *,
    set_file: str = "",
    out: Progress = _QUIET,
) -> None:
    """Make a home; after an interruption, calling it again resumes.

    Args:
        home: its folder.
        chosen: its settings.
        passphrase: of its key ring, or None for one without.
        database: an address that is used instead of the settings' and not written down, or None.
        at: the present moment, for the age of its ring's first key, or None.
        set_file: the text of its set file; empty for a home that reads the shipped one.
        out: is told each step.

    Raises:
        Refused: there is a home already, or the folder or the database holds something else.
        Locked: it was begun with another passphrase.
    """
    places = HomePaths(home.resolve())
    require_free(places)
    _make_folders(places)  # 1
    out.say("making the key ring and the signing keys")
    started = places.ring.exists()
    opened = FileKeyRing.open if started else partial(FileKeyRing.create, at=at)  # 2
    ring = opened(places.ring, passphrase)
    if not places.log_key.exists():
        signing.store(places.log_key, Ed25519PrivateKey.generate(), ring)
    signer = Signer(chosen.benchmark.origin, signing.load(places.log_key, ring))
    _show(places.log_vkey, f"{signer.verifier.vkey}\n")  # 3
    endpoint_sender(places, ring)
    month_key(places, ring)
    out.say("making the tables of the database")
    engine = open_engine(places.database_url(chosen, database))
    try:
        migrations.upgrade(engine)  # 4
        _refuse_rows_of_another(engine)
    finally:
        engine.dispose()
    if set_file:
        _show(places.set_file, set_file)  # 5
    private_files.create(places.settings, settings.dump(chosen).encode(), "settings file")  # 6


def _refuse_rows_of_another(engine: Engine) -> None:
    if in_use(engine):
        raise Refused("the database holds the rows of another home: name an empty one")


def endpoint_sender(places: HomePaths, ring: KeyRing) -> Sender:
    """Return the signer of requests to hosted endpoints; makes its key pair where the home has none yet."""
    sender = Sender(_kept(places.endpoint_key, ring, signing.ENDPOINT))
    if not places.endpoint_pem.is_file() or places.endpoint_pem.read_text(encoding="utf-8") != sender.public_pem:
        _show(places.endpoint_pem, sender.public_pem)
    return sender


def month_key(places: HomePaths, ring: KeyRing) -> Ed25519PrivateKey:
    """Return the key that signs the result of each turn, as its `set` statement says; made where the home has none."""
    return _kept(places.month_key, ring, signing.MONTH)


def _make_folders(places: HomePaths) -> None:
    try:
        make_folder(places.home)
        for folder in (places.ring.parent, places.head.parent):
            folder.mkdir(exist_ok=True, mode=0o700)
        make_folder(places.log)
    except OSError as error:
        place = error.filename or places.home
        goes_on = "the same command goes on from here"
        step = goes_on if error.errno in _PASSING else "name another folder with --home, or have this one opened to you"
        raise Unavailable(f"{place} cannot be made: {error.strerror}; {step}") from None


def _show(path: Path, text: str) -> None:
    """Write a public file; as `create` begins anew until the home has its settings, it is on the disk by then."""
    try:
        with locked(path.parent, _LOCK_TIMEOUT_SECONDS, f"writing {path.name}", folder=True):
            write_atomically(path, text.encode(), path.with_name(f".{path.name}.new"))
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {reason_and_step(error)}") from None


def _kept(path: Path, ring: KeyRing, use: bytes) -> Ed25519PrivateKey:
    if not path.exists():
        with suppress(AlreadyThere):  # another process was faster
            signing.store(path, Ed25519PrivateKey.generate(), ring, use)
    return signing.load(path, ring, use)


def require_free(places: HomePaths) -> None:
    """Refuse a place for a new home that is taken.

    Raises:
        Refused: there is a home, a file, or something else that a home does not hold.
    """
    home = places.home
    if places.settings.exists():
        raise Refused(f"{home} is a home already; choose another folder, or go on with the verbs that work on it")
    if home.exists() and not home.is_dir():
        raise Refused(f"{home} is not a folder; choose another with --home")
    ours = {
        "keys",
        "head",
        "public",
        "quarterturn.db",
        "quarterturn.db-wal",
        "quarterturn.db-shm",
        SET_FILE,
        f".{SET_FILE}.new",
    }
    names = [path.name for path in home.iterdir()] if home.exists() else []
    strange = sorted(name for name in names if name not in ours and not name.startswith(f".{settings.FILE}."))
    if strange:
        raise Refused(f"{home} holds other things already ({strange[0]}); choose an empty folder, or a new one")
