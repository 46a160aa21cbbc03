"""Small states, written out by hand, on which the catalogue's examples are shown and run.

Everything here is exact bytes: a repository is made of loose objects without git, and its dates are fixed.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from verifiers.declarations import declared
from verifiers.snapshot import written
from verifiers.views import DIRECTORY, Node, Tree, Views

WHO = "Example <example@quarterturn.invalid>"
DATE = 1_700_000_000

Commit = tuple[str, str, Mapping[str, str]]
"""A branch, a message, and every file of the commit."""


def tree_of(content: Mapping[str, str | bytes]) -> Tree:
    """Make a tree of these files and of the folders that lead to them."""
    nodes: dict[str, Node] = {}
    for path, data in content.items():
        folder = path
        while folder := posixpath.dirname(folder):
            nodes[folder] = DIRECTORY
        nodes[path] = Node("file", data.encode() if isinstance(data, str) else data)
    return Tree(nodes)


def said(answer: str) -> Views:
    """Give the views of an agent that only answered."""
    return Views(answer=answer)


def files(content: Mapping[str, str]) -> Views:
    """Give the views of a world whose filesystem server left these files."""
    return Views({"filesystem": tree_of(content)})


def database(statements: Sequence[str]) -> Views:
    """Give the views of a world whose SQLite server ran these statements."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
        return Views({"sqlite": Tree({"main.db": Node("file", connection.serialize())})})


def repository(
    commits: Sequence[Commit],
    *,
    on: str = "main",
    tags: Mapping[str, str] | None = None,
    staged: Mapping[str, str] | None = None,
    worktree: Mapping[str, str] | None = None,
) -> Views:
    """Give the views of a world with one repository, `site`.

    Args:
        commits: in their order; a branch that is new starts from the commit before.
        on: the branch that is checked out.
        tags: tag to branch.
        staged: what the index holds beside the files of that branch.
        worktree: the files of the work tree where they are not those of the index.
    """
    made: dict[str, bytes] = {}
    branches: dict[str, str] = {}
    held: dict[str, Mapping[str, str]] = {}
    last = ""
    for number, (branch, message, content) in enumerate(commits):
        parent = branches.get(branch, last)
        when = f"{WHO} {DATE + number} +0000"
        text = f"tree {_tree(made, content)}\n" + (f"parent {parent}\n" if parent else "")
        text += f"author {when}\ncommitter {when}\n\n{message}\n"
        last = branches[branch] = _object(made, "commit", text.encode())
        held[branch] = content
    index = {**held[on], **(staged or {})}
    made[".git/HEAD"] = f"ref: refs/heads/{on}\n".encode()
    made[".git/index"] = _index({path: _object(made, "blob", text.encode()) for path, text in index.items()})
    made |= {f".git/refs/heads/{name}": f"{at}\n".encode() for name, at in branches.items()}
    made |= {f".git/refs/tags/{name}": f"{branches[at]}\n".encode() for name, at in (tags or {}).items()}
    made |= {path: text.encode() for path, text in (index if worktree is None else worktree).items()}
    return Views({"git": tree_of(made).under("site")})


def _object(made: dict[str, bytes], kind: str, data: bytes) -> str:
    """Add a loose object and give its name (Git's gitformat-loose and Documentation/technical/hash-function)."""
    whole = f"{kind} {len(data)}\0".encode() + data
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    made[f".git/objects/{name[:2]}/{name[2:]}"] = zlib.compress(whole)
    return name


def _tree(made: dict[str, bytes], content: Mapping[str, str]) -> str:
    folders: dict[str, dict[str, str]] = {}
    entries: dict[str, bytes] = {}
    for path, text in content.items():
        head, _, rest = path.partition("/")
        if rest:
            folders.setdefault(head, {})[rest] = text
        else:
            entries[head] = f"100644 {head}\0".encode() + bytes.fromhex(_object(made, "blob", text.encode()))
    for name, inside in folders.items():  # a folder sorts as if its name ended in a slash
        entries[name + "/"] = f"40000 {name}\0".encode() + bytes.fromhex(_tree(made, inside))
    return _object(made, "tree", b"".join(entries[name] for name in sorted(entries)))


