"""Random samples of what nobody has read yet, from which it is certified how much was found.

Revision ID: 0019
Revises: 0018
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0019"
down_revision = "0018"

# A frame is promised before it is read: nobody changes which records it holds, or their order. More of them are drawn,
# and it is closed, once.
FRAMES_STAY = (
    "CREATE TRIGGER frames_stay BEFORE UPDATE ON stop_samples FOR EACH ROW "
    "WHEN (NEW.drawn < OLD.drawn OR OLD.closed_at IS NOT NULL"
    " OR OLD.id IS DISTINCT FROM NEW.id OR OLD.batch_id IS DISTINCT FROM NEW.batch_id"
    " OR OLD.number IS DISTINCT FROM NEW.number OR OLD.seed IS DISTINCT FROM NEW.seed"
    " OR OLD.records IS DISTINCT FROM NEW.records OR OLD.created_at IS DISTINCT FROM NEW.created_at) "
    "EXECUTE FUNCTION refuse_change()"
)
NEVER_DELETED = (
    "CREATE TRIGGER never_deleted BEFORE DELETE ON stop_samples FOR EACH ROW "
    "WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change()"
)


def upgrade() -> None:
    """Add the table. No worker writes one."""
    op.create_table(
        "stop_samples",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("batch_id", sa.Uuid, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("recall", sa.Double, nullable=False),
        sa.Column("confidence", sa.Double, nullable=False),
        sa.Column("records", ARRAY(sa.Integer), nullable=False),
        sa.Column("drawn", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stop_samples")),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_stop_samples_batches"), ondelete="CASCADE"),
        sa.UniqueConstraint("batch_id", "number", name=op.f("uq_stop_samples_batch_id_number")),
        sa.CheckConstraint("recall > 0 AND recall <= 1", name=op.f("ck_stop_samples_recall_range")),
        sa.CheckConstraint("confidence > 0 AND confidence < 1", name=op.f("ck_stop_samples_confidence_range")),
        sa.CheckConstraint("drawn BETWEEN 0 AND cardinality(records)", name=op.f("ck_stop_samples_drawn_range")),
    )
    op.create_index(
        "uq_stop_samples_open", "stop_samples", ["batch_id"], unique=True, postgresql_where=sa.text("closed_at IS NULL")
    )
    op.execute(FRAMES_STAY)
    op.execute(NEVER_DELETED)
