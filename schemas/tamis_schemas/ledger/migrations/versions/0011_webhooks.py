"""Webhooks: the receivers, and the deliveries.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

INSTANT = sa.DateTime(timezone=True)

# A callback that names no events wants all of them; JSON's null is no callback.
WANTED = """
CREATE FUNCTION webhook_wanted(callback json, event text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
SELECT coalesce(json_typeof(callback) = 'object', false)
   AND coalesce(jsonb_exists(callback::jsonb -> 'events', event), true)
$$
"""
TELL = """
CREATE FUNCTION tell_of_batch(batch batches, event text) RETURNS void LANGUAGE sql AS $$
INSERT INTO webhooks (batch_id, round, type, url, data)
SELECT batch.id, batch.round, event, batch.callback ->> 'url', json_build_object(
    'batch_id', batch.id, 'label', batch.label, 'operation', batch.operation, 'state', batch.state,
    'round', batch.round, 'review_id', batch.review_id, 'stage', batch.stage, 'pause', batch.pause
)
WHERE webhook_wanted(batch.callback, event)
ON CONFLICT DO NOTHING
$$
"""
# In the transaction that changes the batch, whoever does: a worker of this release or the one before, a producer, psql.
OF_STATES = """
CREATE FUNCTION tell_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state = 'paused' AND OLD.state <> 'paused' AND NEW.pause ->> 'kind' <> 'requested' THEN
        PERFORM tell_of_batch(NEW, 'batch.paused');
    ELSIF NEW.state = 'completed' AND OLD.state <> 'completed'
       OR NEW.state = 'cancelled' AND NEW.finished_at IS NOT NULL AND OLD.finished_at IS NULL THEN
        PERFORM tell_of_batch(NEW, 'batch.completed');
    END IF;
    RETURN NULL;
END $$
"""
# At the end of a round, when every item of it has ended; while it runs, workers look by turns. Of a batch that comes out of
# an archive nobody is told anew.
OF_FAILURES = """
CREATE FUNCTION tell_failures() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    batch batches;
    failed integer := NEW.summary #>> '{counts,failed}';
    decided integer := NEW.summary #>> '{counts,decided}';
BEGIN
    SELECT * INTO batch FROM batches WHERE id = NEW.batch_id;
    IF NEW.created_at > coalesce(batch.restored_at, '-infinity')
       AND failed > (batch.callback ->> 'failed_share')::double precision * (failed + decided) THEN
        PERFORM tell_of_batch(batch, 'batch.failing');
    END IF;
    RETURN NULL;
END $$
"""
OF_KEYS = """
CREATE FUNCTION take_callback() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.callback := (SELECT callback FROM api_keys WHERE id = NEW.api_key_id);
    RETURN NEW;
END $$
"""
TRIGGERS = (
    "CREATE TRIGGER told AFTER UPDATE OF state, finished_at ON batches FOR EACH ROW "
    "WHEN (NEW.callback IS NOT NULL) EXECUTE FUNCTION tell_state()",
    "CREATE TRIGGER told AFTER INSERT ON summaries FOR EACH ROW EXECUTE FUNCTION tell_failures()",
    # Single calls are answered where they are made: nobody is told of each.
    "CREATE TRIGGER callback_of_key BEFORE INSERT ON batches FOR EACH ROW "
    "WHEN (NEW.api_key_id IS NOT NULL AND NEW.service IS NULL AND NEW.restored_at IS NULL "
    "AND coalesce(json_typeof(NEW.callback), 'null') = 'null') EXECUTE FUNCTION take_callback()",
)


def upgrade() -> None:
    """Add the outbox, and the triggers that fill it.

    Producers of the release before name no callback, and their batches tell nobody.
    """
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("batch_id", sa.Uuid(), nullable=True),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("next_at", INSTANT, server_default=sa.text("now()"), nullable=False),
        sa.Column("claimed_until", INSTANT, nullable=True),
        sa.Column("last_at", INSTANT, nullable=True),
        sa.Column("last_status", sa.Integer(), nullable=True),
        sa.Column("last_said", sa.Text(), nullable=True),
        sa.Column("created_at", INSTANT, server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", INSTANT, nullable=True),
        sa.CheckConstraint("state IN ('waiting', 'delivered', 'given_up')", name=op.f("ck_webhooks_state_known")),
        sa.CheckConstraint("(state = 'waiting') = (ended_at IS NULL)", name=op.f("ck_webhooks_ended_at_known")),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_webhooks_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    waiting = sa.text("state = 'waiting'")
    op.create_index("ix_webhooks_due", "webhooks", ["next_at"], postgresql_where=waiting)
    op.create_index("ix_webhooks_created_at", "webhooks", ["created_at"])
    op.create_index("ix_webhooks_batch", "webhooks", ["batch_id"])
    failing = sa.text("type = 'batch.failing'")
    op.create_index("uq_webhooks_failing", "webhooks", ["batch_id", "round"], unique=True, postgresql_where=failing)
    for statement in (WANTED, TELL, OF_STATES, OF_FAILURES, OF_KEYS, *TRIGGERS):
        op.execute(statement)
