"""Predicates over what queries give on the PostgreSQL server's database, evaluated on its normal form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from math import inf
from typing import Any

from verifiers.predicates.context import Context
from verifiers.predicates.registry import COUNT, FLAG, NOTHING, Example, ProbeResult, predicate
from verifiers.quoting import quoted
from verifiers.sql.scope import Row
from verifiers.sql.tokens import MAX_LENGTH
from verifiers.sql.values import text_of
from verifiers.states.postgres.examples import postgres_database
from verifiers.states.postgres.parts import MAKE, ONE, ROWS, TOLERANCE, TWO
from verifiers.states.postgres.source import result_of

QUERY = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_LENGTH,
    "format": "sql-query",
    "description": "SELECT or VALUES in PostgreSQL's SQL",
}
KINDS: Mapping[type, str] = {int: "integer", Decimal: "numeric", float: "float"}
PAIRS = tuple(f"{one}:{other}" for one in KINDS.values() for other in KINDS.values())
TOLERANT = {
    "type": "array",
    "items": {"enum": list(PAIRS)},
    "minItems": 1,
    "uniqueItems": True,
    "description": "list of pairs of `integer`, `numeric` and `float`, such as `numeric:float`",
}
A_PAIR = 6


@predicate(
    "postgres.queryRows",
    words="the query {query} gives the rows that it shall",
    takes={"query": QUERY},
    may_take={
        "rows": ROWS,
        "same_as": QUERY,
        "any_order": FLAG,
        "tolerance": TOLERANCE,
        "tolerant": TOLERANT,
        "dates_as_text": FLAG,
    },
    one_of=("rows", "same_as"),
    produces=NOTHING,
    example=Example(
        {"query": "SELECT item, price FROM stock ORDER BY item", "rows": [["desk", 80], ["lamp", 9.5]]}, TWO, ONE
    ),
)
def query_rows(
    context: Context,
    query: str,
    *,
    rows: Sequence[Sequence[Any]] | None = None,
    same_as: str | None = None,
    any_order: bool = False,
    tolerance: float = 0,
    tolerant: Sequence[str] = PAIRS,
    dates_as_text: bool = False,
) -> ProbeResult:
    """The query gives just these rows, or those of the query `same_as`, in this order or in any.

    Two numbers may differ by the tolerance; `tolerant` names the types that it is for, first that of the query and then
    that of what it is compared with (all pairs if it is not given). Otherwise numbers are compared exactly. With
    `dates_as_text` a date or a time of the query is compared by how Python writes it. In `rows` a text is also the date
    or time that PostgreSQL writes so, a number is compared as the decimal that it is written as, and a truth value is
    no number.
    """
    actual = result_of(context, query).rows
    if same_as is None:
        wanted: Sequence[Row] = [tuple(map(_exact, row)) for row in rows or ()]
        actual = [tuple(map(_written, row)) for row in actual]
        context.budget.step(A_PAIR * sum(map(len, actual)))
    else:
        wanted = result_of(context, same_as).rows
    allowed = _Allowed(tolerance, frozenset(tolerant), dates_as_text=dates_as_text, strict=same_as is None)
    if len(actual) != len(wanted):
        return ProbeResult(holds=False, found=f"the query gives {len(actual)} rows and not {len(wanted)}")
    if any_order:
        return _in_any_order(context, actual, wanted, allowed)
    context.budget.step(A_PAIR * sum(map(len, actual)))
    for number, (row, other) in enumerate(zip(actual, wanted, strict=True), 1):
        if not allowed.same(row, other):
            return ProbeResult(holds=False, found=f"row {number} is {_shown(row)} and not {_shown(other)}")
    return ProbeResult(holds=True, found=f"the {len(actual)} rows are as they shall be")


def _in_any_order(context: Context, actual: Sequence[Row], wanted: Sequence[Row], allowed: _Allowed) -> ProbeResult:
    """Pair rows: where a tolerance leaves a choice, the first that fits is taken."""
    left = list(wanted)
    for row in actual:
        place = None
        for number, other in enumerate(left):
            context.budget.step(A_PAIR * max(1, len(row)))
            if allowed.same(row, other):
                place = number
                break
        if place is None:
            return ProbeResult(holds=False, found=f"the query gives besides {_shown(row)}")
        del left[place]
    return ProbeResult(holds=True, found=f"the {len(actual)} rows are as they shall be")


class _Allowed:
    """What two cells may differ by."""

    def __init__(self, tolerance: float, pairs: frozenset[str], *, dates_as_text: bool, strict: bool) -> None:
        self.tolerance, self.pairs, self.dates_as_text, self.strict = tolerance, pairs, dates_as_text, strict

    def same(self, row: Row, other: Row) -> bool:
        """Say whether two rows are the same."""
        return len(row) == len(other) and all(map(self._cell, row, other))

    def _cell(self, one: Any, other: Any) -> bool:
        pair = f"{KINDS.get(type(one))}:{KINDS.get(type(other))}"
        if self.tolerance and pair in self.pairs:
            return abs(_double(one) - _double(other)) <= self.tolerance
        if self.dates_as_text and isinstance(one, date):
            return str(one) == str(other)
        if self.strict and isinstance(one, bool) is not isinstance(other, bool):
            return False
        return bool(one == other)


def _double(number: int | Decimal | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _exact(value: Any) -> Any:
    return Decimal(repr(value)) if isinstance(value, float) else value


def _written(value: Any) -> Any:
    """Return a cell as it is compared with a JSON value."""
    return text_of(value) if isinstance(value, date) else _exact(value)


def _shown(row: Row) -> str:
    return quoted([text_of(cell) if isinstance(cell, Decimal | date) else cell for cell in row])


@predicate(
    "postgres.queryCount",
    words="the query {query} gives {count} rows",
    takes={"query": QUERY, "count": COUNT},
    may_take={"at_least": FLAG},
    produces=NOTHING,
    example=Example(
        {"query": "SELECT 1 FROM stock WHERE price > 5", "count": 2},
        TWO,
        partial(postgres_database, MAKE, {"stock": [["1", "lamp", "10.00"], ["2", "pen", "1.00"]]}),
    ),
)
def query_count(context: Context, query: str, count: int, *, at_least: bool = False) -> ProbeResult:
    """The query gives this many rows, or with `at_least` this many or more; 0 or more says that it does not fail."""
    number = len(result_of(context, query).rows)
    return ProbeResult(number >= count if at_least else number == count, f"the query gives {number} rows")
