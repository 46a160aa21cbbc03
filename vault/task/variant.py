"""Task variants: derives which choice of each free parameter a submitter is shown, so that a leak can be traced.

    task key   = HKDF-SHA256(master key, info = "quarterturn/variant-key/v1\\n" || task id), 32 bytes      (RFC 5869)
    seed       = HMAC-SHA256(task key, "quarterturn/variant/v1\\n" || month || "\\n" || submitter)
    number     = HMAC-SHA256(seed, attempt (4 bytes, big-endian) || parameter), a big-endian integer
    choice     = number mod n, from the first attempt (0, 1, ...) whose number lies below the largest multiple of n

A month is `YYYY-MM`, seven characters, so no two pairs of month and submitter give the same text. Rejecting what lies
above the largest multiple makes every choice equally likely. The same submitter is shown the same variant in every run
of a month, whatever the image and however often it is retried.

The document that is committed to holds the choices and the SHA-256 of the task's key. The key stays with the vault
until the task is published; from then on anybody can say what each run was shown. One task's key says nothing about
another's, nor about the master key.

An auditor runs this module, so it imports the standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from vault.errors import Malformed

KEY_SIZE = 32
LEAST_BITS = 20
"""log2 of the fewest variants that a task is varied for; with fewer, too many submitters would share one."""

_KEY, _SEED = b"quarterturn/variant-key/v1\n", b"quarterturn/variant/v1\n"
_MONTH = 7  # characters of YYYY-MM
PLACEHOLDER = re.compile(r"\{\{([a-z][a-z0-9_]{0,31})\}\}")
_WORD = re.compile(r"[^\W_]+")
_ESCAPE = re.compile(r"\\(?:[bfnrt]|u[0-9a-fA-F]{4})")
_SPACE = 2 ** (8 * hashlib.sha256().digest_size)

Free = Mapping[str, Sequence[str]]
"""Parameter -> its choices, in the document's order."""


def bits(free: Free) -> float:
    """Return log2 of the number of variants."""
    return sum(math.log2(len(choices)) for choices in free.values())


def traceable(free: Free) -> bool:
    """Say whether there are enough variants to give each submitter a different one."""
    variants = math.prod(len(choices) for choices in free.values())
    return bool(variants >= 2**LEAST_BITS)


def task_key(master: bytes, task_id: str) -> bytes:
    """Derive a task's key, KEY_SIZE bytes, from which there is no way back to the master key.

    KEY_SIZE is one block of SHA-256, so HKDF's expansion (RFC 5869, section 2.3) has one step.
    """
    extracted = hmac.digest(bytes(KEY_SIZE), master, "sha256")  # without a salt: a block of zeros
    return hmac.digest(extracted, _KEY + task_id.encode() + b"\x01", "sha256")


def digest(key: bytes) -> str:
    """Return the digest of a task's key that its document holds: the SHA-256, in hexadecimal digits."""
    return hashlib.sha256(key).hexdigest()


def first(free: Free) -> dict[str, str]:
    """Return the base variant: the first choice of each parameter, which everybody gets if a task is not traceable."""
    return {name: choices[0] for name, choices in free.items()}


def assigned(key: bytes, submitter: str, month: str, free: Free) -> dict[str, str]:
    """Return the choice of each parameter that a submitter is shown in a month.

    Raises:
        Malformed: the key has another length, or the month is none.
    """
    if len(key) != KEY_SIZE:
        raise Malformed(f"A variant key has {KEY_SIZE} bytes, this one {len(key)}.")
    if len(month) != _MONTH:
        raise Malformed("A variant is assigned for a month, YYYY-MM.")
    seed = hmac.digest(key, _SEED + month.encode() + b"\n" + submitter.encode(), "sha256")
    return {name: choices[_below(len(choices), seed, name)] for name, choices in free.items()}


def words(text: str) -> list[str]:
    """Split a text into the words that are searched for choices: letters and digits, without case and line breaks."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def searched_words(text: str) -> list[str]:
    """Split a text that may be JSON, code or a URL: its words, and after an empty one those that it has unescaped."""
    spellings = dict.fromkeys((text, _ESCAPE.sub(" ", text), unquote(text)))
    return [word for spelling in spellings for word in (*words(spelling), "")][:-1]


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """Put values in for the placeholders of any JSON value, such as a solution of the task; others stay.

    Raises:
        Malformed: two keys of an object become the same.
    """
    if isinstance(value, str):
        return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), value)
    if isinstance(value, dict):
        out = {filled(key, values): filled(part, values) for key, part in value.items()}
        if len(out) < len(value):
            raise Malformed("A value for a free parameter makes two keys of an object the same.")
        return out
    return [filled(part, values) for part in value] if isinstance(value, list) else value


def _below(n: int, seed: bytes, name: str) -> int:
    attempt, limit = 0, _SPACE - _SPACE % n
    while True:
        number = int.from_bytes(hmac.digest(seed, attempt.to_bytes(4, "big") + name.encode(), "sha256"), "big")
        if number < limit:
            return number % n
        attempt += 1
