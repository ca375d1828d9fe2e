"""A rehearsal of a batch: its first questions, rendered as they would be sent, looked up in the cache, and counted."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from sqlalchemy import Float, cast, func, select, true

from tamis_producer.files.price_file import known_prices
from tamis_producer.ledger import single_connection
from tamis_producer.runs.dry_run import Duration, Planned, Rehearsal, RehearsedMessage, Sample
from tamis_schemas import (
    ConfigurationError,
    Item,
    LedgerUnavailable,
    Operation,
    Steering,
    Usage,
    resolve_item_id,
    tier_name,
)
from tamis_schemas.ledger import batches, llm_cache, results
from tamis_worker import operations
from tamis_worker.config.settings import WorkerSettings
from tamis_worker.engine.cache import fingerprint
from tamis_worker.engine.conversation import CallPolicy, chat_request
from tamis_worker.limiter.token_estimates import CHARACTERS_PER_TOKEN, EXPECTED_ANSWER
from tamis_worker.llm.chat import ChatRequest
from tamis_worker.operations.program import EvaluationFailed, Question

from .prompt_beginning import beginning_of

SAMPLES = 3
KEYS_AT_ONCE = 1000
ASSUMED_CALL = 2.0  # s per call, if the ledger has too few earlier calls
LATEST_BATCHES = 5
ENOUGH = 20  # fewest results for an average
STANDARD, FLEX = "standard", "flex"  # tiers whose costs are compared


@dataclass(frozen=True)
class _FirstQuestion:
    """One of the first questions that a worker would ask about an item."""

    item_id: str
    title: str | None
    request: ChatRequest
    sample: int  # distinguishes equal questions that must not share a cached answer
    key: str  # of its answer in the cache

    @property
    def prompt_tokens(self) -> int:
        """Return the estimated tokens of the prompt and of the answer's schema, which is sent with the prompt."""
        characters = sum(len(message.content) for message in self.request.messages)
        return (characters + len(json.dumps(self.request.schema))) // CHARACTERS_PER_TOKEN


@dataclass(frozen=True)
class _Experience:
    """The questions that the cache can answer, and averages of earlier batches with this operation and model."""

    cached: frozenset[str] = frozenset()  # keys of these questions
    answer_tokens: float | None = None  # mean per call
    seconds: float | None = None  # median per call


def rehearse(planned: Planned, settings: WorkerSettings) -> Rehearsal:
    """Return a rehearsal of the batch: the first questions that workers would ask, with their number and cost.

    Nothing is submitted, and no model is asked. If the batch names no model, `workers_model` finds it in the settings,
    the running stack or the ledger. An unknown model has no price. If the ledger does not answer, no question counts as
    cached, and the result's `unseen` says why.

    Raises:
        InputError: TAMIS_PRICES names an unreadable file.
    """
    known_model, model_note = workers_model(planned.model, settings, lambda: _latest_model(settings))
    model = known_model or ""
    prices = known_prices(settings.prices)
    patience = CallPolicy.of(settings)
    steering = planned.steering.over(settings.steering)
    tier = steering.tier
    rounds = [list(_first_round(planned.operation, item, model, patience, steering)) for item in planned.items]
    questions = [question for first_round in rounds for question in first_round]
    experience = _Experience()
    unseen = None if known_model else "cached answers depend on the model"
    try:
        if known_model:
            experience = _look(settings, planned, model, questions)
    except (ConfigurationError, LedgerUnavailable) as error:
        unseen = str(error)
    to_ask = [question for question in questions if question.key not in experience.cached]
    answer = experience.answer_tokens or EXPECTED_ANSWER
    usage = Usage(
        sum(question.prompt_tokens for question in to_ask),
        round(sum(min(answer, question.request.max_tokens) for question in to_ask)),
    )
    most = sum(question.request.max_tokens for question in to_ask)
    others = [other for other in (STANDARD, FLEX) if tier_name(other) != tier_name(tier) and prices.knows(model, other)]
    return Rehearsal(
        model=known_model,
        model_note=model_note,
        samples=tuple(_samples(to_ask or questions)),
        items=len(planned.items),
        unasked=sum(not first_round for first_round in rounds),
        questions=len(questions),
        cached=None if unseen or not planned.use_cache else len(questions) - len(to_ask),
        unseen=unseen,
        more_rounds=any(operations.may_ask_again(planned.operation, item) for item in planned.items),
        prompt_tokens=usage.prompt_tokens,
        answer_tokens=usage.completion_tokens,
        most_answer_tokens=most,
        basis="the latest answers of this model" if experience.answer_tokens else f"{EXPECTED_ANSWER} tokens an answer",
        tier=tier_name(tier),
        price=None if (price := prices.of(model)) is None else price.at(tier),
        cost=prices.cost(model, usage, tier) if prices.knows(model, tier) else None,
        most_cost=prices.at_most(model, usage.prompt_tokens, most, tier),
        other_tiers={other: cost for other in others if (cost := prices.cost(model, usage, other)) is not None},
        duration=_duration(settings, len(to_ask), usage.total_tokens, experience.seconds),
        beginning=beginning_of(questions[0].request) if questions else None,
    )


