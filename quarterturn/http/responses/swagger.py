"""Swagger UI's files, as the launcher installed them from npm; where they are missing, /docs is a plain list.

Each is served from this service under its own name; nothing is loaded from elsewhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from quarterturn.http.responses.public_view import Document

INSTALLED = Path(sys.prefix, "swagger", "node_modules", "swagger-ui-dist")  # see `quarterturn.launcher.node`
OURS = Path(__file__).parents[1] / "swagger"
MEDIA: Mapping[str, str] = {
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "start.js": "text/javascript; charset=utf-8",
}
_INLINE = re.compile(rb'url\("data:(?:[^"\\]|\\.)*"\)|url\(data:[^)]*\)')


@cache
def files(installed: Path = INSTALLED) -> Mapping[str, Document]:
    """Return the files by their names, or none where one is missing; they are read once."""
    places = {name: OURS / name if (OURS / name).is_file() else installed / name for name in MEDIA}
    if not all(place.is_file() for place in places.values()):
        return {}
    return {name: Document.of(_without_images(place.read_bytes(), name)) for name, place in places.items()}


def _without_images(data: bytes, name: str) -> bytes:
    """Leave a style sheet's inline images out: the page's policy allows images of this service alone."""
    return _INLINE.sub(b"none", data) if name.endswith(".css") else data
