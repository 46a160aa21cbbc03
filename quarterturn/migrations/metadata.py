"""The tables of every room, gathered in one place for comparison with the migrations."""

from __future__ import annotations

from sqlmodel import SQLModel

import grammars.admission.tables
import quarterturn.tables_accounts
import quarterturn.tables_approvals
import quarterturn.tables_leaderboard
import quarterturn.tables_notices
import quarterturn.tables_submissions
import rotation.exposure.tables
import rotation.findings.tables
import rotation.month.tables
import sandbox.runs.tables
import vault.store.tables

TABLES = (
    vault.store.tables,
    grammars.admission.tables,
    sandbox.runs.tables,
    rotation.month.tables,
    rotation.exposure.tables,
    rotation.findings.tables,
    quarterturn.tables_accounts,
    quarterturn.tables_submissions,
    quarterturn.tables_leaderboard,
    quarterturn.tables_notices,
    quarterturn.tables_approvals,
)
METADATA = SQLModel.metadata
