-- Views for everybody who asks in SQL, and for the readers of decisions.

-- Items with their states.
CREATE VIEW items AS
SELECT s.batch_id, s.idx, s.item_id, p.payload, s.state, s.attempts, s.fence, s.worker, s.claimed_at, s.republished_at,
       p.origin, s.lost_claims
FROM item_states s JOIN payloads p ON p.batch_id = s.batch_id AND p.idx = s.idx;

-- The interval is Wilson's at 0.95, as tamis_schemas.values.proportion has it; 1.96 to all its places.
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
FROM intervals;

-- For each item and stage the latest row of each reviewer counts, unless it withdraws. If one of these settles, the latest
-- that does is the decision; else what all of them say; else the record is in conflict, and no value counts.
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
) counted;

-- The cases of tamis_review.decisions.final_outcome.outcomes, for all batches at once.
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
                    coalesce(CASE WHEN r.detail ->> 'status' = 'exclude' THEN r.detail ->> 'exclusion_reason' END,
                             'no reason recorded')
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
FROM final;
