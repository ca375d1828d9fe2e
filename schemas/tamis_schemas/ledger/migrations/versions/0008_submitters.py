"""The submitter of a batch, the key that it came with, and the callback.

Revision ID: 0008
Revises: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

MONEY = sa.Numeric(18, 9)


def upgrade() -> None:
    """Add the columns; an idempotency key then belongs to whoever used it.

    Workers of the release before write none of them, and read none.
    """
    op.add_column("batches", sa.Column("api_key_id", sa.Text(), nullable=True))
    op.add_column("batches", sa.Column("service", sa.Text(), nullable=True))
    op.add_column("batches", sa.Column("callback", sa.JSON(), nullable=True))
    op.create_index("ix_batches_listed", "batches", ["created_at"], postgresql_where=sa.text("service IS NULL"))
    by_key = ["api_key_id", "created_at"]
    op.create_index("ix_batches_by_key", "batches", by_key, postgresql_where=sa.text("api_key_id IS NOT NULL"))
    op.drop_constraint(op.f("uq_batches_idempotency_key"), "batches")
    op.create_index(
        "uq_batches_idempotency_key",
        "batches",
        [sa.text("coalesce(api_key_id, '')"), "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.add_column("api_keys", sa.Column("models", sa.JSON(), nullable=True))
    op.add_column("api_keys", sa.Column("monthly_cost", MONEY, nullable=True))
    op.add_column("api_keys", sa.Column("callback", sa.JSON(), nullable=True))
