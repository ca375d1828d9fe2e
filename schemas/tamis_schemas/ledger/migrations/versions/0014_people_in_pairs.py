"""Each person's decision on a record stands on its own, in the stage that it belongs to.

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

# The rule, for each item and stage: of each reviewer the latest row, unless it withdraws. Where one of these settles, the
# latest that does; else what all of them say; else it is a conflict, and no value counts. Every reader asks this view.
STANDING = """
CREATE VIEW standing_decisions AS
SELECT batch_id, idx, stage, id,
       CASE WHEN conflict THEN NULL ELSE value END AS value,
       conflict, reviewers,
       CASE WHEN conflict THEN NULL ELSE reviewer END AS reviewer,
       CASE WHEN conflict THEN NULL ELSE note END AS note,
       CASE WHEN conflict THEN NULL ELSE reason END AS reason,
       settles, created_at, decisions
FROM (
    SELECT batch_id, idx, stage, count(*) AS reviewers, bool_or(settles) AS settles,
           NOT bool_or(settles) AND count(DISTINCT CAST(value AS jsonb)) > 1 AS conflict,
           (array_agg(id ORDER BY settles DESC, id DESC))[1] AS id,
           (array_agg(value ORDER BY settles DESC, id DESC))[1] AS value,
           (array_agg(reviewer ORDER BY settles DESC, id DESC))[1] AS reviewer,
           (array_agg(note ORDER BY settles DESC, id DESC))[1] AS note,
           (array_agg(reason ORDER BY settles DESC, id DESC))[1] AS reason,
           (array_agg(created_at ORDER BY settles DESC, id DESC))[1] AS created_at,
           json_agg(json_build_object(
               'id', id, 'reviewer', reviewer, 'value', value, 'reason', reason, 'note', note, 'settles', settles,
               'created_at', created_at) ORDER BY id) AS decisions
    FROM (
        SELECT DISTINCT ON (batch_id, idx, stage, reviewer) *
        FROM overrides
        ORDER BY batch_id, idx, stage, reviewer, id DESC
    ) latest
    WHERE value IS NOT NULL
    GROUP BY batch_id, idx, stage
) counted
"""

# The same cases as `tamis_producer.decisions.final_outcome.outcomes` has, for all batches at once.
ITEM_DECISIONS = """
CREATE OR REPLACE VIEW item_decisions AS
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
           h.id AS said, h.value AS human_value, h.reviewer, h.note, h.created_at AS decided_at,
           coalesce(h.conflict, false) AS conflict, coalesce(h.reviewers, 0) AS reviewers, h.decisions
    FROM items i
    JOIN batches b ON b.id = i.batch_id
    LEFT JOIN results r ON r.batch_id = i.batch_id AND r.idx = i.idx
    LEFT JOIN exclusions e ON e.batch_id = i.batch_id AND e.idx = i.idx
    LEFT JOIN LATERAL (
        SELECT coalesce(r.detail ->> 'exclusion_reason', r.detail -> 'criteria' ->> 0) AS reason
    ) stated ON true
    LEFT JOIN LATERAL (
        SELECT standing.* FROM standing_decisions standing
        WHERE standing.batch_id = i.batch_id AND standing.idx = i.idx AND standing.stage = 'own'
        OFFSET 0  -- read item by item: whoever names a batch waits for no other
    ) h ON true
    WHERE b.purging_at IS NULL
), final AS (
    SELECT decided.*,
           CASE WHEN said IS NULL THEN NULL
                WHEN conflict THEN 'conflict'
                WHEN operation NOT IN ('filter', 'inclusion') THEN 'passed'
                WHEN human_value #>> '{}' IN ('include', 'true') THEN 'passed'
                WHEN human_value #>> '{}' = 'uncertain' THEN 'uncertain'
                WHEN model_decision IN ('duplicate', 'ineligible', 'removed') THEN model_decision
                ELSE 'excluded' END AS human_decision
    FROM decided
)
SELECT batch_id, label, operation, idx, item_id, record, state,
       coalesce(human_decision, model_decision) AS decision, model_decision, human_decision,
       CASE WHEN said IS NULL THEN NULL
            WHEN conflict THEN 'conflict'
            WHEN operation IN ('filter', 'inclusion') THEN
                CASE WHEN human_decision <> model_decision THEN 'changed' ELSE 'confirmed' END
            WHEN state = 'decided' AND CAST(model_value AS jsonb) = CAST(human_value AS jsonb) THEN 'confirmed'
            ELSE 'changed' END AS human,
       reviewer, note, decided_at, reason, confidence, model_value, human_value,
       reviewers, conflict, decisions
FROM final
"""

# Until now the last row of an item counted, whoever wrote it. What counted goes on counting: where it withdrew, it took
# back what everybody had said; where others said otherwise, it settled that.
WITHDRAWN = """
INSERT INTO overrides (batch_id, idx, reviewer, note, created_at)
SELECT said.batch_id, said.idx, said.reviewer, 'withdrawn by ' || last.reviewer, last.created_at
FROM (SELECT DISTINCT ON (batch_id, idx) * FROM overrides ORDER BY batch_id, idx, id DESC) last
JOIN (
    SELECT DISTINCT ON (batch_id, idx, reviewer) * FROM overrides ORDER BY batch_id, idx, reviewer, id DESC
) said ON said.batch_id = last.batch_id AND said.idx = last.idx
WHERE last.value IS NULL AND said.value IS NOT NULL
ORDER BY said.id
"""
SETTLED = """
UPDATE overrides SET settles = true WHERE id IN (
    SELECT last.id
    FROM (SELECT DISTINCT ON (batch_id, idx) * FROM overrides ORDER BY batch_id, idx, id DESC) last
    JOIN (
        SELECT DISTINCT ON (batch_id, idx, reviewer) * FROM overrides ORDER BY batch_id, idx, reviewer, id DESC
    ) said ON said.batch_id = last.batch_id AND said.idx = last.idx
    WHERE CAST(said.value AS jsonb) <> CAST(last.value AS jsonb)
)
"""
AS_BEFORE = (
    WITHDRAWN,
    "ALTER TABLE overrides DISABLE TRIGGER never_changed",
    SETTLED,
    "ALTER TABLE overrides ENABLE TRIGGER never_changed",
)
# Whoever reads decisions reads them by the view, too.
RIGHTS = """
DO $$
DECLARE may record;
BEGIN
    FOR may IN
        SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS who
        FROM pg_class, aclexplode(relacl)
        WHERE oid = 'overrides'::regclass AND grantee <> relowner AND privilege_type = 'SELECT'
    LOOP
        EXECUTE format('GRANT SELECT ON standing_decisions TO %s', may.who);
    END LOOP;
END $$
"""


def upgrade() -> None:
    """Add the stage of a decision, its reason, whether it settles a conflict, and the view of those that stand.

    Workers and gateways of the release before write none of them.
    """
    op.add_column("overrides", sa.Column("stage", sa.Text, nullable=False, server_default="own"))
    op.add_column("overrides", sa.Column("reason", sa.Text, nullable=True))
    op.add_column("overrides", sa.Column("settles", sa.Boolean, nullable=False, server_default=sa.text("false")))
    op.create_check_constraint(
        op.f("ck_overrides_stage_known"), "overrides", "stage IN ('own', 'retrieval', 'full-text')"
    )
    for statement in AS_BEFORE:
        op.execute(statement)
    op.execute(STANDING)
    op.execute(ITEM_DECISIONS)
    op.execute(RIGHTS)
