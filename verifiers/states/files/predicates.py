"""Predicates over the files that the filesystem server left.

A symbolic link is never followed: where a file or a folder is asked for, a link is neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from verifiers.errors import TargetMissing
from verifiers.formats.plain_json import MAX_BYTES, parse_json
from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NOTHING, PATH, TEXT, Example, ProbeResult, names, predicate
from verifiers.predicates.values import at_pointer, difference, json_equal
from verifiers.quoting import NAMES, listed, quoted
from verifiers.states.files import contents  # noqa: F401 - it registers its predicates
from verifiers.states.files.entries import open_files
from verifiers.states.files.examples import files
from verifiers.states.files.parts import (
    AN_ENTRY,
    FOLDER,
    KIND,
    SHA256,
    described,
    file_data,
    file_text,
    is_folder,
    is_of_kind,
)
from verifiers.texts import lowered, lowered_bytes, place_of

POINTER = {"type": "string", "pattern": "^(/[^~/]*(~[01][^~/]*)*)*$", "description": "JSON pointer (RFC 6901)"}


@predicate(
    "filesystem.fileExists",
    words="there is a file at {path}",
    takes={"path": PATH},
    produces=NOTHING,
    example=Example({"path": "out/a.txt"}, partial(files, {"out/a.txt": "a"}), partial(files, {"out/b.txt": "a"})),
)
def file_exists(context: Context, path: str) -> ProbeResult:
    """A regular file is at the path, whatever is in it."""
    return ProbeResult(holds=True, found=f"{quoted(path)} is a file of {len(file_data(context, path))} bytes")


@predicate(
    "filesystem.directoryExists",
    words="there is a folder at {path}",
    takes={"path": PATH},
    produces=NOTHING,
    example=Example({"path": "out"}, partial(files, {"out/a.txt": "a"}), partial(files, {"out": "a file"})),
)
def directory_exists(context: Context, path: str) -> ProbeResult:
    """A folder is at the path, empty or not."""
    tree = open_files(context)
    context.budget.step(AN_ENTRY * len(tree))
    return ProbeResult(is_folder(tree, path), described(tree, path))


@predicate(
    "filesystem.pathAbsent",
    words="there is nothing at {path}",
    takes={"path": PATH},
    produces=NOTHING,
    example=Example({"path": "tmp/x"}, partial(files, {"tmp/y": ""}), partial(files, {"tmp/x": ""})),
)
def path_absent(context: Context, path: str) -> ProbeResult:
    """Nothing is at the path: no file, no folder, no link."""
    tree = open_files(context)
    context.budget.step(AN_ENTRY * len(tree))
    return ProbeResult(path not in tree and not is_folder(tree, path), described(tree, path))


@predicate(
    "filesystem.fileTextEquals",
    words="the file {path} holds exactly {text}",
    takes={"path": PATH, "text": TEXT},
    may_take={"trim": FLAG, "ignore_case": FLAG},
    produces=("text",),
    example=Example(
        {"path": "a.txt", "text": "hi\n"}, partial(files, {"a.txt": "hi\n"}), partial(files, {"a.txt": "hi"})
    ),
)
def file_text_equals(
    context: Context, path: str, text: str, *, trim: bool = False, ignore_case: bool = False
) -> ProbeResult:
    """The file's bytes are the text in UTF-8. With `trim`, white space at the ends of either does not count."""
    data, expected = file_data(context, path), text.encode()
    if trim:
        data, expected = data.strip(), expected.strip()
    if ignore_case:
        data, expected = lowered_bytes(data, context.budget), expected.decode().lower().encode()
    return ProbeResult(data == expected, f"{quoted(path)} {difference(data, expected)}")


@predicate(
    "filesystem.fileContains",
    words="the file {path} contains {text}",
    takes={"path": PATH, "text": {"type": "string", "minLength": 1}},
    may_take={"ignore_case": FLAG},
    produces=("text",),
    example=Example({"path": "a", "text": "cat"}, partial(files, {"a": "one cat"}), partial(files, {"a": "one Cat"})),
)
def file_contains(context: Context, path: str, text: str, *, ignore_case: bool = False) -> ProbeResult:
    """The text occurs somewhere in the file, in this case and as UTF-8."""
    data, wanted = file_data(context, path), text.encode()
    if ignore_case:
        data, wanted = lowered_bytes(data, context.budget), text.lower().encode()
    at = place_of(wanted, data, context.budget)
    where = f"has it at byte {at}" if at >= 0 else f"does not have it in its {len(data)} bytes"
    return ProbeResult(at >= 0, f"{quoted(path)} {where}")


@predicate(
    "filesystem.fileSha256",
    words="the file {path} has the SHA-256 {sha256}",
    takes={"path": PATH, "sha256": SHA256},
    produces=NOTHING,  # nobody writes a digest
    example=Example(
        {"path": "a", "sha256": hashlib.sha256(b"hi").hexdigest()},
        partial(files, {"a": "hi"}),
        partial(files, {"a": "ho"}),
    ),
)
def file_sha256(context: Context, path: str, sha256: str) -> ProbeResult:
    """The file's bytes have this digest; for files that are too long or too binary to write into a task."""
    data = file_data(context, path)
    digest = hashlib.sha256(data).hexdigest()
    return ProbeResult(digest == sha256, f"{quoted(path)} is a file of {len(data)} bytes with the SHA-256 {digest}")


