"""Composable shape checks for ledger documents; an error names the JSON path of what is wrong.

A shape is called with `(value, path)`: it raises `Malformed` with the JSON path of what is wrong, and returns nothing
when all is well. It also carries its JSON Schema (draft 2020-12). Objects are closed: a missing key
and an unknown key are both refused. The statements, the manifest and every line of a bundle are described with them, so
that what a parser lets through needs no second look.

Most shapes also carry a byte pattern, composed from the patterns of their parts: every match is canonical JSON
(RFC 8785) of the shape. Its keys are in canonical order, its texts are ASCII without escapes, its whole numbers have at
most 15 digits. A release has a line for each result, all of one shape, and a match costs a fraction of serializing a
value again and walking through it. Bytes that do not match may still be valid and take the slow path; only the slow
path refuses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from vault.errors import Malformed
from vault.ledger.statements.jcs import parse_canonical

MAX_TEXT = 1024
_PLAIN = r"[ !#-\[\]-~]"  # ASCII that JSON writes as it is: no control character, no quotation mark, no backslash
_DIGITS = 15  # any whole number of so many is exact
_read = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class DocumentShape:
    """A schema check: the form that a value must have.

    Attributes:
        check: raises `Malformed` with the path where a value is not that; an empty path is not spelled out.
        schema: the same as JSON Schema.
        written: a pattern of which every match is canonical JSON of the shape; None where there is none.
    """

    check: Callable[[Any, str], None]
    schema: Mapping[str, Any]
    written: str | None = None

    def __call__(self, value: Any, path: str) -> None:
        """Check a value; paths are spelled out only where something is wrong."""
        try:
            self.check(value, "")
        except Malformed:
            self.check(value, path)
            raise

    def parse(self, data: bytes, what: str) -> Any:
        """Read canonical JSON of the shape.

        Raises:
            Malformed: it is not that; the message says where.
        """
        if self._surely is not None and self._surely.fullmatch(data):
            return _read(data.decode())[0]  # a match is one value, with nothing before or behind it
        value = parse_canonical(data, what)
        self(value, what)
        return value

    @cached_property
    def _surely(self) -> re.Pattern[bytes] | None:
        return re.compile(self.written.encode()) if self.written is not None else None


def matching(pattern: str, words: str) -> DocumentShape:
    """Text that fully matches a pattern; `words` says in English what that is."""
    compiled = re.compile(pattern, re.ASCII)

    def check(value: Any, path: str) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise Malformed(f"{path} must be {words}", where=path)

    # a class of what is left out could match a quotation mark, and go on beyond the end of the text
    written = None if "[^" in pattern else f'"(?:{pattern})"'
    return DocumentShape(check, {"type": "string", "pattern": f"^(?:{pattern})$", "description": words}, written)


def _plain(is_right: Callable[[Any], bool], words: str, written: str | None, **schema: Any) -> DocumentShape:
    def check(value: Any, path: str) -> None:
        if not is_right(value):
            raise Malformed(f"{path} must be {words}", where=path)

    return DocumentShape(check, schema, written)


text = _plain(
    lambda value: isinstance(value, str) and 1 <= len(value) <= MAX_TEXT,
    f"text of 1 to {MAX_TEXT} characters",
    f'"{_PLAIN}{{1,{MAX_TEXT}}}"',
    type="string",
    minLength=1,
    maxLength=MAX_TEXT,
)
any_text = _plain(lambda value: isinstance(value, str), "text", None, type="string")  # of agents and servers
boolean = _plain(lambda value: isinstance(value, bool), "true or false", "(?:true|false)", type="boolean")
natural = _plain(
    lambda value: type(value) is int and value >= 0,
    "a whole number, zero or more",
    f"(?:0|[1-9][0-9]{{0,{_DIGITS - 1}}})",
    type="integer",
    minimum=0,
)
positive = _plain(
    lambda value: type(value) is int and value >= 1,
    "a whole number, one or more",
    f"[1-9][0-9]{{0,{_DIGITS - 1}}}",
    type="integer",
    minimum=1,
)
anything = _plain(
    lambda value: isinstance(value, (dict, Mapping)), "an object", None, type="object"
)  # somebody else's format


def optional(shape: DocumentShape) -> DocumentShape:
    """Null, or the shape."""

    def check(value: Any, path: str) -> None:
        if value is not None:
            shape.check(value, path)

    written = "null" if shape.written is None else f"(?:null|{shape.written})"
    return DocumentShape(check, {"anyOf": [shape.schema, {"type": "null"}]}, written)


def list_of(shape: DocumentShape) -> DocumentShape:
    """A list, each item of the shape."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, list):
            raise Malformed(f"{path} must be a list", where=path)
        for index, item in enumerate(value):
            shape.check(item, path and f"{path}[{index}]")

    item = shape.written
    return DocumentShape(check, {"type": "array", "items": shape.schema}, item and rf"\[(?:{item}(?:,{item})*)?\]")


