"""Fixtures of a home's parts: a SQLite file, a key ring, and a clock that the test sets."""

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlmodel import SQLModel

from vault.database import open_engine
from vault.keys.ring import FileKeyRing
from vault.store.tables import AccessRow, BlobRow, LeafRow, TaskRow
from vault.store.tasks import Vault
from vault.task.document import Task

TABLES = [row.__table__ for row in (TaskRow, BlobRow, AccessRow, LeafRow)]

DOCUMENT: dict[str, Any] = {
    "schema": "quarterturn/task/v1",
    "spec": "1.0.0",
    "id": "t-abcdefghijklmnop",
    "server": "filesystem",
    "category": "composition",
    "difficulty": "medium",
    "max_steps": 12,
    "goal": "Put the heron ledger in order.",
    "initial_state": {"filesystem": {"files": {"heron.txt": "three herons"}}},
    "available_tools": [
        *(f"filesystem.{name}" for name in ("read_text_file", "write_file", "move_file", "list_directory")),
        *(f"git.{name}" for name in ("git_status", "git_log", "git_diff", "git_add", "git_commit")),
        *(f"sqlite.{name}" for name in ("read_query", "write_query", "list_tables")),
    ],
    "success_predicate": {"filesystem.fileExists": {"path": "heron.txt"}},
}


class Clock:
    """A clock that moves one second at each reading."""

    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, 9, 0, 0, 250, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class NoFiles:
    """Stub for a home without sealed files."""

    def under(self) -> Counter[str]:
        return Counter()

    def rewrap(self) -> int:
        return 0


@pytest.fixture
def document() -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT)


@pytest.fixture
def make_task() -> Callable[..., Task]:
    """Make a task whose id ends in a given number."""

    def make(number: int = 0, **changes: Any) -> Task:
        letters = "abcdefghijklmnopqrstuvwxyz"
        last = letters[number // 26] + letters[number % 26]
        return Task.parse({**copy.deepcopy(DOCUMENT), "id": f"t-{'z' * 14}{last}", **changes})

    return make


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    SQLModel.metadata.create_all(engine, tables=TABLES)
    yield engine
    engine.dispose()


@pytest.fixture
def ring(tmp_path: Path) -> FileKeyRing:
    return FileKeyRing.create(tmp_path / "keys" / "ring.json", None)


@pytest.fixture(scope="session")
def rings(tmp_path_factory: pytest.TempPathFactory) -> tuple[FileKeyRing, FileKeyRing]:
    """Return two rings that no test changes."""
    folder = tmp_path_factory.mktemp("rings")
    return FileKeyRing.create(folder / "one", None), FileKeyRing.create(folder / "two", None)


@pytest.fixture
def vault(engine: Engine, ring: FileKeyRing, clock: Clock) -> Vault:
    return Vault(engine, ring, clock)


@pytest.fixture
def add(vault: Vault, make_task: Callable[..., Task]) -> Callable[..., Any]:
    """Add a task with a provenance to the vault."""

    def added(number: int = 0, **changes: Any) -> Any:
        settings = {"author": "ada", "public_grammar": False, "skeleton": "tidy-up/move", "template": "tidy-up"}
        return vault.add(make_task(number), {"grammar": "filesystem", "draw": number}, **{**settings, **changes})

    return added
