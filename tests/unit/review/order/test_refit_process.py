"""The process beside: what it is asked for, what it answers, and what becomes of both where it dies."""

import io
import json
import sys
from uuid import UUID, uuid4

import pytest

from tamis_producer.ledger import connect
from tamis_producer.ledger.pool_kinds import READING_ORDERS
from tamis_review.order import order_refits
from tamis_review.order.order_refits import OrderRefits
from tamis_review.order.order_store import OrderTerms
from tamis_schemas import ConfigurationError, OperationFailed

TERMS = OrderTerms(0, 0.02)
URL = "postgresql+psycopg://user@127.0.0.1:1/tamis"
# Answers each request with what its seed is: 1 an error of Tamis's, 2 another one, 3 dies, 9 waits for two more lines.
PROGRAM = """
import json, sys
assert "database_url" in json.loads(sys.stdin.readline())
for line in sys.stdin:
    seed = json.loads(line)["seed"]
    if seed == 3:
        sys.exit(1)
    if seed == 9:
        for _ in range(2):
            sys.stdin.readline()
            print(json.dumps({"error": None}))
    error = {1: ["ConfigurationError", "no extra"], 2: ["KeyError", "it broke"]}.get(seed)
    print(json.dumps({"error": error}), flush=True)
"""


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> OrderRefits:
    monkeypatch.setattr(order_refits, "PROGRAM", (sys.executable, "-c", PROGRAM))
    return OrderRefits(connect(URL, READING_ORDERS), URL, beside=True)


def asked(beside: OrderRefits, seed: int, batch_id: UUID | None = None) -> BaseException | None:
    return beside.ask(batch_id or uuid4(), OrderTerms(seed, 0.0)).exception(timeout=30)


def test_an_error_comes_back_as_what_it_is_and_the_process_goes_on(beside: OrderRefits) -> None:
    assert asked(beside, 0) is None
    wrong = asked(beside, 1)
    assert isinstance(wrong, ConfigurationError)
    assert str(wrong) == "no extra"
    foreign = asked(beside, 2)
    assert isinstance(foreign, OperationFailed)
    assert str(foreign) == "it broke (KeyError)"
    assert asked(beside, 0) is None
    beside.wait()
    beside.close()


def test_a_process_that_dies_is_told_and_the_next_request_starts_another(beside: OrderRefits) -> None:
    died = asked(beside, 3)
    assert isinstance(died, OperationFailed)
    assert "has ended" in str(died)
    assert asked(beside, 0) is None
    beside.close()
    assert asked(beside, 0) is None  # closed, too
    beside.close()


def test_who_asks_for_the_same_shares_what_has_not_begun_and_what_is_given_up_is_cancelled(
    beside: OrderRefits,
) -> None:
    batch_id = uuid4()
    running = beside.ask(batch_id, OrderTerms(9, 0.0))
    waiting = beside.ask(batch_id, TERMS)
    assert beside.ask(batch_id, TERMS) is waiting
    other = beside.ask(uuid4(), TERMS)  # the second line that the first one waits for; all are answered then
    beside.wait()
    assert (running.exception(), waiting.exception(), other.exception()) == (None, None, None)
    beside.ask(batch_id, OrderTerms(9, 0.0))
    beside.close()
    first = beside.ask(batch_id, OrderTerms(9, 0.0))
    again = beside.ask(batch_id, OrderTerms(9, 0.0))
    assert again is not first  # what is under way may have read the ledger before this decision
    beside.close()
    assert first.done()


def test_the_program_answers_each_line_and_what_is_wrong_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refit(engine: object, batch_id: UUID, terms: OrderTerms, cache: object) -> None:
        if terms.seed == 1:
            raise ConfigurationError("this needs the extra 'order'")
        if terms.seed == 2:
            raise KeyError("secret")

    monkeypatch.setattr(order_refits, "refit", refit)
    lines = [{"database_url": "postgresql+psycopg://user@127.0.0.1:1/tamis"}]
    lines += [{"batch_id": str(uuid4()), "seed": seed, "explore": 0.0} for seed in (0, 1, 2)]  # type: ignore[dict-item]
    answers = io.StringIO()
    order_refits.serve(io.StringIO("".join(json.dumps(line) + "\n" for line in lines)), answers)
    assert [json.loads(line)["error"] for line in answers.getvalue().splitlines()] == [
        None,
        ["ConfigurationError", "this needs the extra 'order'"],
        ["KeyError", "the reading order could not be computed"],
    ]
