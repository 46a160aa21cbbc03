"""State of a running audit: what each step found, which later steps rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vault.errors import Disagreement, VaultError
from vault.ledger.audit.report import Doubt, State
from vault.ledger.release.bundle_reader import Bundle
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.signatures.note import Note, Verifier
from vault.ledger.signatures.policy import Policy
from vault.ledger.statements.log_state import LoggedRun, LogState, Retirement
from vault.ledger.statements.rules import RULES

Outcome = tuple[State, str]


@dataclass(frozen=True, slots=True)
class AuditedTask:
    """The parts of an opened task that later steps need."""

    sha256: str
    stratum: str
    category: str
    max_steps: int
    played: list[Any] | None = None  # calls and answer of each committed solution, if it was broken


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A line of `runs.jsonl`, the run that it opens, and its totals as they count."""

    line: Mapping[str, Any] = field(repr=False)
    run: LoggedRun
    counted: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass
class AuditState:
    """State of a running audit; each attribute is filled by the step that is named beside it."""

    folder: Path
    keys: list[str]
    previous: str | None
    policy: Policy  # with its logs: checkpoint
    evidence: Sequence[tuple[str, bytes]] = ()  # the name and the bytes of each file
    consistency: Sequence[bytes] | None = None  # a proof from the head to a newer `previous`
    doubts: list[Doubt] = field(default_factory=list)
    bundle: Bundle = field(init=False)  # files
    verifiers: list[Verifier] = field(init=False)  # checkpoint
    head: Checkpoint = field(init=False)  # checkpoint
    signed: Note = field(init=False)  # checkpoint
    unchecked: tuple[str, ...] = ()  # checkpoint: who else signed it
    times: dict[int, Mapping[str, int]] = field(default_factory=dict)  # cosignatures, by tree size
    log: LogState = field(init=False)  # root
    roots: dict[int, bytes] = field(init=False)  # root: by tree size
    contradiction: VaultError | None = None  # root: of two leaves, for the next step
    retired: Retirement = field(init=False)  # retirement
    tasks: dict[str, AuditedTask] = field(init=False)  # tasks
    withdrawn: dict[str, AuditedTask] = field(init=False)  # tasks
    broken: set[str] = field(init=False)  # tasks: which were shown to be
    runs: list[OpenedRun] = field(init=False)  # runs
    pending: str | None = None  # full score

    @property
    def cohort(self) -> str:
        """The cohort that the release says it opens."""
        return str(self.bundle.manifest["cohort"])

    @property
    def month(self) -> str:
        """The month that the release says it belongs to."""
        return str(self.bundle.manifest["month"])

    def doubt(self, rule: str, where: str, expected: Any, found: Any) -> None:
        """Note a rule that was not kept, though everything follows from what was logged."""
        self.doubts.append(Doubt(rule, RULES[rule], Disagreement(where, expected, found)))
