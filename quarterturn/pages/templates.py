"""Jinja environment of all page templates; whatever a template is given is escaped.

Markup comes only from `quarterturn.pages.drawing.svg` and from the filter `coded`, and is marked where
it is used (`|safe`): it holds numbers, words of ours, and names that were escaped there.
"""

from __future__ import annotations

import hashlib
import html
import re
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from quarterturn.pages.drawing.formatting import legible, short

HERE = Path(__file__).parent
STYLES = ("page.css", "site.css", "explorer.css")


@cache
def environment() -> Environment:
    """Return the environment: everything is escaped, and what was not given is an error."""
    made = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"coded": coded, "legible": legible, "short": short}
    return made


def coded(text: str) -> str:
    """Escape a text, and write its words in backticks as code; what comes out is markup (`|safe`)."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def render(name: str, **data: Any) -> str:
    """Fill a template."""
    return environment().get_template(name).render(**data)


@cache
def inline_style(*names: str) -> str:
    """Return style sheets as one, for a page that is a file of its own."""
    return "".join((HERE / name).read_text(encoding="utf-8") for name in names)


@cache
def inline_style_hash(*names: str) -> str:
    """Return the hash by which a content policy allows them."""
    digest = hashlib.sha256(inline_style(*names).encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"


def script(name: str) -> bytes:
    """Return a script of the service's pages."""
    return (HERE / name).read_bytes()


def style() -> bytes:
    """Return the style sheet of the service's pages."""
    return "".join((HERE / name).read_text(encoding="utf-8") for name in STYLES).encode()
