"""The dialects of endpoints, the steering of a batch, and the parts of a bill.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

INSTANT = sa.DateTime(timezone=True)
# One statement: the table is written anew once.
WIDER = "ALTER TABLE results ALTER COLUMN prompt_tokens TYPE bigint, ALTER COLUMN completion_tokens TYPE bigint, ALTER COLUMN cached_tokens TYPE bigint, ALTER COLUMN reasoning_tokens TYPE bigint"


def upgrade() -> None:
    """Add the table and the columns, and give token counts 64 bits; what is there stays as it is.

    Workers of the release before write 32 bits into the wider columns, and never read them.
    """
    op.create_table(
        "dialects",
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("rung", sa.Text(), nullable=False),
        sa.Column("proven", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("unusable", sa.Integer(), server_default="0", nullable=False),
        sa.Column("probe_worker", sa.Text(), nullable=True),
        sa.Column("probe_until", INSTANT, nullable=True),
        sa.Column("changed_at", INSTANT, server_default=sa.func.now(), nullable=False),
        sa.PrimaryKeyConstraint("endpoint", "model", name=op.f("pk_dialects")),
    )
    op.add_column("batches", sa.Column("steering", sa.JSON(), nullable=True))
    op.add_column("items", sa.Column("lost_claims", sa.Integer(), server_default="0", nullable=False))
    op.add_column("results", sa.Column("cache_write_tokens", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("results", sa.Column("unanswered", sa.Integer(), server_default="0", nullable=False))
    op.add_column("results", sa.Column("tier", sa.Text(), nullable=True))
    op.add_column("results", sa.Column("deviations", sa.JSON(), nullable=True))
    op.execute(WIDER)
