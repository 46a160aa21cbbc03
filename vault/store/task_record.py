"""Task record: the columns that are readable without opening the task, and how they are bound to the sealed content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from sqlalchemy import Row

from vault.canonical import canonical
from vault.errors import Broken
from vault.keys.seal import Sealed
from vault.store.tables import TaskRow
from vault.task.lifecycle import TaskState


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """Metadata of a task that is readable without opening it.

    Attributes:
        id: the task's id.
        state: where it stands in its life.
        server: with `category` and `difficulty`, its place in the public mix.
        category: see `server`.
        difficulty: see `server`.
        skeleton_tag: `Vault.tag("skeleton", ...)`: equal for the tasks of one skeleton.
        template_tag: `Vault.tag("template", ...)`.
        author: who wrote it, or the draw that made it.
        public_grammar: whether anybody may read the grammar that it was drawn from.
        traceable: whether each submitter is served a variant of their own, so that a leaked text names its run.
        drawn_for: the month (`YYYY-MM`) at whose turn the draw enters that made it, if the draw's seed was promised in
            the log; otherwise empty.
        commitment: 32 bytes.
        provenance_commitment: 32 bytes.
        created_at: when it was added, in UTC.
    """

    id: str
    state: TaskState
    server: str
    category: str
    difficulty: str
    skeleton_tag: str
    template_tag: str
    author: str
    public_grammar: bool
    traceable: bool
    drawn_for: str
    commitment: bytes
    provenance_commitment: bytes
    created_at: datetime

    @classmethod
    def of(cls, row: TaskRow | Row[Any]) -> Self:
        """Read a full row, or one that has only the open columns.

        Raises:
            Broken: its state does not exist.
        """
        if row.state not in set(TaskState):
            raise Broken(f"Task {row.id} is in the state {row.state!r}, which does not exist: the row was changed.")
        columns = {name: getattr(row, name) for name in cls.__dataclass_fields__}
        return cls(**columns | {"state": TaskState(row.state)})

    def may_enter(self, month: str) -> bool:
        """Say whether it may be promised at the turn of `month`, if it was not promised before.

        The log opens a draw's seed once all tasks that were promised at its turn have left. One that was promised later
        would be live then, and whoever has the seed can repeat the draw.
        """
        return self.drawn_for in {"", month}

    def row(self, sealed: Sealed) -> TaskRow:
        """Make the row that holds this record and a sealed content."""
        return TaskRow(**self._columns(), **sealed.columns())

    def context(self) -> bytes:
        """Return what the sealed content is bound to: all of the record except the state, which changes."""
        bound = self._columns() | {
            "kind": "quarterturn/task-row/v1",
            "commitment": self.commitment.hex(),
            "provenance_commitment": self.provenance_commitment.hex(),
            "created_at": self.created_at.astimezone(UTC).isoformat(timespec="microseconds"),
        }
        del bound["state"]
        return canonical(bound)

    def _columns(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"state": self.state.value}
