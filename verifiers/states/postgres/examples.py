"""Example PostgreSQL snapshots for the predicate catalogue's examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verifiers.formats.snapshot import written
from verifiers.states.postgres.declarations import declared
from verifiers.tree import JudgeInput


def postgres_database(
    tables: Mapping[str, Sequence[Sequence[str]]],
    rows: Mapping[str, Sequence[Sequence[str | None]]] | None = None,
    *,
    indexes: Mapping[str, Sequence[Sequence[str]]] | None = None,
    schemas: Sequence[str] = ("public",),
) -> JudgeInput:
    """Return the views of a world whose PostgreSQL server holds these tables in the schema public.

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
    beside = {
        "objects": [["view public.all_of_it", "SELECT 1;"]],
        "sequences": [["sequence public.numbers", "1, 0 logged"]],
    }
    return JudgeInput({"postgres": written({"schemas": list(schemas), "tables": made, **beside})})


def _table(
    name: str, columns: Sequence[Sequence[str]], rows: Sequence[Sequence[str | None]], indexes: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Write a table as PostgreSQL's reader does (`verifiers.states.postgres.tables`)."""
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
        {
            "name": f"{name}_{'_'.join(on)}_idx",
            "unique": False,
            "valid": True,
            "partial": False,
            "columns": list(on),
            "definition": f"CREATE INDEX {name}_{'_'.join(on)}_idx ON public.{name} USING btree ({', '.join(on)})",
        }
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
    constraint = {"name": name, "kind": kind, "definition": definition, "valid": True}
    return {**constraint, "columns": [column], "to": to, "to_columns": ["id"] if to else None}


_BASES = {
    "smallint": "int2",
    "integer": "int4",
    "bigint": "int8",
    "numeric": "numeric",
    "real": "float4",
    "double precision": "float8",
    "boolean": "bool",
    "character varying": "varchar",
    "character": "bpchar",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
}
