"""Evidence of a running audit, which each step adds to and passes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vault.ledger.release.bundle_reader import Bundle
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Note, Verifier
from vault.ledger.signatures.policy import Policy
from vault.ledger.statements.history import History, LoggedRun, LoggedStatement
from vault.ledger.statements.key_epochs import KeyEpochs
from vault.ledger.tree.tiles import TileTree


@dataclass(frozen=True, slots=True)
class AuditedTask:
    """The parts of an opened task that later audit steps need."""

    sha256: str
    stratum: str
    category: str
    max_steps: int


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A line of `runs.jsonl` with the statements that it opens."""

    line: Mapping[str, Any] = field(repr=False)
    run: LoggedRun

    @property
    def scored(self) -> bool:
        """Whether the run ended with a score."""
        return self.run.close is not None and self.run.close.statement.kind == "score"


@dataclass
class AuditState:
    """State of a running audit; each attribute is filled by the step that is named beside it."""

    folder: Path
    keys: list[str]
    previous: str | None
    policy: Policy | None = None
    bundle: Bundle = field(init=False)  # 1 files
    verifiers: list[Verifier] = field(init=False)  # 2 checkpoint
    head: Checkpoint = field(init=False)  # 2 checkpoint
    signed: Note = field(init=False)  # 2 checkpoint
    tree: TileTree = field(init=False)  # 3 root
    leaves: list[tuple[int, bytes]] = field(init=False)  # 3 root
    history: History = field(init=False)  # 4 statements
    epochs: KeyEpochs = field(init=False)  # 4 statements
    retired: LoggedStatement = field(init=False)  # 6 retirement
    tasks: dict[str, AuditedTask] = field(init=False)  # 7 commitments
    withdrawn: dict[str, AuditedTask] = field(init=False)  # 7 commitments
    runs: list[OpenedRun] = field(init=False)  # 10 runs
    counted: list[Mapping[str, Any]] = field(init=False)  # 11 results: the totals of each scored run, as they count
    witnesses: dict[str, int] = field(default_factory=dict)  # 2 checkpoint: when each says that it saw the head
    unchecked: tuple[str, ...] = ()  # 2 checkpoint: who else signed the head, which was not checked
    pending: str | None = None  # 14 full score

    @property
    def cohort(self) -> str:
        """The cohort that the bundle says it opens."""
        return str(self.bundle.manifest["cohort"])

    @property
    def month(self) -> str:
        """The month that the bundle says it belongs to."""
        return str(self.bundle.manifest["month"])
