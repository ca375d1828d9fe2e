"""The inclusion evaluator of spec 3, through a real broker, ledger and worker."""

import inspect
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from llm_double import Fault, Kind, Quotes, Scripted
from stage import House
from tamis_producer import Client
from tamis_producer.config.settings import ProducerSettings
from tamis_producer.services.inclusion_evaluator import InclusionEvaluator
from tamis_schemas import (
    InclusionDecision,
    InclusionStatus,
    InvalidParameters,
    SearchCriteria,
    Verdict,
    WaitTimeout,
)
from tamis_schemas.records.paper import PaperData

CRITERIA = SearchCriteria(
    research_question="What is the efficacy of statins for CVD prevention?",
    purpose="Systematic review",
    inclusion_criteria=["Human studies", "Statin intervention"],
    exclusion_criteria=["Animal studies", "Case reports"],
    date_range=(2010, 2024),
)
LABELS = ("I1", "I2", "E1", "E2")
LONG = SearchCriteria(
    research_question="q",
    inclusion_criteria=[f"included {n}" for n in range(20)],
    exclusion_criteria=[f"excluded {n}" for n in range(10)],
)


def papers(count: int) -> list[PaperData]:
    return [
        PaperData(
            id=f"p{n}",
            title=f"Paper number {n}.",
            abstract=f"Statins were given to {n + 20} adults for a year.",
            year=2015,
        )
        for n in range(count)
    ]


def answer(status: str, *verdicts: str, quote: str | None = None, confidence: float = 0.8) -> dict[str, Any]:
    given = verdicts or ("met", "met", "not met", "not met")
    return {
        "rationale": "as stated",
        "verdicts": {label: {"quote": quote, "verdict": said} for label, said in zip(LABELS, given, strict=True)},
        "status": status,
        "confidence": confidence,
    }


@pytest.fixture
def evaluator(house: House) -> Iterator[InclusionEvaluator]:
    with InclusionEvaluator(CRITERIA, client=house.fresh().client, timeout=60) as made:
        yield made


@pytest.mark.spec("3.17", "3.18")
def test_a_paper_is_evaluated_as_spec_3_uses_it(house: House, evaluator: InclusionEvaluator) -> None:
    quote = "Statins were given to 20 adults"
    house.double.script(answers=[Scripted("Paper number 0.", answer("include", quote=quote))])
    (paper,) = papers(1)
    decision = evaluator.evaluate(paper, relevance_score=4.0)
    assert decision.status.value == "include"
    assert (decision.confidence, decision.rationale, decision.error) == (0.8, "as stated", None)
    found = decision.verdicts["I1"].quote
    assert found is not None
    assert (found.field, found.start, found.end) == ("abstract", 0, len(quote))
    (call,) = house.double.calls()
    assert "relevance_score: 4.0" in call.prompt.splitlines()
    assert "Statin intervention" in call.prompt


@pytest.mark.spec("3.19")
def test_papers_come_back_in_their_order_each_with_its_decision(house: House, evaluator: InclusionEvaluator) -> None:
    house.double.script(
        answers=[
            Scripted("Paper number 3.", answer("exclude", "not met", "met", "met", "not met", quote="were given")),
            Scripted("Paper number", answer("include")),
        ]
    )
    given = papers(12)
    heard: list[tuple[int, int]] = []
    decided = evaluator.evaluate_batch(given, progress_callback=lambda current, total: heard.append((current, total)))
    assert [paper for paper, _ in decided] == given
    assert [n for n, (_, decision) in enumerate(decided) if decision.status is InclusionStatus.EXCLUDE] == [3]
    excluded = decided[3][1]
    assert excluded.exclusion_reason == "not met: Human studies"
    assert excluded.criteria == ["Human studies", "Animal studies"]
    assert heard[-1] == (12, 12)
    assert [current for current, _ in heard] == sorted({current for current, _ in heard})


@pytest.mark.spec("3.18")
def test_dicts_are_papers_too_and_scores_belong_to_their_papers(house: House, evaluator: InclusionEvaluator) -> None:
    given = [{"id": n, "title": f"Paper number {n}."} for n in range(3)]
    decided = evaluator.evaluate_batch(given, relevance_scores=[0.0, None, 2.5])
    assert [paper for paper, _ in decided] == given
    shown = {
        call.prompt.split("Paper number ")[1][0]: "relevance_score" in call.prompt for call in house.double.calls()
    }
    assert shown == {"0": True, "1": False, "2": True}


