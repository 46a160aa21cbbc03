"""Looking into an SQLite database that somebody hostile may have written.

1. The file is loaded into memory. Where a write-ahead log or a rollback journal lies beside it, whose content counts,
   the files are written to a tmpfs and opened there.
2. An authorizer allows reading tables and nothing else: nothing can be attached or written. The schema is not trusted.
3. Only stored columns of base tables are looked at, through names that the schema really has: never a view, a virtual
   table or a column that is computed when it is read, so that no expression of the agent's runs. They are read from
   the table's own pages and never from an index, which a schema that was tampered with could pass off for them.
4. A cap on the virtual machine's steps, not on the clock, ends a query that goes on forever: the same bytes come to
   the same verdict on a slow machine too. What cannot be read is wreckage (`Spoiled`).

See SQLite's "Defense Against The Dark Arts" (sqlite.org/security.html).
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from verifiers.errors import Spoiled, Unreadable
from verifiers.language.context import Context
from verifiers.states.files.entries import open_files
from verifiers.states.scratch import scratch_folder
from verifiers.views import Node, Tree

FILE = "main.db"
STEPS_A_TICK = 100_000
TICKS = 2_000  # 200 million steps: some seconds, and many times what reading the largest allowed state takes
LENGTH = 64 * 1024 * 1024  # of one value, in bytes
_MAGIC = b"SQLite format 3\0"
_VERSIONS = slice(18, 20)  # file format, write and read version: 1 is a rollback journal, 2 is a write-ahead log
_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")  # a rollback journal that ends so names another file (fileformat2)
_COMPUTED = 2  # in the column `hidden` of table_xinfo
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_PRAGMAS = {"table_xinfo"}


class Column(NamedTuple):
    """What the schema says of one column: all of `PRAGMA table_xinfo` but its place."""

    name: str
    type: str
    not_null: int
    default: str | None
    key: int
    hidden: int  # 2: computed when it is read

    @property
    def computed(self) -> bool:
        """Say whether its cells are not stored."""
        return self.hidden == _COMPUTED


@dataclass
class Database:
    """An opened database; `Spoiled` wherever it turns out to be corrupt."""

    connection: sqlite3.Connection = field(repr=False)
    ticks: int = 0

    @cached_property
    def tables(self) -> dict[str, str]:
        """Map the folded names of the base tables to their names as they are written."""
        with _reading():
            rows = self.connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        # SQLite writes these two words so, whatever was typed; "CREATE/**/VIRTUAL TABLE" is somebody's own writing.
        return {
            fold(name): name
            for name, sql in rows
            if isinstance(name, str) and "\0" not in name and str(sql).upper().startswith("CREATE TABLE")
        }

    def columns(self, table: str) -> list[Column] | None:
        """Give a base table's columns, or None if there is no such base table."""
        name = self.tables.get(fold(table))
        if name is None:
            return None
        with _reading():
            return [Column(*row[1:]) for row in self.connection.execute(f"PRAGMA table_xinfo({_quoted(name)})")]

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Read these columns of a base table, row by row; both have to be there."""
        wanted = ", ".join(_quoted(column) for column in columns) or "1"
        self.ticks = 0
        with _reading():
            name = _quoted(self.tables[fold(table)])
            yield from self.connection.execute(f"SELECT {wanted} FROM {name} NOT INDEXED")  # noqa: S608 - quoted

    def tick(self) -> bool:
        """Count one stretch of steps and say whether to stop."""
        self.ticks += 1
        return self.ticks > TICKS


def fold(name: str) -> str:
    """Fold a name as SQLite does: upper and lower case of ASCII letters are the same."""
    return "".join(chr(ord(letter) + 32) if "A" <= letter <= "Z" else letter for letter in name)


def open_database(context: Context) -> Database:
    """Open the SQLite server's database, once an evaluation.

    Raises:
        Spoiled: it is missing or no database.
        Unreadable: there is no state, or no tmpfs where one is needed.
    """
    return context.once("sqlite", lambda: _opened(context))


def declared(columns: Sequence[tuple[str, str]]) -> list[Column] | None:
    """Give the columns of a table that is declared so, or None if SQLite refuses the declaration."""
    body = ", ".join(f"{_quoted(name)} {declaration}" for name, declaration in columns)
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute(f"CREATE TABLE t ({body})")
        except (sqlite3.Error, sqlite3.Warning):
            return None
        return [Column(*row[1:]) for row in connection.execute("PRAGMA table_xinfo(t)")]


def _opened(context: Context) -> Database:
    tree = open_files(context, "sqlite")
    node = tree.get(FILE)
    if node is None or node.kind != "file":
        raise Spoiled("there is no database file")
    beside = {f"{FILE}{end}": part for end in ("-wal", "-journal") if (part := _sidecar(tree, end))}
    connection = _on_scratch(context, {FILE: node} | beside) if beside else _in_memory(node.data)
    context.closing.callback(connection.close)
    database = Database(connection)
    with _reading():
        _guard(database)
    _ = database.tables  # the first reading, which recovers a log or a journal and finds most wreckage
    return database


def _sidecar(tree: Tree, end: str) -> Node | None:
    node = tree.get(FILE + end)
    if node is None or node.kind != "file" or not node.data:
        return None
    if end == "-journal" and node.data.endswith(_SUPER_JOURNAL):
        raise Spoiled("the database's journal names another file, which no server here writes")
    return node


def _in_memory(data: bytes) -> sqlite3.Connection:
    if data and not data.startswith(_MAGIC):
        raise Spoiled("the database file is not an SQLite database")
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if data[_VERSIONS] == b"\2\2":  # a log that was folded back in; memory knows no logs
        data = data[: _VERSIONS.start] + b"\1\1" + data[_VERSIONS.stop :]
    if data:
        try:
            connection.deserialize(data)
        except sqlite3.Error as error:
            connection.close()
            raise Spoiled(f"the database cannot be read: {error}") from error
    return connection


def _on_scratch(context: Context, files: dict[str, Node]) -> sqlite3.Connection:
    folder = context.closing.enter_context(scratch_folder())
    home = Path(tempfile.mkdtemp(dir=folder))
    try:
        for name, node in files.items():
            (home / name).write_bytes(node.data)
    except OSError as error:
        raise Unreadable(f"the database could not be copied to look at it: {error.strerror}") from error
    return sqlite3.connect(home / FILE, isolation_level=None, check_same_thread=False)


def _guard(database: Database) -> None:
    """Take everything away from the connection but reading; from here on it faces what the agent wrote."""
    connection = database.connection
    connection.text_factory = _text
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    if hasattr(connection, "enable_load_extension"):  # some builds have no extensions at all
        connection.enable_load_extension(False)  # noqa: FBT003 - positional only
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA query_only = ON")
    connection.set_progress_handler(database.tick, STEPS_A_TICK)
    connection.set_authorizer(_allowed)


def _allowed(action: int, first: str | None, *_: str | None) -> int:
    if action in _READS or (action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _reading() -> Iterator[None]:
    """Turn what SQLite says about a database that it cannot read into `Spoiled`."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        raise Spoiled(f"the database cannot be read: {error}") from error
