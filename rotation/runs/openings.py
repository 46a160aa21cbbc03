"""Openings of the commitments of runs: sealed while a cohort is live, released when it retires."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session

from rotation.calendar import Month
from rotation.month.store import Cohort
from rotation.runs.books import Books
from sandbox.runs.store import RunRecord, RunState
from vault.canonical import canonical
from vault.commitment import commitment
from vault.ledger.release.bundle import ResultOpening, RunOpening
from vault.ledger.statements.statement import Statement

WHO = "rotation"
PUBLISH = "publish "
"""Prefix of the access-log reason for opening a task to publish it."""


def of_cohort(books: Books, cohort: Cohort, *, why: str) -> list[RunOpening]:
    """Give the openings of every run that was served `cohort`, as far as the cohort's retirement releases them."""
    while_live = [r for r in books.runs.list() if cohort.entered <= Month.parse(r.month) <= cohort.retires]
    return [
        _of_run(books, record, cohort, why) for record in while_live if cohort.id in cohorts_of(books, record.number)
    ]


def seal(books: Books, name: str, value: Mapping[str, Any], session: Session) -> None:
    """Seal salts and documents under a name, once."""
    books.vault.seal_blob(name, json.dumps(value).encode(), session=session)


def unseal(books: Books, name: str, why: str) -> dict[str, Any]:
    """Open what `seal` sealed; the access log records it."""
    opened: dict[str, Any] = json.loads(books.vault.open_blob(name, who=WHO, why=why))
    return opened


def cohorts_of(books: Books, run: int) -> Sequence[str]:
    """Give the cohorts that a run was opened for, from its `run-open` leaf."""
    opened = Statement.parse(books.ledger.leaf(books.leaf_index(f"run-open/{run}")))
    cohorts: Sequence[str] = opened.predicate["cohorts"]
    return cohorts


def _of_run(books: Books, record: RunRecord, cohort: Cohort, why: str) -> RunOpening:
    number = record.number
    opening = unseal(books, f"opening/{number}", why)
    aborted = record.state is RunState.ABORTED
    common: dict[str, Any] = {
        "run": number,
        "open_leaf": books.leaf_index(f"run-open/{number}"),
        "close_leaf": books.leaf_index(f"{'abort' if aborted else 'score'}/{number}"),
        "opening": opening["opening"],
        "salt": bytes.fromhex(opening["salt"]),
    }
    if aborted:
        return RunOpening(**common)
    closing = unseal(books, f"closing/{number}", why)
    commitments = [bytes.fromhex(item) for item in closing["commitments"]]
    return RunOpening(
        **common,
        commitments=commitments,
        results=_results(closing["results"], cohort.id, commitments),
        totals=closing["totals"][cohort.id]["totals"],
        totals_salt=bytes.fromhex(closing["totals"][cohort.id]["salt"]),
    )


def _results(results: Sequence[Mapping[str, Any]], cohort: str, commitments: Sequence[bytes]) -> list[ResultOpening]:
    opened = []
    for item in results:
        if item["result"]["cohort"] == cohort:
            salt = bytes.fromhex(item["salt"])
            place = commitments.index(commitment("result", canonical(item["result"]), salt))
            opened.append(ResultOpening(place, item["result"], salt))
    return sorted(opened, key=lambda item: item.position)
