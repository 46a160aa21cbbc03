"""Tests that database queries do not grow with unrelated tasks."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from sqlalchemy import Engine, event

from vault.database import transaction
from vault.store import tasks
from vault.store.tables import LeafRow
from vault.store.tasks import Vault
from vault.task.lifecycle import TaskState

FEW, MANY = 5, 60


class Steps:
    """Counts the steps of SQLite's virtual machine: every row that it reads takes some."""

    def __init__(self, engine: Engine) -> None:
        self.count = 0
        event.listen(engine, "checkout", lambda connection, *_: connection.set_progress_handler(self._one, 1))

    def _one(self) -> int:
        self.count += 1
        return 0

    def of(self, ask: Callable[[], Any]) -> int:
        """Count the steps of one query, run a second time."""
        ask()
        before = self.count
        ask()
        return self.count - before


def admitted(vault: Vault, add: Callable[..., Any], numbers: range) -> list[Any]:
    return [vault.advance(add(number).id, "admit") for number in numbers]


def test_rows_with_a_leaf_are_found_without_reading_waiting_ones(vault, engine, add):
    def ask() -> list[str]:
        with closing(vault.by_commitment(TaskState.ADMITTED, leaf="commit/")) as found:
            return [task.id for task in found]

    first = admitted(vault, add, range(2 * FEW))
    with transaction(engine) as session:
        for number, record in enumerate(first[:FEW]):
            leaf = LeafRow(number=number, key=f"commit/{record.id}", leaf=b"{}", recorded_at=datetime.now(UTC))
            session.add(leaf)
    steps = Steps(engine)
    few = steps.of(ask)
    admitted(vault, add, range(2 * FEW, MANY))
    assert len(ask()) == FEW
    assert 0 < steps.of(ask) <= few


@pytest.mark.slow
def test_the_first_rows_are_found_without_reading_the_rest(vault, engine, add, monkeypatch):
    def ask() -> list[bytes]:
        with closing(vault.by_commitment(TaskState.ADMITTED)) as found:
            return [task.commitment for task in islice(found, FEW)]

    monkeypatch.setattr(tasks, "_AT_ONCE", FEW)
    admitted(vault, add, range(2 * FEW))
    steps = Steps(engine)
    few = steps.of(ask)
    admitted(vault, add, range(2 * FEW, MANY))
    assert ask() == sorted(record.commitment for record in vault.records())[:FEW]
    assert 0 < steps.of(ask) <= few
