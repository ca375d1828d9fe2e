"""The bill of an interview: what the endpoint counted, and what it comes to."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from tamis_schemas import Prices, Usage, dollars
from tamis_worker.engine.budget import cost_of
from tamis_worker.llm.chat import Answer

from .finding import Finding, ok, warning
from .interview import AskedQuestion, Call

ANY_TIER = frozenset({"auto"})  # asks for none in particular


def judge_bill(model: str, questions: Sequence[AskedQuestion], prices: Prices) -> list[Finding]:
    """Return what these questions cost, and what of a bill cannot be known; nothing where nothing was paid."""
    calls = [call for question in questions for call in question.calls]
    paid = [call for call in calls if isinstance(call.reply, Answer) or call.reply.usage != Usage()]
    return [*_bill(model, questions, paid, prices), *_uncounted(paid), *_other_tier(questions)] if paid else []


def _bill(model: str, questions: Sequence[AskedQuestion], paid: Sequence[Call], prices: Prices) -> Iterator[Finding]:
    counted = _counted(paid)
    calls = f"{len(paid)} call{'' if len(paid) == 1 else 's'}"
    cost = _sum(model, paid, prices)
    if cost is not None:
        lost = _sum(model, [call for question in questions for call in question.calls[:-1] if call in paid], prices)
        finding_out = f", {dollars(lost)} of it to find out how to ask" if lost else ""
        yield ok("bill", f"{calls} cost {dollars(cost)}{finding_out}: {counted}")
    elif prices.knows(model):
        yield ok("bill", f"{calls}: {counted}")
    else:
        mend = "name it in a file, and the file in TAMIS_PRICES: without a price there is no bill, and no budget"
        yield warning("bill", f"{calls}: {counted}; what {model} costs is not known", mend)


def _counted(paid: Sequence[Call]) -> str:
    usage = sum((call.reply.usage for call in paid), Usage())
    tiers = sorted({call.reply.tier for call in paid if call.reply.tier})
    counts = (
        (usage.prompt_tokens, "tokens in"),
        (usage.cached_tokens, "of them read from a prefix cache"),
        (usage.cache_write_tokens, "written to it"),
        (usage.completion_tokens, "tokens out"),
        (usage.reasoning_tokens, "of them reasoning"),
    )
    parts = [f"{tokens:,} {of}" for tokens, of in counts if tokens] + [f"tier {tier}" for tier in tiers]
    return ", ".join(parts) or "no tokens are counted"


def _uncounted(paid: Sequence[Call]) -> Iterator[Finding]:
    blank = [call for call in paid if not call.reply.usage.total_tokens]
    if blank:
        what = f"{len(blank)} of {len(paid)} answers do not say how many tokens they took"
        yield warning("bill", what, "have the endpoint count (usage): without it costs and token limits are estimates")


def _other_tier(questions: Sequence[AskedQuestion]) -> Iterator[Finding]:
    wanted = {
        str(question.optional["service_tier"]) for question in questions if "service_tier" in question.optional
    } - ANY_TIER
    others = {call.reply.tier for question in questions for call in question.calls if call.reply.tier} - wanted
    if wanted and others:
        what = f"tier {', '.join(sorted(wanted))} was asked for, and {', '.join(sorted(others))} is billed"
        yield warning("bill", what, "look at which models and accounts have the tier: the answer's is what is paid")


def _sum(model: str, calls: Sequence[Call], prices: Prices) -> Decimal | None:
    costs = [cost_of(prices, model, call.reply) for call in calls]
    return None if None in costs else sum((cost for cost in costs if cost is not None), Decimal(0))
