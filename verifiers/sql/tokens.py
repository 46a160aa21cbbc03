"""Tokens of SQL (PostgreSQL's manual, 4.1 "Lexical Structure"); names that are not quoted get small letters."""

from __future__ import annotations

import re
from typing import NamedTuple

from verifiers.sql.errors import NotSupported

MAX_LENGTH = 20_000
_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)"
    r"|(?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<string>'(?:[^']|'')*')"
    r'|(?P<quoted>"(?:[^"]|"")+")'
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<sign>::|<>|!=|<=|>=|\|\||[-+*/%=<>(),.;\[\]])"
)


class Token(NamedTuple):
    """A token: `number`, `string`, `quoted` (a name), `word`, `sign` or `end`, with its text and its place."""

    kind: str
    text: str
    place: int


def tokens(text: str) -> list[Token]:
    """Split a query into tokens, the last of which is the end.

    Raises:
        NotSupported: it is too long, or a character has no meaning.
    """
    if len(text) > MAX_LENGTH:
        raise NotSupported(f"the query is longer than {MAX_LENGTH} characters")
    made, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise NotSupported("the query has a character without a meaning", place)
        kind, found = str(match.lastgroup), match[0]
        if kind == "word" and found.lower() in {"e", "b", "x", "u"} and text[match.end() : match.end() + 1] == "'":
            raise NotSupported("the query has a text with escapes", place)
        if kind != "space":
            made.append(Token(kind, _meant(kind, found), place))
        place = match.end()
    return [*made, Token("end", "", place)]


def _meant(kind: str, text: str) -> str:
    match kind:
        case "string":
            return text[1:-1].replace("''", "'")
        case "quoted":
            return text[1:-1].replace('""', '"')
        case "word":
            return text.lower()
    return text
