"""Retention of batches, and views for people who ask in SQL.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

INSTANT = sa.DateTime(timezone=True)

# `results` has no foreign key to `batches`, so that recording one takes no lock on the batch: with a batch they go by this.
RESULTS_GO_TOO = """
CREATE FUNCTION delete_results() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM results WHERE batch_id = OLD.id;
    RETURN NULL;
END $$
"""
STAYS_PURGED = """
CREATE TRIGGER stays_purged BEFORE UPDATE ON batches FOR EACH ROW
WHEN (OLD.purging_at IS NOT NULL AND (NEW.purging_at IS NULL OR NEW.state <> OLD.state))
EXECUTE FUNCTION refuse_purged()
"""
REFUSE_PURGED = """
CREATE FUNCTION refuse_purged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'batch % is being purged', OLD.id USING ERRCODE = 'check_violation';
END $$
"""

# The interval is that of Wilson at 0.95, as `tamis_schemas.values.proportion` has it; 1.96 to all its places.
RATES = """
CREATE VIEW pass_rates AS
WITH counted AS (
    SELECT b.id AS batch_id, b.label, b.operation, s.round, true AS finished,
           CAST(s.summary -> 'pass_rate' ->> 'total' AS bigint) AS n,
           CAST(s.summary -> 'pass_rate' ->> 'count' AS bigint) AS passed
    FROM batches b JOIN summaries s ON s.batch_id = b.id
    WHERE b.operation IN ('filter', 'inclusion') AND b.purging_at IS NULL
    UNION ALL
    SELECT b.id, b.label, b.operation, b.round, false, live.n, live.passed
    FROM batches b
    CROSS JOIN LATERAL (
        SELECT count(*) AS n, count(*) FILTER (WHERE r.value #>> '{}' IN ('true', 'include')) AS passed
        FROM items i JOIN results r ON r.batch_id = i.batch_id AND r.idx = i.idx
        WHERE i.batch_id = b.id AND i.state = 'decided'
    ) live
    WHERE b.operation IN ('filter', 'inclusion') AND b.purging_at IS NULL
      AND NOT EXISTS (SELECT FROM summaries s WHERE s.batch_id = b.id AND s.round = b.round)
), shares AS (
    SELECT counted.*, CAST(passed AS double precision) / nullif(n, 0) AS rate,
           CAST(n AS double precision) AS total, CAST(1.959963984540054 AS double precision) AS z
    FROM counted
), intervals AS (
    SELECT shares.*, (rate + z * z / (2 * nullif(total, 0))) / (1 + z * z / nullif(total, 0)) AS centre,
           z * sqrt(rate * (1 - rate) / nullif(total, 0) + z * z / (4 * nullif(total, 0) * total))
               / (1 + z * z / nullif(total, 0)) AS half
    FROM shares
)
SELECT batch_id, label, operation, round, n, passed, rate,
       CASE WHEN n = 0 THEN NULL WHEN passed = 0 THEN 0 ELSE greatest(0, centre - half) END AS low,
       CASE WHEN n = 0 THEN NULL WHEN passed = n THEN 1 ELSE least(1, centre + half) END AS high,
       finished
FROM intervals
"""

# The same cases as `tamis_producer.decisions.final_outcome.outcomes` has, for all batches at once.
ITEM_DECISIONS = """
CREATE VIEW item_decisions AS
WITH decided AS (
    SELECT i.batch_id, b.label, b.operation, i.idx, i.item_id, coalesce(i.origin, i.idx) AS record, i.state,
           CASE WHEN i.state = 'failed' THEN 'failed'
                WHEN i.state = 'cancelled' THEN 'cancelled'
                WHEN i.state = 'excluded_by_filter' THEN
                    CASE WHEN e.rule = 'duplicate' THEN 'duplicate' WHEN e.rule IS NOT NULL THEN 'ineligible'
                         ELSE 'removed' END
                WHEN i.state <> 'decided' THEN 'open'
                WHEN b.operation = 'inclusion' THEN
                    CASE r.value #>> '{}' WHEN 'include' THEN 'passed' WHEN 'exclude' THEN 'excluded'
                         ELSE 'uncertain' END
                WHEN b.operation = 'filter' THEN
                    CASE r.value #>> '{}' WHEN 'true' THEN 'passed' ELSE 'excluded' END
                ELSE 'passed' END AS model_decision,
           CASE WHEN i.state = 'failed' THEN coalesce(r.error_kind, 'unknown')
                WHEN i.state = 'excluded_by_filter' THEN e.rule
                WHEN i.state <> 'decided' THEN NULL
                WHEN b.operation = 'filter' AND r.value #>> '{}' IS DISTINCT FROM 'true'
                    THEN 'the question is answered with no'
                WHEN b.operation = 'inclusion' AND r.value #>> '{}' = 'exclude' THEN
                    coalesce(CASE WHEN r.detail ->> 'status' = 'exclude' THEN
                        CASE WHEN r.detail -> 'uncertain_reason' IS NULL
                                  AND CAST(b.params -> 'criteria' -> 'inclusion_criteria' AS jsonb) ? stated.reason
                             THEN 'not met: ' || stated.reason ELSE stated.reason END
                    END, 'no reason recorded')
           END AS reason,
           CASE WHEN i.state = 'decided' THEN r.confidence END AS confidence,
           CASE WHEN i.state = 'decided' THEN r.value END AS model_value,
           h.id AS said, h.value AS human_value, h.reviewer, h.note, h.created_at AS decided_at
    FROM items i
    JOIN batches b ON b.id = i.batch_id
    LEFT JOIN results r ON r.batch_id = i.batch_id AND r.idx = i.idx
    LEFT JOIN exclusions e ON e.batch_id = i.batch_id AND e.idx = i.idx
    LEFT JOIN LATERAL (
        SELECT coalesce(r.detail ->> 'exclusion_reason', r.detail -> 'criteria' ->> 0) AS reason
    ) stated ON true
    LEFT JOIN LATERAL (
        SELECT latest.* FROM (
            SELECT o.* FROM overrides o WHERE o.batch_id = i.batch_id AND o.idx = i.idx ORDER BY o.id DESC LIMIT 1
        ) latest
        WHERE latest.value IS NOT NULL
    ) h ON true
    WHERE b.purging_at IS NULL
), final AS (
    SELECT decided.*,
           CASE WHEN said IS NULL THEN NULL
                WHEN operation NOT IN ('filter', 'inclusion') THEN 'passed'
                WHEN human_value #>> '{}' IN ('include', 'true') THEN 'passed'
                WHEN model_decision IN ('duplicate', 'ineligible', 'removed') THEN model_decision
                ELSE 'excluded' END AS human_decision
    FROM decided
)
SELECT batch_id, label, operation, idx, item_id, record, state,
       coalesce(human_decision, model_decision) AS decision, model_decision, human_decision,
       CASE WHEN said IS NULL THEN NULL
            WHEN operation IN ('filter', 'inclusion') THEN
                CASE WHEN human_decision <> model_decision THEN 'changed' ELSE 'confirmed' END
            WHEN state = 'decided' AND CAST(model_value AS jsonb) = CAST(human_value AS jsonb) THEN 'confirmed'
            ELSE 'changed' END AS human,
       reviewer, note, decided_at, reason, confidence, model_value, human_value
FROM final
"""


def upgrade() -> None:
    """Add columns, triggers, indexes and views; workers of the release before neither see nor purge what is marked."""
    for table in ("reviews", "batches"):
        op.add_column(table, sa.Column("purging_at", INSTANT, nullable=True))
    op.add_column("batches", sa.Column("restored_at", INSTANT, nullable=True))
    op.create_index("ix_batches_purging", "batches", ["purging_at"], postgresql_where=sa.text("purging_at IS NOT NULL"))
    op.create_index("ix_llm_cache_created_at", "llm_cache", ["created_at"])
    op.execute(RESULTS_GO_TOO)
    op.execute("CREATE TRIGGER results_go_too AFTER DELETE ON batches FOR EACH ROW EXECUTE FUNCTION delete_results()")
    op.execute(REFUSE_PURGED)
    op.execute(STAYS_PURGED)
    op.execute(RATES)
    op.execute(ITEM_DECISIONS)
