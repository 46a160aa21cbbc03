"""Browser verifier: web pages that check the public log and a release without the command line.

The scripts in this folder are JavaScript counterparts of the Python modules beside it and give the same results for the
same bytes. They are concatenated into one function, and nothing else is done to them:

- `page` gives `verify.html`: one file with its script and its style inside, for a release on a disk. Its policy lets
  that script run, and no other, and lets nothing reach a network. Every release carries it. `python -m
  vault.ledger.browser > verify.html` writes the same bytes, so whoever has the source need not believe a release.
- `explorer` gives the script of the service's page, which reads the public log over HTTP.

What they prove and what they do not stands in `docs/how-to/check-in-a-browser.md`.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

HERE = Path(__file__).parent
LIBRARY = (
    "bytes.js",
    "json.js",
    "merkle.js",
    "note.js",
    "shapes.js",
    "statement.js",
    "history.js",
    "handover.js",
    "log.js",
    "release.js",
    "tasks.js",
    "results.js",
    "spotcheck.js",
    "lookup.js",
    "view.js",
)


def page() -> bytes:
    """Give the text of `verify.html`."""
    script, style = _script("verify.js"), _read("verify.css")
    parts = {"script-hash": _hash(script), "style-hash": _hash(style), "style": style, "script": script}
    text = _read("verify.html.in")
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text.encode()


def explorer() -> bytes:
    """Give the script of the log explorer page."""
    return _script("explorer.js").encode()


def library() -> str:
    """Give the code that both share, without a function around it."""
    return "\n".join(map(_read, LIBRARY))


def _script(last: str) -> str:
    return f'(() => {{\n"use strict";\n\n{library()}\n{_read(last)}}})();\n'


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
