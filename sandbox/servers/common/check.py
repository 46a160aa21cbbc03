"""Checks documents against the schemas of the servers, without quoting secret values.

A state is as secret as its task, so a message names the place and the rule and never the value that broke it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from sandbox.errors import Malformed

# One relative POSIX path: no empty, `.` or `..` part, no backslash, no control character.
PATH = r"^(?!.*(?:^|/)(?:\.\.?)?(?:/|$))[^\u0000-\u001f\u007f\\]{1,200}$(?!\n)"
PATH_SCHEMA: Mapping[str, Any] = {"type": "string", "pattern": PATH}

_SHORT = 80  # an expectation longer than this says less than its keyword
_RULES = {
    "additionalProperties": "holds a key that is not known",
    "anyOf": "fits none of the allowed forms",
    "oneOf": "fits none of the allowed forms",
    "pattern": "does not have the allowed form",
    "propertyNames": "has a key that does not have the allowed form",
}


def check(schema: Mapping[str, Any], value: object, what: str) -> None:
    """Check `value` against a JSON Schema.

    Raises:
        Malformed: it does not fit; the message says where and which rule, and quotes nothing.
    """
    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is not None:
        raise Malformed(f"{what} at {json_path(error.absolute_path)} {_rule(error)}")


def json_path(parts: Iterable[str | int]) -> str:
    """Write a place in a document as `$.files['a.txt'][0]`."""
    out = "$"
    for part in parts:
        simple = isinstance(part, str) and part.isidentifier()
        out += f".{part}" if simple else f"[{part!r}]"
    return out


def encoded(text: str, what: str) -> bytes:
    """Encode as UTF-8.

    Raises:
        Malformed: the text holds half of a surrogate pair, which no file can hold as UTF-8.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Malformed(f"{what} holds half of a surrogate pair and is not valid Unicode") from None


def _rule(error: ValidationError) -> str:
    keyword, expected = str(error.validator), error.validator_value
    if keyword == "required":
        return f"lacks one of {expected!r}"
    return _RULES.get(keyword, f"breaks the rule {keyword}: {expected!r}" if _short(expected) else f"breaks {keyword}")


def _short(expected: object) -> bool:
    return isinstance(expected, (str, int, float, list)) and len(str(expected)) <= _SHORT
