"""The cost of an inclusion's prompts at endpoints with a prompt cache, if the record is first or last in the prompt.

    python -m benchmarks.prompt_cache

The worker's client asks about real records. The LLM double counts the tokens that it reads from its cache, one token
for four characters. The examples are those that `--examples-from` would choose if people's decisions were the labels.
The former layout, with the record before the criteria, is made here from the present layout.
"""

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from typing import Any

from llm_double import Call, Double
from llm_double.account import Charge
from llm_double.asked import Asked, tokens_of
from llm_double.personalities.personality import Personality
from llm_double.personalities.prefix_cache import laid_out
from tamis_producer.submission.worked_examples import choose
from tamis_review.intake import read_records
from tamis_schemas import (
    Inclusion,
    Item,
    ItemResult,
    ModelPrice,
    Override,
    SearchCriteria,
    packaged_prices,
)
from tamis_worker.engine.conversation import CallPolicy, chat_request
from tamis_worker.engine.retry import RetryPolicy
from tamis_worker.llm.chat import ChatRequest, Message
from tamis_worker.llm.llm import LlmClient
from tamis_worker.llm.prompt_cache import MINIMUM, Breakpoint
from tamis_worker.operations import program_of

from .labelled_sets import SCREENING
from .report import Table

RECORDS = 200
IN_FLIGHT = 16
WRITING = Decimal("1.25")  # what a token costs that is written, by what it costs otherwise
BY_BLOCKS, BY_BREAKPOINTS = "gpt-5-mini", "gpt-5.6-luna"  # whose prices are taken
MILLION = Decimal(1_000_000)
KINDS: tuple[dict[str, Any], ...] = (
    {"block": 128, "minimum": MINIMUM, "schema": True},
    {"block": 64, "minimum": 64, "schema": True},
    {"block": 16, "minimum": 16, "schema": False},
)
HEADING = "## Source Data\n"
INSTRUCTION = "\n\n## Instruction\n"
PATIENCE = CallPolicy(RetryPolicy(max_calls=5, deadline=900), temperature=0.0, max_output_tokens=1024)

# The review's own five criteria, one condition each, and what its protocol would split them into.
FIVE = SearchCriteria(
    research_question="Which clinical decision support systems exist for radiation oncology?",
    inclusion_criteria=[
        "The record is an original article",
        "It examines one or several clinical decision-support systems relevant for radiation therapy",
        "The decision-support systems are software based",
    ],
    exclusion_criteria=[
        "The system is intended for support of non-clinicians, for example a patient decision-aid",
        "It is about a model that is not meant to support clinical decision-making as part of a software application",
    ],
)
FIFTEEN = FIVE.model_copy(
    update={
        "inclusion_criteria": [
            *FIVE.inclusion_criteria,
            "The system is used, or meant to be used, before or during the planning or delivery of radiation therapy",
            "The users of the system are physicians, medical physicists, radiation therapists or dosimetrists",
            "The system's output concerns the treatment, follow-up or selection of individual patients",
            "The system is described in enough detail to say what it takes in and what it puts out",
        ],
        "exclusion_criteria": [
            *FIVE.exclusion_criteria,
            "The record is a review, a meta-analysis, a guideline, an editorial, a letter or a comment",
            "The record is a conference abstract or a study protocol without results",
            "The system only delineates organs or targets and supports no decision",
            "The system only calculates or optimises dose and supports no decision",
            "The system supports diagnosis or screening only, and no radiation therapy",
            "The study was done on phantoms, animals or cells only",
        ],
    }
)


@dataclass(frozen=True)
class Run:
    """The tokens of one batch of prompts."""

    static: int  # tokens of the common beginning of all prompts, in the present layout
    charge: Charge

    @property
    def share(self) -> float:
        """The share of the common beginning that was read from the cache."""
        return self.charge.cached_tokens / (self.static * self.charge.calls)

    def dollars(self, price: ModelPrice, per: int = 1000) -> float:
        """Return the dollars for the prompts of `per` records. Answers cost the same in every layout."""
        cached, written = self.charge.cached_tokens, self.charge.cache_write_tokens
        plain = self.charge.prompt_tokens - cached - written
        tokens = price.input * (plain + WRITING * written) + (price.cached_input or price.input) * cached
        return float(tokens / MILLION / self.charge.calls * per)


def requests(
    operation: Inclusion, items: Iterable[Item], model: str, *, record_first: bool, how: Breakpoint | None = None
) -> Iterator[ChatRequest]:
    """Yield a worker's request about each record."""
    patience = replace(PATIENCE, cache_breakpoint=how)
    for item in items:
        (question, *_) = next(program_of(operation, item))
        asked = chat_request(question, model, patience)
        yield formerly(asked) if record_first else asked


def formerly(asked: ChatRequest) -> ChatRequest:
    """Return the request in the former layout: the rules, then the record, then the criteria, without a cache key."""
    system, record = asked.messages
    rules, _, instruction = system.content.partition(INSTRUCTION)
    messages = (Message("system", rules), Message("user", f"{record.content}{INSTRUCTION}{instruction}"))
    return replace(asked, messages=messages, options={})


def static_tokens(call: Call, *, with_schema: bool) -> int:
    """Return the tokens of a prompt before its record's fields, with the schema's tokens if `with_schema` is True."""
    sent = Asked({"messages": call.messages, "response_format": call.response_format})
    text = laid_out(sent, with_schema=with_schema).text
    return tokens_of(text[: text.index(HEADING) + len(HEADING)])


