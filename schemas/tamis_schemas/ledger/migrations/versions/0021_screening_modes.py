"""How the people of a batch read: each alone, in pairs or beside the model; and ids of decisions that are sent again.

Revision ID: 0021
Revises: 0020
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the table, a history whose last row counts, and the id of a decision. No worker writes either."""
    op.create_table(
        "screening_modes",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("batch_id", sa.Uuid, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("set_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_screening_modes")),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["batches.id"], name=op.f("fk_screening_modes_batches"), ondelete="CASCADE"
        ),
        sa.CheckConstraint("mode IN ('single', 'pair', 'model_second')", name=op.f("ck_screening_modes_mode_known")),
    )
    op.create_index("ix_screening_modes_batch", "screening_modes", ["batch_id", "id"])
    # Who saw what, and when, can be told afterwards: a mode is changed by a row that says so.
    op.execute(
        "CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON screening_modes FOR EACH ROW "
        "WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change()"
    )
    op.add_column("overrides", sa.Column("decision_id", sa.Uuid, nullable=True))
    op.create_index(
        "uq_overrides_decision_id",
        "overrides",
        ["batch_id", "decision_id"],
        unique=True,
        postgresql_where=sa.text("decision_id IS NOT NULL"),
    )