def single(shape: DocumentShape) -> DocumentShape:
    """A list of exactly one item of the shape."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, list) or len(value) != 1:
            raise Malformed(f"{path} must be a list of exactly one item", where=path)
        shape.check(value[0], path and f"{path}[0]")

    schema = {"type": "array", "items": shape.schema, "minItems": 1, "maxItems": 1}
    return DocumentShape(check, schema, shape.written and rf"\[{shape.written}\]")


def mapping_of(key: DocumentShape, shape: DocumentShape) -> DocumentShape:
    """An object with free keys: each key of one shape, each value of another."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, (dict, Mapping)):
            raise Malformed(f"{path} must be an object", where=path)
        for name, item in value.items():
            key.check(name, path and f"a key of {path}")
            shape.check(item, path and f"{path}.{name}")

    return DocumentShape(check, {"type": "object", "propertyNames": key.schema, "additionalProperties": shape.schema})


def record(optional: Mapping[str, DocumentShape] = MappingProxyType({}), /, **fields: DocumentShape) -> DocumentShape:
    """A closed object: exactly these keys, and optionally those in `optional`."""
    known = {**fields, **optional}

    def check(value: Any, path: str) -> None:
        if not isinstance(value, (dict, Mapping)):
            raise Malformed(f"{path} must be an object", where=path)
        if value.keys() != fields.keys():
            if missing := sorted(fields.keys() - value.keys()):
                raise Malformed(f"{path}.{missing[0]} is missing", where=f"{path}.{missing[0]}")
            if unknown := sorted(map(str, value.keys() - known.keys())):
                raise Malformed(f"{path}: {unknown[0][:60]!r} is not a key of this format", where=path)
        for name, item in value.items():
            known[name].check(item, path and f"{path}.{name}")

    properties = {name: shape.schema for name, shape in known.items()}
    schema = {"type": "object", "properties": properties, "required": sorted(fields), "additionalProperties": False}
    return DocumentShape(check, schema, _written(fields, optional))


def _written(fields: Mapping[str, DocumentShape], optional: Mapping[str, DocumentShape]) -> str | None:
    """Give a closed object's pattern: its keys in order, a comma before each but the first, which must be there."""
    if any(shape.written is None for shape in fields.values()) or min(fields) > min(optional, default="~"):
        return None
    pattern = ""
    for name, shape in sorted({**fields, **optional}.items()):
        member = f'{pattern and ","}"{re.escape(name)}":{shape.written}'
        if name in fields:
            pattern += member
        elif shape.written is not None:
            pattern += f"(?:{member})?"
    return rf"\{{{pattern}\}}"


def one_of(*values: str) -> DocumentShape:
    """One of these words."""

    def check(value: Any, path: str) -> None:
        if not isinstance(value, str) or value not in values:
            raise Malformed(f"{path} must be one of {', '.join(values)}", where=path)

    words = "|".join(re.escape(value) for value in values)
    plain = all(re.fullmatch(f"{_PLAIN}*", value) for value in values)
    return DocumentShape(check, {"enum": list(values)}, f'"(?:{words})"' if plain else None)


sha256 = matching(r"[0-9a-f]{64}", "64 lower-case hexadecimal digits")
month = matching(r"[0-9]{4}-(0[1-9]|1[0-2])", "a month as YYYY-MM")
cohort = matching(r"cohort-[0-9]{4}-(0[1-9]|1[0-2])", "a cohort as cohort-YYYY-MM")
task_id = matching(r"t-[a-z2-7]{16}", "a task's id: t- and 16 letters or digits of base 32")
guid = matching(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a GUID in lower case")
fraction = matching(r"(0|[1-9][0-9]{0,499})/[1-9][0-9]{0,499}", "an exact fraction such as 7/12")
version = matching(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}", "a semantic version such as 1.0.0")
