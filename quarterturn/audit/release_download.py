"""Download of a release into a folder: fetched, checked against the digest that the service lists, unpacked.

1. A release that is there already stays if its files make the listed archive, and is refused otherwise.
2. The archive is downloaded to a file `.part` that is named after its digest. The part of another archive is removed.
3. Its SHA-256 has to be the one listed. A part that was there before and does not fit is downloaded once more, whole.
4. It is unpacked beside its place and then renamed, so the release is there whole or not at all.
5. Its manifest has to name the month that was asked for: an audit would say yes to another month's release as well.

The digest comes from the service, too: it shows that nothing was lost on the way. What was published, an audit shows.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from quarterturn.client.problem import ApiError
from quarterturn.client.releases import ReleaseArchive, ReleaseClient
from quarterturn.errors import Malformed, NotFound, Refused, Unavailable
from vault import errors
from vault.canonical import parse_object
from vault.file_lock import locked
from vault.files import make_folder
from vault.ledger.release.archive import archive_digest, unpack
from vault.ledger.release.contents import MANIFEST

LONGEST_MANIFEST = 1 << 20  # bytes
_LOCK_TIMEOUT_SECONDS = 1.0  # for another who downloads into the folder

OnSize = Callable[[int], None]


def choose(listed: Sequence[ReleaseArchive], names: Sequence[str], *, everything: bool) -> Sequence[ReleaseArchive]:
    """Choose among the releases of a service: those that are named, or all, or the newest.

    Raises:
        NotFound: there is none, or none of a name.
    """
    if not listed:
        raise NotFound("the service has no release to download yet: the first one appears when a cohort retires")
    if everything or not names:
        return listed if everything else listed[-1:]
    known = {item.release: item for item in listed}
    if missing := [name for name in names if name not in known]:
        raise NotFound(f"the service has no archive of {missing[0]}; it has {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)]


@contextmanager
def download_folder(folder: Path) -> Iterator[None]:
    """Make a folder for releases if need be, and let nobody else download into it for the block.

    Raises:
        Malformed: it is a file.
        Unavailable: somebody else downloads into it, or the disk fails.
    """
    try:
        make_folder(folder)
    except (FileExistsError, NotADirectoryError):
        raise Malformed(f"{folder} is, or lies in, a file; name a folder with --to") from None
    with locked(folder, _LOCK_TIMEOUT_SECONDS, "downloading releases", folder=True):
        try:
            yield
        except OSError as error:
            what = error.strerror or error
            raise Unavailable(f"{folder}: {what}; the same command goes on from what is there") from error


def download(client: ReleaseClient, release: ReleaseArchive, folder: Path, on_size: OnSize) -> bool:
    """Put a release into a folder, as `folder/Historical-YYYY-MM`; give False if it was there already.

    Args:
        client: a connection to the service.
        release: what to fetch, as the service lists it.
        folder: a folder that `download_folder` holds.
        on_size: called with the number of bytes that have been downloaded.

    Raises:
        ApiError: the service does not answer, or refuses; what was downloaded stays for the next time.
        Refused: something else lies in the release's place.
        Broken: the archive has not the digest listed, or is another month's; nothing was unpacked.
        Malformed: it has the digest, but is no archive of that release.
        OSError: the disk fails.
    """
    target = folder / release.release
    if target.exists() or target.is_symlink():
        _require_same(target, release)
        _require_month(target)
        return False
    part = folder / f"{release.release}.tar.{release.sha256[:16]}.part"
    for other in folder.glob(f"{release.release}.tar.*.part"):
        if other != part:
            other.unlink()
    begun = part.exists()
    _complete(client, release, part, on_size)
    if begun and _digest(part) != release.sha256:
        part.unlink()
        _complete(client, release, part, on_size)
    _require_digest(part, release)
    unpack(part, target)
    part.unlink()
    try:
        _require_month(target)
    except errors.VaultError:
        shutil.rmtree(target)
        raise
    return True


def _complete(client: ReleaseClient, release: ReleaseArchive, part: Path, on_size: OnSize) -> None:
    try:
        client.download(release, part, on_size)
    except ApiError as error:
        if error.kind != "unavailable" or not part.exists():
            raise
        kept = f"{part.stat().st_size} of {release.bytes} bytes are kept in {part}"
        raise Unavailable(f"{error} {kept}; the same command goes on from there.") from error


def _require_same(target: Path, release: ReleaseArchive) -> None:
    try:
        same = archive_digest(target) == release.sha256
    except errors.Malformed:  # a name that no release has
        same = False
    if not same:
        raise Refused(f"{target} holds something other than the service lists; move it away and fetch again")


def _require_month(target: Path) -> None:
    if not (target / MANIFEST).is_file():
        raise errors.Malformed(f"what the service offers as {target.name} has no {MANIFEST}: it is no release")
    with (target / MANIFEST).open("rb") as file:
        month = parse_object(file.read(LONGEST_MANIFEST), f"the manifest of {target.name}").get("month")
    if target.name != f"Historical-{month}":
        raise errors.Broken(
            f"what the service offers as {target.name} is the release of another month",
            where=MANIFEST,
            expected=target.name.removeprefix("Historical-"),
            found=month,
        )


def _require_digest(part: Path, release: ReleaseArchive) -> None:
    if (digest := _digest(part)) != release.sha256:
        part.unlink()
        raise errors.Broken(
            f"the archive of {release.release} has the SHA-256 {digest}, and the service lists {release.sha256}; "
            "nothing was unpacked. Fetch it again, and tell the service's operator if it stays so",
            where=f"{release.release}.tar",
            expected=release.sha256,
            found=digest,
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
