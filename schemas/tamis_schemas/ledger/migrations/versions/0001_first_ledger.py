"""The first ledger: batches, shards, items, results, summaries, kept answers and workers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None


# As `tamis_schemas.batches.status` has them at this revision: the ledger itself refuses any other step, whoever takes it.
ITEM_STEPS = (
    ("pending", "running"),
    ("pending", "cancelled"),
    ("pending", "failed"),
    ("running", "decided"),
    ("running", "failed"),
    ("running", "pending"),
    ("failed", "pending"),
    ("cancelled", "pending"),
)
BATCH_STEPS = (
    ("pending", "running"),
    ("pending", "paused"),
    ("pending", "cancelled"),
    ("running", "completed"),
    ("running", "paused"),
    ("running", "cancelled"),
    ("paused", "running"),
    ("paused", "completed"),
    ("paused", "cancelled"),
    ("completed", "running"),
    ("cancelled", "running"),
)


def _refuse_other_steps(table: str, steps: tuple[tuple[str, str], ...]) -> None:
    legal = ", ".join(f"'{before}>{after}'" for before, after in steps)
    op.execute(
        f"CREATE TRIGGER legal_transitions BEFORE UPDATE OF state ON {table} FOR EACH ROW "
        f"WHEN (OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({legal})) "
        "EXECUTE FUNCTION refuse_transition()"
    )


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "batches",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("content_sha256", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("n_items", sa.Integer(), nullable=False),
        sa.Column("shard_size", sa.Integer(), nullable=False),
        sa.Column("window_size", sa.Integer(), nullable=False),
        sa.Column("use_cache", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("round", sa.Integer(), server_default="1", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('pending', 'running', 'paused', 'completed', 'cancelled')",
            name=op.f("ck_batches_state_known"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_batches_idempotency_key")),
    )
    op.create_index("ix_batches_created_at", "batches", ["created_at"], unique=False)
    op.create_table(
        "results",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=True),
        sa.Column("detail", sa.JSON(), nullable=True),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("reasoning", sa.Text(), nullable=True),
        sa.Column("error_kind", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("prompt_sha256", sa.Text(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("cached", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "error_kind IN ('authentication', 'permission', 'model_not_found', 'invalid_request', 'context_length', 'timeout', 'connection', 'server', 'rate_limited', 'refused', 'content_filter', 'truncated', 'empty', 'malformed', 'invalid', 'no_content', 'attempts_exhausted', 'internal')",
            name=op.f("ck_results_error_kind_known"),
        ),
        sa.CheckConstraint("(error_kind IS NULL) = (error IS NULL)", name=op.f("ck_results_error_has_kind")),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("ck_results_confidence_range")),
        sa.CheckConstraint(
            "error_kind IS NULL OR value IS NULL",
            name=op.f("ck_results_error_no_decision"),
        ),
        sa.PrimaryKeyConstraint("batch_id", "idx", name=op.f("pk_results")),
    )
    op.create_table(
        "llm_cache",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_llm_cache")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "items",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("fence", sa.Integer(), server_default="0", nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("republished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('pending', 'running', 'decided', 'failed', 'cancelled', 'excluded_by_filter')",
            name=op.f("ck_items_state_known"),
        ),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_items_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("batch_id", "idx", name=op.f("pk_items")),
    )
    op.create_table(
        "shards",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False),
        sa.Column("first_idx", sa.Integer(), nullable=False),
        sa.Column("end_idx", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("dispatched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("aggregated_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'dispatched', 'aggregated')", name=op.f("ck_shards_state_known")),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_shards_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("batch_id", "round", "shard", name=op.f("pk_shards")),
    )
    op.create_index(
        "ix_shards_open", "shards", ["state"], unique=False, postgresql_where=sa.text("state <> 'aggregated'")
    )
    op.create_table(
        "summaries",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("summary", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_summaries_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("batch_id", "round", name=op.f("pk_summaries")),
    )
    op.execute(
        "CREATE FUNCTION refuse_transition() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, OLD.state, NEW.state "
        "USING ERRCODE = 'check_violation'; END $$"
    )
    _refuse_other_steps("items", ITEM_STEPS)
    _refuse_other_steps("batches", BATCH_STEPS)
