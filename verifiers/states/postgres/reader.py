"""Reads a PostgreSQL database, from the document that its own reader wrote."""

from __future__ import annotations

from verifiers.normal import NormalState
from verifiers.states.budget import Budget
from verifiers.states.postgres.tables import FRACTIONS, Table, database_of, document_of
from verifiers.states.snapshot_reader import document_in
from verifiers.views import Tree

A_NUMBER = 4  # steps


def read_tables(tree: Tree, budget: Budget) -> NormalState:
    """Read every table.

    Raises:
        Spoiled: the document tells of no database, or costs more than the budget has.
        Unreadable: the state was not read out.
    """
    base = database_of(document_in(tree, "postgres", budget))
    for table in base.tables:
        budget.step(len(table.rows) * (1 + len(table.columns)))
        _count_numbers(table, budget)
    return NormalState(document_of(base))


def _count_numbers(table: Table, budget: Budget) -> None:
    """Count what exact numbers cost who calculates with them; that grows with their digits."""
    stored = [column for column in table.columns if column.readable]
    for place, column in enumerate(stored):
        if column.base in FRACTIONS:
            budget.step(sum(A_NUMBER + len(row[place] or "") // 2 for row in table.rows))
