"""Evaluations by metrics, people's decisions and audits, a batch's trace, and the keys of the gateway.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

INSTANT = sa.DateTime(timezone=True)
# Of what people decided, and on what. Depth 0: a statement's own change; what goes with a whole batch goes with it.
NEVER_CHANGED = (
    "CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON overrides FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change()",
    "CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON audits FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change()",
    "CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON audit_items FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change()",
    "CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON audit_decisions FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change()",
)


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
        sa.Column("stratum", sa.Text(), nullable=False),
        sa.Column("population", sa.Integer(), nullable=False),
        sa.Column("created_at", INSTANT, server_default=sa.func.now(), nullable=False),
        sa.CheckConstraint("stratum IN ('all', 'rules', 'model')", name=op.f("ck_audits_stratum_known")),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_audits_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audits")),
    )
    op.create_index("ix_audits_batch", "audits", ["batch_id"])
    op.create_table(
        "audit_items",
        sa.Column("audit_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("drawn", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audits.id"], name=op.f("fk_audit_items_audits"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("audit_id", "idx", name=op.f("pk_audit_items")),
    )
    op.create_table(
        "audit_decisions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("audit_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("include", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("reviewer", sa.Text(), nullable=False),
        sa.Column("created_at", INSTANT, server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audit_id", "idx"],
            ["audit_items.audit_id", "audit_items.idx"],
            name=op.f("fk_audit_decisions_audit_items"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_decisions")),
    )
    op.create_index("ix_audit_decisions_item", "audit_decisions", ["audit_id", "idx", "id"])
    op.execute(
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION '% are added to, never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation'; END $$"
    )
    for trigger in NEVER_CHANGED:
        op.execute(trigger)
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("secret_sha256", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", INSTANT, server_default=sa.func.now(), nullable=False),
        sa.Column("revoked_at", INSTANT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
    )
