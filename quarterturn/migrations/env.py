"""How Alembic reaches the database: always through a connection that the caller opened."""

from __future__ import annotations

from alembic import context

from quarterturn.migrations.metadata import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
