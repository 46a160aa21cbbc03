"""Rules of display names: their form, reserved words, and the key by which two names count as the same. Pure.

1. A name has ASCII letters and digits, a letter first, with single spaces, dots, hyphens and underscores between them.
   Unicode normalization (NFKC) does not change such a name, and no letter of another script can imitate one of it.
2. Two names are the same if their keys are: case and separators do not count, nor do characters that look alike in
   ASCII (0 and O, 1 and l and I, rn and m, vv and w: UTS #39, confusables).
3. No name claims what only the operator may say, such as `official`.
"""

from __future__ import annotations

import re
from typing import ClassVar

from quarterturn.errors import Malformed

PATTERN = "^[A-Za-z][A-Za-z0-9]*([ ._-][A-Za-z0-9]+)*$"
MIN_NAME_CHARACTERS, MAX_NAME_CHARACTERS = 2, 40
FORM = (
    f"{MIN_NAME_CHARACTERS} to {MAX_NAME_CHARACTERS} ASCII letters and digits, a letter first, with single spaces, "
    "dots, hyphens or underscores between them"
)
WORDS = ("official", "verified", "reference", "baseline", "oracle", "quarterturn", "maintainer")
"""Words that no name contains: they claim a rank, a check or an author that only the operator can give."""
NAMES = ("admin", "benchmark", "hostile", "human", "ladder", "llm", "none", "null", "operator", "rulebook", "unknown")
"""Whole names that nobody has: roles, placeholders, and the example agents."""

_NAME = re.compile(PATTERN)
_ALIKE = str.maketrans("01i", "oll")


class ReservedName(Malformed):
    """A display name claims what only the operator may say."""

    problem: ClassVar[str] = "invalid"


def key_of(name: str) -> str:
    """Return the key of a name: names with the same key cannot be told apart with certainty."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower()).translate(_ALIKE)
    return plain.replace("rn", "m").replace("vv", "w")


def require(name: str) -> None:
    """Refuse a name that nobody may have.

    Raises:
        Malformed: it has another form.
        ReservedName: it contains a reserved word, or is a reserved name.
    """
    if not MIN_NAME_CHARACTERS <= len(name) <= MAX_NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise Malformed(f"a display name has {FORM}")
    key = key_of(name)
    if any(key_of(word) in key for word in WORDS) or key in map(key_of, NAMES):
        words = ", ".join(WORDS)
        expected = f"a name that is not reserved, without the words {words}"
        message = f"the display name is reserved; choose one without {words}"
        raise ReservedName(message, field="name", expected=expected, given=name)
