"""Strict reader of case files: JSON Lines with one task result per line, in any order, read into a `ResultTable`.

Refused, in one sentence with file and line, are: a line that is not a JSON object, lacks a field, or has a field of
another type or twice; a duplicate result; a task or a submission that contradicts an earlier line; and a blank line
between others. A line may have `foreign`, which `rotation.detection.statistics.served_values` reads. Other fields are
ignored. What is read of a rotation depends on nothing later: the call limit of a task is that of the rotation in which
it was first run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import from_json

from rotation.detection.statistics.served_values import SaidValues, ServedValues, dated, served_values
from rotation.detection.statistics.table import Bools, Ints, ResultTable
from rotation.errors import Malformed

FIELDS: dict[str, tuple[type, ...]] = {
    "rotation": (int,),
    "submission": (str,),
    "submitter": (str,),
    "task_id": (str,),
    "server": (str,),
    "family": (str,),
    "first_active_rotation": (int,),
    "passed": (bool,),
    "tool_calls": (int,),
    "max_steps": (int,),
}
MIN_VALUES = {
    "rotation": 1,
    "tool_calls": 0,
    "max_steps": 0,
    "first_active_rotation": -(2**31),
}
EXCLUSIVE_MAX_VALUE = 2**31
BLOCK = 50_000
WORDS = {int: "a whole number", str: "a text", bool: "true or false"}
WHY: dict[type[Exception], str] = {
    UnicodeDecodeError: "it is not UTF-8",
    json.JSONDecodeError: "it is no JSON",
    TypeError: "it is no JSON object",
    RecursionError: "it is nested too deeply",
}
_picked = itemgetter(*FIELDS)

Column = Sequence[Any]
Foreign = tuple[ServedValues, ...]


def cases(paths: Iterable[Path], out: Path | None = None) -> dict[str, Path]:
    """Map the stems of the case files that paths name to their paths, sorted by stem; a folder means its `*.jsonl`.

    Args:
        paths: files and folders.
        out: the output file for the flags: skipped if it lies in such a folder, refused if it is named itself.
    """
    by_name: dict[str, Path] = {}
    for path in paths:
        files = _files(path, out)
        if not files:
            raise Malformed(f"{path}: there is no *.jsonl in this folder; name a case file or a folder of them.")
        for file in files:
            if not _named(file.stem):
                raise Malformed(f"{str(file)!r}: a case has its file's name, and this one is not UTF-8; rename it.")
            if file.stem in by_name:
                raise Malformed(f"{file}: {by_name[file.stem]} is a case called {file.stem!r} too; rename one of them.")
            by_name[file.stem] = file
    return dict(sorted(by_name.items(), key=lambda item: item[0].encode("utf-8", "surrogateescape")))


def _files(path: Path, out: Path | None) -> list[Path]:
    place = out.resolve() if out else None
    if path.is_dir():
        return [file for file in sorted(path.glob("*.jsonl")) if file.resolve() != place]
    if path.resolve() == place:
        raise Malformed(f"{path}: the flags would be written over this case; name another file with --out.")
    return [path]


def read(path: Path) -> ResultTable:
    """Read a case file."""
    try:
        text = path.read_bytes().rstrip()
    except OSError as error:
        raise Malformed(
            f"{path}: cannot be read ({error.strerror}); name a table, a case file or a folder of them."
        ) from error
    columns, foreign = _columns(path, text.split(b"\n") if text else [])
    return _table(path, columns, foreign)


def _broken(path: Path, line: int, what: str) -> Malformed:
    return Malformed(f"{path}, line {line}: {what}; correct the line and scan again.")


def _columns(path: Path, lines: list[bytes]) -> tuple[dict[str, Column], dict[int, Foreign]]:
    """Return the columns of a file, and by number of the line, from 0, the `foreign` of those that have it."""
    foreign: dict[int, Foreign] = {}
    columns: dict[str, list[Any]] = {name: [] for name in FIELDS}
    for start in range(0, len(lines), BLOCK):
        rows = []
        for number, line in enumerate(lines[start : start + BLOCK], start + 1):
            try:
                row = _row(line)
                rows.append(_picked(row))
                if "foreign" in row:
                    foreign[number - 1] = served_values(row["foreign"])
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise _broken(path, number, _why(line, error)) from error
        for (name, kinds), column in zip(FIELDS.items(), zip(*rows, strict=True), strict=True):
            if not _right(name, kinds, column):
                raise _guilty(path, rows, start)
            columns[name].extend(column)
    return dict(columns), foreign


def _row(line: bytes) -> Any:
    """Parse a line: by the fast parser if it is flat, by the strict one if it may repeat a field or is broken."""
    try:
        row = from_json(line, allow_inf_nan=False)
        if line.count(b":") == len(row):
            return row
    except ValueError:
        pass
    return _strict.decode(line.decode())


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        raise ValueError("it has a field twice")
    return row


_strict = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_once)


def _why(line: bytes, error: Exception) -> str:
    if not line.strip():
        return "it is blank"
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    if str(error).startswith("Exceeds the limit"):
        return "it has a number that is too long"
    return next((words for kind, words in WHY.items() if isinstance(error, kind)), str(error))


def _right(name: str, kinds: tuple[type, ...], column: Column) -> bool:
    """Whether every value of a column is of its type and between its bounds."""
    if not set(map(type, column)) <= set(kinds):
        return False
    if kinds == (str,):
        return all(map(_named, set(column)))
    return name == "passed" or (min(column) >= MIN_VALUES[name] and max(column) < EXCLUSIVE_MAX_VALUE)


def _named(text: str) -> bool:
    """Whether a text is not empty and can be written as UTF-8."""
    return bool(text) and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _guilty(path: Path, rows: list[tuple[Any, ...]], start: int) -> Malformed:
    """Return the error for the first wrong line and field."""
    for number, row in enumerate(rows, start + 1):
        for (name, kinds), value in zip(FIELDS.items(), row, strict=True):
            if not _right(name, kinds, (value,)):
                bound = f" of at least {MIN_VALUES[name]}" if MIN_VALUES.get(name, -1) >= 0 else ""
                return _broken(path, number, f"{name!r} has to be {WORDS[kinds[-1]]}{bound}")
    raise AssertionError("no line of the block is wrong")


def _codes(names: Column) -> tuple[tuple[str, ...], Ints]:
    """Return the names in the order of their bytes, and each row's index into them."""
    order = sorted(set(names), key=lambda name: name.encode())
    places = {name: place for place, name in enumerate(order)}
    return tuple(order), np.fromiter(map(places.__getitem__, names), np.int64, len(names))


