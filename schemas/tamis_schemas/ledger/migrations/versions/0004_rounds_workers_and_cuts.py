"""Failures of earlier rounds, the state of workers, repairs, and the parts of an item that were not sent.

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the columns and the table; what is there stays as it is."""
    op.create_table(
        "past_failures",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("error_kind", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["batches.id"], name=op.f("fk_past_failures_batches"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("batch_id", "idx", "round", name=op.f("pk_past_failures")),
    )
    op.create_table(
        "repairs",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("last_at", INSTANT, server_default=sa.func.now(), nullable=False),
        sa.PrimaryKeyConstraint("kind", name=op.f("pk_repairs")),
    )
    op.add_column("workers", sa.Column("host", sa.Text(), nullable=True))
    op.add_column("workers", sa.Column("pid", sa.Integer(), nullable=True))
    op.add_column("workers", sa.Column("concurrency", sa.Integer(), nullable=True))
    op.add_column("workers", sa.Column("in_flight", sa.Integer(), nullable=True))
    op.add_column("workers", sa.Column("version", sa.Text(), nullable=True))
    op.add_column("workers", sa.Column("state", sa.Text(), server_default="working", nullable=False))
    op.add_column("workers", sa.Column("state_since", INSTANT, nullable=True))
    op.add_column("workers", sa.Column("reason", sa.Text(), nullable=True))
    op.add_column("workers", sa.Column("progress_at", INSTANT, nullable=True))
    op.add_column("workers", sa.Column("judges_from", INSTANT, nullable=True))
    op.add_column("workers", sa.Column("judges_until", INSTANT, nullable=True))
    op.add_column("results", sa.Column("cut", sa.JSON(), nullable=True))
