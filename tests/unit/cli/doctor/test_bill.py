"""What the doctor says of the bill."""

from dataclasses import replace
from decimal import Decimal

from tamis_cli.doctor.answers import judge_bill
from tamis_cli.doctor.finding import Level
from tamis_cli.doctor.interview import AskedQuestion, Call
from tamis_schemas import ErrorKind, ModelPrice, Prices, Usage
from tamis_worker.llm.chat import CallError, ChatAnswer
from tamis_worker.llm.dialect import Dialect

# Dollars per 1,000,000 tokens.
PRICES = Prices({"m": ModelPrice(input=Decimal(2), output=Decimal(10), cached_input=Decimal(1))})
ANSWER = ChatAnswer("{}", "m", Usage(1000, 100), "stop", latency_ms=1)
CALL = Call(Dialect(), ANSWER)


def test_the_bill_is_that_of_every_call_and_says_what_finding_out_took() -> None:
    wasted = replace(CALL, problem="no JSON")
    (found,) = judge_bill("m", [AskedQuestion("filter", (wasted, CALL)), AskedQuestion("score", (CALL,))], PRICES)
    # a call: 1,000 x 0.000002 + 100 x 0.00001 = 0.003; three of them 0.009
    assert found.level is Level.OK
    assert found.what == "3 calls cost $0.009, $0.003 of it to learn the format: 3,000 tokens in, 300 tokens out"


def test_cached_and_reasoning_tokens_and_the_tier_are_told() -> None:
    usage = Usage(1000, 100, cached_tokens=400, reasoning_tokens=60, cache_write_tokens=30)
    call = replace(CALL, reply=replace(ANSWER, usage=usage, tier="flex"))
    told = judge_bill("m", [AskedQuestion("filter", (call,))], PRICES)[0].what
    assert "1,000 tokens in, 400 of them read from a prefix cache, 30 written to it, 100 tokens out, 60 of them" in told
    assert told.endswith("tier flex")


def test_a_model_without_a_price_is_a_warning_and_never_costs_nothing() -> None:
    (found,) = judge_bill("unknown", [AskedQuestion("filter", (CALL,))], Prices({}))
    assert found.level is Level.WARNING
    assert "the price of unknown is unknown" in found.what
    assert "$" not in found.what
    assert "TAMIS_PRICES" in (found.mend or "")


def test_answers_that_count_no_tokens_are_a_warning_and_no_bill_is_made_up() -> None:
    blank = replace(CALL, reply=replace(ANSWER, usage=Usage()))
    bill, uncounted = judge_bill("m", [AskedQuestion("filter", (CALL,)), AskedQuestion("score", (blank,))], PRICES)
    assert "$" not in bill.what
    assert (uncounted.level, uncounted.what) == (
        Level.WARNING,
        "1 of 2 answers report no token counts",
    )


def test_another_tier_than_the_one_asked_for_is_a_warning() -> None:
    def levels(wanted: str, billed: str) -> list[Level]:
        call = replace(CALL, reply=replace(ANSWER, tier=billed))
        return [
            one.level for one in judge_bill("m", [AskedQuestion("filter", (call,), {"service_tier": wanted})], PRICES)
        ]

    assert levels("flex", "flex") == [Level.OK]
    assert levels("auto", "default") == [Level.OK]
    assert levels("flex", "default") == [Level.OK, Level.WARNING]


def test_where_nothing_was_paid_there_is_no_bill() -> None:
    refused = Call(Dialect(), CallError(ErrorKind.AUTHENTICATION, "no", 401))
    assert judge_bill("m", [AskedQuestion("filter", (refused,))], PRICES) == []
