"""What an auditor is told years later of one record: all that was sent, answered, concluded, decided and paid."""

import json
from pathlib import Path

import pytest
from sqlalchemy import text

from llm_double import Fault, Kind, Scripted
from stage import House, tamis
from tamis_producer import Batch
from tamis_review import explain, override, withdraw_override
from tamis_review.explanation import Explanation
from tamis_review.explanation.document import HumanAct
from tamis_schemas import Filter, HumanStage, Inclusion, SearchCriteria

CRITERIA = SearchCriteria(
    research_question="Does walking help?",
    inclusion_criteria=["Adults who walk", "A controlled trial"],
    exclusion_criteria=["A study of birds"],
)
QUESTION = Inclusion(criteria=CRITERIA)
RECORDS = [
    {"id": "repaired", "title": "Adults who walk uphill", "abstract": "A controlled trial of hills."},
    {"id": "retried", "title": "Adults who walk downhill", "abstract": "A controlled trial of slopes."},
    {"id": "twice", "title": "Walking in circles"},
    {"id": "twice", "title": "Walking in squares"},
]
MODEL = "explained-1"  # no other test's: how it wants to be asked is learned here


def answer(quote: str) -> dict[str, object]:
    verdicts = {label: {"quote": None, "verdict": "met"} for label in ("I1", "I2")}
    verdicts["I1"] = {"quote": quote, "verdict": "met"}
    verdicts["I2"] = {"quote": "words that stand nowhere in it", "verdict": "met"}
    return {
        "rationale": "It is such a trial.",
        "verdicts": {**verdicts, "E1": {"quote": None, "verdict": "not met"}},
        "status": "include",
        "confidence": 0.8,
    }


DOUBTFUL = {**answer("adults who walk uphill"), "status": "perhaps"}


@pytest.fixture(scope="module")
def screened(house: House) -> Batch:
    """A batch with a repair, a lower rung, a failure that a later round mended, and decisions of people."""
    house.fresh()
    house.double.script(
        answers=[
            Scripted("uphill", answer("adults who walk uphill")),
            Scripted("downhill", answer("A controlled trial")),
        ],
        faults=[
            Fault(Kind.RESPONSE_FORMAT, contains="uphill", limit=2),
            Fault(Kind.WRONG_SCHEMA, contains="uphill", limit=2, content=json.dumps(DOUBTFUL)),
            Fault(Kind.REFUSAL, contains="downhill", limit=1),
        ],
    )
    batch = house.client.submit(QUESTION, RECORDS, model=MODEL, label="walks.ris")
    assert batch.wait(60).failed == 1
    batch.retry()
    assert batch.wait(60).decided == 4
    override(batch, 0, "exclude", reviewer="Reviewer A", note="the hills are small")
    withdraw_override(batch, 0, reviewer="Reviewer A")
    override(batch, 0, "include", reviewer="Reviewer B", settles=True)
    override(batch, 0, "exclude", reviewer="Reviewer C", stage=HumanStage.FULL_TEXT, reason="wrong age")
    return batch


@pytest.fixture
def repaired(screened: Batch) -> Explanation:
    return explain(screened, 0)


def test_every_call_is_told_as_it_was_sent_and_answered(repaired: Explanation, house: House) -> None:
    (transcript,) = repaired.transcripts
    sent = [call for call in house.double.calls() if "uphill" in call.prompt and call.status == 200]
    assert len(transcript.calls) == len(sent) == 3
    for place, call in enumerate(sent):
        told = [
            {"role": one.role, "content": one.content if one.sha256 is None else repaired.prompts[one.sha256]}
            for one in transcript.messages_of(place)
        ]
        assert told == call.messages
        assert transcript.calls[place].parameters == {"model": MODEL, **call.parameters}
    assert [call.rung for call in transcript.calls] == ["text", "reminded", "reminded"]
    assert "must match this JSON schema" in repaired.prompts[str(transcript.calls[0].messages[0].sha256)]
    assert [call.reading and call.reading.usable for call in transcript.calls] == [False, False, True]
    assert [call.answer and json.loads(call.answer.content)["status"] for call in transcript.calls] == [
        "perhaps",
        "perhaps",
        "include",
    ]
    assert transcript.calls[2].after == (1, 1)
    assert [one.role for one in transcript.messages_of(2)] == ["system", "user", "assistant", "user"]
    bill = repaired.record.provenance
    assert bill is not None
    assert sum(call.usage.total_tokens for call in transcript.calls) == bill.usage.total_tokens
    assert bill.prompt_sha256 == transcript.calls[0].key


