"""Base images: a Debian with Python, and for build stages the same with this machine's package sources.

As root on a Debian the base is made from the machine's own package sources, so nothing is pulled; anywhere else it is
the Dockerfiles' own default.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.images.client import docker, exists, failed

PULLED = "python:3.12-slim-bookworm"  # the default of BASE in every Dockerfile
INCLUDED = "ca-certificates,python3"
UNREAD = ("usr/share/doc/*", "usr/share/info/*", "usr/share/lintian/*", "usr/share/locale/*", "usr/share/man/*")
APT = Path("/etc/apt")

BUILD_BASE = "quarterturn-build-base"
BUILD_LABEL = "quarterturn.build"  # inherited by whatever stands on the base of build stages
CERTIFICATES = "/etc/quarterturn-build.crt"
TRUSTING = ("PIP_CERT", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reach:
    """Package sources of build stages on this machine.

    Attributes:
        certificates: a bundle to trust, or None for the base's own.
        pip: the text of a `pip.conf`.
        npm: the text of an `npmrc`.
        environment: variables that hold while a stage is built.
    """

    certificates: Path | None = None
    pip: str = field(default="", repr=False)  # an index's address may hold a password
    npm: str = field(default="", repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)


def base_name() -> str:
    """Return the name of the base: our own where this machine can make it, else the one that is pulled."""
    can_make = os.geteuid() == 0 and shutil.which("mmdebstrap") is not None and _sources() is not None
    return f"quarterturn-base:{_codename()}" if can_make else PULLED


def make_base(name: str, say: Say) -> None:
    """Make the base if it is one of our own and is not there yet.

    Raises:
        Unavailable: a package source cannot be reached, or the engine does not take the image.
    """
    sources = _sources()
    if name != f"quarterturn-base:{_codename()}" or sources is None or exists(name):
        return
    say(f"making the base image {name} from this machine's package sources")
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={INCLUDED}"]
    command += [f"--dpkgopt=path-exclude=/{pattern}" for pattern in UNREAD]
    with sources.open("rb") as listed, tempfile.TemporaryFile() as log:
        made = subprocess.Popen([*command, _codename(), "-", "-"], stdin=listed, stdout=subprocess.PIPE, stderr=log)
        # without a name: an engine makes an empty image of a stream that breaks off before it begins
        taken = subprocess.run(
            ["docker", "import", "-"], stdin=made.stdout, stdout=subprocess.PIPE, stderr=log, text=True, check=False
        )
        if made.stdout is not None:
            made.stdout.close()
        if made.wait() or taken.returncode:
            log.seek(0)
            failed(f"making the base image {name}", log.read().decode(errors="replace"))
    docker("tag", taken.stdout.strip(), name, what=f"naming {name}")


@contextmanager
def build_base(base: str, reach: Reach) -> Iterator[str]:
    """Yield the base of build stages for as long as the block runs; it may hold secrets of this machine.

    Raises:
        Unavailable: it could not be made.
    """
    build = secrets.token_hex(8)  # two builds may run at once on one engine; each removes only what is its own
    name, label = f"{BUILD_BASE}:{build}", f"{BUILD_LABEL}={build}"
    with tempfile.TemporaryDirectory(prefix="quarterturn-build-") as folder:
        _write_build_base(Path(folder), base, label, reach)
        docker("build", "--force-rm", "--quiet", "--tag", name, folder, what="making the base of build stages")
    try:
        yield name
    finally:
        docker("image", "rm", "--force", name, what="removing the base of build stages")
        docker("image", "prune", "--force", "--filter", f"label={label}", what="removing the build stages")


def _write_build_base(folder: Path, base: str, label: str, reach: Reach) -> None:
    certificates = reach.certificates.read_bytes() if reach.certificates else b""
    (folder / "pip.conf").write_text(reach.pip, encoding="utf-8")
    (folder / "npmrc").write_text(reach.npm, encoding="utf-8")
    (folder / "certificates").write_bytes(certificates)
    variables = {"NPM_CONFIG_GLOBALCONFIG": "/etc/npmrc"} | dict.fromkeys(
        TRUSTING if certificates else (), CERTIFICATES
    )
    lines = [
        f"FROM {base}",
        f"LABEL {label}",
        "COPY pip.conf npmrc /etc/",
        f"COPY certificates {CERTIFICATES}",
        *(f'ENV {name}="{value}"' for name, value in (variables | dict(reach.environment)).items()),
    ]
    (folder / "Dockerfile").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _sources() -> Path | None:
    """Return the file that lists Debian's own packages for the release that this machine runs; others' come last."""
    folder = APT / "sources.list.d"
    others = (*sorted(folder.glob("*.sources")), *sorted(folder.glob("*.list")))
    for path in (folder / "debian.sources", APT / "sources.list", *others):
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        if any(_codename() in line.split() and "debian" in text for line in text.splitlines() if line[:1] != "#"):
            return path
    return None


def _codename() -> str:
    release = Path("/etc/os-release")
    lines = release.read_text(encoding="utf-8").splitlines() if release.is_file() else []
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("VERSION_CODENAME", "stable").strip('"')
