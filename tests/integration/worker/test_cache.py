"""An answer already received is never paid for again; errors are never kept."""

from collections.abc import Callable

import pytest
from sqlalchemy import text

from llm_double import Double, Fault, Kind, Scripted
from stage import House, WorkerProcess, abstracts
from tamis_producer import Client
from tamis_schemas import EvaluationResult, Filter, Score

ONCOLOGY = Filter(criteria="Is this about oncology?")


@pytest.mark.spec("2.31")
@pytest.mark.parametrize("n", [100, pytest.param(500, marks=pytest.mark.night)])
def test_a_second_identical_batch_makes_no_call(house: House, n: int) -> None:
    client, double = house.client, house.fresh().double
    first = client.submit(ONCOLOGY, abstracts(n))
    assert first.wait(timeout=120).decided == n
    assert double.count() == n
    second = client.submit(ONCOLOGY, abstracts(n))
    assert second.wait(timeout=120).decided == n
    assert double.count() == n
    for before, after in zip(first.results(), second.results(), strict=True):
        assert before.result == after.result
        assert after.provenance is not None
        assert before.provenance is not None
        assert (before.provenance.cached, before.provenance.calls) == (False, 1)
        assert (after.provenance.cached, after.provenance.calls) == (True, 0)
        assert after.provenance.usage.total_tokens == 0
        assert after.provenance.model == before.provenance.model
        assert after.provenance.prompt_sha256 == before.provenance.prompt_sha256
    summary = second.summary()
    assert summary is not None
    assert (summary.calls, summary.cached, summary.prompt_tokens) == (0, n, 0)


@pytest.mark.parametrize(
    ("operation", "model"),
    [(ONCOLOGY, "other-1"), (Filter(criteria="Is this about oncology"), None), (Score(criteria="Is it?"), None)],
    ids=["model", "criteria", "operation"],
)
def test_another_question_is_asked_anew(house: House, operation: Filter | Score, model: str | None) -> None:
    client, double = house.client, house.fresh().double
    client.submit(ONCOLOGY, abstracts(2)).wait(timeout=60)
    client.submit(operation, abstracts(2), model=model).wait(timeout=60)
    assert double.count() == 4


def test_without_the_cache_everything_is_asked_and_the_newest_answer_is_kept(house: House) -> None:
    client, double = house.client, house.fresh().double
    came = []
    for value, use_cache in ((True, True), (False, False), (True, True)):
        double.script(answers=[Scripted("oncology", {"reasoning": "-", "value": value, "confidence": 0.9})])
        batch = client.submit(ONCOLOGY, abstracts(2), use_cache=use_cache)
        batch.wait(timeout=60)
        came.append([row.result.value for row in batch.results() if isinstance(row.result, EvaluationResult)])
    assert came == [[True] * 2, [False] * 2, [False] * 2]
    assert double.count() == 4


def test_an_answer_older_than_the_setting_says_is_asked_for_anew_and_replaced(
    client: Client, double: Double, start_worker: Callable[..., WorkerProcess]
) -> None:
    def calls_of_two_items() -> int:
        before = double.count()
        client.submit(ONCOLOGY, abstracts(2)).wait(timeout=60)
        return double.count() - before

    start_worker(cache_days="1")
    counted = [calls_of_two_items(), calls_of_two_items()]
    with client.engine.begin() as connection:
        connection.execute(text("UPDATE llm_cache SET created_at = now() - interval '25 hours'"))
    counted += [calls_of_two_items(), calls_of_two_items()]
    assert counted == [2, 0, 2, 0]


@pytest.mark.parametrize(
    "kind",
    [
        Kind.REFUSAL,
        *(
            pytest.param(kind, marks=pytest.mark.night)
            for kind in (Kind.SERVER_ERROR, Kind.WRONG_SCHEMA, Kind.TRUNCATED)
        ),
    ],
)
def test_an_error_is_never_kept(house: House, kind: Kind) -> None:
    client, double = house.client, house.fresh().double
    double.script(faults=[Fault(kind, contains="record number 0.")])
    assert client.submit(ONCOLOGY, abstracts(1)).wait(timeout=60).failed == 1
    double.script(faults=[])
    batch = client.submit(ONCOLOGY, abstracts(1))
    assert batch.wait(timeout=60).decided == 1
    row = next(batch.results())
    assert row.provenance is not None
    assert not row.provenance.cached


def test_a_repaired_answer_is_kept_under_the_question_as_it_was_first_asked(house: House) -> None:
    client, double = house.client, house.fresh().double
    double.script(faults=[Fault(Kind.WRONG_SCHEMA, limit=1)])
    client.submit(ONCOLOGY, abstracts(1)).wait(timeout=60)
    assert double.count() == 2
    client.submit(ONCOLOGY, abstracts(1)).wait(timeout=60)
    assert double.count() == 2
