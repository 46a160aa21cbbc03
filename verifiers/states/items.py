"""List of what is in a state, item by item, for people: a file, a row, a key, a message, each with its fields.

A field is a text: the text itself where it can be nothing else, and JSON where its type matters (a cell, a value).
An item has a label that is unique in its state and tells it from the others in another state too: a path, a primary
key, a name. What has no such thing (a row without a key) is labelled by what it holds, and numbered where it is there
several times. Only normal forms are read here; one of an unknown namespace is listed value by value.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from verifiers.budget import ReadingBudget
from verifiers.normal_form import NormalState
from verifiers.predicates import namespaces
from verifiers.quoting import quoted

Fields: TypeAlias = Mapping[str, str]
Item: TypeAlias = tuple[str, Fields]

SHORT = 10
"""Characters of an object's or a digest's name that are shown."""
DIGITS = 2
"""Of the seconds that a key has left: the rest passes while a task is played."""
A_MESSAGE = ("path", "folder", "flags", "id", "refers", "from", "to", "cc", "recipients", "subject", "text", "files")
AN_EVENT = ("kind", "uid", "summary", "start", "end", "location", "description", "status", "repeats", "attendees")
_FOLDER, _PRIMARY = "040000", "p"


def items_of(namespace: str, state: NormalState) -> dict[str, Fields]:
    """List the items of a state that can be read, in its order.

    Raises:
        CorruptState: they are more than the budget has.
        LookupError, TypeError, ValueError, AttributeError: it is no state of its kind.
    """
    items: dict[str, Fields] = {}
    seen: Counter[str] = Counter()
    budget = ReadingBudget(what="listing")
    for label, fields in _LISTED.get(namespaces.kind_of(namespace) or namespace, _values)(state):
        budget.step(1 + len(fields))
        seen[label] += 1
        items[label if seen[label] == 1 else f"{label} ({seen[label]})"] = fields
    return items


def _files(state: NormalState) -> Iterator[Item]:
    for path, kind, mode, held in state.document["entries"]:
        if kind == "file":
            yield f"file {path}", {"text": _text(state.blobs[held]), "mode": f"{mode:o}"}
        elif kind == "symlink":
            yield f"link {path}", {"target": held}
        else:
            yield f"{'folder' if kind == 'directory' else kind} {path}", {}


def _repositories(state: NormalState) -> Iterator[Item]:
    for path, repository in state.document["repositories"].items():
        yield from _repository(path, repository, state.blobs)


def _repository(path: str, repository: Mapping[str, Any], blobs: Sequence[bytes]) -> Iterator[Item]:
    if "spoiled" in repository:
        yield path, {"unreadable": repository["spoiled"]}
        return

    def content(name: str) -> Fields:
        at = repository["blobs"].get(name)
        return {"object": name[:SHORT]} if at is None else {"text": _text(blobs[at])}

    yield f"{path}: HEAD", {"at": repository["head"]}
    if "spoiled" in repository["refs"]:
        yield f"{path}: refs", {"unreadable": repository["refs"]["spoiled"]}
    budget = ReadingBudget(what="listing")
    refs = {ref: name for ref, name in repository["refs"].items() if ref.startswith("refs/")}
    for ref, name in sorted(refs.items()):
        commit = repository["commits"].get(name)
        yield f"{path}: {ref}", {"commit": name[:SHORT], "message": commit[2] if commit else ""}
        if ref.startswith("refs/heads/") and commit:
            for file, entry in _tree(repository["trees"], commit[0], budget):
                yield f"{path}: file {file} on {ref.removeprefix('refs/heads/')}", content(entry)
    for file, _, name in repository["files"]:
        yield f"{path}: file {file}", content(name)
    for file, _, name in repository["index"].get("entries", ()):
        yield f"{path}: staged {file}", {"object": name[:SHORT]}


def _tree(trees: Mapping[str, Any], name: str, budget: ReadingBudget, folder: str = "") -> Iterator[tuple[str, str]]:
    """List the files of a commit's tree with their objects; a folder may be there any number of times."""
    for mode, entry, held in trees.get(name, ()):
        budget.step()
        if mode == _FOLDER:
            yield from _tree(trees, held, budget, f"{folder}{entry}/")
        else:
            yield f"{folder}{entry}", held


def _forge(state: NormalState) -> Iterator[Item]:
    for name, repository in state.document["forge"]["repositories"].items():
        parts = ("milestones", "issues")
        yield f"repository {name}", _fields({key: repository[key] for key in repository if key not in parts})
        for number, milestone in repository["milestones"].items():
            yield f"{name}: milestone {number}", _fields(milestone)
        for number, issue in repository["issues"].items():
            pull = issue["pull"] or {}
            kind = "pull request" if pull else "issue"
            yield f"{name}: {kind} #{number}", _fields({key: issue[key] for key in issue if key != "pull"} | pull)
    yield from _repositories(state)


def _database(state: NormalState) -> Iterator[Item]:
    for table in state.document["tables"]:
        name = table["name"]
        if "spoiled" in table:
            yield f"table {name}", {"unreadable": table["spoiled"]}
            continue
        columns = table["columns"]
        yield f"table {name}", {"columns": ", ".join(f"{column[0]} {column[1]}".strip() for column in columns)}
        stored = [column[0] for column in columns if column[5] != 2]  # noqa: PLR2004 - computed when it is read
        keys = [column[0] for column in columns if column[4]]
        if isinstance(table["rows"], dict):
            yield f"rows of {name}", {"unreadable": table["rows"]["spoiled"]}
        else:
            yield from _rows(name, stored, keys, ([_cell(cell, state) for cell in row] for row in table["rows"]))


