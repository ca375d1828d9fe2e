"""Labels and notes that people put on records.

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the table: a history, as that of people's decisions."""
    op.create_table(
        "remarks",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("batch_id", sa.Uuid, nullable=False),
        sa.Column("idx", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("removes", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("reviewer", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_remarks")),
        sa.ForeignKeyConstraint(
            ["batch_id", "idx"],
            ["item_states.batch_id", "item_states.idx"],
            name="fk_remarks_items",
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("kind IN ('label', 'note')", name=op.f("ck_remarks_kind_known")),
    )
    op.create_index("ix_remarks_item", "remarks", ["batch_id", "idx", "id"])
    # What people said, nobody changes: a label is taken off by a row that says so. No worker writes one.
    op.execute(
        "CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON remarks FOR EACH ROW "
        "WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change()"
    )
