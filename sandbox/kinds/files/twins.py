"""Twins of files: new texts with another end, other line endings, another layout of JSON, and quoted CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from sandbox.kinds.common.texts import other_layout
from verifiers.tree import FileTree


def _new_texts(before: FileTree, after: FileTree) -> Iterator[tuple[str, str]]:
    """List the texts that no file had before, by their paths."""
    known = {node.data for node in before.values()}
    for path, node in after.items():
        if node.kind == "file" and node.data and node.data not in known and b"\0" not in node.data:
            try:
                yield path, node.data.decode()
            except UnicodeDecodeError:
                continue


def _with(after: FileTree, texts: Mapping[str, str]) -> FileTree:
    return FileTree({**after, **{path: replace(after[path], data=text.encode()) for path, text in texts.items()}})


def _final_newline(before: FileTree, after: FileTree) -> FileTree:
    texts = {}
    for path, text in _new_texts(before, after):
        old = before[path].data.decode(errors="replace") if path in before else ""
        if old.splitlines()[-1:] != text.splitlines()[-1:]:  # the last line is the solution's
            texts[path] = text.removesuffix("\n") if text.endswith("\n") else f"{text}\n"
    return _with(after, texts)


def _line_endings(before: FileTree, after: FileTree) -> FileTree:
    made = {path: text for path, text in _new_texts(before, after) if path not in before and "\r" not in text}
    return _with(after, {path: text.replace("\n", "\r\n") for path, text in made.items()})


def _json_layout(before: FileTree, after: FileTree) -> FileTree:
    made = {path: text for path, text in _new_texts(before, after) if path not in before}
    return _with(after, {path: again for path, text in made.items() if (again := other_layout(text))})


def _csv_quoting(before: FileTree, after: FileTree) -> FileTree:
    texts = {}
    for path, text in _new_texts(before, after):
        if path not in before and path.endswith(".csv"):
            written = io.StringIO()
            csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(csv.reader(io.StringIO(text)))
            texts[path] = written.getvalue()
    return _with(after, texts)


TWINS: Mapping[str, Callable[[FileTree, FileTree], FileTree]] = {
    "final-newline": _final_newline,
    "line-endings": _line_endings,
    "json-layout": _json_layout,
    "csv-quoting": _csv_quoting,
}
"""By name: gives the twin of a final state, or that state where it has nothing of the sort."""