def _first_round(
    operation: Operation, item: Item, model: str, patience: CallPolicy, steering: Steering
) -> Iterator[_FirstQuestion]:
    """Yield an item's first questions. There are none if the item is decided without a call."""
    if operations.lacks_content(operation, item):
        return
    fitted = operations.fitted(operation, item, patience.max_prompt_chars)
    program = operations.program_of(operation, fitted.item, shown=fitted.shown)
    questions: tuple[Question[object], ...] = ()
    with suppress(StopIteration, EvaluationFailed):
        questions = next(program)
    program.close()
    title = " ".join(str(item.get("title") or "").split()) or None
    for question in questions:
        request = chat_request(question, model, patience, steering)
        key = fingerprint(request, question.sample)
        yield _FirstQuestion(resolve_item_id(item), title, request, question.sample, key)


def _samples(questions: list[_FirstQuestion]) -> Iterator[Sample]:
    of_items = {question.item_id: question for question in reversed(questions)}  # first question of each item
    for question in islice(reversed(of_items.values()), SAMPLES):
        messages = tuple(RehearsedMessage(message.role, message.content) for message in question.request.messages)
        yield Sample(question.item_id, messages, question.title)


def _look(settings: WorkerSettings, planned: Planned, model: str, questions: list[_FirstQuestion]) -> _Experience:
    """Return the questions that the cache can answer, and the usual length and time of answers in similar batches."""
    keys = [question.key for question in questions] if planned.use_cache else []
    cached: set[str] = set()
    days = settings.cache_days
    young = true() if days is None else llm_cache.c.created_at > func.now() - timedelta(days=days)
    stack = None if settings.stack is None else settings.stack.model
    default = stack or settings.model or (None if planned.model else model)  # used for batches that name no model
    operation = planned.operation.operation
    like = (
        select(batches.c.id)
        .where(batches.c.operation == operation, func.coalesce(batches.c.model, default) == model)
        .order_by(batches.c.created_at.desc())
        .limit(LATEST_BATCHES)
    )
    averages = select(
        func.count().label("n"),
        func.avg(results.c.completion_tokens / cast(results.c.calls, Float)).label("tokens"),
        func.percentile_cont(0.5).within_group(results.c.latency_ms).label("ms"),
    ).where(results.c.batch_id.in_(like), results.c.calls > 0, results.c.error_kind.is_(None))
    with single_connection(settings.database) as connection:
        for start in range(0, len(keys), KEYS_AT_ONCE):
            wanted = select(llm_cache.c.key).where(llm_cache.c.key.in_(keys[start : start + KEYS_AT_ONCE]), young)
            cached.update(connection.execute(wanted).scalars())
        row = connection.execute(averages).one()
    if row.n < ENOUGH:
        return _Experience(frozenset(cached))
    seconds = None if row.ms is None else float(row.ms) / 1000
    return _Experience(frozenset(cached), float(row.tokens) or None, seconds)


def _duration(settings: WorkerSettings, calls: int, tokens: int, seconds: float | None) -> Duration:
    """Return the estimated duration of these calls: the longest of the durations that each limit alone would cause.

    In seconds, these are 60 * calls / limit_rpm, 60 * tokens / limit_tpm, and calls * seconds / limit_concurrency. The
    last is at least as long as one call. `seconds`: the duration of a call; None: `ASSUMED_CALL`.
    """
    call = seconds or ASSUMED_CALL
    taken = "as in the latest batches" if seconds else "assumed"
    flight = settings.limit_concurrency
    longest = 0.0 if calls == 0 else max(call, calls * call / flight)
    durations = [Duration(longest, f"{flight:,} calls in flight, {call:.1f} s each ({taken})")]
    if settings.limit_rpm is not None:
        durations.append(Duration(60 * calls / settings.limit_rpm, f"{settings.limit_rpm:,} requests a minute"))
    if settings.limit_tpm is not None:
        durations.append(Duration(60 * tokens / settings.limit_tpm, f"{settings.limit_tpm:,} tokens a minute"))
    return max(durations, key=lambda duration: duration.seconds)


def workers_model(
    named: str | None, settings: WorkerSettings, latest: Callable[[], str | None]
) -> tuple[str | None, str | None]:
    """Return the model of a batch (None: unknown), and a note on its source (None: no note is needed).

    `named`: the model that the command line names. `latest`: returns the model of the ledger's latest answers. This
    function is called only if there is no other source.
    """
    theirs = None if settings.stack is None else settings.stack.model
    if named is not None:
        return named, None
    if (here := settings.batch_model) is not None:
        differs = theirs is not None and theirs != here
        note = f"the batch uses TAMIS_MODEL of this terminal; the workers' model is {theirs}"
        return here, note if differs else None
    if theirs is not None:
        ignored = settings.model is not None and settings.model != theirs
        note = f"the batch uses the model of `tamis up`, not TAMIS_MODEL of this terminal: {settings.model}"
        return theirs, note if ignored else None
    if (seen := latest()) is not None:
        return seen, "from the workers' latest answers, because TAMIS_MODEL is not set here"
    return None, "only the workers know it: add --model, or set TAMIS_MODEL here as for the workers"


def _latest_model(settings: WorkerSettings) -> str | None:
    """Return the model of the latest answer in recent batches that named no model; None if unknown."""
    like = select(batches.c.id).where(batches.c.model.is_(None)).order_by(batches.c.created_at.desc())
    latest_answer = (
        select(results.c.model)
        .where(results.c.batch_id.in_(like.limit(LATEST_BATCHES)), results.c.model.is_not(None))
        .order_by(results.c.created_at.desc())
        .limit(1)
    )
    with suppress(ConfigurationError, LedgerUnavailable), single_connection(settings.database) as connection:
        return connection.execute(latest_answer).scalar_one_or_none()
    return None
