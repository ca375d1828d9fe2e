"""The probability of a decision, from an endpoint that gives those of tokens, that ignores, refuses or garbles them."""

import csv
import io
import json
from typing import Any

import pytest

from llm_double import Personality, Scripted
from llm_double.personalities.token_probabilities import ODDITIES
from stage import House, abstracts
from tamis_producer.results.results_file import write_csv, write_jsonl
from tamis_review.explanation.document import because
from tamis_schemas import Filter, Inclusion, ItemResult, SearchCriteria

QUESTION = Filter(criteria="Is it about hips?")
SCREENING = Inclusion(criteria=SearchCriteria(research_question="Hips?", inclusion_criteria=["Adults"]))
SURE = 0.8


def rows_of(house: House, operation: Filter | Inclusion, n: int = 4, **options: Any) -> list[ItemResult[Any]]:
    batch = house.client.submit(operation, abstracts(n), **options)
    assert batch.wait(60).decided == n
    return list(batch.results())


def test_a_decision_has_the_probability_of_its_tokens_in_every_form_of_the_results(house: House) -> None:
    double = house.fresh().double
    double.script(personalities=[Personality("logprobs", sure=SURE)])
    rows = rows_of(house, QUESTION, 6)
    assert {row.value for row in rows} == {True, False}
    for row in rows:
        assert row.probability == pytest.approx(SURE if row.value else 1 - SURE)
        assert [one.sets for one in because(QUESTION, row)] == ["confidence", "probability"]
    assert all(call.parameters["logprobs"] is True for call in double.calls())
    stream = io.StringIO(newline="")
    write_csv(rows, stream)
    cells = [float(row["probability"]) for row in csv.DictReader(io.StringIO(stream.getvalue(), newline=""))]
    assert cells == [row.probability for row in rows]
    stream = io.StringIO()
    write_jsonl(rows, stream)
    assert [json.loads(line)["probability"] for line in stream.getvalue().splitlines()] == cells
    double.script(personalities=[])  # the endpoint gives none any more, and is not asked
    again = rows_of(house, QUESTION, 6)
    assert double.count() == 6
    assert [row.probability for row in again] == cells


@pytest.mark.parametrize("letters", [1, 3, 20])
def test_tokens_may_be_split_anywhere_and_a_status_of_three_is_weighed(house: House, letters: int) -> None:
    house.fresh().double.script(
        answers=[
            Scripted(f"record {n}", json.dumps(answer))
            for n, answer in enumerate(
                {
                    "rationale": 'Where "status": "include" is quoted: ä',
                    "verdicts": {"I1": {"quote": None, "verdict": verdict}},
                    "status": status,
                    "confidence": 0.9,
                }
                for status, verdict in (("include", "met"), ("exclude", "not met by silence"), ("uncertain", "unclear"))
            )
        ],
        personalities=[Personality("logprobs", sure=SURE, letters=letters)],
    )
    items = [{"id": str(n), "title": f"record {n}"} for n in range(3)]
    batch = house.client.submit(SCREENING, items)
    assert batch.wait(60).decided == 3
    include, exclude, uncertain = batch.results()
    assert (include.value, exclude.value, uncertain.value) == ("include", "exclude", "uncertain")
    # of the rest of 0.2 each of the two others has 0.1, and uncertain counts half
    assert include.probability == pytest.approx(0.8 + 0.1 / 2)
    assert exclude.probability == pytest.approx(0.1 + 0.1 / 2)
    assert uncertain.probability == pytest.approx(0.1 + 0.8 / 2)


@pytest.mark.parametrize(
    "refusal",
    [
        {},
        {"status": 403, "words": "You are not allowed to request logprobs from this model."},
        {"status": 400, "words": "Logprobs is not enabled for models/thinker"},
    ],
)
def test_a_refusal_costs_one_unpaid_call_and_no_attempt(house: House, refusal: dict[str, Any]) -> None:
    double = house.fresh().double
    double.script(personalities=[Personality("refuses_logprobs", **refusal)])
    rows = rows_of(house, QUESTION, 8, model=f"thinker-{refusal.get('status', 0)}")
    assert all(row.probability is None and row.error is None for row in rows)
    asked = [call for call in double.calls() if "logprobs" in call.parameters]
    assert [call.status for call in asked] == [refusal.get("status", 400)]  # one call finds out for all
    assert sum(row.provenance.calls for row in rows if row.provenance is not None) == double.count(200)


def test_whatever_else_comes_is_no_probability_and_no_error(house: House) -> None:
    double = house.fresh().double
    for odd in (None, *ODDITIES):
        told = [] if odd is None else [Personality("logprobs", odd=odd)]
        double.script(personalities=told)
        rows = rows_of(house, Filter(criteria=f"Is it about {odd}?"), 2)
        assert [row.probability for row in rows] == [None, None], odd


def test_a_grade_is_kept_and_shown_beside_the_decision(house: House) -> None:
    double = house.fresh().double
    rows = rows_of(house, Filter(criteria="Is it about hips?", graded=True))
    assert all(row.relevance is not None and 0 <= row.relevance <= 100 for row in rows)
    assert all("whole number from 0 to 100" in call.prompt for call in double.calls())
    stream = io.StringIO(newline="")
    write_csv(rows, stream)
    cells = [int(row["relevance"]) for row in csv.DictReader(io.StringIO(stream.getvalue(), newline=""))]
    assert cells == [row.relevance for row in rows]
