"""The ledger's tables, as SQLAlchemy Core sees them; the migrations beside this file create them.

All times are the database's: no clock of a worker or a producer is ever written here.
"""

from enum import StrEnum

from sqlalchemy import (
    ARRAY,
    JSON,
    REAL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    Numeric,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from ..answers.override import HumanStage, RemarkKind, ScreeningMode, Stratum
from ..batches.status import BatchStatus, ItemStatus, Priority
from ..errors import ErrorKind


class WebhookState(StrEnum):
    """The state of a webhook."""

    WAITING = "waiting"  # for its first try, or for the next
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


class ShardStatus(StrEnum):
    """The state of a shard."""

    WAITING = "waiting"
    DISPATCHED = "dispatched"
    AGGREGATED = "aggregated"


def _one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{value.value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def _of_item(table: str) -> ForeignKeyConstraint:
    """The rows of a table belong to items, and go with them."""
    item = ["item_states.batch_id", "item_states.idx"]
    return ForeignKeyConstraint(["batch_id", "idx"], item, name=f"fk_{table}_items", ondelete="CASCADE")


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)

_INSTANT = DateTime(timezone=True)
_MONEY = Numeric(18, 9)  # exact: sums do not depend on their order

reviews = Table(
    "reviews",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("content_sha256", Text, nullable=False, unique=True),  # of plan and records: the same again resumes it
    Column("label", Text, nullable=False),
    Column("plan", JSON, nullable=False),  # a `ReviewPlan`
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("finished_at", _INSTANT),  # the last stage is completed, or nothing passed on to the next
    Column("purging_at", _INSTANT),  # since when it is being deleted with its batches: nobody is shown it any more
    Index("ix_reviews_open", "created_at", postgresql_where=text("finished_at IS NULL")),
)

batches = Table(
    "batches",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("idempotency_key", Text),  # unique for each `api_key_id`
    Column("api_key_id", Text),  # the gateway's key that it was submitted with; None: by a program or a person here
    Column("service", Text),  # whose single calls it holds: no batch that people follow; None: one that they do
    Column("callback", JSON),  # a `Callback`: whom to tell of its end; None: nobody
    Column("content_sha256", Text, nullable=False),  # of operation, model and items: tells a reused key
    Column("label", Text),  # what people call it: a file's name
    Column("operation", Text, nullable=False),
    Column("params", JSON, nullable=False),  # JSON, not JSONB: the order of names is the caller's
    Column("model", Text),  # None: the worker's own; of a panel its models in one line, for people: `params` has them
    Column("state", Text, nullable=False, server_default=BatchStatus.PENDING.value),
    Column("n_items", Integer, nullable=False),
    Column("shard_size", Integer, nullable=False),
    Column("window_size", Integer, nullable=False),
    Column("use_cache", Boolean, nullable=False, server_default=text("true")),
    Column("steering", JSON),  # a `Steering`; None: as the workers are set
    Column("source", JSON),  # list of `Source`; None: from a program
    Column("review_id", Uuid, ForeignKey("reviews.id", ondelete="CASCADE")),
    Column("stage", Integer),  # place in its review, from 0
    Column("updates", Uuid),  # the batch whose search this one brings up to date; no key: that may have been purged
    Column("round", Integer, nullable=False, server_default="1"),
    Column("pause", JSON),  # why it is paused, a `Pause`; None: it is not
    Column("priority", Text, nullable=False, server_default=Priority.NORMAL.value),
    Column("lane", SmallInteger),  # which of its priority's queues its items go through; None: nothing dispatched yet
    Column("max_cost", _MONEY),  # None: no budget
    Column("traceparent", Text),  # of the trace that it was submitted in, after W3C; None: it was in none
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("started_at", _INSTANT),  # first dispatch of the round
    Column("finished_at", _INSTANT),
    Column("purging_at", _INSTANT),  # since when it is being deleted: nobody is shown what is left of it
    Column("restored_at", _INSTANT),  # when it came back from an archive: its age counts from then
    _one_of("state", BatchStatus),
    _one_of("priority", Priority),
    CheckConstraint("max_cost >= 0", name="max_cost_range"),
    CheckConstraint("(review_id IS NULL) = (stage IS NULL)", name="stage_of_review"),
    UniqueConstraint("review_id", "stage", name="uq_batches_review_id_stage"),
    Index("ix_batches_created_at", "created_at"),
    Index("ix_batches_purging", "purging_at", postgresql_where=text("purging_at IS NOT NULL")),
    Index("ix_batches_listed", "created_at", postgresql_where=text("service IS NULL")),
    Index("ix_batches_unfinished", "created_at", postgresql_where=text("finished_at IS NULL")),
    Index("ix_batches_by_key", "api_key_id", "created_at", postgresql_where=text("api_key_id IS NOT NULL")),
)
# A key of another one who submits is no conflict.
Index(
    "uq_batches_idempotency_key",
    func.coalesce(batches.c.api_key_id, text("''")),
    batches.c.idempotency_key,
    unique=True,
    postgresql_where=batches.c.idempotency_key.is_not(None),
)

shards = Table(
    "shards",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("round", Integer, nullable=False),
    Column("shard", Integer, nullable=False),
    Column("first_idx", Integer, nullable=False),
    Column("end_idx", Integer, nullable=False),  # one past the last
    Column("state", Text, nullable=False, server_default=ShardStatus.WAITING.value),
    Column("dispatched_at", _INSTANT),
    Column("aggregated_at", _INSTANT),
    PrimaryKeyConstraint("batch_id", "round", "shard"),
    _one_of("state", ShardStatus),
    Index("ix_shards_open", "state", postgresql_where=text("state <> 'aggregated'")),
    Index("ix_shards_aggregated", "dispatched_at", postgresql_where=text("state = 'aggregated'")),
)

payloads = Table(  # what items are, which never changes
    "payloads",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("idx", Integer, nullable=False),
    Column("payload", JSON, nullable=False),  # JSON, not JSONB: a model reads the fields in the item's order
    Column("origin", Integer),  # in a later stage of a review: the record's place in the first one
    Column("source", SmallInteger),  # place among the batch's sources, from 0; None: the only one, or none is known
    PrimaryKeyConstraint("batch_id", "idx"),
)

# How items stand. Narrow rows, and no index but the key: an UPDATE finds room on the row's own page, and touches no
# index (HOT). So no column that changes may ever be indexed, in the condition of a partial index neither. The view
# `items` joins the two tables, for people who read SQL.
items = Table(
    "item_states",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("idx", Integer, nullable=False),
    Column("item_id", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=ItemStatus.PENDING.value),
    Column("attempts", Integer, nullable=False, server_default="0"),  # claims in this round
    Column("fence", Integer, nullable=False, server_default="0"),  # claims ever: only the last one may write
    Column("lost_claims", Integer, nullable=False, server_default="0"),  # whose worker died: it may have paid for calls
    Column("worker", Text),  # who holds the claim; it is valid as long as that worker's lease
    Column("claimed_at", _INSTANT),
    Column("republished_at", _INSTANT),  # when a message of its own replaced one that was lost
    PrimaryKeyConstraint("batch_id", "idx"),
    _one_of("state", ItemStatus),
)

# How many items of a batch stand how, and what they cost: the sums over a batch's rows. Each connection adds to a row
# of its own, so that none waits for another; a row may be negative. Triggers write it, nobody else.
tallies = Table(
    "tallies",
    metadata,
    Column("batch_id", Uuid, nullable=False),  # no foreign key: its check would lock the batch's row
    Column("round", Integer, nullable=False),  # of the results; 0: of the items, and of bills without a result
    Column("backend", Integer, nullable=False),  # process id of the connection; 0: of all that were before
    *(
        Column(name, BigInteger, nullable=False, server_default="0")
        for name in (*(status.value for status in ItemStatus), "lost_claims", "ended")
    ),
    Column("prompt_tokens", Numeric, nullable=False, server_default="0"),
    Column("completion_tokens", Numeric, nullable=False, server_default="0"),
    Column("cost", Numeric, nullable=False, server_default="0"),  # dollars, as far as prices are known
    Column("priced", BigInteger, nullable=False, server_default="0"),  # items that something was paid for
    Column("free", BigInteger, nullable=False, server_default="0"),  # items whose answered calls cost nothing
    Column("unpriced", BigInteger, nullable=False, server_default="0"),  # items without a known price
    Column("unanswered", BigInteger, nullable=False, server_default="0"),  # calls
    Column("decided_cost", Numeric, nullable=False, server_default="0"),  # of items without an error, and with calls
    Column("decided_priced", BigInteger, nullable=False, server_default="0"),  # such items whose price is known
    PrimaryKeyConstraint("batch_id", "round", "backend"),
    info={"archived": False},  # they follow from the rows that are
)
Index("ix_tallies_failed", tallies.c.batch_id, postgresql_where=tallies.c.failed != 0)

exclusions = Table(
    "exclusions",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("idx", Integer, nullable=False),
    Column("rule", Text, nullable=False),
    Column("exclusion", JSON, nullable=False),  # an `Exclusion`
    PrimaryKeyConstraint("batch_id", "idx"),
)

results = Table(
    "results",
    metadata,
    Column("batch_id", Uuid, nullable=False),
    Column("idx", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("value", JSON),
    Column("detail", JSON),  # what stands behind the value: an inclusion's verdicts and the criteria that decided
    Column("confidence", Double),
    Column("reasoning", Text),
    Column("error_kind", Text),
    Column("error", Text),
    Column("model", Text),
    Column("prompt_sha256", Text),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False, server_default="0"),  # of the prompt's, at the cached price
    Column("cache_write_tokens", BigInteger, nullable=False, server_default="0"),  # of the prompt's, at their own price
    Column("reasoning_tokens", BigInteger, nullable=False, server_default="0"),  # of the completion's
    Column("tier", Text),  # that the last answer was billed at, as the endpoint names it
    Column("cost", _MONEY),  # of all calls, failed ones too; None: the model's price is not known
    Column("calls", Integer, nullable=False),
    Column("unanswered", Integer, nullable=False, server_default="0"),  # of the calls: nobody knows whether it was paid
    Column("cached", Boolean, nullable=False, server_default=text("false")),  # answered without any call
    Column("latency_ms", Integer),
    Column("cut", JSON),  # of the item's fields, what was too long to be sent: name -> [characters sent, of]
    Column("deviations", JSON),  # what was harmlessly otherwise in the answers: a list of texts
    Column("probability", Double),  # of inclusion, from the tokens of the answer; None: they say none
    Column("relevance", SmallInteger),  # 0 to 100, as the model graded it; None: it was not asked to
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    PrimaryKeyConstraint("batch_id", "idx"),
    _one_of("error_kind", ErrorKind),
    CheckConstraint("(error_kind IS NULL) = (error IS NULL)", name="error_has_kind"),
    CheckConstraint("error_kind IS NULL OR value IS NULL", name="error_no_decision"),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence_range"),
    CheckConstraint("probability BETWEEN 0 AND 1", name="probability_range"),
    CheckConstraint("relevance BETWEEN 0 AND 100", name="relevance_range"),
    Index("ix_results_failed", "batch_id", "idx", postgresql_where=text("error_kind IS NOT NULL")),
)

transcripts = Table(  # what was asked and answered for each claim that came to an end
    "transcripts",
    metadata,
    Column("batch_id", Uuid, nullable=False),
    Column("idx", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("calls", JSON, nullable=False),  # a list of `TranscribedCall`, in the order in which they were answered
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    PrimaryKeyConstraint("batch_id", "idx", "fence"),
    # The item's row, not the batch's: whoever writes holds it already, and no two workers meet there.
    _of_item("transcripts"),
)

prompts = Table(  # system messages and answer schemas, which are the same for the records of a batch
    "prompts",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),  # goes with its batch
    Column("sha256", Text, nullable=False),  # of the text
    Column("text", Text, nullable=False),
    PrimaryKeyConstraint("batch_id", "sha256"),
)

past_failures = Table(  # what items ended with in rounds before the present one
    "past_failures",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("idx", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("error_kind", Text, nullable=False),
    Column("error", Text, nullable=False),
    PrimaryKeyConstraint("batch_id", "idx", "round"),
)

summaries = Table(
    "summaries",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("round", Integer, nullable=False),
    Column("summary", JSONB, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    PrimaryKeyConstraint("batch_id", "round"),
)

evaluations = Table(  # what metrics say of the results
    "evaluations",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("idx", Integer, nullable=False),
    Column("field", Text, nullable=False, server_default=""),  # of several extracted ones; empty: the whole result
    Column("label", Text, nullable=False),
    Column("metric_type", Text, nullable=False),
    Column("score", Double),
    Column("category", Text),
    Column("reason", Text),  # why there is no value
    PrimaryKeyConstraint("batch_id", "idx", "field", "label"),
    CheckConstraint("num_nonnulls(score, category, reason) = 1", name="one_value"),
    CheckConstraint("score BETWEEN 0 AND 1", name="score_range"),
)

overrides = Table(  # what people decided, beside the results; the last one of an item counts
    "overrides",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("batch_id", Uuid, nullable=False),
    Column("idx", Integer, nullable=False),
    Column("value", JSON),  # NULL: the override before it is withdrawn
    Column("note", Text),
    Column("reviewer", Text, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("stage", Text, nullable=False, server_default=HumanStage.OWN.value),
    Column("reason", Text),  # why a full text is excluded, or could not be got
    Column("settles", Boolean, nullable=False, server_default=text("false")),  # of several people's, this one counts
    Column("decision_id", Uuid),  # the caller's, by which a request that is sent again is known
    _of_item("overrides"),
    _one_of("stage", HumanStage),
    Index("ix_overrides_item", "batch_id", "idx", "id"),
    Index(
        "uq_overrides_decision_id",
        "batch_id",
        "decision_id",
        unique=True,
        postgresql_where=text("decision_id IS NOT NULL"),
    ),
)

screening_modes = Table(  # how the people of a batch read: the last row counts
    "screening_modes",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("mode", Text, nullable=False),
    Column("set_by", Text, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    _one_of("mode", ScreeningMode),
    Index("ix_screening_modes_batch", "batch_id", "id"),
)

remarks = Table(  # labels and notes of people on records: the last row of a text on an item counts
    "remarks",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("batch_id", Uuid, nullable=False),
    Column("idx", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("removes", Boolean, nullable=False, server_default=text("false")),  # takes the same text off
    Column("reviewer", Text, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    _of_item("remarks"),
    _one_of("kind", RemarkKind),
    Index("ix_remarks_item", "batch_id", "idx", "id"),
)

audits = Table(  # samples of the excluded records, drawn for people
    "audits",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("stratum", Text, nullable=False),  # which exclusions it was drawn from
    Column("population", Integer, nullable=False),  # how many those were
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    _one_of("stratum", Stratum),
    Index("ix_audits_batch", "batch_id"),
)

audit_items = Table(
    "audit_items",
    metadata,
    Column("audit_id", Uuid, ForeignKey("audits.id", ondelete="CASCADE"), nullable=False),
    Column("idx", Integer, nullable=False),
    Column("drawn", Integer, nullable=False),  # place in the order in which the sample was drawn, from 0
    PrimaryKeyConstraint("audit_id", "idx"),
)

audit_decisions = Table(  # what people said of the records of a sample; the last one of a record counts
    "audit_decisions",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("audit_id", Uuid, nullable=False),
    Column("idx", Integer, nullable=False),
    Column("include", Boolean, nullable=False),
    Column("note", Text),
    Column("reviewer", Text, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    ForeignKeyConstraint(
        ["audit_id", "idx"],
        ["audit_items.audit_id", "audit_items.idx"],
        name="fk_audit_decisions_audit_items",
        ondelete="CASCADE",
    ),
    Index("ix_audit_decisions_item", "audit_id", "idx", "id"),
)

stop_samples = Table(  # sampling frames of the stop rule: what nobody had read, in a random order, read from its begin
    "stop_samples",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),  # among the batch's, from 1
    Column("seed", BigInteger, nullable=False),
    Column("recall", Double, nullable=False),  # that it was last drawn for
    Column("confidence", Double, nullable=False),  # of that promise
    Column("records", ARRAY(Integer), nullable=False),  # the whole frame, in the order in which it is drawn
    Column("drawn", Integer, nullable=False, server_default="0"),  # of these, so many are to be read
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("closed_at", _INSTANT),  # None: the only one of its batch that is open
    UniqueConstraint("batch_id", "number", name="uq_stop_samples_batch_id_number"),
    CheckConstraint("recall > 0 AND recall <= 1", name="recall_range"),
    CheckConstraint("confidence > 0 AND confidence < 1", name="confidence_range"),
    CheckConstraint("drawn BETWEEN 0 AND cardinality(records)", name="drawn_range"),
    Index("uq_stop_samples_open", "batch_id", unique=True, postgresql_where=text("closed_at IS NULL")),
)

# The order in which people read a batch, as it was last worked out: what is decided by now is skipped when it is read.
# The arrays have a value for each record but the copies, best first.
reading_orders = Table(
    "reading_orders",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True),
    Column("seed", BigInteger, nullable=False),
    Column("explore", Double, nullable=False),  # the share of places that chance draws a record for
    Column("last_override", BigInteger, nullable=False),  # the newest row of `overrides` that it knows; 0: none
    Column("answered", BigInteger, nullable=False),  # items that a model had decided about
    Column("decided", Integer, nullable=False),  # records that people had decided on
    Column("included", Integer, nullable=False),  # of these
    Column("text_weight", Double, nullable=False),  # of the text model, 0 to 1; the rest is the model's score
    Column("made_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("places", ARRAY(Integer), nullable=False),
    Column("reasons", ARRAY(Text), nullable=False),  # a `ReadingReason` each
    Column("probabilities", ARRAY(REAL), nullable=False),  # that people include it; NULL: too few decisions
)

api_keys = Table(  # of the HTTP gateway; what is kept of a key cannot be used as one
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),  # the part of a key that is no secret
    Column("secret_sha256", Text, nullable=False),
    Column("label", Text, nullable=False),  # whose it is
    Column("scopes", JSON, nullable=False),  # what it allows, a list of `Scope`
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("revoked_at", _INSTANT),
    Column("models", JSON),  # a list of those that it may ask; None: any
    Column("monthly_cost", _MONEY),  # dollars that its batches of a month may cost; None: no bound
    Column("callback", JSON),  # a `Callback`, of batches that name none; None: nobody is told
)

webhooks = Table(  # an outbox: what somebody is to be told, and what came of it; triggers on the other tables fill it
    "webhooks",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=func.gen_random_uuid()),  # the same at every try
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE")),  # None: a test
    Column("round", Integer),
    Column("type", Text, nullable=False),  # a `BatchEvent`, or that of a test
    Column("url", Text, nullable=False),
    Column("data", JSON, nullable=False),  # what was the case when it happened
    Column("body", Text),  # what is sent, with the counts of then; the same at every try; None: not built yet
    Column("state", Text, nullable=False, server_default=WebhookState.WAITING.value),
    Column("tries", Integer, nullable=False, server_default="0"),  # begun, since it was written or replayed
    Column("next_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("claimed_until", _INSTANT),  # by the worker that sends it; afterwards another one may
    Column("last_at", _INSTANT),
    Column("last_status", Integer),  # of the last answer; None: there was none
    Column("last_said", Text),  # what came of the last try, in a few words
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("ended_at", _INSTANT),
    _one_of("state", WebhookState),
    CheckConstraint("(state = 'waiting') = (ended_at IS NULL)", name="ended_at_known"),
    Index("ix_webhooks_due", "next_at", postgresql_where=text("state = 'waiting'")),
    Index("ix_webhooks_created_at", "created_at"),
    Index("ix_webhooks_batch", "batch_id"),
    # Told once a round.
    Index("uq_webhooks_failing", "batch_id", "round", unique=True, postgresql_where=text("type = 'batch.failing'")),
)

spending = Table(  # of batches with a budget: what the calls in flight may cost, and what the others did cost
    "spending",
    metadata,
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True),
    Column("reserved", _MONEY, nullable=False, server_default="0"),
    Column("spent", _MONEY, nullable=False, server_default="0"),
)

llm_cache = Table(
    "llm_cache",
    metadata,
    Column("key", Text, primary_key=True),  # sha256 of model, messages, schema and sampling parameters
    Column("content", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),  # what it cost the first time
    Column("completion_tokens", Integer, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("probability", Double),  # of inclusion, from the tokens of this answer; None: they said none
    Index("ix_llm_cache_created_at", "created_at"),
)

dialects = Table(  # how an endpoint wants a model to be asked, as its answers have shown; for all workers
    "dialects",
    metadata,
    Column("endpoint", Text, nullable=False),  # its base URL, without user and password
    Column("model", Text, nullable=False),
    Column("rung", Text, nullable=False),
    Column("proven", Boolean, nullable=False, server_default=text("false")),  # an answer on this rung could be used
    Column("unusable", Integer, nullable=False, server_default="0"),  # answers in a row, before any that could be used
    Column("probe_worker", Text),  # who finds out
    Column("probe_until", _INSTANT),  # then somebody else may
    Column("changed_at", _INSTANT, nullable=False, server_default=func.now()),  # a day later a low rung is tried anew
    PrimaryKeyConstraint("endpoint", "model"),
)

workers = Table(
    "workers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("started_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("lease_until", _INSTANT, nullable=False),
    Column("host", Text),
    Column("pid", Integer),
    Column("concurrency", Integer),
    Column("in_flight", Integer),  # items that it holds a message of
    Column("version", Text),  # of Tamis
    Column("state", Text, nullable=False, server_default="working"),
    Column("state_since", _INSTANT),
    Column("reason", Text),  # of a state other than working
    Column("progress_at", _INSTANT),  # when it last took or finished an item
    Column("judges_from", _INSTANT),  # from then to then it may take workers for dead whose lease is over
    Column("judges_until", _INSTANT),
)

repairs = Table(  # what the reconcilers of all workers have set going again, since the ledger was made
    "repairs",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("total", BigInteger, nullable=False),
    Column("last_at", _INSTANT, nullable=False, server_default=func.now()),
)
