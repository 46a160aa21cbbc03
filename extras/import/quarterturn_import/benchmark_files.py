"""Reads the files of another benchmark from disk and hands them to their importer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from quarterturn.errors import Malformed, NotFound
from quarterturn_import.importers import mcp_universe, mcpmark, rows
from quarterturn_import.importers.conversion import Conversion, SourceTask, convert
from sandbox.servers.registry import SERVERS
from vault.canonical import parse_object
from verifiers.tree import FileTree

MAX_FILE = 4 * 1024 * 1024


def convert_path(benchmark: str, path: Path, *, account: str, states: Path | None) -> list[Conversion]:
    """Convert every task of a benchmark below a path, in the order of their names.

    Args:
        benchmark: `mcpmark`, `mcp-universe` or `rows`.
        path: a file, or a folder.
        account: the GitHub login that the tasks' own account becomes.
        states: the folder with the initial states, if there is one.

    Raises:
        NotFound: there is nothing at the path, or none of the benchmark's files.
        Malformed: a file cannot be read; the message names it.
    """
    if not path.exists():
        raise NotFound(f"there is nothing at {path}")
    if states is not None and not states.is_dir():
        raise NotFound(f"there is no folder {states}; --state names one with a file NAME.json for each task")
    sources = list(_READERS[benchmark](path, account, states))
    if not sources:
        raise NotFound(f"{path} has no {_SOUGHT[benchmark]}; name the folder that holds the tasks of {benchmark}")
    tools = {name: list(server.tools) for name, server in SERVERS.items()}
    return [convert(source, tools) for source in sources]


def _rows(path: Path, _account: str, _states: Path | None) -> Iterator[SourceTask]:
    for file in _files(path, "*.jsonl", "*.csv"):
        yield from rows.read_rows(_text(file), file.name)


def _mcp_universe(path: Path, account: str, states: Path | None) -> Iterator[SourceTask]:
    for file in _files(path, "*.json"):
        state = _state(states, file.stem)
        yield mcp_universe.read_task(_text(file), file.stem, account, state)


def _mcpmark(path: Path, account: str, states: Path | None) -> Iterator[SourceTask]:
    for file in _files(path, "verify.py"):
        folder = file.parent
        name = "/".join(folder.parts[-3:]) if len(folder.parts) > 1 else folder.name
        goal, meta = _optional(folder / "description.md"), _meta(folder / "meta.json")
        service = next((part for part in reversed(folder.parts) if part in mcpmark.SERVICES), "")
        state = _state(states, folder.name) or _folder_state(states, folder.parent.name, service)
        yield mcpmark.read_task(_text(file), mcpmark.Place(name, str(file), service, account), goal, meta, state)


_READERS: Mapping[str, Callable[[Path, str, Path | None], Iterator[SourceTask]]] = {
    "mcpmark": _mcpmark,
    "mcp-universe": _mcp_universe,
    "rows": _rows,
}
_SOUGHT = {"mcpmark": "verify.py", "mcp-universe": "JSON files", "rows": "files *.jsonl or *.csv"}


def _files(path: Path, *patterns: str) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for pattern in patterns for file in path.rglob(pattern) if file.is_file())


def _text(file: Path) -> str:
    if file.stat().st_size > MAX_FILE:
        raise Malformed(f"{file} is longer than {MAX_FILE} bytes")
    try:
        return file.read_text(encoding="utf-8")
    except ValueError:
        raise Malformed(f"{file} is not UTF-8") from None


def _optional(file: Path) -> str:
    return _text(file) if file.is_file() else ""


def _meta(file: Path) -> Mapping[str, Any]:
    try:
        meta = json.loads(_optional(file) or "{}")
    except ValueError:
        raise Malformed(f"{file} is not JSON") from None
    return meta if isinstance(meta, dict) else {}


def _state(states: Path | None, name: str) -> Mapping[str, Any] | None:
    file = states / f"{name}.json" if states is not None else None
    return parse_object(_text(file).encode(), str(file)) if file is not None and file.is_file() else None


def _folder_state(states: Path | None, name: str, service: str) -> Mapping[str, Any] | None:
    """Return the initial state of the files in a category's folder, where the service is that of files."""
    if states is None or service != "filesystem" or not (states / name).is_dir():
        return None
    tree = FileTree.from_directory(states / name)
    return mcpmark.state_of(tree)
