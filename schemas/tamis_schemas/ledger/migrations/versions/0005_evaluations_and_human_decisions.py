"""What metrics say of results, what people decided, which samples of exclusions they checked, and a batch's trace.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the tables and the column; what is there stays as it is."""
    op.add_column("batches", sa.Column("traceparent", sa.Text(), nullable=True))
    op.create_table(
        "evaluations",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("field", sa.Text(), server_default="", nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("metric_type", sa.Text(), nullable=False),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint("num_nonnulls(score, category, reason) = 1", name=op.f("ck_evaluations_one_value")),
        sa.CheckConstraint("score BETWEEN 0 AND 1", name=op.f("ck_evaluations_score_range")),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_evaluations_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("batch_id", "idx", "field", "label", name=op.f("pk_evaluations")),
    )
    op.create_table(
        "overrides",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("created_at", INSTANT, server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch_id", "idx"], ["items.batch_id", "items.idx"], name=op.f("fk_overrides_items"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_overrides")),
    )
    op.create_index("ix_overrides_item", "overrides", ["batch_id", "idx", "id"])
    op.create_table(
        "audits",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("population", sa.Integer(), nullable=False),
        sa.Column("created_at", INSTANT, server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_audits_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audits")),
    )
    op.create_table(
        "audit_items",
        sa.Column("audit_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("include", sa.Boolean(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("reviewer", sa.Text(), nullable=True),
        sa.Column("decided_at", INSTANT, nullable=True),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_audit_items_audits"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("audit_id", "idx", name=op.f("pk_audit_items")),
    )


def downgrade() -> None:
    """Take them away again, with all that they hold."""
    for table in ("audit_items", "audits", "overrides", "evaluations"):
        op.drop_table(table)
    op.drop_column("batches", "traceparent")
