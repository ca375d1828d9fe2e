"""The answer by which the cost of probabilities is measured is one that gives a probability."""

from benchmarks.token_probabilities import CONTENT, body, tokens

from tamis_worker.llm.chat import ChatAnswer
from tamis_worker.llm.completion import read_completion
from tamis_worker.llm.token_probability import probability_of
from tamis_worker.operations.inclusion import DECISION


def test_the_measured_answer_is_read_and_weighed() -> None:
    told = tokens()
    answer, bare = (read_completion(body(sent), api_key="") for sent in (told, None))
    assert isinstance(answer, ChatAnswer)
    assert isinstance(bare, ChatAnswer)
    assert (answer.content, answer.tokens, bare.tokens) == (CONTENT, told, None)
    assert probability_of(CONTENT, answer.tokens, DECISION) == 1.0
    assert 400 < (len(body(told)) - len(body(None))) / len(told) < 450  # as docs/endpoints.md has it
