"""Column declarations of PostgreSQL: normalizes the types that a task is likely to use.

The spellings and their meaning are from PostgreSQL's manual, chapter 8 ("Data Types"), table 8.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_WORDS = re.compile(r"\s+")
_END = re.compile(r" (?:not null|null|primary key|unique|default|references|check|generated|constraint|collate)\b")
_TYPE = re.compile(
    r"(?P<name>[a-z_][a-z0-9_ ]*?) ?(?P<size>\([0-9]+(?:,[0-9]+)?\))?(?P<rest> with(?:out)? time zone)?"
    r"(?P<array>(?:\[\])*)"
)
_SERIAL = {"smallserial": "smallint", "serial": "integer", "bigserial": "bigint"}
_SERIAL |= {"serial2": "smallint", "serial4": "integer", "serial8": "bigint"}


class Declared(NamedTuple):
    """A column: its name, its type as PostgreSQL prints it, and whether it takes null, has a default, is a key."""

    name: str
    type: str
    not_null: bool
    default: bool
    key: bool


class Spellings:
    """Map from the type names that people write to those that PostgreSQL prints."""

    known: Mapping[str, str] = {
        "int": "integer",
        "int2": "smallint",
        "int4": "integer",
        "int8": "bigint",
        "float": "double precision",
        "float4": "real",
        "float8": "double precision",
        "bool": "boolean",
        "decimal": "numeric",
        "varchar": "character varying",
        "char": "character",
        "bpchar": "character",
        "varbit": "bit varying",
        "timestamp": "timestamp without time zone",
        "timestamptz": "timestamp with time zone",
        "time": "time without time zone",
        "timetz": "time with time zone",
    }

    def of(self, spelling: str) -> str:
        """Return a type as PostgreSQL prints it; an unknown type stays as it is."""
        text = _squeezed(spelling)
        match = _TYPE.fullmatch(text)
        if match is None:
            return spelling
        name, size = match["name"], match["size"] or ""
        if name in {"timestamp", "time"} and match["rest"]:
            return f"{name}{size}{match['rest']}{match['array']}"
        printed = self.known.get(name, name)
        if size and " with" in printed:  # the precision stands before the time zone
            head, _, tail = printed.partition(" ")
            return f"{head}{size} {tail}{match['array']}"
        if printed == "numeric" and size and "," not in size:
            size = size.replace(")", ",0)")
        if printed == "character" and not size:
            size = "(1)"
        return f"{printed}{size}{match['rest'] or ''}{match['array']}"


SPELLINGS = Spellings()


def declared(name: str, declaration: str) -> Declared | None:
    """Parse a column declaration, or give None where it has no recognizable type."""
    text = " " + _squeezed(declaration)
    end = _END.search(text)
    spelled, rest = (text[: end.start()], text[end.start() :]) if end else (text, "")
    spelled = spelled.strip()
    if not _TYPE.fullmatch(spelled):
        return None
    serial, key = spelled in _SERIAL, " primary key" in rest
    identity = " generated " in rest and " as identity" in rest
    return Declared(
        name,
        SPELLINGS.of(_SERIAL.get(spelled, spelled)),
        not_null=serial or key or identity or " not null" in rest,
        default=serial or identity or " default " in rest,
        key=key,
    )


def _squeezed(text: str) -> str:
    """Normalize a declaration: lower case, one blank between words and none inside brackets."""
    squeezed = _WORDS.sub(" ", text.strip().lower())
    return re.sub(r" ?([(,]) ?", r"\1", squeezed).replace(" )", ")").replace(" [", "[")
