"""Runners, and the servings that they start."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import UTCDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "quarterturn_runner",
        sa.Column("token", number, nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("box", sa.String(length=16), nullable=True),
        sa.Column("run_class", sa.String(length=12), nullable=True),
        sa.Column("places", sa.Integer(), nullable=False),
        sa.Column("programs", sa.String(length=64), nullable=True),
        sa.Column("seen_at", UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["token"], ["quarterturn_token.id"], name=op.f("fk_quarterturn_runner_token_quarterturn_token")
        ),
        sa.PrimaryKeyConstraint("token", name=op.f("pk_quarterturn_runner")),
        sa.UniqueConstraint("name", name=op.f("uq_quarterturn_runner_name")),
    )
    op.create_table(
        "quarterturn_serving",
        sa.Column("handle", sa.String(length=40), nullable=False),
        sa.Column("run", number, nullable=True),
        sa.Column("task", sa.String(length=18), nullable=False),
        sa.Column("runner", number, nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("started_at", UTCDateTime(), nullable=False),
        sa.Column("due", UTCDateTime(), nullable=False),
        sa.Column("ended_at", UTCDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["run"], ["sandbox_run.number"], name=op.f("fk_quarterturn_serving_run_sandbox_run")),
        sa.ForeignKeyConstraint(
            ["runner"], ["quarterturn_runner.token"], name=op.f("fk_quarterturn_serving_runner_quarterturn_runner")
        ),
        sa.PrimaryKeyConstraint("handle", name=op.f("pk_quarterturn_serving")),
    )
    with op.batch_alter_table("quarterturn_serving", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_quarterturn_serving_run"), ["run"], unique=False)
        batch_op.create_index(batch_op.f("ix_quarterturn_serving_runner"), ["runner"], unique=False)


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("quarterturn_serving", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_quarterturn_serving_runner"))
        batch_op.drop_index(batch_op.f("ix_quarterturn_serving_run"))
    op.drop_table("quarterturn_serving")
    op.drop_table("quarterturn_runner")
