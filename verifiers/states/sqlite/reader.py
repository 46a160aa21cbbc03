"""Reader of hostile SQLite databases, in memory.

1. A write-ahead log or a rollback journal beside it is applied first (`recovery`); then the file is loaded into a
   database in memory. No file is opened.
2. An authorizer allows reading tables and nothing else: nothing can be attached or written. The schema is not trusted.
3. Only stored columns of base tables are read, through names that the schema really has: never a view, a virtual table
   or a column that is computed when it is read, so that no expression of the agent's runs. They are read from the
   table's own pages and never from an index, which a schema that was tampered with could pass off for them.
4. A cap on the virtual machine's steps, not on the clock, ends a query that goes on forever: the same bytes come to
   the same verdict on a slow machine too. What cannot be read counts as corrupted (`CorruptState`); a corrupt table
   does not affect the others.

See SQLite's "Defense Against The Dark Arts" (sqlite.org/security.html).
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from verifiers.budget import BudgetSpent, ReadingBudget
from verifiers.errors import CorruptState
from verifiers.normal_form import NormalState
from verifiers.states.sqlite.recovery import JOURNAL_MAGIC, MAGIC, recovered, schema_size
from verifiers.states.sqlite.tables import SQLiteColumn, quoted_name
from verifiers.tree import FileTree

FILE = "main.db"
MACHINE_STEPS = 1000
"""Steps of SQLite's virtual machine between two looks at the budget."""
A_LOOK = 50  # steps for so many of the machine's
A_ROW = 3  # steps
A_TABLE, A_COLUMN = 100, 6  # steps
MAX_COLUMNS = 400
"""Of a table; SQLite compares each column's name with those before it."""
MAX_ENTRIES = 5000
"""Of the schema; SQLite goes through a table's indexes for each that it adds."""
MAX_SCHEMA = 4 << 20
MAX_STATEMENT = 256 << 10
A_SCHEMA_STEP = 4  # bytes of the schema, which SQLite parses and keeps
A_NUMBER, A_BLOB = 1, 2  # steps more than another cell
LENGTH = 16 << 20  # of one value, in bytes
PAGE_SIZE = 4096
HEADER = {
    "user_version": (60, 4),
    "application_id": (68, 4),
    "page_size": (16, 2),
    "cache_size": (48, 4),
    "auto_vacuum": (52, 4),
    "encoding": (56, 4),
    "incremental_vacuum": (64, 4),
}
"""Names of numbers in the header, each with its place and size in bytes."""
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_PRAGMAS = {"table_xinfo"}


