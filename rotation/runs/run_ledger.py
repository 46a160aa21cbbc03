"""Statements that bind official runs to the ledger: `run-open`, and `score` or `abort`.

What opens the commitments in them (submitter, results, totals and their salts) is sealed while a cohort is live, and
released when it retires.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from rotation.errors import NotFound
from rotation.month.store import Cohort
from sandbox.results.said import SaidChoices
from sandbox.results.score import Result
from sandbox.runs.store import RunRecord, Runs, RunState
from vault.canonical import canonical
from vault.commitment import commitment, new_salt
from vault.ledger.release.bundle import ResultOpening, RunOpening
from vault.ledger.signatures.checkpoint import Checkpoint
from vault.ledger.statements import leaf
from vault.ledger.statements.results import in_order, results_root, totals_of
from vault.ledger.statements.statement import LoggedStatement
from vault.ledger.tree.merkle import MerkleTree, inclusion_proof, leaf_hash
from vault.store.public_log import PublicLog
from vault.store.tasks import Vault

WHO = "rotation"
PUBLISH = "publish "
"""Prefix of the access-log reason for opening a task to publish it."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of one task of a run, with what binds it to the ledger.

    Attributes:
        result: what counts of it.
        tools: the names of the called tools, in order.
        task_commitment: the commitment to the task.
        code: the code of its outcome, which is in no statement.
        transcript: the bytes of its transcript (`sandbox.results.bound_transcript`), or None if there is none.
        said: the choices of free parameters that the agent said and was not shown, which no statement has either.
    """

    result: Result
    tools: Sequence[str]
    task_commitment: bytes
    code: str = "finished"
    transcript: bytes | None = field(default=None, repr=False)
    said: Sequence[SaidChoices] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class RunStatement:
    """A statement about a run, with what opens its commitments.

    Attributes:
        key: the key of its leaf.
        statement: the bytes of the leaf.
        sealed: what is sealed with it, by name.
    """

    key: str
    statement: bytes
    sealed: Mapping[str, Any] = field(default_factory=dict, repr=False)


class RunLedger:
    """Service that records what the ledger says of official runs, and opens it again."""

    def __init__(
        self, vault: Vault, ledger: PublicLog, runs: Runs, entropy: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._vault, self._ledger, self._runs, self._entropy = vault, ledger, runs, entropy

    # -- statements ---------------------------------------------------------------------------------------------------

    def run_open(
        self,
        record: RunRecord,
        *,
        set_root: bytes,
        cohorts: Sequence[str],
        head: Checkpoint,
        judge: str | None = None,
    ) -> RunStatement:
        """Make the `run-open` statement of a run; `attempt` counts this submitter's runs of the month."""
        month = self._runs.list(month=record.month)
        earlier = sum(r.submitter == record.submitter and r.number < record.number for r in month)
        opening = {"submitter": record.submitter, "submission": record.submission, "attempt": earlier + 1}
        salt = new_salt(self._entropy)
        statement = leaf.run_open(
            run=record.number,
            commitment=commitment("run-open", canonical(opening), salt),
            month=record.month,
            track=record.track,
            set_root=set_root,
            cohorts=cohorts,
            size=head.size,
            root=head.root,
            judge=judge,
        )
        sealed = {f"opening/{record.number}": {"opening": opening, "salt": salt.hex()}}
        return RunStatement(f"run-open/{record.number}", statement, sealed)

    def score(self, record: RunRecord, cohorts: Sequence[str], results: Sequence[RunResult]) -> RunStatement:
        """Make the `score` statement of a run: a commitment to each result, and to the totals of each cohort.

        Each result commits to the transcript of its task.
        """
        number = record.number
        salted = [self._salted(item) for item in results]
        ordered = in_order(
            (item.task_commitment, commitment("result", canonical(sealed["result"]), bytes.fromhex(sealed["salt"])))
            for item, sealed in zip(results, salted, strict=True)
        )
        documents = [sealed["result"] for sealed in salted]
        of_cohort = {name: [document for document in documents if document["cohort"] == name] for name in cohorts}
        totals = [(name, totals_of(number, name, of_cohort[name]), new_salt(self._entropy)) for name in cohorts]
        statement = leaf.score(
            run=number,
            month=record.month,
            track=record.track,
            count=len(results),
            results_root=results_root(ordered),
            totals=[(name, commitment("totals", canonical(document), salt)) for name, document, salt in totals],
        )
        opening = {
            "commitments": [item.hex() for item in ordered],
            "results": salted,
            "totals": {name: {"totals": document, "salt": salt.hex()} for name, document, salt in totals},
        }
        return RunStatement(f"score/{number}", statement, {f"closing/{number}": opening})

    def abort(self, record: RunRecord, reason: str) -> RunStatement:
        """Make the `abort` statement of a run that was served nothing; opening its commitment is logged."""
        number = record.number
        sealed = self._unseal(f"opening/{number}", f"abort run {number}")
        salted = commitment("run-open", canonical(sealed["opening"]), bytes.fromhex(sealed["salt"]))
        statement = leaf.abort(run=number, month=record.month, reason=reason, commitment=salted)
        return RunStatement(f"abort/{number}", statement)

    def record(self, made: RunStatement, session: Session) -> None:
        """Record the leaf of a statement, and seal what opens it."""
        for name, value in made.sealed.items():
            self._vault.seal_blob(name, json.dumps(value).encode(), session=session)
        self._ledger.record(made.key, made.statement, session=session)

    def publish(self) -> Checkpoint:
        """Publish all that is recorded, with the cosignatures that it needs; see `PublicLog.publish`."""
        return self._ledger.publish()

    # -- what was recorded --------------------------------------------------------------------------------------------

    def opened(self, number: int) -> LoggedStatement:
        """Return the `run-open` statement of a run; its predicate names the cohorts that it was opened for.

        Raises:
            NotFound: there is none.
        """
        return self._ledger.statement(f"run-open/{number}")

    def scored(self, number: int) -> LoggedStatement:
        """Return the `score` statement of a run.

        Raises:
            NotFound: there is none.
        """
        return self._ledger.statement(f"score/{number}")

    def closing(self, number: int, why: str) -> dict[str, Any]:
        """Open what the `score` statement of a run commits to; the access log records it.

        Raises:
            NotFound: the run has no score.
        """
        return self._unseal(f"closing/{number}", why)

    def transcript_salts(self, number: int, why: str) -> dict[str, str | None]:
        """Return the salt (hex) of each task's transcript in a run; None where it left none.

        Raises:
            NotFound: the run has no score.
        """
        return {item["result"]["task"]: item["transcript_salt"] for item in self.closing(number, why)["results"]}

    def bound_result(self, number: int, task: str, *, who: str, why: str) -> dict[str, Any]:
        """Open one result of a run: the result, its salts and its inclusion proof, and what opens the run itself.

        Raises:
            NotFound: the run has no score, or none for this task.
        """
        closing, opening = (self._unseal(f"{kind}/{number}", why, who) for kind in ("closing", "opening"))
        item = next((item for item in closing["results"] if item["result"]["task"] == task), None)
        if item is None:
            raise NotFound(f"run {number} has no result for task {task}")
        commitments = [bytes.fromhex(part) for part in closing["commitments"]]
        place = _place(item, commitments)
        tree = MerkleTree(map(leaf_hash, commitments))
        return {
            "run": number,
            "opening": opening["opening"],
            "opening_salt": opening["salt"],
            "position": place,
            "result": item["result"],
            "salt": item["salt"],
            "proof": [part.hex() for part in inclusion_proof(tree.node, place, len(tree))],
            "transcript_salt": item["transcript_salt"],
        }

    def closed(self, record: RunRecord, *, why: str) -> tuple[Result, ...]:
        """Return the sealed results of a scored run, as one entry in the access log; their `server` fields are empty.

        Raises:
            NotFound: the run has no score.
        """
        return tuple(Result.of_document(item["result"]) for item in self.closing(record.number, why)["results"])

    def root_after(self, scored: Collection[RunRecord]) -> bytes:
        """Return the log's root right after the last `score` leaf of these runs."""
        return self._ledger.root(1 + max(self._ledger.index_of(f"score/{record.number}") for record in scored))

    def openings(self, cohort: Cohort, *, why: str) -> list[RunOpening]:
        """Return the openings of every run that was served `cohort`, as far as its retirement releases them."""
        while_live = [r for r in self._runs.list() if cohort.entered <= Month.parse(r.month) <= cohort.retires]
        return [
            self._opening(record, cohort, why)
            for record in while_live
            if cohort.id in self.opened(record.number).statement.predicate["cohorts"]
        ]

    def _salted(self, item: RunResult) -> dict[str, Any]:
        """Return what the closing record holds of a result: the document, its salts, called tools and said choices."""
        salt = new_salt(self._entropy) if item.transcript is not None else None
        bound = commitment("transcript", item.transcript, salt).hex() if item.transcript is not None and salt else None
        return {
            "result": item.result.document(bound),
            "salt": new_salt(self._entropy).hex(),
            "tools": item.tools,
            "said": [one.as_json() for one in item.said],
            "transcript_salt": salt and salt.hex(),
        }

    def _opening(self, record: RunRecord, cohort: Cohort, why: str) -> RunOpening:
        number = record.number
        opening = self._unseal(f"opening/{number}", why)
        aborted = record.state is RunState.ABORTED
        common: dict[str, Any] = {
            "run": number,
            "open_leaf": self._ledger.index_of(f"run-open/{number}"),
            "close_leaf": self._ledger.index_of(f"{'abort' if aborted else 'score'}/{number}"),
            "opening": opening["opening"],
            "salt": bytes.fromhex(opening["salt"]),
        }
        if aborted:
            return RunOpening(**common)
        closing = self.closing(number, why)
        commitments = [bytes.fromhex(item) for item in closing["commitments"]]
        return RunOpening(
            **common,
            commitments=commitments,
            results=_results(closing["results"], cohort.id, commitments),
            totals=closing["totals"][cohort.id]["totals"],
            totals_salt=bytes.fromhex(closing["totals"][cohort.id]["salt"]),
        )

    def _unseal(self, name: str, why: str, who: str = WHO) -> dict[str, Any]:
        opened: dict[str, Any] = json.loads(self._vault.open_blob(name, who=who, why=why))
        return opened


def _results(results: Sequence[Mapping[str, Any]], cohort: str, commitments: Sequence[bytes]) -> list[ResultOpening]:
    opened = []
    for item in results:
        if item["result"]["cohort"] == cohort:
            opened.append(ResultOpening(_place(item, commitments), item["result"], bytes.fromhex(item["salt"])))
    return sorted(opened, key=lambda item: item.position)


def _place(item: Mapping[str, Any], commitments: Sequence[bytes]) -> int:
    """Return the position of a sealed result among the commitments of its run."""
    return commitments.index(commitment("result", canonical(item["result"]), bytes.fromhex(item["salt"])))
