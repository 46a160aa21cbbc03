"""The tables of every room, gathered in one place for comparison with the migrations."""

from __future__ import annotations

from sqlmodel import SQLModel

import grammars.admission.tables
import quarterturn.tables_accounts
import quarterturn.tables_approvals
import quarterturn.tables_leaderboard
import quarterturn.tables_notices
import quarterturn.tables_submissions
import rotation.tables_exposure
import rotation.tables_findings
import rotation.tables_month
import sandbox.runs.tables
import vault.store.tables

TABLES = (
    vault.store.tables,
    grammars.admission.tables,
    sandbox.runs.tables,
    rotation.tables_month,
    rotation.tables_exposure,
    rotation.tables_findings,
    quarterturn.tables_accounts,
    quarterturn.tables_submissions,
    quarterturn.tables_leaderboard,
    quarterturn.tables_notices,
    quarterturn.tables_approvals,
)
METADATA = SQLModel.metadata