def read_database(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read every base table into the normal form.

    Raises:
        CorruptState: it is missing or no database, or costs more than the budget has.
    """
    data = recovered_file(tree, budget)
    if data and not data.startswith(MAGIC):
        raise CorruptState("the database file is not an SQLite database")
    entries, size = schema_size(data, budget)
    if entries > MAX_ENTRIES or size > MAX_SCHEMA:
        raise CorruptState(f"the database's schema has more than {MAX_ENTRIES} entries or {MAX_SCHEMA} bytes")
    budget.step(size // A_SCHEMA_STEP)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        reader = _Reader(connection, budget)
        with reader.reading():
            if data:
                connection.deserialize(data)
            reader.guard()
            declared, others = reader.declarations()
        tables = [{**reader.table(name), "sql": sql} for name, sql in declared]
        made = {"tables": tables, "others": others, "header": _header(data, tree[FILE].data)}
        return NormalState(made, tuple(reader.blobs))


def _header(data: bytes, written: bytes) -> dict[str, int]:
    """Read the numbers in the file's header that a PRAGMA sets for good (fileformat2, section 1.3).

    A database in which nothing was ever made has no header yet, and counts as one that was just made. Whether it has a
    write-ahead log stands in the file alone, because the log is applied before.
    """
    header = {name: int.from_bytes(data[at : at + size], "big") for name, (at, size) in HEADER.items()}
    usual = {"journal": written[18]} if data and written else {"page_size": PAGE_SIZE, "journal": 1}
    # without a table there is no encoding; of the root page counts only whether there is one
    return {**header, "encoding": header["encoding"] or 1, "auto_vacuum": int(header["auto_vacuum"] > 0), **usual}


def recovered_file(tree: FileTree, budget: ReadingBudget) -> bytes:
    """Return the database file as SQLite would see it, with the journal or the log that lies beside it.

    Raises:
        CorruptState: it is missing, its log cannot be its own, or it costs more than the budget has.
    """
    node = tree.get(FILE)
    if node is None or node.kind != "file":
        raise CorruptState("there is no database file")
    journal, log = _beside(tree, "-journal"), _beside(tree, "-wal")
    if journal.endswith(JOURNAL_MAGIC):
        raise CorruptState("the database's journal names another file, which no server here writes")
    budget.keep(len(node.data))
    return recovered(node.data, journal, log, budget)


def _beside(tree: FileTree, end: str) -> bytes:
    node = tree.get(FILE + end)
    return node.data if node is not None and node.kind == "file" else b""


class _Reader:
    def __init__(self, connection: sqlite3.Connection, budget: ReadingBudget) -> None:
        self.connection, self.budget = connection, budget
        self.blobs: list[bytes] = []
        self.is_spent = False

    def guard(self) -> None:
        """Take everything away from the connection but reading; from here on it faces what the agent wrote."""
        connection = self.connection
        connection.text_factory = _text
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LENGTH)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, MAX_COLUMNS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_STATEMENT)
        if hasattr(connection, "enable_load_extension"):  # some builds have no extensions at all
            connection.enable_load_extension(False)  # noqa: FBT003 - positional only
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA query_only = ON")
        connection.set_progress_handler(self.look, MACHINE_STEPS)
        connection.set_authorizer(_allowed)

    def look(self) -> bool:
        """Count a stretch of the machine's steps, and say whether to stop."""
        try:
            self.budget.step(A_LOOK)
        except BudgetSpent:
            self.is_spent = True
        return self.is_spent

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn what SQLite says about a database that it cannot read into `CorruptState`."""
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            if self.is_spent:
                self.budget.step(self.budget.max_steps)
            raise CorruptState(f"the database cannot be read: {error}") from error

    def declarations(self) -> tuple[list[tuple[str, str]], list[list[str]]]:
        """List the base tables by name and statement, and all else as `[type, name, table, statement]`.

        An index that SQLite made for a constraint has no statement, and stands in that of its table.
        """
        rows = self.connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
        tables, others = [], []
        for kind, name, table, sql in rows:
            self.budget.step()
            # SQLite writes these two words so, whatever was typed; "CREATE/**/VIRTUAL TABLE" is somebody's own writing.
            if kind == "table" and isinstance(name, str) and str(sql).upper().startswith("CREATE TABLE"):
                if "\0" not in name:
                    tables.append((name, str(sql)))
            elif sql is not None:
                others.append([str(part) for part in (kind, name, table, sql)])
        return tables, others

    def table(self, name: str) -> dict[str, Any]:
        """Read one table."""
        self.budget.step(A_TABLE)
        try:
            with self.reading():
                cursor = self.connection.execute(f"PRAGMA table_xinfo({quoted_name(name)})")
                columns = [SQLiteColumn(*row[1:]) for row in cursor]
        except BudgetSpent:
            raise
        except (CorruptState, UnicodeEncodeError) as error:
            return {"name": name, "spoiled": _sentence(error)}
        self.budget.step(A_COLUMN * len(columns))
        return {"name": name, "columns": [list(column) for column in columns], "rows": self.rows(name, columns)}

    def rows(self, table: str, columns: list[SQLiteColumn]) -> list[list[Any]] | dict[str, str]:
        """Read the stored columns of a table."""
        wanted = ", ".join(quoted_name(column.name) for column in columns if not column.computed)
        rows = []
        try:
            with self.reading():
                query = f"SELECT {wanted or 1} FROM {quoted_name(table)} NOT INDEXED"  # noqa: S608 - quoted
                for row in self.connection.execute(query):
                    self.budget.step(A_ROW + len(row))
                    rows.append([self.cell(cell) for cell in row] if wanted else [])
        except BudgetSpent:
            raise
        except (CorruptState, UnicodeEncodeError) as error:
            return {"spoiled": _sentence(error)}
        return rows

    def cell(self, cell: Any) -> Any:
        """Return a cell as the normal form has it."""
        if isinstance(cell, bytes):
            self.budget.keep(len(cell))
            self.budget.step(A_BLOB)
            self.blobs.append(cell)
            return {"blob": len(self.blobs) - 1}
        if isinstance(cell, str):
            self.budget.keep(len(cell))
        if isinstance(cell, float):
            self.budget.step(A_NUMBER)
            if not math.isfinite(cell):
                return {"float": "inf" if cell > 0 else "-inf"}
        return cell


def _sentence(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "a name in its schema is not UTF-8"
    return str(error).removeprefix("the database cannot be read: ")


def _allowed(action: int, first: str | None, *_: str | None) -> int:
    if action in _READS or (action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
