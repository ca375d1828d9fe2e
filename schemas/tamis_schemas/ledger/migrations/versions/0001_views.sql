-- Views for everybody who asks in SQL, and for the readers of decisions.

-- Items with their states.
CREATE VIEW items AS
SELECT s.batch_id, s.idx, s.item_id, p.payload, s.state, s.attempts, s.fence, s.worker, s.claimed_at, s.republished_at,
       p.origin, s.lost_claims
FROM item_states s JOIN payloads p ON p.batch_id = s.batch_id AND p.idx = s.idx;

-- The interval is Wilson's at 0.95, as tamis_schemas.values.proportion has it; 1.96 to all its places.
CREATE VIEW pass_rates AS
WITH counted AS (
    SELECT b.id AS batch_id, b.label, b.operation, b.service, s.round, true AS finished,
           CAST(s.summary -> 'pass_rate' ->> 'total' AS bigint) AS n,
           CAST(s.summary -> 'pass_rate' ->> 'count' AS bigint) AS passed
    FROM batches b JOIN summaries s ON s.batch_id = b.id
    WHERE b.includes IS NOT NULL AND b.purging_at IS NULL
    UNION ALL
    SELECT b.id, b.label, b.operation, b.service, b.round, false, live.n, live.passed
    FROM batches b
    CROSS JOIN LATERAL (
        SELECT CAST(coalesce(sum(t.decided), 0) AS bigint) AS n, CAST(coalesce(sum(t.passed), 0) AS bigint) AS passed
        FROM tallies t WHERE t.batch_id = b.id
    ) live
    WHERE b.includes IS NOT NULL AND b.purging_at IS NULL
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
       finished, service
FROM intervals;

-- Every decision of a person. `current`: the reader's latest on the record and stage, and not withdrawn. `independent`: it
-- stood when the record opened to the reader, and settles nothing. `blind`: it is independent, and people read blind when
-- the reader made it and when the reader first decided on the record. A record opens when a second reader has decided about it;
-- where the model is the second reader, with the reader's own decision. In pairs, a third reader has seen both decisions.
CREATE VIEW human_decisions AS
WITH steps AS (
    SELECT o.*, first_value(o.id) OVER reader AS first_id,
           -- 1 where one more reader has a decision, -1 where one fewer has
           CAST(o.value IS NOT NULL AS integer)
               - coalesce(lag(CAST(o.value IS NOT NULL AS integer)) OVER reader, 0) AS step,
           CASE WHEN o.stage = 'own' THEN (
               SELECT m.mode FROM screening_modes m
               WHERE m.batch_id = o.batch_id AND m.created_at <= o.created_at ORDER BY m.id DESC LIMIT 1
           ) END AS mode
    FROM overrides o
    WINDOW reader AS (PARTITION BY o.batch_id, o.idx, o.stage, o.reviewer ORDER BY o.id)
), counted AS (
    SELECT steps.*, sum(step) OVER (PARTITION BY batch_id, idx, stage ORDER BY id) AS readers FROM steps
), opened AS (
    SELECT counted.*, min(id) FILTER (WHERE readers > 1) OVER (PARTITION BY batch_id, idx, stage) AS opened_id
    FROM counted
), stood AS (
    SELECT opened.*, max(id) OVER reader AS last_id, first_value(mode) OVER (reader ORDER BY id) AS first_mode,
           max(id) FILTER (
               WHERE id <= first_id OR (mode IS DISTINCT FROM 'model_second' AND (opened_id IS NULL OR id <= opened_id))
           ) OVER reader AS stood_id
    FROM opened
    WINDOW reader AS (PARTITION BY batch_id, idx, stage, reviewer)
)
SELECT id, batch_id, idx, stage, reviewer, value, reason, note, settles, in_order, created_at, current, independent,
       independent AND coalesce(mode IN ('pair', 'model_second') AND first_mode IN ('pair', 'model_second'), false) AS blind
FROM stood
CROSS JOIN LATERAL (
    SELECT value IS NOT NULL AND id = last_id AS current,
           value IS NOT NULL AND id = stood_id AND NOT settles
               AND NOT coalesce(mode = 'pair' AND first_id > opened_id, false) AS independent
) marks;

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

-- The pairs of a review's records that may be copies, by their places in its first batch: the doubts of the deduplication,
-- and pairs that people named. The last verdict on a pair counts, whichever record it names first.
CREATE VIEW copy_pairs AS
SELECT pairs.batch_id, pairs.idx AS "index", pairs.copy_of AS "of", ARRAY[copy.item_id, stays.item_id] AS ids,
       ARRAY[copy.payload ->> 'title', stays.payload ->> 'title'] AS titles,
       pairs.reason, pairs.verdict, pairs.reviewer, pairs.decided_at,
       pairs.verdict IS NULL AND EXISTS (
           SELECT FROM exclusions e WHERE e.batch_id = pairs.batch_id AND e.idx IN (pairs.idx, pairs.copy_of)
       ) AS moot
FROM (
    SELECT DISTINCT ON (batch_id, least(idx, copy_of), greatest(idx, copy_of))
           batch_id, idx, copy_of, verdict, reviewer, decided_at,
           max(reason) OVER (PARTITION BY batch_id, least(idx, copy_of), greatest(idx, copy_of)) AS reason
    FROM (
        SELECT CAST(0 AS bigint) AS id, b.id AS batch_id, CAST(doubt ->> 'index' AS integer) AS idx,
               CAST(doubt ->> 'of' AS integer) AS copy_of, CAST(NULL AS text) AS verdict, CAST(NULL AS text) AS reviewer,
               CAST(NULL AS timestamptz) AS decided_at, doubt ->> 'reason' AS reason
        FROM batches b
        CROSS JOIN LATERAL json_array_elements(
            CASE WHEN json_typeof(b.source) = 'array' THEN b.source END
        ) one (source)
        CROSS JOIN LATERAL json_array_elements(one.source -> 'doubts') each (doubt)
        UNION ALL
        SELECT id, batch_id, idx, copy_of, verdict, reviewer, created_at, NULL FROM copy_decisions
    ) said
    ORDER BY batch_id, least(idx, copy_of), greatest(idx, copy_of), id DESC
) pairs
JOIN items copy ON copy.batch_id = pairs.batch_id AND copy.idx = pairs.idx
JOIN items stays ON stays.batch_id = pairs.batch_id AND stays.idx = pairs.copy_of;

-- What the software decided about each item, before any person. The words of its operation are in its batch.
-- A record that a person calls a copy reads like a copy that the software found: no model's decision on it counts.
CREATE VIEW software_decisions AS
WITH joined AS (
    SELECT i.batch_id, b.label, b.operation, b.service, b.includes, b.excludes, b.excluded_because, i.idx, i.item_id,
           coalesce(p.origin, i.idx) AS record, coalesce(p.source, 0) AS source,
           CASE WHEN e.copy_of IS NULL THEN i.state ELSE 'excluded_by_filter' END AS state,
           e.rule, r.value, r.detail, r.confidence, r.error_kind
    FROM item_states i
    JOIN batches b ON b.id = i.batch_id
    LEFT JOIN payloads p ON p.batch_id = i.batch_id AND p.idx = i.idx
    LEFT JOIN results r ON r.batch_id = i.batch_id AND r.idx = i.idx
    LEFT JOIN exclusions e ON e.batch_id = i.batch_id AND e.idx = i.idx
    WHERE b.purging_at IS NULL
)
SELECT batch_id, label, operation, service, includes, excludes, idx, item_id, record, source, state,
       CASE WHEN state = 'decided' THEN
                CASE WHEN includes IS NULL OR value #>> '{}' = includes THEN 'passed'
                     WHEN value #>> '{}' = excludes THEN 'excluded'
                     ELSE 'uncertain' END
            WHEN state IN ('failed', 'cancelled') THEN state
            WHEN state <> 'excluded_by_filter' THEN 'open'
            WHEN rule = 'duplicate' THEN 'duplicate'
            WHEN rule IS NOT NULL THEN 'ineligible'
            ELSE 'removed' END AS model_decision,
       CASE WHEN state = 'failed' THEN coalesce(error_kind, 'unknown')
            WHEN state = 'excluded_by_filter' THEN rule
            WHEN state = 'decided' AND value #>> '{}' = excludes THEN
                coalesce(excluded_because,
                         CASE WHEN detail ->> 'status' = 'exclude' THEN detail ->> 'exclusion_reason' END,
                         'no reason recorded')
       END AS reason,
       CASE WHEN state = 'decided' THEN confidence END AS confidence,
       CASE WHEN state = 'decided' THEN value END AS model_value,
       -- a judgement that blocks a result; an exclusion that is uncertain for want of a verified quote
       operation = 'judge' AND state = 'decided' AND coalesce(detail ->> 'blocked' = 'true', false) AS marked,
       operation = 'inclusion' AND state = 'decided'
           AND coalesce(detail ->> 'uncertain_reason' = 'no verified quote', false) AS unverified
FROM joined;

-- The final decision on each item, and who made it: every count of decisions reads this view. An item is decided
-- `by_human` if a person's decision to include or exclude counts, whether the software agrees or not.
CREATE VIEW item_decisions AS
WITH joined AS (
    SELECT software.*, h.id AS said, h.value AS human_value, h.reviewer, h.note, h.created_at AS decided_at,
           coalesce(h.conflict, false) AS conflict, coalesce(h.reviewers, 0) AS reviewers,
           coalesce(h.settles AND h.reviewers > 1, false) AS settled, h.decisions
    FROM software_decisions software
    LEFT JOIN LATERAL (
        SELECT standing.* FROM standing_decisions standing
        WHERE standing.batch_id = software.batch_id AND standing.idx = software.idx AND standing.stage = 'own'
        OFFSET 0  -- read item by item: whoever names a batch waits for no other
    ) h ON true
), decided AS (
    SELECT joined.*,
           CASE WHEN said IS NULL THEN NULL
                WHEN conflict THEN 'conflict'
                WHEN includes IS NULL OR human_value #>> '{}' = includes THEN 'passed'
                WHEN human_value #>> '{}' IS DISTINCT FROM excludes THEN 'uncertain'
                WHEN model_decision IN ('duplicate', 'ineligible', 'removed') THEN model_decision
                ELSE 'excluded' END AS human_decision
    FROM joined
), compared AS (
    SELECT decided.*,
           CASE WHEN human_decision = 'conflict' THEN 'conflict'
                WHEN human_decision = 'uncertain' THEN 'unsure'
                WHEN includes IS NOT NULL THEN
                    CASE WHEN human_decision = model_decision THEN 'confirmed'
                         WHEN human_decision <> model_decision THEN 'changed' END
                WHEN CAST(model_value AS jsonb) = CAST(human_value AS jsonb) THEN 'confirmed'
                WHEN said IS NOT NULL THEN 'changed' END AS human
    FROM decided
)
SELECT batch_id, label, operation, idx, item_id, record, source, state,
       coalesce(human_decision, model_decision) AS decision, model_decision, human_decision, human,
       coalesce(human IN ('changed', 'confirmed'), false) AS by_human,
       reviewer, note, decided_at, reason, confidence, model_value, human_value, reviewers, conflict, settled, decisions,
       marked, unverified, service
FROM compared;
