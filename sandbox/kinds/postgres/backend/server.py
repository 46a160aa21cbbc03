"""The PostgreSQL server: an MCP server over the one database of a world.

Each call is a session and a transaction of its own as the role `agent`, who owns what is in the database and is no
superuser: nothing that one call sets, locks or leaves open reaches the next. `query` and `explain` take one statement
in a transaction that cannot write, sent by the extended protocol, which takes no second one. What PostgreSQL refuses is
an error of the tool, in PostgreSQL's words. Results are cut at MAX_ROWS rows and MAX_CELL characters a value.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

import psycopg
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from psycopg import AsyncConnection, AsyncCursor, AsyncRawCursor
from pydantic import Field

WHERE = "host=/tmp dbname=task user=agent options='-c statement_timeout=15s'"
MAX_ROWS = 500
MAX_CELL = 20_000
LOOKS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)

Scalar = str | int | float | bool | None
Sql = Annotated[str, Field(description="One SQL statement; values can be given as $1, $2, …", min_length=1)]
Script = Annotated[str, Field(description="One or more SQL statements, separated by semicolons", min_length=1)]
Values = Annotated[list[Scalar], Field(description="The values of $1, $2, …, in this order")]
Table = Annotated[str, Field(description="The table's name", min_length=1)]
Schema = Annotated[str, Field(description="The schema that the table is in", min_length=1)]

TABLES = """
SELECT n.nspname, c.relname, CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table'
    WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' ELSE 'foreign table' END
FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY 1, 2
"""
COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
    CASE WHEN a.attidentity <> '' THEN 'identity' ELSE pg_get_expr(d.adbin, d.adrelid) END
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
CONSTRAINTS = "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1 ORDER BY 1"
INDEXES = """
SELECT c.relname, pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = $1 ORDER BY 1
"""
FIND = """
SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""

server = MCPServer("postgres", instructions="One PostgreSQL database. Names without a schema are in the schema public.")


@asynccontextmanager
async def session(*, writing: bool) -> AsyncIterator[AsyncCursor[Any]]:
    """Give a cursor in a session of its own, which commits at the end of the block.

    Raises:
        ToolError: PostgreSQL refuses something.
    """
    try:
        async with await AsyncConnection.connect(WHERE, cursor_factory=AsyncRawCursor) as connection:
            await connection.set_read_only(not writing)
            async with connection.cursor() as cursor:
                yield cursor
    except psycopg.Error as error:
        raise ToolError(str(error).strip() or type(error).__name__) from None


async def looked(sql: str, values: Sequence[Scalar] = ()) -> dict[str, Any]:
    """Give the rows of one statement that cannot write; no more of them are fetched than are shown."""
    rows: list[list[Any]] = []
    more: dict[str, Any] = {}
    async with session(writing=False) as cursor:
        async for row in cursor.stream(sql.encode(), values):
            if len(rows) == MAX_ROWS:
                more = {"cut": f"only the first {MAX_ROWS} rows are shown"}
                break
            rows.append([cell(value) for value in row])
        columns = [column.name for column in cursor.description or ()]
    return {"columns": columns, "rows": rows, **more}


async def changed(sql: str, values: Sequence[Scalar] | None) -> list[dict[str, Any]]:
    """Run statements in one transaction and give the result of each."""
    results = []
    async with session(writing=True) as cursor:
        await cursor.execute(sql.encode(), values or None)
        while True:
            results.append(await statement_result(cursor))
            if not cursor.nextset():
                return results


async def statement_result(cursor: AsyncCursor[Any]) -> dict[str, Any]:
    """Give one statement's result."""
    result: dict[str, Any] = {"status": cursor.statusmessage}
    if cursor.description is not None:
        result["columns"] = [column.name for column in cursor.description]
        result["rows"] = [[cell(value) for value in row] for row in await cursor.fetchmany(MAX_ROWS)]
        if cursor.rowcount > MAX_ROWS:
            result["cut"] = f"only the first {MAX_ROWS} rows are shown"
    return result


def cell(value: Any) -> Any:
    """Give a value as JSON can hold it: numbers and truth values as they are, documents whole, the rest as text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return text if len(text) <= MAX_CELL else text[:MAX_CELL] + "…"


def told(document: Any) -> str:
    """Write a result as one JSON text."""
    return json.dumps(document, ensure_ascii=False)


@server.tool(annotations=LOOKS, structured_output=False)
async def query(sql: Sql, parameters: Values | None = None) -> str:
    """Run one SQL query in a read-only transaction and return its columns and rows as JSON.

    Nothing can be changed with it: use `execute` to insert, update, delete or change the schema. At most 500 rows are
    returned.
    """
    return told(await looked(sql, parameters or ()))


@server.tool(annotations=CHANGES, structured_output=False)
async def execute(sql: Script, parameters: Values | None = None) -> str:
    """Run SQL that changes data or schema, in one transaction that is committed at the end.

    With `parameters` it takes one statement, without them one or several. If one fails, none of them has any effect.
    Returns the status of each statement, and its rows where it returns some, as JSON.
    """
    return told({"results": await changed(sql, parameters)})


@server.tool(annotations=LOOKS, structured_output=False)
async def list_schemas() -> str:
    """List the schemas of the database, with the tables and views in each."""
    by_schema: dict[str, list[dict[str, str]]] = {}
    for schema, name, kind in (await looked(TABLES))["rows"]:
        by_schema.setdefault(schema, []).extend([{"name": name, "kind": kind}] if name else [])
    return told({"schemas": [{"name": name, "tables": tables} for name, tables in by_schema.items()]})


@server.tool(annotations=LOOKS, structured_output=False)
async def describe_table(table: Table, schema: Schema = "public") -> str:
    """Describe a table or view: its columns with types, defaults and whether they may be null, constraints, indexes."""
    matches = (await looked(FIND, (schema, table)))["rows"]
    if not matches:
        raise ToolError(f'there is no table "{table}" in the schema "{schema}"')
    parts = [(await looked(sql, matches[0]))["rows"] for sql in (COLUMNS, CONSTRAINTS, INDEXES)]
    return told(
        {
            "schema": schema,
            "table": table,
            "columns": [dict(zip(("name", "type", "nullable", "default"), row, strict=True)) for row in parts[0]],
            "constraints": [{"name": name, "definition": definition} for name, definition in parts[1]],
            "indexes": [{"name": name, "definition": definition} for name, definition in parts[2]],
        }
    )


@server.tool(annotations=LOOKS, structured_output=False)
async def explain(sql: Sql, parameters: Values | None = None) -> str:
    """Show how PostgreSQL would run one statement, with its estimated costs."""
    return "\n".join(str(line) for (line,) in (await looked(f"EXPLAIN {sql}", parameters or ()))["rows"])


if __name__ == "__main__":
    server.run("stdio")
