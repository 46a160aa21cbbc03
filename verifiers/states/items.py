"""List of what is in a state, item by item: a file, a row, a key, a message, each with its fields.

People read it (`verifiers.states.difference`), and the frame compares it (`verifiers.states.frame`), so everything that
a reader read is in it, but for what `verifiers.states.own_changes` leaves out.

An item has a label that is unique in its state and tells it from the others in another state too: a path, a primary
key, a name. What has no such thing (a row without a key) is labelled by what it holds, and numbered where it is there
several times. Only normal forms are read here; one of an unknown namespace is listed value by value.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from verifiers.budget import ReadingBudget
from verifiers.normal_form import NormalState
from verifiers.predicates import namespaces
from verifiers.quoting import quoted
from verifiers.states import own_changes
from verifiers.tree import DIRECTORY

Fields: TypeAlias = Mapping[str, Any]


class Item(NamedTuple):
    """One item of a state.

    Attributes:
        label: what tells it from the others, for people.
        sort: what it is: `file`, `row`, `issue`, …
        key: the parts of its label by name, as plain JSON values.
        fields: what it holds, as plain JSON values.
        inside: the label of the item that it is a part of, or nothing: of a new sheet its formats are parts.
    """

    label: str
    sort: str
    key: Fields
    fields: Fields
    inside: str = ""


VALUE_CHARACTERS = 60
"""Characters of a value that a row's label has; where it is longer, the label has a digest of the values."""
DIGEST_CHARACTERS = 10
"""Characters of that digest."""
A_MESSAGE = (
    *("path", "folder", "flags", "id", "refers", "from", "to", "cc", "recipients", "subject", "text", "files"),
    *("headers", "source"),
)
MARKS = {"S": "read", "F": "flagged", "R": "answered", "D": "draft", "T": "deleted"}
"""Letter of a message's flags to the field that it is."""
AN_EVENT = ("kind", "uid", "summary", "start", "end", "location", "description", "status", "repeats", "attendees")
A_REPOSITORY = ("description", "private", "default_branch", "parent")
AN_ISSUE = ("title", "body", "user", "state", "state_reason", "labels", "assignees", "milestone")
A_PULL = ("head", "base", "draft", "merged_at", "merge_commit", "merge_method")
FRAMED_ONLY = (
    *("homepage", "archived", "topics", "language", "stars", "collaborators", "labels", "statuses"),
    *("maintainer_can_modify", "requested_reviewers"),
)
"""Fields of a repository or a pull request that states may lack which were written down."""
A_HEAD, A_BASE = ("repository", "branch", "sha"), ("branch", "sha")
REMARK_SORTS = {"comments": "comment", "reviews": "review", "review_comments": "review comment"}
REMARK_FIELDS = {
    "comment": ("user", "body"),
    "review": ("user", "state", "body"),
    "review comment": ("user", "path", "body"),
}
TYPED = frozenset({"key", "row", "value"})
"""Sorts of item whose fields are shown as JSON, because 1 and "1" differ in them."""
_HISTORY = ("repository", "head", "refs", "ref", "branch file", "commit")
SORTS: Mapping[str, Sequence[str]] = {
    "calendar": ("event", "todo", "file"),
    "files": ("file", "link", "folder", "other"),
    "forge": (
        "account",
        "milestone",
        "issue",
        "pull request",
        "comment",
        "review",
        "review comment",
        "end",
        *_HISTORY,
        "file",
    ),
    "git": (*_HISTORY, "index", "staged file", "work file", "file"),
    "graph": ("entity", "observation", "relation", "file"),
    "json_document": ("value",),
    "mailbox": ("folder", "message", "sent message", "file"),
    "postgres": ("schema", "table", "column", "constraint", "index", "row", "object", "sequence"),
    "redis": ("key",),
    "sqlite": ("database", "file", "table", "column", "index", "view", "trigger", "rows", "row"),
    "workbook": ("file", "workbook", "name", "sheet", "merged cells", "row", "appearance"),
}
"""State kind to the sorts of its items that a selection can name."""
_FOLDER, _PRIMARY, _COMPUTED, _SEQUENCE, _STATISTICS = "040000", "p", 2, "sqlite_sequence", "sqlite_stat1"