def measure(double: Double, asked: Sequence[ChatRequest], static: int | None = None, **cache: Any) -> Run:
    """Send the prompts as a worker does, to a double with an empty cache, and return the counts.

    `static`: tokens of the common beginning in the present layout; None: the prompts have that layout.
    """
    double.reset()
    double.script(personalities=[])
    double.script(personalities=[Personality("prefix_cache", **cache)])
    asyncio.run(_ask(double.base_url, asked))
    if static is None:
        static = static_tokens(double.calls()[-1], with_schema=cache.get("schema", True))
    return Run(static, double.account().of())


async def _ask(base_url: str, asked: Sequence[ChatRequest]) -> None:
    llm = LlmClient(base_url, "", timeout=60, connections=IN_FLIGHT)
    turns = asyncio.Semaphore(IN_FLIGHT)

    async def ask(one: ChatRequest) -> None:
        async with turns:
            reply = await llm.ask(one)
        if not reply.usage.prompt_tokens:
            raise RuntimeError(f"the double did not answer: {reply}")

    try:
        await asyncio.gather(*map(ask, asked))
    finally:
        await llm.close()


def by_blocks(double: Double, records: Sequence[Item], examples: SearchCriteria) -> Table:
    """Return the table for endpoints that cache prompts in blocks of tokens."""
    price = packaged_prices().models[BY_BLOCKS]
    rows = []
    for criteria, shown, kind in product((FIVE, FIFTEEN), (False, True), KINDS):
        operation = Inclusion(criteria=with_examples(criteria, examples) if shown else criteria)
        now, before = (list(requests(operation, records, BY_BLOCKS, record_first=first)) for first in (False, True))
        last = measure(double, now, **kind)
        first = measure(double, before, last.static, **kind)
        rows.append(_row(operation, kind["block"], first, last, price))
    return Table(
        f"blocks, {BY_BLOCKS}", ("criteria", "examples", "block", *COLUMNS), rows, [_told(records), KINDS_TOLD]
    )


def at_breakpoints(double: Double, records: Sequence[Item], examples: SearchCriteria) -> Table:
    """Return the table for endpoints that cache the text up to a mark, and charge more for cached text."""
    price = packaged_prices().models[BY_BREAKPOINTS]
    rows = []
    cache = {"breakpoints": True, "writes": True}
    for criteria, shown in product((FIVE, FIFTEEN), (False, True)):
        operation = Inclusion(criteria=with_examples(criteria, examples) if shown else criteria)
        unset, marked = (
            list(requests(operation, records, BY_BREAKPOINTS, record_first=False, how=how))
            for how in (None, Breakpoint.OPENAI)
        )
        without, with_ = (measure(double, asked, **cache) for asked in (unset, marked))
        rows.append(_row(operation, "mark", without, with_, price))
    columns = [name.replace("before", "without").replace("now", "openai") for name in COLUMNS]
    return Table(
        f"breakpoints, {BY_BREAKPOINTS}: TAMIS_CACHE_BREAKPOINT unset, and openai",
        ("criteria", "examples", "block", *columns),
        rows,
        [_told(records), f"what is written costs {WRITING} times what it costs otherwise"],
    )


COLUMNS = ("static", "prompt", "read before", "read now", "of static before", "of static now", "$ before", "$ now")
KINDS_TOLD = (
    f"blocks of 128 from {MINIMUM:,} tokens on, the others from their first block on; "
    "with blocks of 16 the schema is compiled and not read, as by vLLM, else it comes first"
)


def _told(records: Sequence[Item]) -> str:
    return f"tokens are of one prompt, {len(records)} records on average; $ of the prompts of 1,000 records"


def _row(operation: Inclusion, block: object, before: Run, now: Run, price: ModelPrice) -> list[str | int | float]:
    calls = now.charge.calls
    return [
        len(operation.criteria.labelled()),
        len(operation.criteria.examples),
        str(block),
        now.static,
        round(now.charge.prompt_tokens / calls),
        round(before.charge.cached_tokens / calls),
        round(now.charge.cached_tokens / calls),
        f"{before.share:.0%}",
        f"{now.share:.0%}",
        f"{before.dollars(price):.3f}",
        f"{now.dollars(price):.3f}",
    ]


def with_examples(criteria: SearchCriteria, examples: SearchCriteria) -> SearchCriteria:
    """Return the criteria with the examples of other criteria."""
    return criteria.model_copy(update={"examples": examples.examples})


def labelled_examples(records: Iterable[Item]) -> SearchCriteria:
    """Return the criteria with the examples that would be chosen if people's decisions were the labels."""
    rows = [
        ItemResult(index=place, item_id=str(place), status="decided", item=dict(record), override=_decision(record))
        for place, record in enumerate(records)
    ]
    return FIVE.model_copy(update={"examples": choose(rows)})


def _decision(record: Item) -> Override:
    value = "include" if record["_label"] == "1" else "exclude"
    then = datetime(2026, 1, 1, tzinfo=UTC)
    return Override(batch_id="labels", index=0, item_id="", value=value, reviewer="the review", created_at=then)


def main() -> None:
    """Print both tables, in Markdown."""
    records = read_records(SCREENING / "cdss_ro" / "records.csv")
    examples = labelled_examples(records)
    with Double.start() as double:
        for table in (by_blocks, at_breakpoints):
            sys.stdout.write(table(double, records[:RECORDS], examples).to_markdown() + "\n\n")


if __name__ == "__main__":
    main()
