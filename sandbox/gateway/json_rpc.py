"""JSON-RPC errors for requests that are refused unread, with the request's id where that can be found.

A client waits for the answer to an id. Without one it takes a refusal for a broken connection: some official clients
then end the session, or wait for ever. So the id is looked for in the *outline* of a request, which is its outermost
object with all containers in it empty. Making one takes linear time and parses nothing; it is small, and read strictly.
Whoever sends a request that has another id in its outline than a parser would find confuses itself alone.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from sandbox.strict_json import strict_object
from vault.errors import Malformed

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
MAX_OUTLINE_BYTES = 4096
MAX_BRACKETS = 1_100_000  # more than fit into a request of the permitted size
MAX_ID_CHARACTERS = 256

# What stands between two brackets, with every string in it; possessive, and it always ends at a bracket or at the end,
# so that no text takes more than linear time.
_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z))*+([{}\[\]]|\Z)', re.DOTALL)


def refusal(request: bytes, reason: str) -> dict[str, Any]:
    """Return the error that answers a refused request, of which the end may be missing; its id is null if unknown."""
    identifier = request_id(request)
    is_batch = request.lstrip(b" \t\r\n").startswith(b"[")  # MCP has had none since 2025-06-18
    code = PARSE_ERROR if identifier is None and not is_batch else INVALID_REQUEST
    return {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": reason}}


def request_id(request: bytes) -> str | int | None:
    """Return the id of a request, which is a text or a whole number, or None where no reader would be sure of it."""
    outlined = outline(request)
    try:
        identifier = strict_object(outlined, "the outline", max_size=MAX_OUTLINE_BYTES).get("id")
    except Malformed:
        return None
    if isinstance(identifier, str):
        return identifier if len(identifier) <= MAX_ID_CHARACTERS else None
    return identifier if isinstance(identifier, int) and not isinstance(identifier, bool) else None


def outline(request: bytes) -> bytes:
    """Return the outermost object of a JSON text with empty containers in it; what is cut off is closed."""
    parts, depth, begin = list[bytes](), 0, 0
    for match in islice(_BRACKET.finditer(request), MAX_BRACKETS):
        bracket = match[1]
        if not bracket:
            break
        if bracket in b"{[":
            depth += 1
            if depth == 2:  # noqa: PLR2004 - a container in the outermost object
                parts += [request[begin : match.end()], b"}" if bracket == b"{" else b"]"]
                if len(parts) > MAX_OUTLINE_BYTES:
                    break
        else:
            depth -= 1
            if depth == 1:
                begin = match.end()
            elif depth <= 0:
                return b"".join([*parts, request[begin : match.end()]])
    return b"".join([*parts, b"}"])
