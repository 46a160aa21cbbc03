"""Root causes of failed calls: what the server's words say, by the first rule that matches.

The causes are those of MCPToolBench++ (arXiv 2508.07575, section 4.3 and Table 4). A call has a cause where it reached
a server and did not succeed (`tool_success`), or came back with nothing (`""`, `[]`, `"data": []`).
"""

from __future__ import annotations

import re

from quarterturn_measures.measures.tool_success import succeeded
from sandbox.transcript import CallRecord

PARAMETER = "parameter"
EMPTY = "empty result"
OTHER = "other"

_RULES = (
    (
        PARAMETER,
        r"-32602|\brequired\b|\bmissing\b|\bmust be\b|validation error|all values empty|syntax error|\bis invalid\b"
        r"|\bunexpected (?:keyword|argument)|\bout of range\b|\brange\b.{0,60}\binvalid\b|separator is (?:not )?found"
        r"|\binvalid (?:arguments?|params?|parameters?|value|type|input|date)"
        r"|\bexpected (?:string|number|integer|array|object|boolean)\b",
    ),
    (
        "edit without a match",
        r"could not find (?:an )?exact match|no match (?:was )?found|old_?(?:text|string) not found",
    ),
    ("session or runtime", r"\bsession\b|coroutine|browser|circular structure|\btraceback\b|runtime ?error|event loop"),
    (
        "not found",
        r"\benoent\b|no such (?:file|table|column|key|branch|host)|not ?found|does(?: not|n't) exist|404\b"
        r"|unknown (?:revision|table|key)|could not (?:find|be found)",
    ),
    ("HTTP", r"connection|\btimed? ?out\b|\btimeout\b|\bsocket\b|econn\w+|network|\btls\b|disconnected"),
    ("API", r"\bapi\b.{0,20}\berror\b|status code \d{3}|\berror calling tool\b|\b[45]\d\d\b|rate limit"),
)
_COMPILED = tuple((cause, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for cause, pattern in _RULES)
_NOTHING = re.compile(r'\s*(?:""|\[\s*\]|\{\s*\}|null)?\s*\Z')
_NO_DATA = re.compile(r'"data"\s*:\s*(?:\[\s*\]|null)')
CAUSES = (*(cause for cause, _ in _RULES), EMPTY, OTHER)
"""Every cause, in the order in which the rules are tried."""
MAX_ERROR_CHARACTERS = 4000


def root_cause(call: CallRecord) -> str | None:
    """Return the cause of a call that failed or came back with nothing; None for one that did neither."""
    if not call.passed_on:
        return None
    text = call.result[:MAX_ERROR_CHARACTERS]
    nothing = _NOTHING.match(text) or _NO_DATA.search(text)
    if succeeded(call):
        return EMPTY if nothing else None
    return next((cause for cause, rule in _COMPILED if rule.search(text)), EMPTY if nothing else OTHER)