def items_of(namespace: str, state: NormalState, budget: ReadingBudget | None = None) -> dict[str, Item]:
    """List the items of a state that can be read by their labels, in its order.

    Args:
        namespace: the server's name, whose state kind says what the items are.
        state: its normal form.
        budget: what listing may cost; by default the caps in `verifiers.budget`.

    Raises:
        CorruptState: they are more than the budget has.
        LookupError, TypeError, ValueError, AttributeError: it is no state of its kind.
    """
    items: dict[str, Item] = {}
    seen: Counter[str] = Counter()
    budget = budget or ReadingBudget(what="listing")
    listed = _LISTED.get(namespaces.kind_of(namespace) or namespace)
    for item in _values(state) if listed is None else chain(listed(state), _unread(state)):
        budget.step(1 + len(item.fields))
        seen[item.label] += 1
        label = item.label if seen[item.label] == 1 else f"{item.label} ({seen[item.label]})"
        items[label] = item._replace(label=label)
    return items


def _unread(state: NormalState) -> Iterator[Item]:
    for place, whole, text in state.document.get("unread", ()):
        yield Item(f"file {place}", "file", {"path": place}, {"is": text}, inside=whole)


def render_field(item: Item, field: str) -> str:
    """Write one field of an item as text."""
    value = item.fields[field]
    return value if isinstance(value, str) and item.sort not in TYPED else json.dumps(value, ensure_ascii=False)


def _files(state: NormalState) -> Iterator[Item]:
    known = {entry[0] for entry in state.document["entries"]}
    for path, kind, mode, held in state.document["entries"]:
        yield from _implied_folders(path, known)
        key = {"path": path}
        if kind == "file":
            yield Item(f"file {path}", "file", key, {"text": _text(state.blobs[held]), "mode": f"{mode:o}"})
        elif kind == "symlink":
            yield Item(f"link {path}", "link", key, {"target": held})
        elif kind == "directory":
            yield Item(f"folder {path}", "folder", key, {"mode": f"{mode:o}"})
        else:
            yield Item(f"{kind} {path}", "other", key, {})


def _implied_folders(path: str, known: set[str]) -> Iterator[Item]:
    """List the folders that lead to a path and have no entry: no file lies in none, and the predicates count them."""
    implied: list[str] = []
    while (path := posixpath.dirname(path)) and path not in known:
        known.add(path)
        implied.append(path)
    for folder in reversed(implied):
        yield Item(f"folder {folder}", "folder", {"path": folder}, {"mode": f"{DIRECTORY.mode:o}"})


def _repositories(state: NormalState) -> Iterator[Item]:
    for path, repository in state.document["repositories"].items():
        yield from _history(path, repository, state.blobs)
        if "spoiled" not in repository:
            yield from _status(path, repository, state.blobs)


def _history(path: str, repository: Mapping[str, Any], blobs: Sequence[bytes]) -> Iterator[Item]:
    """List HEAD, refs, commits, and the files on each branch."""
    key = {"repository": path}
    if "spoiled" in repository:
        yield Item(path, "repository", key, {"unreadable": repository["spoiled"]})
        return
    yield Item(f"{path}: HEAD", "head", key, {"at": repository["head"]})
    if "spoiled" in repository["refs"]:
        yield Item(f"{path}: refs", "refs", key, {"unreadable": repository["refs"]["spoiled"]})
    budget = ReadingBudget(what="listing")
    refs = {ref: at for ref, at in repository["refs"].items() if ref.startswith("refs/")}
    for ref, at in sorted(refs.items()):
        commit = repository["commits"].get(at)
        yield Item(f"{path}: {ref}", "ref", {**key, "ref": ref}, {"commit": at, "message": commit[2] if commit else ""})
        if ref.startswith("refs/heads/") and commit:
            branch = ref.removeprefix("refs/heads/")
            for file, (mode, held) in _tree(repository["trees"], commit[0], budget):
                its, fields = {**key, "branch": branch, "path": file}, _content(repository, blobs, mode, held)
                yield Item(f"{path}: file {file} on {branch}", "branch file", its, fields)
    reached = _reached(repository["commits"], [repository["head"], *refs.values()])
    for at, (tree, parents, message) in repository["commits"].items():
        if at in reached:
            once = list(dict.fromkeys(parents))  # git counts a parent that is there twice once
            fields = {"message": message, "tree": tree, "parents": once}
            yield Item(f"{path}: commit {at}", "commit", {**key, "commit": at}, fields)


