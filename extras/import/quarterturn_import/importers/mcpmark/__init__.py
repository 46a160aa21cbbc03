"""Importer of mcpmark: its verifiers are read with `ast`, and never run; their idioms become predicates by a table."""

from __future__ import annotations

import ast
import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quarterturn_import.importers.conversion import SourceTask
from quarterturn_import.importers.formula import Formula, TooLarge, start_anew, understood, unknowns
from quarterturn_import.importers.mcpmark.queries import tidied
from quarterturn_import.importers.mcpmark.statements import Interpreter
from verifiers.tree import FileTree

SERVICES = ("filesystem", "github", "postgres", "notion", "playwright", "playwright_webarena")
SERVERS = {"filesystem": "filesystem", "github": "github", "postgres": "postgres"}


_VIEW = re.compile(r"\bviews?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task is: its name, its verifier's file, its service, and the account that its organization becomes."""

    name: str
    file: str
    service: str
    account: str


def read_task(
    verifier: str, place: Place, goal: str, meta: Mapping[str, Any], state: Mapping[str, Any] | None
) -> SourceTask:
    """Read one task.

    Args:
        verifier: the source of its verify.py.
        place: where it is.
        goal: the text of its description.md.
        meta: what its meta.json holds.
        state: the initial state, if there is one: it is downloaded apart.
    """
    if place.service in SERVICES and place.service not in SERVERS:
        formula: Formula = True
        reasons = [f"{place.file}: there is no predicate for the service {place.service}"]
    else:
        formula, reasons = read_verifier(verifier, place)
        if place.service == "postgres" and _VIEW.search(goal):
            reasons.append(f"{place.file}: the goal speaks of a view, and views of the end state are not read")
    return SourceTask(
        place.name,
        goal,
        formula,
        state=state,
        reasons=reasons,
        difficulty=str(meta.get("difficulty", "")),
        server=SERVERS.get(place.service, ""),
    )


def read_verifier(verifier: str, place: Place) -> tuple[Formula, list[str]]:
    """Return the conditions of a verifier that were understood, and what was not, with file and line."""
    try:
        module = ast.parse(verifier)
    except (SyntaxError, ValueError):
        return True, [f"{place.file}: it is not Python"]
    start_anew()
    interpreter = Interpreter(place.file, place.account)
    try:
        success = interpreter.success(module)
    except (TooLarge, RecursionError):
        return True, [f"{place.file}: it branches too much to be read"]
    return tidied(understood(success)), unknowns(success)


def state_of(tree: FileTree) -> dict[str, Any]:
    """Return the initial state of a folder of files."""
    files: dict[str, Any] = {}
    folders: list[str] = []
    for path, node in tree.items():
        if node.kind == "directory" and not tree.children(path):
            folders.append(path)
        elif node.kind == "file":
            files[path] = _content(node.data)
    return {"filesystem": {"files": files, **({"directories": folders} if folders else {})}}


def _content(data: bytes) -> Any:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
