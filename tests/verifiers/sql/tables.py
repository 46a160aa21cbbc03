"""Tables for tests of SQL: the same rows as statements for PostgreSQL, and as cells for our evaluator."""

from __future__ import annotations

from verifiers.budget import ReadingBudget
from verifiers.sql.errors import QueryFailed
from verifiers.sql.parser import parsed
from verifiers.sql.plan import Result, StoredTable, rows_of
from verifiers.sql.values import cell

DECLARED = {
    "author": ("id integer primary key, name text, born date, rating numeric(4,2), active boolean, grade real", ["id"]),
    "book": ("id integer primary key, author_id integer, title varchar(60), pages integer, price numeric(8,2), "
             "sold bigint, printed timestamp, weight double precision", ["id"]),
    "sale": ("book_id integer, day date, copies integer, kind text", []),
}  # fmt: skip
ROWS = {
    "author": [
        (1, "Ada", "1985-03-01", "4.50", True, "0.1"),
        (2, "Björn", "1990-12-31", None, True, "2.5"),
        (3, "Cyd", None, "3.25", False, None),
        (4, "ada", "1985-03-01", "4.50", None, "-1e10"),
    ],
    "book": [
        (1, 1, "Alpha", 120, "9.99", 3_000_000_000, "2020-01-05 10:00:00", 0.5),
        (2, 1, "Beta_2", 80, "19.50", 12, "2020-02-29 23:59:59.5", 1.25),
        (3, 2, "Gamma 100%", 333, "0.00", 0, "2021-07-01 00:00:00", None),
        (4, 2, None, None, "100.00", None, None, 2.0),
        (5, 9, "Orphan", 7, None, 5, "1999-12-31 12:30:00", 0.1),
    ],
    "sale": [
        (1, "2024-01-01", 3, "web"),
        (1, "2024-01-15", 4, "shop"),
        (1, "2024-02-01", 4, "web"),
        (2, "2024-01-01", 1, "web"),
        (2, "2024-03-10", None, "shop"),
        (3, "2024-03-10", 9, None),
        (None, "2024-03-11", 2, "web"),
    ],
}
KINDS = {
    "integer": "int4",
    "bigint": "int8",
    "varchar(60)": "text",
    "double": "float8",
    "boolean": "bool",
    "real": "float4",
}


def statements():
    """Yield the SQL that makes the tables."""
    for name, (columns, _) in DECLARED.items():
        yield f"create table {name} ({columns})", [()]
        yield f"insert into {name} values ({', '.join(['%s'] * len(ROWS[name][0]))})", ROWS[name]


class Made:
    """The tables as a source of our evaluator."""

    def table(self, schema, name):
        if name not in ROWS or schema not in {None, "public"}:
            raise QueryFailed(f"there is no table {name}")
        declared, key = DECLARED[name]
        depth, parts = 0, [""]
        for letter in declared:
            depth += (letter == "(") - (letter == ")")
            parts[-1] += letter
            if letter == "," and depth == 0:
                parts.append("")
        pairs = [part.strip(" ,").split()[:2] for part in parts]
        columns = [(column, KINDS.get(kind, kind.split("(")[0])) for column, kind in pairs]
        rows = [tuple(_cell(value, kind) for value, (_, kind) in zip(row, columns, strict=True)) for row in ROWS[name]]
        return StoredTable(columns, rows, key)


def _cell(value, kind):
    text = None if value is None else ("t" if value else "f") if isinstance(value, bool) else str(value)
    return cell(text, kind)


def ask(query, steps=2_000_000) -> Result:
    """Evaluate a query on the tables."""
    return rows_of(parsed(query), Made(), ReadingBudget(steps))
