"""The ledger's tables for SQLAlchemy Core; the migrations beside this file create them.

All times are by the database's clock.
"""

from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ARRAY,
    JSON,
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
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.schema import SchemaItem

from ..answers.override import HumanStage, RemarkKind, ScreeningMode, Stratum
from ..batches.status import BatchStatus, ItemStatus, Priority
from ..errors import ErrorKind


class WebhookState(StrEnum):
    """The state of a webhook's delivery."""

    WAITING = "waiting"  # for its first or next try
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


class ShardStatus(StrEnum):
    """The state of a shard, which is a part of a batch."""

    WAITING = "waiting"
    DISPATCHED = "dispatched"
    AGGREGATED = "aggregated"


def _one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{value.value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def _of_item(table: str) -> ForeignKeyConstraint:
    """Return the foreign key of rows that belong to an item. The rows are deleted with the item."""
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


def _table(name: str, *parts: SchemaItem, **options: Any) -> Table:
    return Table(name, metadata, *parts, **options)


def _item_key() -> tuple[Column[Any], Column[Any]]:
    """Return the primary key (batch and place) of a table with a row per item. Rows are deleted with their batch."""
    batch = ForeignKey("batches.id", ondelete="CASCADE")
    return Column("batch_id", Uuid, batch, primary_key=True), Column("idx", Integer, primary_key=True)


def _numbered(table: str) -> tuple[SchemaItem, ...]:
    """Return the first columns of a table with several numbered rows per item. Rows are deleted with their item."""
    number = Column("id", BigInteger, Identity(always=True), primary_key=True)
    item = Column("batch_id", Uuid, nullable=False), Column("idx", Integer, nullable=False)
    return number, *item, _of_item(table)


_INSTANT = DateTime(timezone=True)
_MONEY = Numeric(18, 9)  # exact: sums do not depend on their order

reviews = _table(
    "reviews",
    Column("id", Uuid, primary_key=True),
    Column("content_sha256", Text, nullable=False, unique=True),  # of plan and records: the same content resumes it
    Column("label", Text, nullable=False),
    Column("plan", JSON, nullable=False),  # a `ReviewPlan`
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("finished_at", _INSTANT),  # the last stage is completed, or the next stage has no records
    Column("purging_at", _INSTANT),  # start of its deletion with its batches; hidden since then
    Index("ix_reviews_open", "created_at", postgresql_where=text("finished_at IS NULL")),
)

batches = _table(
    "batches",
    Column("id", Uuid, primary_key=True),
    Column("idempotency_key", Text),  # unique for each `api_key_id`
    Column("api_key_id", Text),  # gateway's key of its submission; None: a program or a person here
    Column("service", Text),  # service whose single calls the batch holds; None: a batch that people follow
    Column("callback", JSON),  # a `Callback` for its end; None: no callback
    Column("content_sha256", Text, nullable=False),  # of operation, model and items: finds reused keys
    Column("label", Text),  # name for people: a file's name
    Column("operation", Text, nullable=False),
    Column("includes", Text),  # the operation's value that includes a record, as text; None: no value does
    Column("excludes", Text),
    Column("excluded_because", Text),  # reason of every exclusion; None: each result has its own reason
    Column("params", JSON, nullable=False),  # JSON, unlike JSONB, keeps the caller's order of names
    Column("model", Text),  # None: the worker's model; a panel's models in one line, for people: `params` has them
    Column("state", Text, nullable=False, server_default=BatchStatus.PENDING.value),
    Column("n_items", Integer, nullable=False),
    Column("shard_size", Integer, nullable=False),
    Column("window_size", Integer, nullable=False),
    Column("use_cache", Boolean, nullable=False, server_default=text("true")),
    Column("steering", JSON),  # a `Steering`; None: the workers' settings
    Column("source", JSON),  # list of `Source`; None: from a program
    Column("review_id", Uuid, ForeignKey("reviews.id", ondelete="CASCADE")),
    Column("stage", Integer),  # place in its review, from 0
    Column("updates", Uuid),  # batch whose search this batch updates; not a foreign key, as that batch may be purged
    Column("round", Integer, nullable=False, server_default="1"),
    Column("pause", JSON),  # a `Pause`; None: not paused
    Column("priority", Text, nullable=False, server_default=Priority.NORMAL.value),
    Column("lane", SmallInteger),  # queue of its priority for its items; None: nothing dispatched yet
    Column("max_cost", _MONEY),  # None: no budget
    Column("traceparent", Text),  # W3C trace of its submission; None: no trace
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("started_at", _INSTANT),  # first dispatch of the round
    Column("finished_at", _INSTANT),
    Column("purging_at", _INSTANT),  # start of its deletion; hidden since then
    Column("restored_at", _INSTANT),  # its restoration from an archive; its age counts from then
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
# The same key from another submitter is no conflict.
Index(
    "uq_batches_idempotency_key",
    func.coalesce(batches.c.api_key_id, text("''")),
    batches.c.idempotency_key,
    unique=True,
    postgresql_where=batches.c.idempotency_key.is_not(None),
)

shards = _table(
    "shards",
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("shard", Integer, primary_key=True),
    Column("first_idx", Integer, nullable=False),
    Column("end_idx", Integer, nullable=False),  # one past the last item
    Column("state", Text, nullable=False, server_default=ShardStatus.WAITING.value),
    Column("dispatched_at", _INSTANT),  # before its first message
    Column("published_at", _INSTANT),  # after its last message; None: not yet, or its publisher died
    Column("aggregated_at", _INSTANT),
    _one_of("state", ShardStatus),
    Index("ix_shards_open", "state", postgresql_where=text("state <> 'aggregated'")),
    Index("ix_shards_aggregated", "dispatched_at", postgresql_where=text("state = 'aggregated'")),
)

payloads = _table(  # content of items, which never changes
    "payloads",
    *_item_key(),
    Column("payload", JSON, nullable=False),  # JSON, not JSONB: a model reads the fields in the item's order
    Column("origin", Integer),  # in a later stage of a review: the record's place in the first stage
    Column("source", SmallInteger),  # place among the batch's sources, from 0; None: at most one source
    Column("call_id", Uuid),  # single call that asks about the item, if its message may be repeated
    Index("ix_payloads_origin", "batch_id", "origin", postgresql_where=text("origin IS NOT NULL")),
    Index("uq_payloads_call_id", "call_id", unique=True, postgresql_where=text("call_id IS NOT NULL")),
)

# The states of items. Narrow rows with no index but the key, so that an UPDATE finds room on the row's page and changes
# no index (HOT). So no changing column may ever be indexed, or be in the condition of a partial index. The view `items`
# joins the two tables, for people who read SQL.
items = _table(
    "item_states",
    *_item_key(),
    Column("item_id", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=ItemStatus.PENDING.value),
    Column("attempts", Integer, nullable=False, server_default="0"),  # claims in this round
    Column("fence", Integer, nullable=False, server_default="0"),  # claims ever: only the last one may write
    Column("lost_claims", Integer, nullable=False, server_default="0"),  # claims of dead workers: perhaps paid calls
    Column("worker", Text),  # holder of the claim, which is valid as long as the worker's lease
    Column("claimed_at", _INSTANT),
    Column("republished_at", _INSTANT),  # time of a separate message in place of a lost one
    _one_of("state", ItemStatus),
)

# Number of a batch's items in each state, and their cost: the sums over a batch's rows. Each connection adds to its own
# row, so that none waits for another; a row may be negative. Only triggers write it.
tallies = _table(
    "tallies",
    Column("batch_id", Uuid, primary_key=True),  # not a foreign key, whose check would lock the batch's row
    Column("round", Integer, primary_key=True),  # of the results; 0: of the items, and of bills without a result
    Column("backend", Integer, primary_key=True),  # process id of the connection; 0: of all former connections
    *(
        Column(name, BigInteger, nullable=False, server_default="0")
        for name in (*(status.value for status in ItemStatus), "lost_claims", "ended", "passed")
    ),
    Column("prompt_tokens", Numeric, nullable=False, server_default="0"),
    Column("completion_tokens", Numeric, nullable=False, server_default="0"),
    Column("cost", Numeric, nullable=False, server_default="0"),  # dollars, as far as prices are known
    Column("priced", BigInteger, nullable=False, server_default="0"),  # items with a paid call
    Column("free", BigInteger, nullable=False, server_default="0"),  # items whose answered calls cost nothing
    Column("unpriced", BigInteger, nullable=False, server_default="0"),  # items without a known price
    Column("unanswered", BigInteger, nullable=False, server_default="0"),  # calls
    Column("decided_cost", Numeric, nullable=False, server_default="0"),  # of items without an error, and with calls
    Column("decided_priced", BigInteger, nullable=False, server_default="0"),  # such items whose price is known
    info={"archived": False},  # derived from archived rows
)
Index("ix_tallies_failed", tallies.c.batch_id, postgresql_where=tallies.c.failed != 0)

exclusions = _table(
    "exclusions",
    *_item_key(),
    Column("rule", Text, nullable=False),
    Column("exclusion", JSON, nullable=False),  # an `Exclusion`
    # Set where a person says that the record is a copy: the first stage's place of the record that stays. A trigger on
    # `copy_decisions` writes and deletes these rows; the item's state does not change.
    Column("copy_of", Integer),
    Index("ix_exclusions_copies", "batch_id", "idx", postgresql_where=text("copy_of IS NOT NULL")),
)

results = _table(
    "results",
    Column("batch_id", Uuid, primary_key=True),
    Column("idx", Integer, primary_key=True),
    Column("fence", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("value", JSON),
    Column("detail", JSON),  # further result: an inclusion's verdicts and the deciding criteria
    Column("confidence", Double),
    Column("reasoning", Text),
    Column("error_kind", Text),
    Column("error", Text),
    Column("model", Text),
    Column("prompt_sha256", Text),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False, server_default="0"),  # in the prompt, at the cached price
    Column("cache_write_tokens", BigInteger, nullable=False, server_default="0"),  # in the prompt, at its own price
    Column("reasoning_tokens", BigInteger, nullable=False, server_default="0"),  # in the completion
    Column("tier", Text),  # billed tier of the last answer, as the endpoint names it
    Column("cost", _MONEY),  # of all calls, with failed ones; None: the model's price is not known
    Column("calls", Integer, nullable=False),
    Column("unanswered", Integer, nullable=False, server_default="0"),  # of the calls, perhaps paid
    Column("cached", Boolean, nullable=False, server_default=text("false")),  # answered without any call
    Column("latency_ms", Integer),
    Column("cut", JSON),  # fields that were cut: name -> [characters sent, of]
    Column("deviations", JSON),  # harmless deviations of the answers: a list of texts
    Column("probability", Double),  # of inclusion, from the answer's tokens; None: not available
    Column("relevance", SmallInteger),  # 0 to 100, the model's grade; None: not requested
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    _one_of("error_kind", ErrorKind),
    CheckConstraint("(error_kind IS NULL) = (error IS NULL)", name="error_has_kind"),
    CheckConstraint("error_kind IS NULL OR value IS NULL", name="error_no_decision"),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence_range"),
    CheckConstraint("probability BETWEEN 0 AND 1", name="probability_range"),
    CheckConstraint("relevance BETWEEN 0 AND 100", name="relevance_range"),
    Index("ix_results_failed", "batch_id", "idx", postgresql_where=text("error_kind IS NOT NULL")),
)

transcripts = _table(  # question and answer of each claim that ended
    "transcripts",
    Column("batch_id", Uuid, primary_key=True),
    Column("idx", Integer, primary_key=True),
    Column("fence", Integer, primary_key=True),
    Column("round", Integer, nullable=False),
    Column("calls", JSON, nullable=False),  # a list of `TranscribedCall`, in the order of the answers
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    # References the item, not the batch: the writer has locked its row already, and no two workers share an item.
    _of_item("transcripts"),
)

prompts = _table(  # system messages and answer schemas that the records of a batch share
    "prompts",
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True),  # deleted with its batch
    Column("sha256", Text, primary_key=True),  # of the text
    Column("text", Text, nullable=False),
)

past_failures = _table(  # failures of items in rounds before the present one
    "past_failures",
    *_item_key(),
    Column("round", Integer, primary_key=True),
    Column("error_kind", Text, nullable=False),
    Column("error", Text, nullable=False),
)

summaries = _table(
    "summaries",
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("summary", JSONB, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
)

evaluations = _table(  # values of metrics for the results
    "evaluations",
    *_item_key(),
    Column("field", Text, primary_key=True, server_default=""),  # one of several extracted fields, or empty
    Column("label", Text, primary_key=True),
    Column("metric_type", Text, nullable=False),
    Column("score", Double),
    Column("category", Text),
    Column("reason", Text),  # reason why there is no value
    CheckConstraint("num_nonnulls(score, category, reason) = 1", name="one_value"),
    CheckConstraint("score BETWEEN 0 AND 1", name="score_range"),
)

overrides = _table(  # people's decisions; the view `standing_decisions` says which decision on an item counts
    "overrides",
    *_numbered("overrides"),
    Column("value", JSON),  # NULL: the row withdraws the reviewer's earlier decision
    Column("note", Text),
    Column("reviewer", Text, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("stage", Text, nullable=False, server_default=HumanStage.OWN.value),
    Column("reason", Text),  # reason why a full text is excluded, or could not be retrieved
    Column("settles", Boolean, nullable=False, server_default=text("false")),  # True: counts before other people's
    Column("in_order", Boolean, nullable=False, server_default=text("false")),  # True: read in the reading order
    Column("decision_id", Uuid),  # the caller's id, which identifies a repeated request
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

copy_decisions = _table(  # people's verdicts on pairs of records, in a review's first batch; a pair's last row counts
    "copy_decisions",
    *_numbered("copy_decisions"),  # `idx`: the record that leaves if the two are copies
    Column("copy_of", Integer, nullable=False),  # the record that stays
    Column("verdict", Text),  # NULL: the person takes the verdict on the pair back
    Column("reviewer", Text, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    CheckConstraint("verdict IN ('copies', 'different')", name="verdict_known"),
    Index("ix_copy_decisions_pair", "batch_id", "idx", "copy_of", "id"),
)

screening_modes = _table(  # screening modes of batches: the last row counts
    "screening_modes",
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("mode", Text, nullable=False),
    Column("set_by", Text, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    _one_of("mode", ScreeningMode),
    Index("ix_screening_modes_batch", "batch_id", "id"),
)

remarks = _table(  # people's labels and notes on records: the last row of a text on an item counts
    "remarks",
    *_numbered("remarks"),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("removes", Boolean, nullable=False, server_default=text("false")),  # True: the row removes the same text
    Column("reviewer", Text, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    _one_of("kind", RemarkKind),
    Index("ix_remarks_item", "batch_id", "idx", "id"),
)

audits = _table(  # samples of the excluded records, drawn for people
    "audits",
    Column("id", Uuid, primary_key=True),
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("stratum", Text, nullable=False),  # kind of exclusions in the population
    Column("population", Integer, nullable=False),  # size of the population
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    _one_of("stratum", Stratum),
    Index("ix_audits_batch", "batch_id"),
)

audit_items = _table(
    "audit_items",
    Column("audit_id", Uuid, ForeignKey("audits.id", ondelete="CASCADE"), primary_key=True),
    Column("idx", Integer, primary_key=True),
    Column("drawn", Integer, nullable=False),  # place in the order of the draw, from 0
)

audit_decisions = _table(  # people's decisions on the records of a sample; the latest decision on a record counts
    "audit_decisions",
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

stop_samples = _table(  # sampling frames of the stop rule: unread records in a random order, read from the beginning
    "stop_samples",
    Column("id", Uuid, primary_key=True),
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),  # number in the batch, from 1
    Column("seed", BigInteger, nullable=False),
    Column("recall", Double, nullable=False),  # of the last draw
    Column("confidence", Double, nullable=False),  # of the last draw
    Column("records", ARRAY(Integer), nullable=False),  # whole frame, in the order of the draw
    Column("drawn", Integer, nullable=False, server_default="0"),  # number of drawn records, which people must read
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("closed_at", _INSTANT),  # None: open; a batch has at most one open frame
    UniqueConstraint("batch_id", "number", name="uq_stop_samples_batch_id_number"),
    CheckConstraint("recall > 0 AND recall <= 1", name="recall_range"),
    CheckConstraint("confidence > 0 AND confidence < 1", name="confidence_range"),
    CheckConstraint("drawn BETWEEN 0 AND cardinality(records)", name="drawn_range"),
    Index("uq_stop_samples_open", "batch_id", unique=True, postgresql_where=text("closed_at IS NULL")),
)

# The reading order of a batch when it was last computed; reading skips decided records. The arrays have a value for
# each record except copies, best first.
reading_orders = _table(
    "reading_orders",
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True),
    Column("seed", BigInteger, nullable=False),
    Column("explore", Double, nullable=False),  # share of places for records drawn at random
    Column("last_override", BigInteger, nullable=False),  # sum of the newest ids of both kinds of decisions in it
    Column("answered", BigInteger, nullable=False),  # items with a model's decision
    Column("decided", Integer, nullable=False),  # records with people's decision
    Column("included", Integer, nullable=False),  # records that people included
    Column("text_weight", Double, nullable=False),  # weight of the text model, 0 to 1; the model's score has 1 - this
    Column("made_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("places", ARRAY(Integer), nullable=False),
    Column("reasons", ARRAY(Text), nullable=False),  # a `ReadingReason` each
)

api_keys = _table(  # keys of the HTTP gateway; a row cannot be used as a key
    "api_keys",
    Column("id", Text, primary_key=True),  # public part of the key
    Column("secret_sha256", Text, nullable=False),
    Column("label", Text, nullable=False),  # name of the holder
    Column("scopes", JSON, nullable=False),  # a list of `Scope`
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("revoked_at", _INSTANT),
    Column("models", JSON),  # a list of allowed models; None: any
    Column("monthly_cost", _MONEY),  # dollars for its batches in a month; None: no limit
    Column("callback", JSON),  # a `Callback` for batches that name none; None: no callback
)

webhooks = _table(  # an outbox: events for receivers, and the outcome; triggers on the other tables fill it
    "webhooks",
    Column("id", Uuid, primary_key=True, server_default=func.gen_random_uuid()),  # the same at every try
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE")),  # None: a test
    Column("round", Integer),
    Column("type", Text, nullable=False),  # a `BatchEvent`, or the type of a test
    Column("url", Text, nullable=False),
    Column("data", JSON, nullable=False),  # facts at the time of the event
    Column("body", Text),  # request body, with the counts of that time; the same at every try; None: not built yet
    Column("state", Text, nullable=False, server_default=WebhookState.WAITING.value),
    Column("tries", Integer, nullable=False, server_default="0"),  # begun, since it was written or replayed
    Column("next_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("claimed_until", _INSTANT),  # end of the sending worker's claim, after which another worker may send it
    Column("last_at", _INSTANT),
    Column("last_status", Integer),  # of the last answer; None: no answer
    Column("last_said", Text),  # outcome of the last try, in a few words
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("ended_at", _INSTANT),
    _one_of("state", WebhookState),
    CheckConstraint("(state = 'waiting') = (ended_at IS NULL)", name="ended_at_known"),
    Index("ix_webhooks_due", "next_at", postgresql_where=text("state = 'waiting'")),
    Index("ix_webhooks_created_at", "created_at"),
    Index("ix_webhooks_batch", "batch_id"),
    # At most one such event in a round.
    Index("uq_webhooks_failing", "batch_id", "round", unique=True, postgresql_where=text("type = 'batch.failing'")),
)

spending = _table(  # of batches with a budget: the possible cost of calls in flight, and the cost of ended calls
    "spending",
    Column("batch_id", Uuid, ForeignKey("batches.id", ondelete="CASCADE"), primary_key=True),
    Column("reserved", _MONEY, nullable=False, server_default="0"),
    Column("spent", _MONEY, nullable=False, server_default="0"),
)

llm_cache = _table(
    "llm_cache",
    Column("key", Text, primary_key=True),  # sha256 of model, messages, schema and sampling parameters
    Column("content", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),  # of the call that gave the answer
    Column("completion_tokens", Integer, nullable=False),
    Column("created_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("probability", Double),  # of inclusion, from the answer's tokens; None: not available
    Index("ix_llm_cache_created_at", "created_at"),
)

dialects = _table(  # an endpoint's request format for a model, learned from its answers; for all workers
    "dialects",
    Column("endpoint", Text, primary_key=True),  # its base URL, without user and password
    Column("model", Text, primary_key=True),
    Column("rung", Text, nullable=False),
    Column("proven", Boolean, nullable=False, server_default=text("false")),  # an answer in this format was usable
    Column("unusable", Integer, nullable=False, server_default="0"),  # answers in a row, before the first usable answer
    Column("probe_worker", Text),  # worker that tests the request format
    Column("probe_until", _INSTANT),  # end of this worker's test, after which another worker may test
    Column("changed_at", _INSTANT, nullable=False, server_default=func.now()),  # a day later a low rung is tried again
)

workers = _table(
    "workers",
    Column("id", Text, primary_key=True),
    Column("started_at", _INSTANT, nullable=False, server_default=func.now()),
    Column("lease_until", _INSTANT, nullable=False),
    Column("host", Text),
    Column("pid", Integer),
    Column("concurrency", Integer),
    Column("in_flight", Integer),  # items whose messages the worker holds
    Column("version", Text),  # of Tamis
    Column("state", Text, nullable=False, server_default="working"),
    Column("state_since", _INSTANT),
    Column("reason", Text),  # of a state other than working
    Column("progress_at", _INSTANT),  # last start or end of an item
    Column("judges_from", _INSTANT),  # start of the time in which it may declare workers with expired leases dead
    Column("judges_until", _INSTANT),
)

repairs = _table(  # repairs by the reconcilers of all workers, since the ledger was made
    "repairs",
    Column("kind", Text, primary_key=True),
    Column("total", BigInteger, nullable=False),
    Column("last_at", _INSTANT, nullable=False, server_default=func.now()),
)