def _reached(commits: Mapping[str, Any], tips: Sequence[str]) -> set[str]:
    waiting, reached = list(tips), set()
    while waiting:
        at = waiting.pop()
        if at in commits and at not in reached:
            reached.add(at)
            waiting += commits[at][1]
    return reached


def _content(repository: Mapping[str, Any], blobs: Sequence[bytes], mode: str, at: str) -> Fields:
    blob = repository["blobs"].get(at)
    return {"mode": mode, "object": at} if blob is None else {"mode": mode, "text": _text(blobs[blob])}


def _status(path: str, repository: Mapping[str, Any], blobs: Sequence[bytes]) -> Iterator[Item]:
    """List in what the index and the work tree each differ from the commit that HEAD is at.

    What is taken out of the index again is in the work tree as it was, and its item stays the same.
    """
    key = {"repository": path}
    at = repository["head"].removeprefix("ref: ")
    commit = repository["commits"].get(repository["refs"].get(at, at))
    committed = dict(_tree(repository["trees"], commit[0], ReadingBudget(what="listing"))) if commit else {}
    for name, field_name in (("spoiled", "unreadable"), ("skipped", "not checked out")):
        if name in repository["index"]:
            yield Item(f"{path}: index", "index", key, {field_name: repository["index"][name]})
    staged = {file: (mode, held) for file, mode, held in repository["index"].get("entries", ())}
    work = {file: (mode, held) for file, mode, held in repository["files"]}
    for sort, label, after in (("staged file", "staged", staged), ("work file", "file", work)):
        for file in sorted({*committed, *after}):
            if committed.get(file) != after.get(file):
                fields = _content(repository, blobs, *after[file]) if file in after else {"removed": True}
                yield Item(f"{path}: {label} {file}", sort, {**key, "path": file}, fields)


def _tree(
    trees: Mapping[str, Any], name: str, budget: ReadingBudget, folder: str = ""
) -> Iterator[tuple[str, tuple[str, str]]]:
    """List the files of a commit's tree with mode and object; a folder may be there any number of times."""
    for mode, entry, held in trees.get(name, ()):
        budget.step()
        if mode == _FOLDER:
            yield from _tree(trees, held, budget, f"{folder}{entry}/")
        else:
            yield f"{folder}{entry}", (mode, held)


def _forge(state: NormalState) -> Iterator[Item]:
    forge = state.document["forge"]
    yield Item("account", "account", {}, {"viewer": forge["viewer"]})
    for login, user in forge["users"].items():
        yield Item(f"account {login}", "account", {"login": login}, user)
    for name, repository in forge["repositories"].items():
        key, stored = {"repository": name}, f"repositories/{name}.git" in state.document["repositories"]
        yield Item(f"repository {name}", "repository", key, {**_named(repository, A_REPOSITORY), "git": stored})
        for number, milestone in repository["milestones"].items():
            its = {**key, "number": int(number)}
            yield Item(f"{name}: milestone {number}", "milestone", its, milestone)
        for number, issue in repository["issues"].items():
            yield from _issue(name, int(number), issue, forge["viewer"])
    for path, repository in state.document["repositories"].items():
        name = path.removeprefix("repositories/").removesuffix(".git")
        refs = repository.get("refs", {}).items()
        kept = {ref: at for ref, at in refs if not own_changes.is_the_forges_own(ref)}
        yield from _history(name, {**repository, "refs": kept}, state.blobs)  # it is bare: no index, no work tree


def _issue(repository: str, number: int, issue: Mapping[str, Any], viewer: str) -> Iterator[Item]:
    """List an issue or a pull request, and what was said to it, each comment and review an item.

    Who closed or merged it is an item where it was not the viewer, whose doing its state tells.
    """
    pull = issue["pull"]
    sort, whole = ("pull request", {**issue, **pull}) if pull else ("issue", issue)
    own = {**_named(issue, AN_ISSUE), "labels": sorted({*issue["labels"]}), "assignees": sorted({*issue["assignees"]})}
    if issue["state_reason"] == "reopened":  # it is open, as others are; a forge remembers that it was closed
        own["state_reason"] = None
    if pull:
        own |= {**_named(pull, A_PULL), "head": _named(pull["head"], A_HEAD), "base": _named(pull["base"], A_BASE)}
    its = {"repository": repository, "number": number}
    yield Item(f"{repository}: {sort} #{number}", sort, its, own)
    if others := {name: whole[name] for name in ("closed_by", "merged_by") if whole.get(name) not in {None, viewer}}:
        yield Item(f"{repository}: end of {sort} #{number}", "end", its, others)
    for part, what in REMARK_SORTS.items():
        for place, said in enumerate(whole.get(part, ()), 1):
            key = {"repository": repository, "issue": number, "place": place}
            yield Item(
                f"{repository}: {what} {place} on {sort} #{number}", what, key, _named(said, REMARK_FIELDS[what])
            )