@predicate(
    "filesystem.directoryHasOnly",
    words="the folder {path} holds {names} and nothing else",
    takes={"path": FOLDER, "names": names()},
    may_take={"ignore": names(), "kind": KIND},
    produces=NOTHING,  # most files were there before
    example=Example(
        {"path": "out", "names": ["a", "b"]},
        partial(files, {"out/a": "", "out/b/c": ""}),
        partial(files, {"out/a": "", "out/b": "", "out/c": ""}),
    ),
)
def directory_has_only(
    context: Context, path: str, names: Sequence[str], *, ignore: Sequence[str] = (), kind: str | None = None
) -> ProbeResult:
    """What lies directly in the folder (files, folders, links) has just these names; an empty list means empty.

    The names to `ignore` may be there or not. With `kind`, only files or only folders count.
    """
    tree = open_files(context)
    context.budget.step(AN_ENTRY * len(tree))
    if not is_folder(tree, path):
        raise TargetMissing(described(tree, path))
    every = tree.children("" if path == "." else path)
    inside = {name: name if path == "." else f"{path}/{name}" for name in every}
    children = [name for name in every if name not in ignore and is_of_kind(tree, inside[name], kind)]
    missing, extra = sorted(set(names) - set(children)), sorted(set(children) - set(names))
    if not missing and not extra:
        return ProbeResult(holds=True, found=f"{quoted(path)} holds just these {len(children)}")
    return ProbeResult(holds=False, found=f"{quoted(path)} lacks {listed(missing)} and has besides {listed(extra)}")


@predicate(
    "filesystem.fileLineCount",
    words="the file {path} has {count} lines",
    takes={"path": PATH, "count": COUNT},
    may_take={"skip_blank": FLAG, "at_least": FLAG},
    produces=NOTHING,
    example=Example({"path": "a", "count": 2}, partial(files, {"a": "x\ny"}), partial(files, {"a": "x\ny\nz\n"})),
)
def file_line_count(
    context: Context, path: str, count: int, *, skip_blank: bool = False, at_least: bool = False
) -> ProbeResult:
    """The number of lines, where each line feed ends one and what follows the last line feed is one more.

    With `skip_blank`, lines of white space alone do not count; with `at_least`, there may be more.
    """
    data = file_data(context, path)
    lines = data.count(b"\n") + (data[-1:] not in {b"", b"\n"})
    if skip_blank:
        context.budget.step(lines)
        lines = sum(bool(line.strip()) for line in data.split(b"\n"))
    return ProbeResult(lines >= count if at_least else lines == count, f"{quoted(path)} has {lines} lines")


@predicate(
    "filesystem.fileLines",
    words="the lines of the file {path} are {lines}",
    takes={"path": PATH, "lines": {"type": "array", "items": {"type": "string", "pattern": "^[^\\n]*$"}}},
    may_take={"any_order": FLAG, "ignore_case": FLAG, "skip_blank": FLAG},
    produces=("lines",),
    example=Example(
        {"path": "a", "lines": ["x", "y"], "any_order": True},
        partial(files, {"a": "y\nx\n"}),
        partial(files, {"a": "x\n"}),
    ),
)
def file_lines(
    context: Context,
    path: str,
    lines: Sequence[str],
    *,
    any_order: bool = False,
    ignore_case: bool = False,
    skip_blank: bool = False,
) -> ProbeResult:
    """The file's lines are these. White space at a line's end and empty lines at the file's end do not count.

    With `skip_blank`, no empty line counts, nor white space at a line's beginning.
    """
    text = file_text(context, path).rstrip()
    if ignore_case:
        text, lines = lowered(text, context.budget), [line.lower() for line in lines]
    count = text.count("\n") + bool(text)
    if skip_blank:
        context.budget.step(count)
        text = "\n".join(line.strip() for line in text.split("\n") if line.strip())
        count = text.count("\n") + bool(text)
    actual = [line.rstrip() for line in text.split("\n", max(len(lines), NAMES))] if text else []
    wanted = [line.strip() if skip_blank else line.rstrip() for line in lines]
    same = sorted(actual) == sorted(wanted) if any_order else actual == wanted
    more = f" and {count - NAMES} more" if count > NAMES else ""
    return ProbeResult(same, f"{quoted(path)} has {count} lines: {listed(actual[:NAMES])}{more}")


@predicate(
    "filesystem.fileJsonEquals",
    words="the JSON in the file {path} is {value}",
    takes={"path": PATH, "value": {}},
    may_take={"pointer": POINTER},
    produces=("value",),
    example=Example(
        {"path": "a.json", "pointer": "/n/0", "value": 1},
        partial(files, {"a.json": '{"n": [1.0]}'}),
        partial(files, {"a.json": '{"n": ["1"]}'}),
    ),
)
def file_json_equals(context: Context, path: str, value: Any, pointer: str = "") -> ProbeResult:
    """The file is JSON, and its value, or the part that the pointer leads to, is this one.

    The order of keys and the way a number is written (1, 1.0) do not count; types do (1, "1" and true all differ).
    A file beyond 4 MiB is not read.
    """
    data = file_data(context, path)
    if len(data) > MAX_BYTES:
        raise TargetMissing(f"{quoted(path)} is longer than {MAX_BYTES} bytes, which no task asks for")
    context.budget.parse_json(data)
    try:
        actual = at_pointer(parse_json(data), pointer)
    except ValueError:
        raise TargetMissing(f"{quoted(path)} is not JSON") from None
    except LookupError:
        raise TargetMissing(f"{quoted(path)} has nothing at {quoted(pointer)}") from None
    return ProbeResult(json_equal(actual, value), f"{quoted(path)} has there {quoted(actual)}")