def _tables(state: NormalState) -> Iterator[Item]:
    for table in state.document["tables"]:
        name = table["name"] if table["schema"] == "public" else f"{table['schema']}.{table['name']}"
        columns = table["columns"]
        about = {
            "columns": ", ".join(f"{column['name']} {column['type']}" for column in columns),
            "constraints": ", ".join(entry["definition"] for entry in table["constraints"]),
            "indexes": ", ".join(entry["name"] for entry in table["indexes"]),
        }
        yield f"table {name}", about
        keys = next((entry["columns"] for entry in table["constraints"] if entry["kind"] == _PRIMARY), ())
        yield from _rows(name, [column["name"] for column in columns if column["readable"]], keys, table["rows"])


def _rows(table: str, columns: Sequence[str], keys: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[Item]:
    for cells in rows:
        row = dict(zip(columns, cells, strict=True))
        told = {key: row[key] for key in keys if key in row} or row
        yield (
            f"{table} row {', '.join(f'{name} = {quoted(value, 60)}' for name, value in told.items())}",
            {name: _json(value) for name, value in row.items()},
        )


def _keys(state: NormalState) -> Iterator[Item]:
    for name, entry in state.document["keys"].items():
        fields = {"type": entry["type"], "value": _json(entry["value"])}
        if entry["left"] is not None:
            seconds = float(f"{entry['left'] / 1000:.{DIGITS}g}")
            fields["expires"] = f"in about {seconds:g} s"
        yield f"key {name}", fields


def _graph(state: NormalState) -> Iterator[Item]:
    for name, kind, observations in state.document["entities"]:
        yield f"entity {name}", {"type": kind, "observations": _json(observations)}
    for source, kind, target in state.document["relations"]:
        yield f"relation {source} {kind} {target}", {}


def _calendar(state: NormalState) -> Iterator[Item]:
    for calendar, *plain in state.document["items"]:
        fields = dict(zip(AN_EVENT, plain, strict=True))
        yield f"{calendar}: {fields['kind']} {fields['uid']}", _fields(_given(fields, "kind", "uid"))


def _mail(state: NormalState) -> Iterator[Item]:
    for folder in state.document["folders"]:
        yield f"folder {folder}", {}
    for part in ("kept", "sent"):
        for plain in state.document[part]:
            fields = dict(zip(A_MESSAGE, plain, strict=True))
            place = fields["folder"] if part == "kept" else "sent"
            fields["files"] = [f"{name}: {_text(state.blobs[blob])}" for name, blob in fields["files"]]
            yield f"{place}: message {fields['id']}", _fields(_given(fields, "path", "folder", "id"))


def _workbooks(state: NormalState) -> Iterator[Item]:
    for path, kind in state.document["paths"]:
        yield f"{kind} {path}", {}
    for path, book in state.document["books"].items():
        if "spoiled" in book:
            yield path, {"unreadable": book["spoiled"]}
            continue
        for name, meaning in book["names"].items():
            yield f"{path}: name {name}", {"means": meaning}
        for sheet in book["sheets"]:
            about = {"hidden": sheet["hidden"], "tables": sheet["tables"], "merged": sheet["merged"]}
            yield f"{path}: sheet {sheet['name']}", _fields(about)
            rows: dict[int, dict[str, str]] = {}
            for row, column, value, *formula in sheet["cells"]:
                calculated = f" (={formula[0]})" if formula else ""
                rows.setdefault(row, {})[_letters(column)] = f"{_json(value)}{calculated}"
            for row, cells in rows.items():
                yield f"{path}: {sheet['name']} row {row}", cells


def _values(state: NormalState) -> Iterator[Item]:
    """List a state of which nothing is known, value by value."""
    waiting = [("$", state.document)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, dict) and value:
            waiting += [(f"{place}.{key}", part) for key, part in reversed(value.items())]
        elif isinstance(value, list) and value:
            waiting += [(f"{place}[{at}]", part) for at, part in reversed([*enumerate(value)])]
        else:
            yield place, {"value": _json(value)}


_LISTED: Mapping[str, Callable[[NormalState], Iterator[Item]]] = {
    "calendar": _calendar,
    "files": _files,
    "forge": _forge,
    "git": _repositories,
    "graph": _graph,
    "mailbox": _mail,
    "postgres": _tables,
    "redis": _keys,
    "sqlite": _database,
    "workbook": _workbooks,
}


def _fields(record: Mapping[str, Any]) -> Fields:
    """Give the fields of a record whose members have one type each."""
    return {name: value if isinstance(value, str) else _json(value) for name, value in record.items()}


def _given(fields: Mapping[str, Any], *but: str) -> Mapping[str, Any]:
    """Leave out what is empty, and what the label says."""
    return {name: value for name, value in fields.items() if value and name not in but}


def _cell(cell: Any, state: NormalState) -> Any:
    if isinstance(cell, dict):
        return _text(state.blobs[cell["blob"]]) if "blob" in cell else cell["float"]
    return cell


def _letters(column: int) -> str:
    """Give the letters of a column, from 1."""
    letters = ""
    while column > 0:
        column, place = divmod(column - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters


def _text(data: bytes) -> str:
    """Give bytes as the text that they are, or by their number and digest."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes that are no text, SHA-256 {hashlib.sha256(data).hexdigest()[:SHORT]}…"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
