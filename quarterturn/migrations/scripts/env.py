"""Alembic environment: runs migrations on a connection that the caller opened."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from sqlmodel.sql.sqltypes import AutoString, UTCDateTime

from quarterturn.migrations.scripts.metadata import METADATA


def render(kind: str, thing: Any, autogenerate: Any) -> str | Literal[False]:
    """Write our column types without their modules, so that a revision reads like SQL."""
    if kind == "type" and isinstance(thing, AutoString):
        return f"sa.String(length={thing.length})" if thing.length else "sa.String()"
    if kind == "type" and isinstance(thing, UTCDateTime):
        autogenerate.imports.add("from sqlmodel.sql.sqltypes import UTCDateTime")
        return "UTCDateTime()"
    return False


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    render_item=render,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
