"""References to container images: one grammar for all names that are handed to an engine, and patterns of names.

    [registry[:port]/]component[/component...][:tag][@digest]    or a digest alone, which is an image's id

1. The grammar is that of the OCI distribution specification and of distribution/reference, less what engines of
   different versions read differently: an upper-case registry without a dot, and an IPv6 address as a registry.
2. A reference is normalized as an engine does it: `x` is `docker.io/library/x`, `ada/x` is `docker.io/ada/x`,
   `index.docker.io` is `docker.io`, and without tag and digest the tag is `latest`.
3. References are compared part by part, and never by their text. An engine's client normalizes the path of a URL:
   `mallory/../ada/x` begins with `mallory/`, and is ada's image.
4. What is handed over has its registry, so that an engine never takes it for the beginning of an image's id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from sandbox.errors import Malformed

DOCKER_HUB, LIBRARY, LATEST = "docker.io", "library", "latest"
ACCOUNT = "{account}"
MAX_NAME = 255  # characters of registry and repository together: OCI distribution specification, "Pulling manifests"
MAX_REFERENCE = MAX_NAME + 1 + 128 + 1 + len("sha512:") + 128

_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_PART, _VERSION, _HASH = (
    "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*",
    "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}",
    "(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})",
)
_REGISTRY = re.compile(rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]{{1,5}})?")
_COMPONENT, _TAG, _DIGEST = map(re.compile, (_PART, _VERSION, _HASH))
_FIRST = (
    f"(?:localhost|{_LABEL}(?:\\.{_LABEL})+|{_LABEL}(?:\\.{_LABEL})*:[0-9]{{1,5}}|[a-z0-9]+(?:(?:__?|-+)[a-z0-9]+)*)"
)
PATTERN = f"(?:(?:{_FIRST}/{_PART}(?:/{_PART})*|{_PART})(?::{_VERSION})?(?:@{_HASH})?|{_HASH})"
"""Every text of at most 255 characters that `ImageReference.parse` reads, and a bare id of 64 digits, for schemas."""
_BARE_ID = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ImageReference:
    """A reference in its one form; two are equal if an engine takes them for the same.

    Attributes:
        registry: host and port, `docker.io` where none was named; empty for a digest alone.
        repository: the components of its path; none for a digest alone.
        tag: `latest` where neither tag nor digest was named.
        digest: the algorithm and hexadecimal digits; with one, an engine does not look at the tag.
    """

    registry: str
    repository: tuple[str, ...]
    tag: str | None
    digest: str | None

    @classmethod
    def parse(cls, text: str) -> ImageReference:
        """Read a reference as `docker pull` takes it.

        Raises:
            Malformed: it has another form.
        """
        if _DIGEST.fullmatch(text):  # an engine reads it so before it looks for a name
            return cls("", (), None, text)
        if len(text) > MAX_REFERENCE or _BARE_ID.fullmatch(text):
            raise _malformed(text, "write an id as sha256:ID" if len(text) <= MAX_REFERENCE else "it is too long")
        name, at, digest = text.partition("@")
        path, slash, last = name.rpartition("/")
        last, colon, tag = last.partition(":")
        registry, repository = _split(f"{path}{slash}{last}")
        if registry == DOCKER_HUB and len(repository) == 1:
            repository = (LIBRARY, *repository)
        if at and not _DIGEST.fullmatch(digest):
            raise _malformed(text, "a digest is sha256: and 64 hexadecimal digits, or sha512: and 128")
        if colon and not _TAG.fullmatch(tag):
            raise _malformed(text, "a tag has 1 to 128 letters, digits, dots, hyphens and underscores")
        if why := _fault(registry, repository):
            raise _malformed(text, why)
        return cls(registry, repository, tag if colon else None if at else LATEST, digest or None)

    @property
    def name(self) -> str:
        """Registry and repository; empty for a digest alone."""
        return "/".join((self.registry, *self.repository)) if self.repository else ""

    def __str__(self) -> str:
        if not self.repository:
            return self.digest or ""
        return self.name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


@dataclass(frozen=True, slots=True)
class ImagePattern:
    """Names that an account may give to its images: those below a registry and the first components of a repository.

    Attributes:
        registry: the registry, or None where every image is permitted.
        components: the first components; `{account}` is one of them, and stands for the name of the account.
    """

    registry: str | None
    components: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> ImagePattern:
        """Read a pattern such as `{account}/` or `registry.example/{account}/`; an empty one permits every image.

        Raises:
            Malformed: it has another form.
        """
        if not text:
            return cls(None, ())
        registry, components = _split(text)
        why = "it does not end with '/'" if components[-1] else _fault(registry, components[:-1], pattern=True)
        if why:
            raise Malformed(
                f"{text[:100]!r} names no images: {why}; write a registry, or a repository's first components, and "
                f"'/', such as {ACCOUNT}/ or registry.example/{ACCOUNT}/"
            )
        return cls(registry, components[:-1])

    def permits(self, reference: ImageReference, account: str) -> bool:
        """Say whether an account may name an image so."""
        if self.registry is None:
            return True
        if account == LIBRARY and self.registry == DOCKER_HUB and self.components[:1] == (ACCOUNT,):
            return False  # images without a first component: those of everybody, and those that this machine has built
        own = tuple(account if component == ACCOUNT else component for component in self.components)
        first, rest = reference.repository[: len(own)], reference.repository[len(own) :]
        return reference.registry == self.registry and first == own and bool(rest)

    def prefix(self, account: str) -> str:
        """Write the beginning that an account's names have, in their short form."""
        if self.registry is None:
            return ""
        hub = self.registry == DOCKER_HUB and self.components
        parts = self.components if hub else (self.registry, *self.components)
        return "".join(f"{account if part == ACCOUNT else part}/" for part in parts)