@pytest.mark.spec("3.19")
def test_a_failed_paper_is_uncertain_with_its_error_and_never_excluded(
    house: House, evaluator: InclusionEvaluator
) -> None:
    house.double.script(
        faults=[Fault(Kind.REFUSAL, contains="Paper number 1.", message="I will not")],
        answers=[Scripted("Paper number", answer("include"))],
    )
    decided = evaluator.evaluate_batch([*papers(2), {"id": "empty", "title": " "}])
    statuses = [decision.status.value for _, decision in decided]
    assert statuses == ["include", "uncertain", "uncertain"]
    refused, empty = decided[1][1], decided[2][1]
    assert (refused.confidence, refused.verdicts) == (0.0, {})
    assert refused.error is not None
    assert refused.error.startswith("refused: ")
    assert empty.error is not None
    assert empty.error.startswith("no_content: ")


@pytest.mark.spec("3.22")
def test_the_policy_for_unclear_verdicts_is_the_callers_and_costs_no_new_call(house: House) -> None:
    client = house.fresh().client
    unclear = answer("exclude", "unclear", "met", "not met", "not met")
    house.double.script(answers=[Scripted("Paper number", unclear)])
    ends = {}
    for policy in ("include", "refer", "exclude"):
        with InclusionEvaluator(CRITERIA, unclear=policy, client=client, timeout=60) as evaluator:
            decision = evaluator.evaluate(papers(1)[0])
        ends[policy] = (decision.status.value, decision.exclusion_reason)
    assert ends == {
        "include": ("uncertain", None),
        "refer": ("uncertain", None),
        "exclude": ("exclude", "not met: Human studies"),
    }
    assert house.double.count() == 1


def test_an_exclusion_without_a_quote_goes_to_a_human_and_the_old_rule_costs_no_new_call(house: House) -> None:
    client = house.fresh().client
    bare = answer("exclude", "not met", "met", "not met", "not met")
    silent = answer("exclude", "not met by silence", "met", "not met", "not met")
    house.double.script(answers=[Scripted("Paper number 0.", bare), Scripted("Paper number 1.", silent)])
    worded = CRITERIA.model_copy(update={"exclude_as": {"I1": "Not in people"}})
    ends = {}
    for policy, criteria in (("refer", CRITERIA), ("exclude", CRITERIA), ("exclude", worded)):
        with InclusionEvaluator(criteria, unverified=policy, client=client, timeout=60) as evaluator:
            for paper, decision in evaluator.evaluate_batch(papers(2)):
                ends[policy, paper.id, decision.exclusion_reason] = (decision.status.value, decision.uncertain_reason)
    assert ends == {
        ("refer", "p0", None): ("uncertain", "no verified quote"),
        ("refer", "p1", "not met: Human studies"): ("exclude", None),
        ("exclude", "p0", "not met: Human studies"): ("exclude", None),
        ("exclude", "p1", "not met: Human studies"): ("exclude", None),
        ("exclude", "p0", "Not in people"): ("exclude", None),
        ("exclude", "p1", "Not in people"): ("exclude", None),
    }
    assert house.double.count() == 2


def test_invented_quotes_lower_the_confidence_and_true_ones_do_not(house: House, evaluator: InclusionEvaluator) -> None:
    house.double.script(quotes=Quotes.VERBATIM.value)
    true = [decision for _, decision in evaluator.evaluate_batch(papers(5))]
    assert [decision.flagged for decision in true] == [False] * 5
    assert all(v.quote and v.quote.found for decision in true for v in decision.verdicts.values())
    house.fresh().double.script(quotes=Quotes.INVENTED.value)
    for _, decision in evaluator.evaluate_batch(papers(5)):
        assert decision.flagged
        assert decision.model_confidence is not None
        assert decision.confidence == pytest.approx(decision.model_confidence / 2)


