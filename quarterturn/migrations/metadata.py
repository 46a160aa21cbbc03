"""The tables of every room, gathered in one place for comparison with the migrations."""

from __future__ import annotations

from sqlmodel import SQLModel

import grammars.tables
import quarterturn.tables
import rotation.tables
import sandbox.tables
import vault.tables

ROOMS = (vault.tables, grammars.tables, sandbox.tables, rotation.tables, quarterturn.tables)
METADATA = SQLModel.metadata
