"""Download of GitHub's OpenAPI description, which the tests compare with the answers of our simulated GitHub.

It is one file of a package of nearly 400 MB unpacked, so the package is only packed (30 MB to fetch), checked against
its pinned digest, and that file is taken out. It is for the tests alone and lies beside what worlds see.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import tarfile
import tempfile
from pathlib import Path

from quarterturn.launcher import node
from quarterturn.launcher.installer import Installer
from quarterturn.launcher.steps import Stop, say

PACKAGE = "@octokit/openapi@23.0.2"
SHA512 = "pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg=="
MEMBER = "package/generated/api.github.com.json"
PLACE = Path("descriptions", "github.json")  # below the environment


def install(installer: Installer) -> None:
    """Put the description where the tests look for it.

    Raises:
        Stop: npm failed, or what came is not what is pinned.
    """
    place = installer.venv / PLACE
    if installer.stamps.holds("description", SHA512) and place.is_file():
        return
    installer.stamps.drop("description")
    say(f"fetching {PACKAGE} for the tests")
    with tempfile.TemporaryDirectory(prefix="quarterturn-") as folder:
        node.npm(installer, "pack", PACKAGE, "--loglevel=error", cwd=Path(folder), what=f"fetching {PACKAGE}")
        for archive in Path(folder).glob("*.tgz"):
            extract(archive, place)
    installer.stamps.write("description", SHA512)


def extract(archive: Path, place: Path, sha512: str = SHA512) -> None:
    """Take the description out of the package's archive.

    Raises:
        Stop: the archive is not the pinned one.
    """
    if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != sha512:
        message = f"what came as {PACKAGE} is not what is pinned (its SHA-512 differs)"
        raise Stop(message)
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_suffix(".new")
    with tarfile.open(archive) as tar, draft.open("wb") as file:
        source = tar.extractfile(MEMBER)
        if source is not None:
            shutil.copyfileobj(source, file)
    draft.replace(place)
