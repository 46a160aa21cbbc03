"""Rounds of the fair queue, indexes for claims and for the servings of a run, and no more tables of procrastinate."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ROUNDS = """
UPDATE quarterturn_submission SET fair_round = (
    SELECT count(*) FROM quarterturn_submission AS other
    JOIN quarterturn_account AS theirs ON theirs.name = other.account
    JOIN quarterturn_account AS own ON own.name = quarterturn_submission.account AND own.party = theirs.party
    WHERE other.state IN ('queued', 'running') AND (
        other.state > quarterturn_submission.state
        OR (other.state = quarterturn_submission.state AND other.designated AND NOT quarterturn_submission.designated)
        OR (other.state = quarterturn_submission.state AND other.designated = quarterturn_submission.designated
            AND other.number < quarterturn_submission.number)
    )
) WHERE state IN ('queued', 'running')
"""
REMOVE_PROCRASTINATE = """
DO $$
DECLARE
    here regnamespace := current_schema()::regnamespace;
    thing text;
BEGIN
    FOREACH thing IN ARRAY ARRAY(
        SELECT 'FUNCTION ' || oid::regprocedure FROM pg_proc
        WHERE starts_with(proname, 'procrastinate_') AND pronamespace = here
    ) || ARRAY(
        SELECT CASE relkind WHEN 'r' THEN 'TABLE ' ELSE 'TYPE ' END || oid::regclass FROM pg_class
        WHERE starts_with(relname, 'procrastinate_') AND relkind IN ('r', 'c') AND relnamespace = here
    ) || ARRAY(
        SELECT 'TYPE ' || oid::regtype FROM pg_type
        WHERE starts_with(typname, 'procrastinate_') AND typtype = 'e' AND typnamespace = here
    ) LOOP
        EXECUTE 'DROP ' || thing || ' CASCADE';
    END LOOP;
END
$$
"""


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("quarterturn_submission", schema=None) as batch_op:
        batch_op.add_column(sa.Column("fair_round", sa.Integer(), server_default="0", nullable=False))
        batch_op.drop_index(batch_op.f("ix_quarterturn_submission_state"))
        batch_op.drop_index(batch_op.f("ix_quarterturn_submission_account"))
        batch_op.create_index("ix_quarterturn_submission_claim", ["state", "fair_round", "number"])
        batch_op.create_index("ix_quarterturn_submission_of_account", ["account", "state"])
    with op.batch_alter_table("rotation_exposure", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_rotation_exposure_run"), ["run"], unique=False)
    op.execute(ROUNDS)
    if op.get_bind().dialect.name == "postgresql":
        op.execute(REMOVE_PROCRASTINATE)


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("rotation_exposure", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_rotation_exposure_run"))
    with op.batch_alter_table("quarterturn_submission", schema=None) as batch_op:
        batch_op.drop_index("ix_quarterturn_submission_of_account")
        batch_op.drop_index("ix_quarterturn_submission_claim")
        batch_op.create_index(batch_op.f("ix_quarterturn_submission_account"), ["account"], unique=False)
        batch_op.create_index(batch_op.f("ix_quarterturn_submission_state"), ["state"], unique=False)
        batch_op.drop_column("fair_round")