def test_an_answer_about_30_criteria_is_not_cut_off(house: House) -> None:
    verdicts = {
        label: {"quote": f"{label} " + "quoted words " * 8, "verdict": "met" if label[0] == "I" else "not met"}
        for label in (criterion.label for criterion in LONG.labelled())
    }
    long = {"rationale": "r " * 150, "verdicts": verdicts, "status": "include", "confidence": 1.0}
    house.fresh().double.script(answers=[Scripted("Paper number", long)])
    with InclusionEvaluator(LONG, client=house.client, timeout=60) as evaluator:
        decision = evaluator.evaluate(papers(1)[0])
    assert decision.status is InclusionStatus.INCLUDE
    assert {verdict.verdict for verdict in decision.verdicts.values()} == {Verdict.MET, Verdict.NOT_MET}
    (call,) = house.double.calls()  # at once, not on a second try with a larger budget
    assert call.parameters["max_tokens"] == 250 + 30 * 100


def test_no_paper_is_no_batch(house: House, evaluator: InclusionEvaluator) -> None:
    before = len(house.client.batches(limit=1000))
    assert evaluator.evaluate_batch([]) == []
    assert len(house.client.batches(limit=1000)) == before


@pytest.mark.spec("3.17")
def test_the_callback_hears_when_a_batch_begins_and_how_it_ends(house: House) -> None:
    heard: list[tuple[str, str]] = []
    house.fresh().double.script(answers=[Scripted("Paper number", answer("include"))])

    def callback(kind: str, message: str) -> None:
        heard.append((kind, message))

    with InclusionEvaluator(CRITERIA, client=house.client, timeout=60, callback=callback) as evaluator:
        evaluator.evaluate_batch([*papers(2), {"id": "empty"}])
    assert [kind for kind, _ in heard] == ["inclusion_started", "inclusion_finished"]
    assert heard[0][1].startswith("3 papers in batch ")
    assert heard[1][1] == "include 2, exclude 0, uncertain 0, not evaluated 1"


def test_an_unknown_model_leaves_every_paper_to_a_person_with_the_reason(house: House) -> None:
    house.fresh().double.script(models=["another one"])
    with InclusionEvaluator(CRITERIA, client=house.client, timeout=60) as evaluator:
        decided = evaluator.evaluate_batch(papers(3))
    assert [decision.status.value for _, decision in decided] == ["uncertain"] * 3
    assert all((decision.error or "").startswith("model_not_found: 404") for _, decision in decided)


@pytest.mark.parametrize(
    ("given", "scores", "said"),
    [
        ([{"title": "a"}, "b"], None, r"No. 2 \(index 1\): a str is not an item"),
        ([{"title": "a"}], [1.0, 2.0], "relevance_scores: 2 for 1 papers"),
        ([{"title": "a"}], [float("nan")], r"No. 1 \(index 0\)"),
    ],
)
def test_papers_that_are_none_are_refused_and_nothing_is_written(
    house: House, evaluator: InclusionEvaluator, given: list[Any], scores: list[float] | None, said: str
) -> None:
    before = len(house.client.batches(limit=1000))
    with pytest.raises(InvalidParameters, match=said):
        evaluator.evaluate_batch(given, relevance_scores=scores)
    assert len(house.client.batches(limit=1000)) == before


def test_a_policy_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidParameters, match="unclear: 'maybe' is none of include, refer, exclude"):
        InclusionEvaluator(CRITERIA, unclear="maybe")
    with pytest.raises(InvalidParameters, match="unverified: 'maybe' is none of refer, exclude"):
        InclusionEvaluator(CRITERIA, unverified="maybe")


def test_without_a_worker_it_says_so_and_waits_no_longer_than_told(
    settings: ProducerSettings, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(settings) as client, InclusionEvaluator(CRITERIA, client=client, timeout=0.2) as evaluator:
        with caplog.at_level(logging.WARNING), pytest.raises(WaitTimeout):
            evaluator.evaluate(papers(1)[0])
        assert "no worker is running" in caplog.text
        assert client.batches() != []  # it goes on once a worker runs


@pytest.mark.spec("3.17")
def test_methods_take_what_spec_3_says() -> None:
    assert list(inspect.signature(InclusionEvaluator).parameters)[:2] == ["criteria", "model"]
    assert list(inspect.signature(InclusionEvaluator.evaluate).parameters) == ["self", "paper", "relevance_score"]
    assert next(iter(inspect.signature(InclusionEvaluator.evaluate_batch).parameters.values())).name == "self"
    assert inspect.signature(InclusionEvaluator.evaluate).return_annotation is InclusionDecision