def _table(path: Path, columns: dict[str, Column], foreign: dict[int, Foreign]) -> ResultTable:
    submissions, submission = _codes(columns["submission"])
    submitters, submitter = _codes(columns["submitter"])
    tasks, task = _codes(columns["task_id"])
    families, family = _codes(columns["family"])
    rotation, first, calls, cap = (
        np.array(columns[name], dtype=np.int64)
        for name in ("rotation", "first_active_rotation", "tool_calls", "max_steps")
    )
    servers = _codes(columns["server"])[1]
    for name, values in (("family", family), ("first_active_rotation", first), ("server", servers)):
        _same(path, task, values, f"the task had another {name!r} before")
    _same(path, submission, submitter, "the submission had another submitter before")
    stride = max(len(submissions), 1)
    by = stride * max(len(submitters), 1)
    keys, run = np.unique(rotation * by + submitter * stride + submission, return_inverse=True)
    runs = np.stack([keys // by, keys % by // stride, keys % stride], axis=1)
    _given_once(path, run * len(tasks) + task)
    chosen = np.zeros(len(tasks), dtype=np.int64)
    chosen[task] = np.arange(len(task))
    shape = (len(runs), len(tasks))
    taken, passed = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    counted = np.zeros(shape, dtype=np.int64)
    taken[run, task], passed[run, task], counted[run, task] = True, np.array(columns["passed"], dtype=bool), calls
    return ResultTable(
        runs=tuple(submissions[index] for index in runs[:, 2]),
        submitter=runs[:, 1],
        rotation=runs[:, 0],
        submitters=submitters,
        tasks=tasks,
        family=family[chosen] if len(task) else chosen,
        families=families,
        server=servers[chosen] if len(task) else chosen,
        first=first[chosen] if len(task) else chosen,
        cap=_caps(rotation, task, cap, len(tasks)),
        taken=taken,
        passed=passed,
        calls=counted,
        sequence=np.zeros(shape, dtype=np.int64),
        exposed=_exposed(runs[:, 0], first[chosen] if len(task) else chosen),
        said=tuple(_said(path, columns, foreign)),
    )


def _said(path: Path, columns: dict[str, Column], foreign: dict[int, Foreign]) -> Iterator[SaidValues]:
    """Yield what was said, without the parameters of which a submitter never said anything."""
    choices: dict[tuple[str, str], int] = {}
    said: set[tuple[str, str, str]] = set()
    for line, values in foreign.items():
        submitter, task = columns["submitter"][line], columns["task_id"][line]
        for value in values:
            if choices.setdefault((task, value.parameter), value.choices) != value.choices:
                raise _broken(path, line + 1, f"{value.parameter!r} in 'foreign' had another number of choices before")
            if value.said:
                said.add((submitter, task, value.parameter))
    for line, values in foreign.items():
        submitter, task = columns["submitter"][line], columns["task_id"][line]
        rotation = columns["rotation"][line]
        read = dated(values, rotation)
        kept = tuple(value for value in read if (submitter, task, value.parameter) in said)
        yield SaidValues(rotation, submitter, task, kept)


def _exposed(rotation: Ints, first: Ints) -> Bools:
    exposed: Bools = first < rotation[:, None]
    return exposed


def _same(path: Path, who: Ints, what: Ints, sentence: str) -> None:
    """Refuse the first row whose value differs from that of the first row with the same `who`."""
    _, index, inverse = np.unique(who, return_index=True, return_inverse=True)
    wrong = np.flatnonzero(what != what[index[inverse]])
    if len(wrong):
        raise _broken(path, int(wrong[0]) + 1, sentence)


def _given_once(path: Path, cells: Ints) -> None:
    _, index, inverse = np.unique(cells, return_index=True, return_inverse=True)
    again = np.flatnonzero(index[inverse] != np.arange(len(cells)))
    if len(again):
        before = int(index[inverse[again[0]]]) + 1
        raise _broken(path, int(again[0]) + 1, f"line {before} gave a result of this submission, rotation and task")


def _caps(rotation: Ints, task: Ints, cap: Ints, count: int) -> Ints:
    """Return the most calls that each task allowed in the rotation in which it was first run; at least one."""
    earliest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(earliest, task, rotation)
    caps = np.ones(count, dtype=np.int64)
    now = rotation == earliest[task]
    np.maximum.at(caps, task[now], cap[now])
    return caps
