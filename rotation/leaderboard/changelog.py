"""Leaderboard changelog of a month, read from the public log: each row names its leaf.

1. Rows come from published leaves and from nothing else, so a change that is not in the log cannot be shown, and one
   that is in the log cannot be left out.
2. The id of a withdrawn task is shown, since it is served no more, with the cause; of its replacement nothing is shown.
3. A score is closed by one leaf and never again: an audit takes a second one for a broken log. Only the withdrawal of a
   broken task changes figures afterwards, so its row stands for the change. A withdrawal's row is on the leaderboard of
   every month whose set had the task.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rotation.calendar import Month
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import take_apart
from vault.ledger.statements.statement import Statement
from vault.ledger.tree.tiles import HEAD, WIDTH, bundles_of, entries_path, unpack_entries

KINDS = ("retire", "set", "withdraw", "abort")
_MARKS = tuple(f'"urn:quarterturn:{kind}:v1"'.encode() for kind in KINDS)  # reading a leaf whole takes far longer

Row = dict[str, Any]


def of_month(log: Path, month: Month) -> list[Row]:
    """Return the changes of a month's leaderboard, the newest first, from the public folder of a log."""
    rows: list[Row] = []
    later: list[Row] = []  # withdrawals in months after this one
    served: set[str] = set()
    for index, statement in _backwards(log):
        statement_month = Month.parse(statement.predicate["month"])
        if statement.kind == "set" and statement_month < month:
            break
        if statement.kind == "withdraw" and statement_month > month:
            later.append(_row(index, statement))
        elif statement_month == (month.plus(-1) if statement.kind == "retire" else month):
            rows.append(_row(index, statement))
            served |= _served(statement)
    return [*(row for row in later if row["subject"] in served), *rows]


def _backwards(log: Path) -> Iterator[tuple[int, Statement]]:
    """Yield the statements that may be such a change, from the last leaf of the published head to the first."""
    try:
        size = Checkpoint.parse(take_apart((log / HEAD).read_bytes())[0]).size
    except FileNotFoundError:
        return
    for bundle, width in reversed(list(bundles_of(size))):
        path = entries_path(bundle, width)
        leaves = unpack_entries((log / path).read_bytes(), width, path)
        for place in reversed(range(width)):
            if any(mark in leaves[place] for mark in _MARKS):
                yield bundle * WIDTH + place, Statement.parse(leaves[place])


def _served(statement: Statement) -> set[str]:
    """Name the tasks that a statement puts among those that are served."""
    says = statement.predicate
    if statement.kind == "set":
        return {task for cohort in says["cohorts"] for task in cohort["tasks"]}
    return {says["replacement"]} if statement.kind == "withdraw" else set()


def _row(index: int, statement: Statement) -> Row:
    says, kind = statement.predicate, statement.kind
    return {
        "leaf": index,
        "kind": kind,
        "subject": says["cohort"] if kind == "retire" else statement.name,
        "tasks": _tasks(statement),
        "cause": says.get("cause"),
        "why": says.get("reason", "turn"),
    }


def _tasks(statement: Statement) -> int | None:
    """Count the tasks that a change is about."""
    if statement.kind == "retire":
        return len(statement.predicate["tasks"])
    if statement.kind == "set":
        return int(statement.predicate["count"])
    return 1 if statement.kind == "withdraw" else None
