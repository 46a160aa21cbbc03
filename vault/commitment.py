"""Salted HMAC-SHA256 commitments: published now, opened later.

    HMAC-SHA256(salt, "quarterturn/<label>/v1\\n" || payload)

The payload is canonical JSON (or, for `draw-seed` and `spot-check`, the seed's bytes). The salt has exactly SALT_SIZE
bytes, because HMAC pads a shorter key and hashes a longer one, so another length would let one commitment open in two
ways. The salt hides the payload: an unsalted hash of a task from a bounded grammar can be guessed. The label separates
domains: a commitment made under one label never opens under another.

An auditor runs this module, so it imports the standard library only. `openssl` opens a commitment too:

    { printf 'quarterturn/commit/v1\\n'; cat task.json; } | openssl dgst -sha256 -mac HMAC -macopt hexkey:SALT
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable

from vault.errors import Malformed

SALT_SIZE = 32
# fmt: off
LABELS = (
    "commit", "provenance", "run-open", "result", "transcript", "totals", "draw-seed", "access-log",
    "spot-check",
)
# fmt: on


def new_salt(entropy: Callable[[int], bytes] = os.urandom) -> bytes:
    """Draw a salt."""
    return entropy(SALT_SIZE)


def commitment(label: str, payload: bytes, salt: bytes) -> bytes:
    """Commit to `payload`; gives 32 bytes.

    Raises:
        Malformed: the label is not one of LABELS, or the salt is not SALT_SIZE bytes.
    """
    if label not in LABELS:
        raise Malformed(f"There is no commitment label {label!r}; there are {', '.join(LABELS)}.")
    if len(salt) != SALT_SIZE:
        raise Malformed(f"A commitment's salt has {SALT_SIZE} bytes, this one {len(salt)}.")
    return hmac.digest(salt, b"quarterturn/" + label.encode() + b"/v1\n" + payload, hashlib.sha256)


def opens(label: str, payload: bytes, salt: bytes, expected: bytes) -> bool:
    """Say whether a payload and a salt open a commitment; a salt of another size never does."""
    if len(salt) != SALT_SIZE:
        return False
    return hmac.compare_digest(commitment(label, payload, salt), expected)