def _named(record: Mapping[str, Any], names: Sequence[str]) -> Fields:
    """Take the fields that a reader writes."""
    return {name: record[name] for name in names} | {name: record[name] for name in FRAMED_ONLY if name in record}


def _database(state: NormalState) -> Iterator[Item]:
    yield Item("database", "database", {}, state.document.get("header", {}))
    for kind, name, table, sql in state.document.get("others", ()):
        yield Item(f"{kind} {name}", kind, {"name": name}, {"table": table, "sql": sql})
    tables = state.document["tables"]
    counts = {table["name"] for table in tables if "autoincrement" in table.get("sql", "").lower()}
    given_out, measured = [*_own_rows(tables, _SEQUENCE, 2)], [*_own_rows(tables, _STATISTICS, 3)]
    last = {table: key for table, key in given_out if table in counts}
    for table, key in given_out:
        if table not in last or last[table] != key:
            yield Item(f"{_SEQUENCE} row {table}", "row", {"table": _SEQUENCE}, {"name": table, "seq": key})
    known = {table["name"] for table in tables}
    for table, index, numbers in measured:
        if table not in known:
            yield Item(
                f"{_STATISTICS} row {table}", "row", {"table": _STATISTICS}, {"index": index, "numbers": numbers}
            )
    for table in tables:
        name = table["name"]
        if own_changes.is_sqlites_own(name):
            continue
        if "spoiled" in table:
            yield Item(f"table {name}", "table", {"table": name}, {"unreadable": table["spoiled"]})
            continue
        columns = table["columns"]
        keys = [column[0] for column in columns if column[4]]
        stored = [column[0] for column in columns if column[5] != _COMPUTED]
        about_keys = {"keys": [last.get(name), _highest(table["rows"], stored, keys)]} if name in counts else {}
        statistics = [len(table["rows"]), [row[1:] for row in measured if row[0] == name]]
        about = {"sql": table.get("sql", ""), "statistics": statistics, **about_keys}
        yield Item(f"table {name}", "table", {"table": name}, about)
        for column, *rest in columns:
            fields = dict(zip(("type", "not null", "default", "key", "hidden"), rest, strict=True))
            yield Item(f"column {column} of {name}", "column", {"table": name, "column": column}, fields)
        if isinstance(table["rows"], dict):
            yield Item(f"rows of {name}", "rows", {"table": name}, {"unreadable": table["rows"]["spoiled"]})
        else:
            rows = ([_cell(cell, state) for cell in row] for row in table["rows"])
            yield from _rows({"table": name}, name, stored, keys, rows)


def _own_rows(tables: Sequence[Mapping[str, Any]], name: str, cells: int) -> Iterator[Sequence[Any]]:
    """List the rows of one of SQLite's own tables that begin with a table's name."""
    for table in tables:
        rows = table.get("rows", ()) if table["name"] == name else ()
        yield from (row for row in rows if isinstance(row, list) and len(row) == cells and isinstance(row[0], str))


def _highest(rows: Any, columns: Sequence[str], keys: Sequence[str]) -> int | None:
    """Return the highest number that the one key of some rows has."""
    place = columns.index(keys[0])
    return max((row[place] for row in rows if isinstance(row, list) and type(row[place]) is int), default=None)


