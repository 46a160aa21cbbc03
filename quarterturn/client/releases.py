"""Client of the published releases, for which nobody needs a token: list them, download their archives.

A download goes on where it was broken off: `If-Range` names the digest that the service lists, so the rest of another
archive is never put behind the beginning of this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx2
from pydantic import AfterValidator, Field

from quarterturn.client.problem import no_answer
from quarterturn.client.transport import ANSWER_SECONDS, Connection
from rotation.calendar import is_release
from sandbox.remote_document import RemoteDocument

MAX_ARCHIVE_BYTES = 2 << 30
MIN_BYTES_PER_SECOND = 8192  # of a download: one that is slower breaks off, and goes on when it is started again
_OK, _PARTIAL = 200, 206


def _release_name(name: str) -> str:
    if not is_release(name):
        raise ValueError("it is no release's name, Historical-YYYY-MM")
    return name


class Archive(RemoteDocument):
    """The archive of a release: its length in bytes, and its digest in hex."""

    bytes: Annotated[int, Field(gt=0, le=MAX_ARCHIVE_BYTES)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class ListedRelease(RemoteDocument):
    """A release in the service's list; `archive` is None where it has none to download."""

    release: Annotated[str, AfterValidator(_release_name)]
    archive: Archive | None


class ReleaseList(RemoteDocument):
    """The service's list of releases, the oldest first."""

    releases: tuple[ListedRelease, ...]


@dataclass(frozen=True, slots=True)
class ReleaseArchive:
    """A release as the service lists it.

    Attributes:
        release: its name, `Historical-YYYY-MM`.
        bytes: the length of its archive.
        sha256: the digest of its archive, in hex.
    """

    release: str
    bytes: int
    sha256: str


class ReleaseClient(Connection):
    """A connection to one service, as anybody; its arguments are those of `Connection`."""

    def releases(self) -> Sequence[ReleaseArchive]:
        """List the releases that have an archive, the oldest first.

        Raises:
            ApiError: it was refused, or nobody answered.
        """
        return [
            ReleaseArchive(listed.release, listed.archive.bytes, listed.archive.sha256)
            for listed in self._ask(ReleaseList, "GET", "/releases").releases
            if listed.archive is not None
        ]

    def download(self, release: ReleaseArchive, part: Path, on_size: Callable[[int], None] = lambda _: None) -> None:
        """Complete a file with what it lacks of a release's archive. The digest is not checked here.

        Args:
            release: which.
            part: the file; what it holds is the archive's beginning, and stays where the download breaks off. It is
                removed where more comes than is listed: whether the beginning fits must not depend on how bytes arrive.
            on_size: called with the bytes that the file holds, after each piece.

        Raises:
            ApiError: as for `releases`.
            OSError: the file cannot be written.
        """
        self._repeated(lambda: self._complete(release, part, on_size))

    def _complete(self, release: ReleaseArchive, part: Path, on_size: Callable[[int], None]) -> None:
        have = part.stat().st_size if part.exists() else 0
        if have == release.bytes:
            return
        headers = {}
        if 0 < have < release.bytes:
            headers = {"range": f"bytes={have}-", "if-range": f'"{release.sha256}"'}
        path = f"/releases/{release.release}.tar"
        seconds = ANSWER_SECONDS + release.bytes / MIN_BYTES_PER_SECOND
        with self._http.exchange("GET", path, seconds, headers=headers) as response:
            self._require_from(have if "range" in headers else None, response)
            with part.open("ab" if response.status_code == _PARTIAL else "wb") as file:
                for piece in response.iter_raw():
                    if file.tell() + len(piece) > release.bytes:
                        part.unlink()
                        raise no_answer(f"{self._url}{path} is longer than the {release.bytes} bytes listed.")
                    file.write(piece)
                    on_size(file.tell())
                have = file.tell()
        if have < release.bytes:
            raise no_answer(f"{self._url}{path} ends after {have} of the {release.bytes} bytes listed; try again.")

    def _require_from(self, start: int | None, response: httpx2.Response) -> None:
        """Refuse an answer that is neither the whole file nor, where it was asked for, the rest from `start` on."""
        if response.status_code == _OK:
            return
        if response.status_code == _PARTIAL:
            content_range = response.headers.get("content-range", "")
            if content_range.startswith(f"bytes {start}-"):
                return
            raise no_answer(f"{self._url} answers with a part that nobody asked for.")
        raise self._refused(response)
