"""The recorded tool lists of the pinned servers: `tools.json` in each server's folder.

`python -m sandbox.servers.record` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.servers.common.server import FOLDERS

NAME = "tools.json"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Tool list of one server, and its version when it was recorded."""

    package: str
    version: str
    tools: Mapping[str, Mapping[str, Any]] = field(repr=False)


def load(name: str) -> Recorded:
    """Read the record of one server."""
    content = json.loads((FOLDERS / name / NAME).read_text(encoding="utf-8"))
    return Recorded(package=content["package"], version=content["version"], tools=content["tools"])