def _index(entries: Mapping[str, str]) -> bytes:
    """Write an index of version 2 (gitformat-index) whose recorded times and sizes are all zero."""
    body = b"DIRC" + (2).to_bytes(4, "big") + len(entries).to_bytes(4, "big")
    for path in sorted(entries):
        name = path.encode()
        entry = bytes(24) + (0o100644).to_bytes(4, "big") + bytes(12) + bytes.fromhex(entries[path])
        entry += len(name).to_bytes(2, "big") + name
        body += entry + bytes(8 - len(entry) % 8)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def postgres_database(
    tables: Mapping[str, Sequence[Sequence[str]]],
    rows: Mapping[str, Sequence[Sequence[str | None]]] | None = None,
    *,
    indexes: Mapping[str, Sequence[Sequence[str]]] | None = None,
    schemas: Sequence[str] = ("public",),
) -> Views:
    """Give the views of a world whose PostgreSQL server left these tables in the schema public.

    Args:
        tables: table to its columns, each a name and a declaration.
        rows: table to its rows, each cell as PostgreSQL prints it.
        indexes: table to the columns of each of its indexes.
        schemas: the schemas that there are.
    """
    made = [
        _table(name, columns, (rows or {}).get(name, ()), (indexes or {}).get(name, ()))
        for name, columns in tables.items()
    ]
    return Views({"postgres": written({"schemas": list(schemas), "tables": made})})


def _table(
    name: str, columns: Sequence[Sequence[str]], rows: Sequence[Sequence[str | None]], indexes: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Write a table as PostgreSQL's reader does (`verifiers.postgres_state`)."""
    made, constraints = [], []
    for column, declaration in columns:
        meant = declared(column, declaration)
        if meant is None:
            raise ValueError(declaration)
        made.append(
            {
                "name": column,
                "type": meant.type,
                "base": _BASES.get(meant.type.split("(")[0], meant.type),
                "not_null": meant.not_null,
                "default": "there" if meant.default else None,
                "identity": False,
                "computed": False,
                "readable": True,
            }
        )
        if meant.key:
            constraints.append(_constraint(f"{name}_pkey", "p", column, None))
        if " references " in declaration:
            to = declaration.split(" references ")[1].split(" ")[0]
            constraints.append(_constraint(f"{name}_{column}_fkey", "f", column, ["public", to]))
    described = [
        {"name": f"{name}_{'_'.join(on)}_idx", "unique": False, "valid": True, "partial": False, "columns": list(on)}
        for on in indexes
    ]
    return {
        "schema": "public",
        "name": name,
        "columns": made,
        "constraints": constraints,
        "indexes": described,
        "rows": [list(row) for row in rows],
    }


def _constraint(name: str, kind: str, column: str, to: Sequence[str] | None) -> dict[str, Any]:
    definition = f"{'FOREIGN' if to else 'PRIMARY'} KEY ({column})"
    there = {"name": name, "kind": kind, "definition": definition, "valid": True}
    return {**there, "columns": [column], "to": to, "to_columns": ["id"] if to else None}


_BASES = {"integer": "int4", "bigint": "int8", "numeric": "numeric", "boolean": "bool"}


def redis_keys(keys: Mapping[str, tuple[str, Any]], *, left: Mapping[str, int] | None = None) -> Views:
    """Give the views of a world whose Redis server left these keys.

    Args:
        keys: key to its type and its value, as Redis's reader writes them (`verifiers.redis_state`).
        left: the milliseconds that are left to those keys that run out.
    """
    made = {
        name: {"type": kind, "value": value, "left": (left or {}).get(name)} for name, (kind, value) in keys.items()
    }
    return Views({"redis": written({"keys": made})})


def memory_graph(
    entities: Sequence[tuple[str, str, Sequence[str]]], relations: Sequence[tuple[str, str, str]]
) -> Views:
    """Give the views of a world whose memory server left this graph.

    Args:
        entities: name, type and observations of each.
        relations: from, type and to of each.
    """
    lines = [
        {"type": "entity", "name": name, "entityType": kind, "observations": list(observations)}
        for name, kind, observations in entities
    ]
    lines += [
        {"type": "relation", "from": source, "to": target, "relationType": kind} for source, kind, target in relations
    ]
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    return Views({"memory": tree_of({"memory.jsonl": text})})
