"""Reader of a PostgreSQL snapshot document."""

from __future__ import annotations

from verifiers.budget import ReadingBudget
from verifiers.formats.snapshot_reader import document_in
from verifiers.normal_form import NormalState
from verifiers.states.postgres.tables import database_of, document_of
from verifiers.tree import FileTree

A_TABLE, AN_ENTRY, A_ROW = 25, 12, 4  # steps


def read_tables(tree: FileTree, budget: ReadingBudget) -> NormalState:
    """Read every table into the normal form.

    Raises:
        CorruptState: the document tells of no database, or costs more than the budget has.
        StateUnavailable: the state was not read out.
    """
    base = database_of(document_in(tree, "postgres", budget))
    budget.step(AN_ENTRY * len(base.others))
    for table in base.tables:
        budget.step(A_TABLE + AN_ENTRY * (len(table.columns) + len(table.constraints) + len(table.indexes)))
        budget.step(A_ROW * len(table.rows))
    return NormalState(document_of(base))
