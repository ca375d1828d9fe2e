"""Optional parameters are omitted for a model whose endpoint fails because of them, and tried again later."""

from dataclasses import replace

from tamis_worker.engine.optional_wishes import HELPED, OMITTED_FOR, OptionalWishes, has_wishes, without_wishes
from tamis_worker.llm.chat import ChatRequest, Message
from tamis_worker.llm.token_probability import options as token_options
from tamis_worker.operations.filter import DECISION

PLAIN = ChatRequest("m", (Message("user", "Is it?"),), "filter", {}, 0.0, 100)
OPTIONS = {"seed": 1, "prompt_cache_key": "k", "service_tier": "flex", **token_options({})}
WISHED = replace(PLAIN, options=OPTIONS, decision=DECISION)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_tier_and_the_fields_of_a_provider_are_no_wishes() -> None:
    assert not has_wishes(replace(PLAIN, options={"service_tier": "flex", "provider": {"only": ["x"]}}))
    assert has_wishes(replace(PLAIN, decision=DECISION))
    assert without_wishes(WISHED) == replace(PLAIN, options={"service_tier": "flex"})


def test_token_probabilities_are_a_wish() -> None:
    asked = replace(PLAIN, options=token_options({}))
    assert has_wishes(asked)
    assert without_wishes(asked) == PLAIN


def test_wishes_that_three_questions_in_a_row_failed_for_are_omitted_for_an_hour() -> None:
    clock = Clock()
    wishes = OptionalWishes(clock)
    for _ in range(HELPED):
        assert wishes.applied(WISHED) is WISHED
        wishes.answered(WISHED, bare=True)
    assert wishes.applied(WISHED) == without_wishes(WISHED)
    assert wishes.applied(replace(WISHED, model="other")).decision is DECISION
    clock.now += OMITTED_FOR
    assert wishes.applied(WISHED) is WISHED


def test_an_answer_with_them_shows_that_a_record_was_the_cause() -> None:
    wishes = OptionalWishes(Clock())
    for _ in range(5):
        for _ in range(HELPED - 1):
            wishes.answered(WISHED, bare=True)
        wishes.answered(WISHED, bare=False)
    wishes.answered(PLAIN, bare=False)
    assert wishes.applied(WISHED) is WISHED
