"""The order in which people read a batch's records, as it was last worked out.

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the table: one row a batch, which whoever works the order out again replaces."""
    op.create_table(
        "reading_orders",
        sa.Column("batch_id", sa.Uuid, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("explore", sa.Double, nullable=False),
        sa.Column("last_override", sa.BigInteger, nullable=False),
        sa.Column("answered", sa.BigInteger, nullable=False),
        sa.Column("decided", sa.Integer, nullable=False),
        sa.Column("included", sa.Integer, nullable=False),
        sa.Column("text_weight", sa.Double, nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.Column("places", postgresql.ARRAY(sa.Integer), nullable=False),
        sa.Column("reasons", postgresql.ARRAY(sa.Text), nullable=False),
        sa.Column("probabilities", postgresql.ARRAY(sa.REAL), nullable=False),
        sa.PrimaryKeyConstraint("batch_id", name=op.f("pk_reading_orders")),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["batches.id"], name=op.f("fk_reading_orders_batches"), ondelete="CASCADE"
        ),
    )
