"""Metadata of the tables of every package, for comparison with the migrations."""

from __future__ import annotations

from sqlmodel import SQLModel

import grammars.admission.tables
import quarterturn.accounts.tables
import quarterturn.approvals.tables
import quarterturn.display_names.tables
import quarterturn.notices.tables
import quarterturn.runners.tables
import quarterturn.submissions.store.tables
import rotation.exposure.tables
import rotation.findings.tables
import rotation.leaderboard.tables
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
    quarterturn.accounts.tables,
    quarterturn.submissions.store.tables,
    quarterturn.runners.tables,
    rotation.leaderboard.tables,
    quarterturn.notices.tables,
    quarterturn.approvals.tables,
    quarterturn.display_names.tables,
)
METADATA = SQLModel.metadata