def _tables(state: NormalState) -> Iterator[Item]:
    for schema in sorted({*state.document["schemas"], *(table["schema"] for table in state.document["tables"])}):
        yield Item(f"schema {schema}", "schema", {"schema": schema}, {})
    for table in state.document["tables"]:
        name = table["name"] if table["schema"] == "public" else f"{table['schema']}.{table['name']}"
        key = {"table": name}
        yield Item(f"table {name}", "table", key, {})
        for part, sort in (("columns", "column"), ("constraints", "constraint"), ("indexes", "index")):
            for place, entry in enumerate(table[part], 1):
                fields = {field: value for field, value in entry.items() if field != "name"}
                fields |= {"place": place} if sort == "column" else {}
                yield Item(f"{sort} {entry['name']} of {name}", sort, {**key, sort: entry["name"]}, fields)
        keys = next((entry["columns"] for entry in table["constraints"] if entry["kind"] == _PRIMARY), ())
        readable = [column["name"] for column in table["columns"] if column["readable"]]
        yield from _rows(key, name, readable, keys, table["rows"])
    for name, definition in state.document.get("objects", ()):
        yield Item(name, "object", {"name": name}, {"definition": definition})
    for name, last in state.document.get("sequences", ()):
        counted = [last, _highest_given_out(name, state.document["tables"])]
        yield Item(f"value of {name}", "sequence", {"name": name}, {"last": counted})


