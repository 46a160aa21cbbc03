"""Parser of simple-index pages (PEP 503), and choice of the wheel of a pinned distribution that runs here.

Pure: bytes and text in, links and verdicts out. The HTML form (PEP 503) is read, because it is the one that every
index and mirror serves. A wheel is taken only if its SHA-256 is in the lock, whatever its page claims.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from quarterturn.launcher.steps import Stop

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_\w+")
_WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)-[^-]+-[^-]+-(?P<platforms>[^-]+)\.whl")


@dataclass(frozen=True, slots=True)
class Machine:
    """What wheels are chosen by: `sys.platform`, `platform.machine()` and `platform.libc_ver()`."""

    system: str
    processor: str
    libc: tuple[str, str] = ("", "")

    def runs(self, platforms: str) -> bool:
        """Say whether a wheel with these platform tags, joined by dots, runs here (PEP 600, PEP 656)."""
        return any(self._runs(tag) for tag in platforms.split("."))

    def _runs(self, tag: str) -> bool:
        if self.system == "darwin":
            return tag.startswith("macosx_") and tag.endswith((f"_{self.processor}", "_universal2"))
        if self.system != "linux" or not tag.endswith(f"_{self.processor}"):
            return False
        if self.libc[0] != "glibc":
            return tag.startswith("musllinux_")
        needs = _MANYLINUX.fullmatch(tag)
        has = tuple(int(part) for part in re.findall(r"\d+", self.libc[1])[:2])
        return needs is not None and (int(needs[1]), int(needs[2])) <= has


@dataclass(frozen=True, slots=True)
class Pin:
    """One distribution of a lock: its version, and the digests of the files that may be taken for it."""

    name: str
    version: str
    digests: frozenset[str]

    @classmethod
    def read(cls, lock: Path) -> Pin:
        """Read a lock that holds one distribution.

        Raises:
            Stop: the file is missing or pins nothing.
        """
        text = lock.read_text(encoding="utf-8") if lock.is_file() else ""
        pinned = _PIN.search(text)
        if pinned is None:
            message = f"{lock} pins nothing: this checkout is incomplete; check it out again"
            raise Stop(message)
        return cls(pinned[1], pinned[2], frozenset(_HASH.findall(text)))


@dataclass(frozen=True, slots=True)
class Link:
    """A file that is offered somewhere, and the SHA-256 that the page claims for it, if it claims one."""

    url: str
    claimed: str | None = None

    @property
    def filename(self) -> str:
        """Give the file's own name."""
        return unquote(urlsplit(self.url).path.rpartition("/")[2])


class _Page(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.links: list[Link] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if target and tag == "base":
            self.base = urljoin(self.base, target)
        elif target and tag == "a":
            url, _, fragment = urljoin(self.base, target).partition("#")
            kind, _, digest = fragment.partition("=")
            self.links.append(Link(url, digest if kind == "sha256" else None))


def links(page: str, base: str) -> list[Link]:
    """Return the files that a page offers, their addresses resolved against the page's own.

    Raises:
        ValueError: the page is no HTML, or an address in it is none.
    """
    parser = _Page(base)
    try:
        parser.feed(page)
    except AssertionError as error:  # how the standard library's parser says that of a declaration
        message = "its page is no HTML"
        raise ValueError(message) from error
    return parser.links


def choose(offered: Iterable[Link], pin: Pin, machine: Machine) -> Link | None:
    """Give the first wheel of the pinned version that runs on this machine."""
    for link in offered:
        wheel = _WHEEL.fullmatch(link.filename)
        if wheel and (wheel["name"], wheel["version"]) == (pin.name, pin.version) and machine.runs(wheel["platforms"]):
            return link
    return None


def checked(content: bytes, link: Link, pin: Pin) -> bytes:
    """Give the content back if it is what its page claims and what the lock pins.

    Raises:
        Stop: it is not; the message has the digests that disagree.
    """
    digest = hashlib.sha256(content).hexdigest()
    if link.claimed not in {None, digest}:
        message = f"{link.filename} was changed on the way: its page says sha256 {link.claimed}, but it is {digest}"
        raise Stop(message)
    if digest not in pin.digests:
        message = f"{link.filename} is not a file that the lock pins (its sha256 is {digest}): nothing was installed"
        raise Stop(message)
    return content
