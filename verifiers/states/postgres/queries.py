"""Predicates over what queries give on the PostgreSQL server's database, evaluated on its normal form."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from functools import partial
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
KINDS = ("numeric", "float", "mixed", "integer")
TOLERANT = {
    "type": "array",
    "items": {"enum": list(KINDS)},
    "minItems": 1,
    "uniqueItems": True,
    "description": "list of " + ", ".join(f"`{kind}`" for kind in KINDS),
}
A_PAIR = 6


@predicate(
    "postgres.queryRows",
    words="the query {query} gives the rows that it shall",
    takes={"query": QUERY},
    may_take={"rows": ROWS, "same_as": QUERY, "any_order": FLAG, "tolerance": TOLERANCE, "tolerant": TOLERANT},
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
    tolerant: Sequence[str] = KINDS,
) -> ProbeResult:
    """The query gives just these rows, or those of the query `same_as`, in this order or in any.

    Two numbers may differ by the tolerance where both are numeric, both floating-point (`float`), one of each
    (`mixed`), or one is an integer (`integer`); `tolerant` names those of the four to which it applies (all if it is
    not given). Otherwise integers and numerics are compared exactly. In `rows` a text is also the date or time that is
    written so, and a number is compared as the decimal that it is written as.
    """
    actual = result_of(context, query).rows
    if same_as is None:
        wanted: Sequence[Row] = [tuple(map(_exact, row)) for row in rows or ()]
        actual = [tuple(map(_written, row)) for row in actual]
    else:
        wanted = result_of(context, same_as).rows
    allowed = _Allowed(tolerance, frozenset(tolerant))
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

    def __init__(self, tolerance: float, kinds: frozenset[str]) -> None:
        self.tolerance, self.kinds = tolerance, kinds

    def same(self, row: Row, other: Row) -> bool:
        """Say whether two rows are the same."""
        return len(row) == len(other) and all(map(self._cell, row, other))

    def _cell(self, one: Any, other: Any) -> bool:
        kind = _kind(one, other)
        if kind in self.kinds and self.tolerance:
            return abs(float(one) - float(other)) <= self.tolerance
        return bool(one == other) and (isinstance(one, bool) is isinstance(other, bool))


def _kind(one: Any, other: Any) -> str | None:
    types = {type(one), type(other)}
    if not types <= {int, Decimal, float}:
        return None
    if int in types:
        return "integer"
    return "numeric" if types == {Decimal} else "float" if types == {float} else "mixed"


def _exact(value: Any) -> Any:
    return Decimal(repr(value)) if isinstance(value, float) else value


def _written(value: Any) -> Any:
    """Give a cell as it is compared with a JSON value."""
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