def test_rules_formulas_quotes_and_people_are_told_with_the_numbers(repaired: Explanation) -> None:
    reasons = {(one.sets, one.text) for one in repaired.because}
    assert ("confidence", "0.8 x (1 - 0.5 x 1/2) = 0.6; of 2 quotes 1 not found") in reasons
    assert any("I1 met, verified by its quote, in title" in text for _, text in reasons)
    first, second, third = repaired.verdicts
    assert (first.passage, first.criterion) == ("Adults who walk uphill", "Adults who walk")
    assert second.quote is not None
    assert (second.quote.found, second.passage, third.quote) == (False, None, None)
    acts = [(word.act, word.by, word.value, word.note) for word in repaired.humans]
    assert acts == [
        (HumanAct.DECIDED, "Reviewer A", "exclude", "the hills are small"),
        (HumanAct.WITHDREW, "Reviewer A", None, None),
        (HumanAct.CONFIRMED, "Reviewer B", "include", None),
        (HumanAct.DECIDED, "Reviewer C", "exclude", None),
    ]


def test_a_round_that_failed_is_told_beside_the_one_that_mended_it(screened: Batch) -> None:
    told = explain(screened, 1)
    assert [(one.round, one.fence) for one in told.transcripts] == [(1, 1), (2, 2)]
    (refused,), (answered,) = (one.calls for one in told.transcripts)
    assert refused.error is not None
    assert (refused.error.kind, refused.answer) == ("refused", None)
    assert answered.reading is not None
    assert answered.reading.usable
    assert [(one.round, one.kind) for one in told.past_failures] == [(1, "refused")]


def test_an_answer_from_the_cache_is_told_with_its_question_and_its_text(screened: Batch, house: House) -> None:
    again = house.client.submit(QUESTION, RECORDS, model=MODEL)
    assert again.wait(60).decided == 4
    (call,) = explain(again, 1).transcripts[0].calls
    assert (call.cached, call.cost, call.usage.total_tokens, call.rung) == (True, None, 0, None)
    assert call.answer is not None
    assert json.loads(call.answer.content)["rationale"] == "It is such a trial."
    assert call.messages[1].content is not None
    assert "downhill" in call.messages[1].content
    before = explain(screened, 1).transcripts[1].calls[0]
    assert call.key == before.key
    with house.client.engine.begin() as connection:  # and a batch that is deleted takes all of it along
        connection.execute(text("DELETE FROM batches WHERE id = :id"), {"id": again.id})
        for table in ("transcripts", "prompts"):
            left = connection.execute(text(f"SELECT count(*) FROM {table} WHERE batch_id = :id"), {"id": again.id})
            assert left.scalar_one() == 0


def test_what_records_have_in_common_is_kept_once(screened: Batch, house: House) -> None:
    with house.client.engine.connect() as connection:
        kept = connection.execute(text("SELECT text FROM prompts WHERE batch_id = :id"), {"id": screened.id}).scalars()
        texts = list(kept)
    assert len(texts) == len(set(texts))
    assert sum("Adults who walk" in one and "screening function" in one for one in texts) == 1  # with the schema in it


def test_the_command_tells_it_on_a_terminal_and_to_programs(screened: Batch, house: House, tmp_path: Path) -> None:
    done = tamis("explain", screened.id[:8], "repaired", env=house.environment, cwd=tmp_path)
    assert done.code == 0, done.err
    for said in (
        "Adults who walk uphill",
        "You are a screening function",
        "status: 'perhaps' is none of include, exclude, uncertain",
        "Call 3 of 3",
        "0.8 x (1 - 0.5 x 1/2) = 0.6",
        "not found in the record",
        "Reviewer A decided: exclude",
        "Reviewer A withdrew",
        "Reviewer B confirmed: include; it settles the record",
        "Reviewer C (full-text) decided: exclude, reason: wrong age",
        "3 calls",
    ):
        assert said in done.out, said
    assert done.out.count("You are a screening function") == 1
    document = json.loads(tamis("explain", screened.id, "1", "--json", env=house.environment, cwd=tmp_path).out)
    assert Explanation.model_validate(document).transcripts == explain(screened, 0).transcripts
    ambiguous = tamis("explain", screened.id, "twice", env=house.environment, cwd=tmp_path)
    assert ambiguous.code == 2
    assert "2 records have the id 'twice': use the number of one of them instead (No. 3, No. 4)" in ambiguous.err


def test_a_key_that_the_endpoint_says_back_is_in_no_transcript(house: House) -> None:
    key = house.environment["TAMIS_LLM_API_KEY"]
    house.fresh().double.script(
        answers=[Scripted("echo", {"reasoning": f"asked with {key}", "value": True, "confidence": 0.9})],
        faults=[Fault(Kind.BAD_REQUEST, contains="refuse", message="not with {authorization}")],
    )
    batch = house.client.submit(
        Filter(criteria="Is it?"), [{"id": "1", "title": "echo"}, {"id": "2", "title": "refuse"}]
    )
    batch.wait(60)
    told = [explain(batch, place) for place in (0, 1)]
    answer, error = (one.transcripts[0].calls[0] for one in told)
    assert answer.answer is not None
    assert "asked with [secret]" in answer.answer.content
    assert error.error is not None
    assert all(key not in one.model_dump_json(include={"transcripts", "prompts"}) for one in told)
