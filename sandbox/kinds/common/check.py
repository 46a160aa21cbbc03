"""Checks of documents against the schemas of the servers; a state is as secret as its task, so no value is quoted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import vault.errors
from sandbox.errors import Malformed
from vault.schema import Schema

# One relative POSIX path: no empty, `.` or `..` part, no backslash, no control character.
PATH = r"^(?!.*(?:^|/)(?:\.\.?)?(?:/|$))[^\u0000-\u001f\u007f\\]{1,200}$(?!\n)"
PATH_SCHEMA: Mapping[str, Any] = {"type": "string", "pattern": PATH}


def check(schema: Mapping[str, Any], value: object, what: str) -> None:
    """Check `value` against a JSON Schema.

    Raises:
        Malformed: it does not fit; the message says where and what belongs there, and quotes no value.
    """
    try:
        Schema(schema).require(value, what)
    except vault.errors.Malformed as error:
        raise Malformed(str(error)) from None


def encoded(text: str, what: str) -> bytes:
    """Encode as UTF-8.

    Raises:
        Malformed: the text holds half of a surrogate pair, which no file can hold as UTF-8.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Malformed(f"{what} holds half of a surrogate pair and is not valid Unicode") from None
