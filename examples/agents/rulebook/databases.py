"""Rules about the database."""

from __future__ import annotations

import ast

from rulebook import Stuck, Tools, rule

WHERE = r"(?=.*\btable <table:WORD>)"  # the table may be named before the question or after it


@rule(WHERE + r".*How many \w+ have exactly the state <state:WORD>")
async def how_many(tools: Tools, table: str, state: str) -> str:
    """Count rows."""
    return await ask(tools, f"SELECT COUNT(*) FROM {table} WHERE state = {quoted(state)}")  # noqa: S608


@rule(WHERE + r".*code of the one with the largest amount whose state is <state:WORD>")
async def largest(tools: Tools, table: str, state: str) -> str:
    """Find the largest of a kind."""
    query = f"SELECT code FROM {table} WHERE state = {quoted(state)} ORDER BY amount DESC LIMIT 1"  # noqa: S608
    return await ask(tools, query)


@rule(WHERE + r".*amounts of the customer <customer:WORD> add up to")
async def total(tools: Tools, table: str, customer: str) -> str:
    """Add up rows."""
    return await ask(tools, f"SELECT SUM(amount) FROM {table} WHERE customer = {quoted(customer)}")  # noqa: S608


@rule(WHERE + r".*set the <column:WORD> of the (?P<name>[\w -]+?) to <value:N>")
async def one_cell(tools: Tools, table: str, column: str, name: str, value: str) -> None:
    """Change one value."""
    await change(tools, f"UPDATE {table} SET {column} = {value} WHERE name = {quoted(name)}")  # noqa: S608


@rule(WHERE + r".*move everything from (?P<old>[\w ]+?) to (?P<new>[\w ]+?) \(the <column:WORD> is what")
async def everything(tools: Tools, table: str, old: str, new: str, column: str) -> None:
    """Change a value wherever it stands."""
    await change(tools, f"UPDATE {table} SET {column} = {quoted(new)} WHERE {column} = {quoted(old)}")  # noqa: S608


@rule(WHERE + r".*raise the price of everything that costs less than <limit:N> by <more:N>")
async def raise_prices(tools: Tools, table: str, limit: str, more: str) -> None:
    """Raise what is below a limit."""
    await change(tools, f"UPDATE {table} SET price = price + {more} WHERE price < {limit}")  # noqa: S608


@rule(WHERE + r".*delete what has a <column:WORD> below <limit:N>")
async def delete(tools: Tools, table: str, column: str, limit: str) -> None:
    """Delete what is below a limit."""
    await change(tools, f"DELETE FROM {table} WHERE {column} < {limit}")  # noqa: S608


FIGURES = {"the total": "SUM(value)", "the largest": "MAX(value)", "the number": "COUNT(*)"}


@rule(
    r"table <table:WORD> refers to the table shops\. Make a new table <new:WORD> .*any, (?P<figure>the \w+)(?P<more>.*)"
)
@rule(r"need a table <new:WORD> .* figure, (?P<figure>the \w+)(?P<more>.*)\. Take <table:WORD> and shops")
async def summary(tools: Tools, table: str, new: str, figure: str, more: str) -> None:
    """Make a table with one figure a shop."""
    if figure not in FIGURES:
        raise Stuck(f"what is {figure}?")
    only = "WHERE state = 'open'" if "exactly open" in more else ""
    joined = f"{table} JOIN shops ON shops.id = {table}.shop_id {only} GROUP BY shops.id"
    await tools("sqlite__create_table", query=f"CREATE TABLE {new} (shop TEXT, figure INTEGER)")
    await change(tools, f"INSERT INTO {new} SELECT shops.name, {FIGURES[figure]} FROM {joined}")  # noqa: S608


async def ask(tools: Tools, query: str) -> str:
    """Ask for one value; the server writes its rows as Python does."""
    rows = ast.literal_eval(await tools("sqlite__read_query", query=query))
    if not rows:
        raise Stuck("the database knows nothing of it")
    return str(next(iter(rows[0].values())))


async def change(tools: Tools, query: str) -> None:
    """Change the database."""
    await tools("sqlite__write_query", query=query)


def quoted(text: str) -> str:
    """Write a text as SQL does."""
    return "'" + text.replace("'", "''") + "'"
