"""The end of a batch, and of each item of a service's calls, is told to whoever listens.

Revision ID: 0012
Revises: 0011
"""

from alembic import op

revision = "0012"
down_revision = "0011"

# A NOTIFY takes a lock of the whole server at its commit. So the items of ordinary batches tell nothing: they are many,
# and who waits for one of those waits for its end. Of the rows of one statement each batch is told of once.
TELL_CALLS = """
CREATE FUNCTION tell_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tamis_calls', b.id::text)
    FROM batches b
    WHERE b.service IS NOT NULL AND b.id IN (SELECT batch_id FROM ended);
    RETURN NULL;
END $$
"""
CALLS_TOLD = """
CREATE TRIGGER results_told AFTER INSERT ON results REFERENCING NEW TABLE AS ended
FOR EACH STATEMENT EXECUTE FUNCTION tell_calls()
"""
TELL_BATCH = """
CREATE FUNCTION tell_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tamis_batches', NEW.id::text);
    RETURN NULL;
END $$
"""
# Nobody waits for the end of a service's batch, but for that of its items: only what ends them otherwise is told.
BATCH_TOLD = """
CREATE TRIGGER batches_told AFTER UPDATE OF state, finished_at ON batches
FOR EACH ROW WHEN (
    (OLD.state, OLD.finished_at) IS DISTINCT FROM (NEW.state, NEW.finished_at)
    AND (NEW.state IN ('paused', 'cancelled') OR (NEW.state = 'completed' AND NEW.service IS NULL))
) EXECUTE FUNCTION tell_batch()
"""


def upgrade() -> None:
    """Tell by triggers, so that workers of the release before tell it too."""
    for statement in (TELL_CALLS, CALLS_TOLD, TELL_BATCH, BATCH_TOLD):
        op.execute(statement)
