"""What the ledger refuses ends as a failure of its item: nothing stays running, and nothing is paid for twice.

The refusals are made by constraints that a test adds: any other refusal of Postgres goes the same way.
"""

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from llm_double import Scripted
from stage import House
from tamis_schemas import ErrorKind, Filter, ItemResult

QUESTION = Filter(criteria="Is it a trial?")
CONSTRAINTS = {
    "the answer": ("results", "reasoning NOT LIKE '%poison%'"),
    "and what was paid for it": ("results", "reasoning NOT LIKE '%poison%' AND (error IS NULL OR prompt_tokens = 0)"),
    "the cached answer": ("llm_cache", "content NOT LIKE '%poison%'"),
    "the transcript": ("transcripts", "CAST(calls AS text) NOT LIKE '%poison%'"),
}


def answer(reasoning: str) -> dict[str, object]:
    return {"reasoning": reasoning, "value": True, "confidence": 0.9}


@pytest.fixture
def refusing(house: House, request: pytest.FixtureRequest) -> Iterator[House]:
    """A ledger that refuses something; every third answer holds it."""
    table, condition = CONSTRAINTS[request.param]
    house.fresh()
    with house.client.engine.begin() as connection:
        connection.execute(text("DELETE FROM results"))
        connection.execute(text("DELETE FROM transcripts"))
    house.double.script(answers=[Scripted("of the third kind", answer("poison")), Scripted("of", answer("r"))])
    with house.client.engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE {table} ADD CONSTRAINT refusing CHECK ({condition}) NOT VALID"))
    yield house
    with house.client.engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE {table} DROP CONSTRAINT refusing"))


def evaluated(house: House) -> list[ItemResult]:
    items = [{"id": str(n), "title": f"of the {('first', 'second', 'third')[n % 3]} kind, {n}"} for n in range(30)]
    batch = house.client.submit(QUESTION, items)
    counts = batch.wait(60)
    assert counts.decided + counts.failed == 30
    assert house.double.count() == 30
    return list(batch.results())


def told(house: House) -> list[str]:
    """The errors of failed items, as the ledger has them."""
    with house.client.engine.connect() as connection:
        return list(connection.execute(text("SELECT DISTINCT error FROM results WHERE error IS NOT NULL")).scalars())


@pytest.mark.parametrize("refusing", ["the answer"], indirect=True)
def test_a_refused_outcome_is_a_failure_of_its_item_alone_with_its_bill(refusing: House) -> None:
    for number, row in enumerate(evaluated(refusing)):
        assert row.provenance is not None
        assert row.provenance.calls == 1
        assert row.provenance.usage.prompt_tokens > 0
        assert row.error_kind is (ErrorKind.INTERNAL if number % 3 == 2 else None)
        assert row.value is (None if number % 3 == 2 else True)
    assert told(refusing) == ["the ledger cannot store this outcome: check violation"]
    log = refusing.worker.text()
    assert "the ledger cannot store its outcome: check violation" in log
    assert "poison" not in log
    assert "INSERT INTO" not in log


@pytest.mark.parametrize("refusing", ["and what was paid for it"], indirect=True)
def test_where_the_bill_is_refused_too_the_failure_says_so(refusing: House) -> None:
    failed = [row for row in evaluated(refusing) if row.error_kind is not None]
    assert len(failed) == 10
    for row in failed:
        assert row.provenance is not None
        assert (row.provenance.calls, row.provenance.usage.total_tokens, row.cost) == (1, 0, None)
    assert told(refusing) == ["the ledger cannot store this outcome: check violation; nor its cost"]


@pytest.mark.parametrize("refusing", ["the cached answer"], indirect=True)
def test_an_answer_that_cannot_be_kept_is_used_all_the_same(refusing: House) -> None:
    assert all(row.value is True for row in evaluated(refusing))
    with refusing.client.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM llm_cache")).scalar_one() == 20
    assert "an answer was not cached: check violation" in refusing.worker.text()
    assert "poison" not in refusing.worker.text()


@pytest.mark.parametrize("refusing", ["the transcript"], indirect=True)
def test_a_refused_transcript_costs_no_result(refusing: House) -> None:
    rows = evaluated(refusing)
    assert all(row.result is not None and row.result.error is None for row in rows)
    with refusing.client.engine.connect() as connection:
        kept = connection.execute(text("SELECT count(*) FROM transcripts")).scalar_one()
    assert kept == 20  # of 30: those without the poison
