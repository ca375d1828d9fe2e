"""The account of an item, of which each question has one of its own."""

from decimal import Decimal

from tamis_schemas import ErrorKind, Usage
from tamis_worker.engine.call_accounting import CallAccounting
from tamis_worker.llm.chat import CallError, ChatAnswer


def answer(model: str, tokens: int, tier: str | None = None) -> ChatAnswer:
    return ChatAnswer("{}", model, Usage(tokens, 0), "stop", latency_ms=tokens, tier=tier)


def test_a_question_has_its_own_bill_and_the_item_the_sum() -> None:
    item = CallAccounting()
    one, other, lost = item.of_question(), item.of_question(), item.of_question()
    one.note(answer("a", 10, "flex"), Decimal(1))
    one.answered(("an array",))
    one.longest = 2.0
    other.note(answer("b", 20), Decimal(2))
    other.answered(("an array", "a fence"))
    other.longest = 1.0
    lost.note(CallError(ErrorKind.SERVER, "no", latency_ms=5, status=500), Decimal(0))
    for question in (one, other, lost):
        item.add(question)
    assert (one.bill.model, one.bill.usage.total_tokens, one.bill.cost) == ("a", 10, 1)
    assert (item.calls, item.usage.total_tokens, item.cost, item.answers) == (3, 30, 3, 2)
    assert item.deviations == ("an array", "a fence")
    assert (item.model, item.tier, item.latency_ms) == ("b", None, 5)  # of the last answer, and of the last call
    item.end_round()
    assert item.worked == 2.0  # asked side by side, they take as long as the longest


def test_a_price_that_is_not_known_makes_none_for_the_item_and_an_answer_of_the_cache_costs_nothing() -> None:
    item = CallAccounting()
    kept, dear = item.of_question(), item.of_question()
    kept.cached, kept.model = 1, "a"
    kept.answered(())
    dear.note(answer("b", 20), None)
    item.add(kept)
    item.add(dear)
    assert (kept.bill.cached, kept.bill.cost) == (True, 0)
    assert (item.cached, item.cost, dear.bill.cost) == (1, None, None)
