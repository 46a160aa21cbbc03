"""Configuration of an upstream: everything but its key.

The same description goes to two processes. The gateway of a run is told the wire and the models, to refuse by name what
is not passed on. The model process is told all of it, and its key apart.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from sandbox.errors import Malformed
from sandbox.model_gateway.formats.wire_format import Style

MAX_KEY = 512
JUDGE_SECONDS = 20.0
"""How long a session that has ended waits until its upstream's failures are judged."""


@dataclass(frozen=True, slots=True)
class UpstreamSpec:
    """One upstream that the operator allows.

    Attributes:
        name: how the operator calls it; in the exposure ledger it is `upstream:NAME`.
        wire: what it speaks.
        url: its base address, as its provider's own client would be given it.
        models: the exact names that may be asked for.
        tokens: what one task may cost, read and written together.
        requests: how many requests one task may make.
    """

    name: str
    wire: Style
    url: str
    models: Sequence[str]
    tokens: int
    requests: int

    def __post_init__(self) -> None:
        """Refuse an address that a key must not be sent to.

        Raises:
            Malformed: the address is no https:// one, nor an http:// one of this machine.
        """
        require_address(self.url)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"models": list(self.models)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> UpstreamSpec:
        """Read what `as_json` gave."""
        return cls(**value)


def require_address(url: str) -> None:
    """Refuse an address that a key must not be sent to: in the clear it goes to this machine alone.

    Raises:
        Malformed: the message says what is wrong with it.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise Malformed(f"the upstream's address is not a URL: {error}") from None
    if not host or not url.isascii() or any(letter.isspace() for letter in url):
        raise Malformed("the upstream's address must be https://HOST/PATH")
    if parts.username is not None or parts.query or parts.fragment or "?" in url or "#" in url:
        raise Malformed("the upstream's address must hold no user, query or fragment: the key is kept apart from it")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_here(host)):
        raise Malformed("the upstream's address must be https://; http:// is for a model on this machine (127.0.0.1)")


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_key(key: str) -> str:
    """Return a key without the line end that files have.

    Raises:
        Malformed: it can be no key; the message does not quote it.
    """
    key = key.strip()
    if not key or len(key) > MAX_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise Malformed(f"a key is one word of at most {MAX_KEY} printable ASCII characters; nothing was kept")
    return key
