"""Strict parser of hashed requirements and constraints: what `uv pip compile --generate-hashes` writes, and no more.

A lock comes from a stranger, and pip's own format is a command line: it has options (`--no-binary`, `-r`,
`--index-url`), addresses, paths and variables, and some of them run code. So a lock is read by this grammar, and what
is installed, or handed to a client, is written anew from what was read:

    name[extra,…]==version [; marker] --hash=sha256:… [--hash=sha256:…]…

with comments, blank lines and `\\` at the end of a line. A marker compares the variables of `VARIABLES` with texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packaging.markers import InvalidMarker, Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from quarterturn.errors import Malformed

MAX_SHOWN_CHARACTERS = 60  # of a line that is refused
VARIABLES = (
    "implementation_name",
    "os_name",
    "platform_machine",
    "platform_python_implementation",
    "platform_system",
    "python_full_version",
    "python_version",
    "sys_platform",
)
"""What a marker may ask: facts of the interpreter and its machine. `extra` is resolved already in a lock."""

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_EXTRAS = rf"\[ *{_NAME}(?: *, *{_NAME})* *\]"
_VERSION = r"[A-Za-z0-9][A-Za-z0-9.!+_-]{0,98}"
_LETTER = r"(?:[A-Za-z0-9._+-]| (?!-))"  # pip takes a word that begins with - for an option, in quotes as well
_TEXT = rf"'{_LETTER}{{0,98}}'|\"{_LETTER}{{0,98}}\""
_MARKER_WORDS = re.compile(
    rf"(?: *(?:(?:{'|'.join(VARIABLES)}|and|or|in|not +in)(?![A-Za-z0-9_])|==|!=|<=|>=|~=|<|>|\(|\)|{_TEXT}))+ *"
)
_REQUIREMENT = re.compile(
    rf"(?P<name>{_NAME})(?P<extras>{_EXTRAS})? *== *(?P<version>{_VERSION})(?: *;(?P<marker>[^;#\\$@]+))?"
)
_HASH, _DIGEST = " --hash=sha256:", re.compile(r"[0-9a-f]{64}")
_CONSTRAINT = re.compile(
    rf"(?P<name>{_NAME}) *(?P<specifiers>(?:[=!<>~]=?|===) *[A-Za-z0-9][A-Za-z0-9.!+_*-]*"
    r"(?: *, *(?:[=!<>~]=?|===) *[A-Za-z0-9][A-Za-z0-9.!+_*-]*)*)(?: *;(?P<marker>[^;#\\$@]+))?"
)
_COMMENT = re.compile(r"(?:^|\s)#.*")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of a lock.

    Attributes:
        name: the distribution, normalised.
        version: normalised.
        digests: the SHA-256 of each file that it may be, in hexadecimal.
        marker: where it is installed, or "" for everywhere.
        extras: which of its extras were resolved, normalised.
    """

    name: str
    version: str
    digests: tuple[str, ...]
    marker: str = ""
    extras: tuple[str, ...] = ()

    def __str__(self) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        marker = f" ; {self.marker}" if self.marker else ""
        hashes = "".join(f" \\\n    --hash=sha256:{digest}" for digest in self.digests)
        return f"{self.name}{extras}=={self.version}{marker}{hashes}"


def parse(text: str, what: str) -> list[Requirement]:
    """Read a lock.

    Args:
        text: its text.
        what: what it is called in messages.

    Raises:
        Malformed: a line is anything but a pinned requirement with its hashes; the message has its number.
    """
    return [_requirement(line, f"{what}, line {number}") for number, line in _lines(text, what)]


def text_of(requirements: Sequence[Requirement]) -> str:
    """Write a lock; `parse` reads the same from it."""
    return "".join(f"{requirement}\n" for requirement in requirements)


def constraints(text: str, what: str) -> str:
    """Read constraints (`mcp<2`, a name and its versions on each line), and write them anew.

    Raises:
        Malformed: a line is anything else.
    """
    written = []
    for number, line in _lines(text, what):
        where, match = f"{what}, line {number}", _CONSTRAINT.fullmatch(line)
        try:
            specifiers = SpecifierSet(match["specifiers"]) if match else None
        except InvalidSpecifier:
            match = None
        if match is None:
            raise Malformed(f"{where} is no name with its versions, such as `mcp<2`: {_shown(line)}; remove it")
        marker = _marker(match["marker"], where)
        written.append(f"{canonicalize_name(match['name'])}{specifiers}{f' ; {marker}' if marker else ''}\n")
    return "".join(written)


def normalised(version: str) -> str:
    """Return how a lock spells a version, or the version itself where it is none of PEP 440's."""
    try:
        return str(Version(version))
    except InvalidVersion:
        return version


def _lines(text: str, what: str) -> Iterator[tuple[int, str]]:
    """Return the logical lines without comments, each with the number of its first line."""
    parts: list[str] = []
    start = 0
    for number, raw in enumerate(text.split("\n"), 1):
        start = start if parts else number
        line = _COMMENT.sub("", raw.removesuffix("\r")).strip(" ")
        goes_on = line.endswith("\\")
        parts.append(line.removesuffix("\\").strip(" "))
        if not goes_on:
            if joined := re.sub(" +", " ", " ".join(part for part in parts if part)):  # the patterns count on it
                yield start, joined
            parts = []
    if any(parts):
        raise Malformed(f"{what}, line {start} goes on after the end of the file: remove the last `\\`")


def _requirement(line: str, where: str) -> Requirement:
    head, *digests = line.split(_HASH)  # no pattern for all of it: a marker and hashes took quadratic time
    match = _REQUIREMENT.fullmatch(head) if all(map(_DIGEST.fullmatch, digests)) else None
    try:
        version = Version(match["version"]) if match else None
    except InvalidVersion:
        match = None
    if match is None:
        raise Malformed(
            f"{where} is no pinned requirement with hashes, as `uv pip compile --generate-hashes` writes them: "
            f"{_shown(line)}; a lock has no option, no address and no path: mend the line, or remove the lock to have "
            "it resolved again"
        )
    if not digests:
        raise Malformed(
            f"{where} has no hash (--hash=sha256:…) for {match['name']}: remove the lock to have it resolved again"
        )
    extras = sorted({canonicalize_name(name.strip()) for name in (match["extras"] or "[]")[1:-1].split(",") if name})
    marker = _marker(match["marker"], where)
    return Requirement(canonicalize_name(match["name"]), str(version), tuple(digests), marker, tuple(extras))


def _marker(text: str | None, where: str) -> str:
    """Read a marker and write it anew.

    Raises:
        Malformed: it is none, or asks for a variable that is not listed.
    """
    if text is None:
        return ""
    try:
        if _MARKER_WORDS.fullmatch(text):
            return str(Marker(text)).replace('"', "'")  # as uv writes it; no text in it has a quote
    except (InvalidMarker, RecursionError):
        pass
    raise Malformed(
        f"{where} has the marker {_shown(text.strip())}, and a marker compares {', '.join(VARIABLES)} with texts: "
        "mend it"
    )


def _shown(line: str) -> str:
    return repr(line[:MAX_SHOWN_CHARACTERS])