def _highest_given_out(sequence: str, tables: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the highest value in the column that a sequence numbers, which the sequence is named after."""
    for table in tables:
        readable = [column["name"] for column in table["columns"] if column["readable"]]
        for place, column in enumerate(readable):
            if sequence.endswith(f"{table['name']}_{column}_seq"):
                values = [row[place] for row in table["rows"] if (row[place] or "").isdecimal()]
                return max(map(int, values), default=None)
    return None


def _rows(
    key: Fields, table: str, columns: Sequence[str], keys: Sequence[str], rows: Iterable[Sequence[Any]]
) -> Iterator[Item]:
    for cells in rows:
        row = dict(zip(columns, cells, strict=True))
        told = {name: row[name] for name in keys if name in row} or row
        values = [f"{name} = {quoted(value, VALUE_CHARACTERS)}" for name, value in told.items()]
        label = f"{table} row {', '.join(values)}"
        if any(isinstance(value, str) and len(value) > VALUE_CHARACTERS - 2 for value in told.values()):
            label += f" {hashlib.sha256(json.dumps(told).encode()).hexdigest()[:DIGEST_CHARACTERS]}"
        yield Item(label, "row", key, row)


def _keys(state: NormalState) -> Iterator[Item]:
    for name, entry in state.document["keys"].items():
        fields = {"type": entry["type"]}
        if isinstance(entry["value"], dict):  # of a hash and a sorted set each field by its own name
            fields |= {f"value.{field}": value for field, value in entry["value"].items()}
        else:
            fields["value"] = [*dict.fromkeys(entry["value"])] if entry["type"] == "set" else entry["value"]
        if entry["left"] is not None:
            fields["expires"] = entry["left"]
        yield Item(f"key {name}", "key", {"key": name}, fields)


def _graph(state: NormalState) -> Iterator[Item]:
    for name, kind, observations in state.document["entities"]:
        yield Item(f"entity {name}", "entity", {"entity": name}, {"type": kind})
        for text in observations:
            its = {"entity": name, "text": text}
            yield Item(f"observation of {name}: {quoted(text, 200)}", "observation", its, {"text": text})
    for source, kind, target in state.document["relations"]:
        its = {"from": source, "type": kind, "to": target}
        yield Item(f"relation {source} {kind} {target}", "relation", its, {})


def _calendar(state: NormalState) -> Iterator[Item]:
    for calendar, *plain in state.document["items"]:
        fields = dict(zip(AN_EVENT, plain, strict=True))
        kind, uid, series = fields.pop("kind"), fields.pop("uid"), fields.pop("repeats")
        fields["repeats"] = [*series["occurrences"], series["known_until"]] if series else {}
        fields["changed occurrences"] = series["changed"] if series else {}
        yield Item(f"{calendar}: {kind} {uid}", kind, {"calendar": calendar, "uid": uid}, _given(fields))
    for calendar, name, reason, digest in state.document.get("unreadable", ()):
        fields = {"unreadable": reason, "digest": digest}
        yield Item(f"{calendar}: file {name}", "file", {"calendar": calendar, "file": name}, fields)


def _mail(state: NormalState) -> Iterator[Item]:
    parts = {part: [_message(plain, state) for plain in state.document[part]] for part in ("kept", "sent")}
    folders = {*state.document["folders"], *(folder for folder, *_ in parts["kept"])}
    for folder in sorted(folders):
        yield Item(f"folder {folder}", "folder", {"folder": folder}, {})
    for path, reason, digest in state.document.get("unreadable", ()):
        yield Item(f"file {path}", "file", {"path": path}, {"unreadable": reason, "digest": digest})
    copies = Counter(_written(name, own) for _, name, _, own in parts["sent"])
    for folder, name, marks, own in parts["kept"]:
        if own_changes.is_for_copies(folder) and copies[_written(name, own)] and marks.keys() <= {"read"}:
            copies[_written(name, own)] -= 1
        else:
            yield Item(f"message {name}", "message", {"id": name}, {"folder": folder, **own, **marks})
    for _, name, _, own in parts["sent"]:
        sent = {field: value for field, value in own.items() if field != "source"}
        yield Item(f"sent message {name}", "sent message", {"id": name}, sent)
        if copies[_written(name, own)] and any(map(own_changes.is_for_copies, folders)):
            copies[_written(name, own)] -= 1
            yield Item(f"copy of sent message {name}", "message", {"id": name}, {"lost": True})


def _message(plain: Sequence[Any], state: NormalState) -> tuple[str, str, Fields, Fields]:
    """Return a message's folder, id, marks and what else it has."""
    fields = dict(zip(A_MESSAGE, plain, strict=True))
    own = {field: value for field, value in fields.items() if field not in {"path", "folder", "flags", "id"}}
    own["files"] = [f"{file}: {_text(state.blobs[blob])}" for file, blob in fields["files"]]
    marks = {MARKS.get(letter, f"flag {letter}"): True for letter in fields["flags"]}
    return fields["folder"], fields["id"], marks, _given(own)


def _written(name: str, own: Fields) -> str:
    """Write down what a message says, of which the copy that is kept has no envelope."""
    said = {field: value for field, value in own.items() if field not in {"recipients", "source"}}
    return json.dumps([name, said], sort_keys=True)


def _workbooks(state: NormalState) -> Iterator[Item]:
    for path, kind in state.document["paths"]:
        yield Item(f"{kind} {path}", kind, {"path": path}, {})
    for path, book in state.document["books"].items():
        key = {"workbook": path}
        if "spoiled" in book:
            yield Item(path, "workbook", key, {"unreadable": book["spoiled"]})
            continue
        for name, meaning in book["names"].items():
            yield Item(f"{path}: name {name}", "name", {**key, "name": name}, {"means": meaning})
        for sheet, place, text in book.get("appearance", ()):
            whole = f"{path}: sheet {sheet}" if sheet else f"file {path}"
            its = {**key, "sheet": sheet, "place": place}
            yield Item(f"{path}: {place}", "appearance", its, {"is": text}, inside=whole)
        for place, sheet in enumerate(book["sheets"], 1):
            about = {"place": place, "hidden": sheet["hidden"], "tables": sheet["tables"]}
            its = {**key, "sheet": sheet["name"]}
            yield Item(f"{path}: sheet {sheet['name']}", "sheet", its, about)
            for area in sheet["merged"]:
                yield Item(f"{path}: merged {area} on {sheet['name']}", "merged cells", {**its, "area": area}, {})
            rows: dict[int, dict[str, Any]] = {}
            dates = {(row, column) for row, column in sheet.get("dates", ())}
            for row, column, value, *formula in sheet["cells"]:
                shown = {"date": value} if (row, column) in dates else value  # a text of it is another value
                # What a formula shows follows from other cells, and from which program wrote the file.
                rows.setdefault(row, {})[_letters(column)] = {"formula": formula[0]} if formula else shown
            for row, cells in rows.items():
                yield Item(f"{path}: {sheet['name']} row {row}", "row", {**its, "row": row}, cells)


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
            yield Item(place, "value", {"place": place}, {"value": value})


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


def _given(fields: Fields) -> Fields:
    """Leave out what is empty."""
    return {name: value for name, value in fields.items() if value}


def _cell(cell: Any, state: NormalState) -> Any:
    if isinstance(cell, dict) and "blob" in cell:
        data = state.blobs[cell["blob"]]
        return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return cell


def _letters(column: int) -> str:
    """Return the letters of a column, from 1."""
    letters = ""
    while column > 0:
        column, place = divmod(column - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters


def _text(data: bytes) -> str:
    """Return bytes as the text that they are, or by their number and digest."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"{len(data)} bytes that are no text, SHA-256 {hashlib.sha256(data).hexdigest()}"
