"""The reason of a pause, a batch's priority and lane, and the cost of its items.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

MONEY = sa.Numeric(18, 9)


def upgrade() -> None:
    """Add the columns and the table; what is there stays as it is."""
    op.add_column("batches", sa.Column("pause", sa.JSON(), nullable=True))
    op.add_column("batches", sa.Column("priority", sa.Text(), server_default="normal", nullable=False))
    op.create_check_constraint(op.f("ck_batches_priority_known"), "batches", "priority IN ('low', 'normal', 'high')")
    op.add_column("batches", sa.Column("lane", sa.SmallInteger(), nullable=True))
    op.add_column("batches", sa.Column("max_cost", MONEY, nullable=True))
    op.create_check_constraint(op.f("ck_batches_max_cost_range"), "batches", "max_cost >= 0")
    op.add_column("results", sa.Column("cached_tokens", sa.Integer(), server_default="0", nullable=False))
    op.add_column("results", sa.Column("reasoning_tokens", sa.Integer(), server_default="0", nullable=False))
    op.add_column("results", sa.Column("cost", MONEY, nullable=True))
    op.create_table(
        "spending",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("reserved", MONEY, server_default="0", nullable=False),
        sa.Column("spent", MONEY, server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_spending_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("batch_id", name=op.f("pk_spending")),
    )