def require_apart(patterns: Sequence[ImagePattern]) -> None:
    """Refuse patterns by two of which different accounts could name one image.

    Raises:
        Malformed: such as `{account}/` and `bench/{account}/`: the account bench could name everybody's images.
    """
    for one, other in combinations([pattern for pattern in patterns if ACCOUNT in pattern.components], 2):
        beside = list(zip(one.components, other.components, strict=False))
        alike = all(ACCOUNT in pair or pair[0] == pair[1] for pair in beside)
        if one.registry == other.registry and alike and (ACCOUNT, ACCOUNT) not in beside:
            raise Malformed(
                f"{one.prefix(ACCOUNT)} and {other.prefix(ACCOUNT)} overlap: an account could name another one's "
                "images; let no pattern lie below another one"
            )


def _split(path: str) -> tuple[str, tuple[str, ...]]:
    """Part a registry from the components; the first one is a registry if it has a dot or a port, or is `localhost`."""
    first, slash, rest = path.partition("/")
    if not slash or (first != "localhost" and "." not in first and ":" not in first):
        return DOCKER_HUB, tuple(path.split("/"))
    return DOCKER_HUB if first == "index.docker.io" else first, tuple(rest.split("/"))


def _fault(registry: str, components: Sequence[str], *, pattern: bool = False) -> str:
    """Say what is wrong with a name, or nothing."""
    if not _REGISTRY.fullmatch(registry):
        return f"{registry[:100]!r} is no host of a registry"
    if len("/".join((registry, *components))) > MAX_NAME:
        return f"registry and repository have more than {MAX_NAME} characters"
    for component in components:
        if not (_COMPONENT.fullmatch(component) or (pattern and component == ACCOUNT)):
            return (
                f"{component[:100]!r} is no component of a repository, which has small letters and digits, with single "
                "dots, one or two underscores, or hyphens between them"
            )
    return ""


def _malformed(text: str, why: str) -> Malformed:
    return Malformed(
        f"{text[:100]!r} is not the name of an image: {why}; write it as ada/agent:1 or ada/agent@sha256:…"
    )
