"""Reader of a JSON document: one file, `state.json`, parsed strictly.

The document is UTF-8 without a byte order mark, at most 4 MiB long and 200 levels deep. A key that an object has twice,
NaN, an infinity, a number of more than 64 bits, and half of a surrogate pair count as corruption: two parsers could
read such a document differently. Other files beside it are not looked at.
"""

from __future__ import annotations

import re
from typing import Any

from verifiers.budget import ReadingBudget
from verifiers.errors import CorruptState
from verifiers.formats.plain_json import parse_json
from verifiers.normal_form import NormalState
from verifiers.states.json_document.document import FILE
from verifiers.tree import FileTree

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MISSING = object()


def read_document(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read the file into the normal form.

    Raises:
        CorruptState: see `document_of`.
    """
    value = document_of(tree, budget, missing=_MISSING)
    return NormalState({} if value is _MISSING else {"value": value})


def document_of(tree: FileTree, budget: ReadingBudget | None = None, *, missing: Any = None) -> Any:
    """Parse the file.

    Args:
        tree: the files that the server left.
        budget: what parsing may cost; by default the caps in `verifiers.budget`.
        missing: what to give where there is no file.

    Raises:
        CorruptState: it is no file, no strict JSON, or costs more than the budget has.
    """
    node = tree.get(FILE)
    if node is None:
        return missing
    if node.kind != "file":
        raise CorruptState(f"{FILE} is no file")
    budget = budget or ReadingBudget()
    budget.parse_json(node.data)
    try:
        text = node.data.decode()
        value = parse_json(text, unique_keys=True)
        if _ESCAPED_SURROGATE.search(text):
            _must_be_whole(value)
    except (ValueError, RecursionError):
        raise CorruptState(f"{FILE} is no strict JSON document") from None
    return value


def _must_be_whole(value: Any) -> None:
    """Refuse halves of surrogate pairs, which no UTF-8 text can hold.

    Raises:
        UnicodeEncodeError: a key or a text has one.
    """
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                text.encode()
            case list() as items:
                waiting += items
            case dict() as members:
                waiting += members.keys()
                waiting += members.values()
