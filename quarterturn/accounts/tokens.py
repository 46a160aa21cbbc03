"""Format of an API token: `qt_`, thirty random characters, and a checksum of six characters over them.

The prefix lets a scanner find a leaked token, and the checksum lets it tell one from what only looks like it, without
asking us. The form is GitHub's: base62, and the CRC-32 of the random characters in base62, padded with zeros
(https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/).

Only a token's SHA-256 is stored. Its 178 random bits cannot be guessed, so a slow hash would add nothing.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib
from collections.abc import Callable

PREFIX = "qt_"
RANDOM, CHECK = 30, 6
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_FORM = re.compile(rf"{PREFIX}([0-9A-Za-z]{{{RANDOM}}})([0-9A-Za-z]{{{CHECK}}})", re.ASCII)


def mint(choose: Callable[[str], str] = secrets.choice) -> str:
    """Make a token; `choose` draws one of the characters that it is given."""
    body = "".join(choose(_DIGITS) for _ in range(RANDOM))
    return f"{PREFIX}{body}{_checksum(body)}"


def well_formed(text: str) -> bool:
    """Say whether a text is a token, as far as its form tells."""
    match = _FORM.fullmatch(text)
    return match is not None and _checksum(match[1]) == match[2]


def digest(token: str) -> str:
    """Return the digest under which a token is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(CHECK):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
