"""Browser verifier: web pages that check the public log and a release without the command line.

The scripts in this folder are JavaScript counterparts of the Python modules beside it and give the same results for the
same bytes. They are concatenated into one function, after the audit's own tables of rules and forms, and nothing else
is done to them:

- `page` gives `verify.html`: one file with its script and its style inside, for a release on a disk. Its policy lets
  that script run, and no other, and lets nothing reach a network. Every release carries it. `python -m
  vault.ledger.browser > verify.html` writes the same bytes, so whoever has the source need not believe a release.
- `explorer` gives the script of the service's page, which reads the public log over HTTP.

What they prove and what they do not stands in `docs/how-to/check-in-a-browser.md`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from vault.ledger.release import contents
from vault.ledger.release.bundle_reader import CAPS
from vault.ledger.statements.forms import BASIC, PATTERNS, TEXT_LIMIT
from vault.ledger.statements.log_state import ALL_COHORTS, NEXT_COHORT, SPECS, WITHDRAWAL
from vault.ledger.statements.rules import RULES
from vault.ledger.statements.statement import STATEMENTS, TYPE, URN

HERE = Path(__file__).parent
LIBRARY = (
    "bytes.js",
    "json.js",
    "rules.js",
    "forms.js",
    "merkle.js",
    "note.js",
    "statement.js",
    "logstate.js",
    "log.js",
    "release.js",
    "tasks.js",
    "results.js",
    "evidence.js",
    "lookup.js",
    "view.js",
)


def page() -> bytes:
    """Return the text of `verify.html`."""
    script, style = _script("verify.js"), _read("verify.css")
    parts = {"script-hash": _hash(script), "style-hash": _hash(style), "style": style, "script": script}
    text = _read("verify.html.in")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text.encode()


def explorer() -> bytes:
    """Return the script of the log explorer page."""
    return _script("explorer.js").encode()


def library() -> str:
    """Return the code that both share, without a function around it."""
    return "\n".join([f"const TABLES = {tables()};\n", *map(_read, LIBRARY)])


def tables() -> str:
    """Return the rules and forms of the audit as JSON, so that the page has the same ones."""
    patterns = {name: (_ecmascript(pattern), words) for name, (pattern, words) in PATTERNS.items()}
    document = {
        "rules": RULES,
        "patterns": patterns,
        "basic": {name: words for name, (_, words) in BASIC.items()},
        "textLimit": TEXT_LIMIT,
        "type": TYPE,
        "urn": URN,
        "attested": contents.ATTESTED,
        "statements": STATEMENTS,
        "forms": contents.FORMS,
        "task": contents.TASK,
        "caps": [*CAPS.items()],
        "specs": SPECS,
        "allCohorts": ALL_COHORTS,
        "nextCohort": NEXT_COHORT,
        "withdrawal": WITHDRAWAL,
        "readme": {
            "text": contents.README_TEXT,
            "rows": contents.README_ROWS,
            "hint": contents.PAGE_HINT,
        },
    }
    # nothing in it may end the script element that it stands in
    return json.dumps(document, indent=1).replace("<", "\\u003c")


def _ecmascript(pattern: str) -> str:
    """Write a pattern of Python's, with re.ASCII, as one of ECMAScript's."""
    return pattern.replace(r"\s", r" \t\n\r\f\v")


def _script(last: str) -> str:
    return f'(() => {{\n"use strict";\n\n{library()}\n{_read(last)}}})();\n'


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
