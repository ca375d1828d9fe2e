"""A rehearsal beside the real thing: the same prompts, the cache looked up, and nothing submitted or asked."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from llm_double import Scripted
from stage import House, abstracts, tamis
from tamis_cli.dry_run.first_questions import rehearse
from tamis_cli.embedded.endpoint import MODEL_NAME
from tamis_producer.config.stack_file import StackFile
from tamis_producer.runs.dry_run import Planned, Rehearsal
from tamis_schemas import Answer, Extract, Filter, Judge, Prices, Usage, packaged_prices
from tamis_schemas.batches.steering import Steering, Tier
from tamis_worker.config.settings import WorkerSettings

ONCOLOGY = Filter(criteria="Is this about oncology?")


@pytest.fixture
def settings(house: House) -> WorkerSettings:
    environment = {name.removeprefix("TAMIS_").lower(): value for name, value in house.environment.items()}
    return WorkerSettings.model_validate(environment)


def test_what_is_shown_is_what_is_sent_and_what_was_answered_is_not_counted(
    house: House, settings: WorkerSettings
) -> None:
    client, double = house.client, house.fresh().double
    items = abstracts(30)
    before = len(client.batches(100))
    rehearsal = rehearse(Planned(ONCOLOGY, items, None), settings)
    assert (rehearsal.model, rehearsal.items, rehearsal.questions, rehearsal.cached) == ("double-1", 30, 30, 0)
    assert (double.count(), len(client.batches(100))) == (0, before)

    client.submit(ONCOLOGY, items[:25]).wait(timeout=60)
    sent = {call.prompt for call in double.calls()}
    assert {"\n".join(message.content for message in one.messages) for one in rehearsal.samples} <= sent
    assert [one.item_id for one in rehearsal.samples] == ["rec-0", "rec-1", "rec-2"]
    assert [one.title for one in rehearsal.samples] == [item["title"] for item in items[:3]]

    again = rehearse(Planned(ONCOLOGY, items, None), settings)
    assert (again.cached, again.calls) == (25, 5)
    assert [one.item_id for one in again.samples] == ["rec-25", "rec-26", "rec-27"]
    assert again.prompt_tokens == pytest.approx(rehearsal.prompt_tokens * 5 / 30, rel=0.02)
    assert again.basis == "the latest answers of this model"
    assert "as in the latest batches" in again.duration.bound
    anew = rehearse(Planned(ONCOLOGY, items, None, use_cache=False), settings)
    assert (anew.cached, anew.calls) == (None, 30)
    assert rehearse(Planned(ONCOLOGY, items, "other-1"), settings).calls == 30
    assert double.count() == 25


def test_without_a_ledger_nothing_counts_as_cached_and_the_reason_is_told(
    house: House, settings: WorkerSettings
) -> None:
    away = settings.model_copy(update={"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none"})
    rehearsal = rehearse(Planned(ONCOLOGY, abstracts(2), None), away)
    assert (rehearsal.cached, rehearsal.calls) == (None, 2)
    assert rehearsal.unseen is not None
    assert "Postgres does not answer" in rehearsal.unseen


def test_an_answer_counts_its_first_round_and_an_item_without_content_no_call(
    house: House, settings: WorkerSettings
) -> None:
    house.fresh()
    answer = Answer(instruct="Say hello", resp_format="short", eval_crit="polite", parallel_attempts=3)
    rehearsal = rehearse(Planned(answer, [{"id": "answer"}], None), settings)
    assert (rehearsal.questions, rehearsal.more_rounds, len(rehearsal.samples)) == (3, True, 1)
    empty = rehearse(Planned(ONCOLOGY, [{"id": "1", "title": " "}, *abstracts(1)], None), settings)
    assert (empty.items, empty.unasked, empty.calls) == (2, 1, 1)
    judge = Judge(guidelines="Only letters count.")
    assert rehearse(Planned(judge, [{"id": "1", "title": "no classification"}], None), settings).unasked == 1


def test_money_and_time_follow_from_the_tokens(house: House, settings: WorkerSettings, tmp_path: Path) -> None:
    house.fresh()
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  costly: {input: 100, output: 1000}\n", "utf-8")
    asked = settings.model_copy(update={"prices": prices, "limit_rpm": 2, "limit_tpm": 1_000_000})
    rehearsal = rehearse(Planned(ONCOLOGY, abstracts(8), "costly"), asked)
    prompts, answers = rehearsal.prompt_tokens, rehearsal.answer_tokens
    assert answers == 8 * 250
    assert rehearsal.most_answer_tokens == 8 * 1024
    assert rehearsal.cost == (prompts * Decimal(100) + answers * Decimal(1000)) / 1_000_000
    assert rehearsal.most_cost == (prompts * Decimal(100) + 8 * 1024 * Decimal(1000)) / 1_000_000
    assert (rehearsal.duration.seconds, rehearsal.duration.bound) == (240.0, "2 requests a minute")
    faster = asked.model_copy(update={"limit_rpm": 1000, "limit_tpm": 1000})
    assert rehearse(Planned(ONCOLOGY, abstracts(8), "costly"), faster).duration.bound == "1,000 tokens a minute"


def test_the_standard_and_the_flex_tier_are_told_side_by_side(
    house: House, settings: WorkerSettings, tmp_path: Path
) -> None:
    house.fresh()
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  costly: {input: 100, output: 1000, tiers: {flex: {factor: 0.5}}}\n", "utf-8")
    asked = settings.model_copy(update={"prices": prices})

    def at(tier: Tier | None) -> Rehearsal:
        return rehearse(Planned(ONCOLOGY, abstracts(8), "costly", steering=Steering(tier=tier)), asked)

    standard, flex = at(None), at(Tier.FLEX)
    assert standard.cost is not None
    assert (flex.tier, flex.cost) == ("flex", standard.cost / 2)
    assert (standard.other_tiers, flex.other_tiers) == ({"flex": flex.cost}, {"standard": standard.cost})
    assert flex.most_cost == standard.most_cost  # it may be answered at the standard tier
    assert flex.price is not None
    assert flex.price.input == 50
    unknown = at(Tier.PRIORITY)
    assert (unknown.price, unknown.cost, unknown.most_cost) == (None, None, None)


def test_the_paid_model_of_a_stack_in_another_terminal_is_not_free(
    house: House, settings: WorkerSettings, tmp_path: Path
) -> None:
    """Only its file says which model its workers ask."""
    house.fresh()
    file = StackFile(
        broker_url=settings.broker, database_url=settings.database, llm_base_url="https://paid/v1", model="gpt-5-mini"
    )
    file.write(tmp_path)
    other = WorkerSettings(home=tmp_path)
    found = rehearse(Planned(ONCOLOGY, abstracts(8), None), other)
    assert (found.model, found.model_note) == ("gpt-5-mini", None)
    assert found.cost == Prices(packaged_prices().models).cost(
        "gpt-5-mini", Usage(found.prompt_tokens, found.answer_tokens)
    )
    assert found.cost
    file.model_copy(update={"llm_embedded": True, "model": MODEL_NAME}).write(tmp_path)
    assert rehearse(Planned(ONCOLOGY, abstracts(8), None), WorkerSettings(home=tmp_path)).cost == 0


def test_with_named_servers_the_latest_answers_say_which_model_the_workers_ask(
    house: House, settings: WorkerSettings
) -> None:
    client = house.fresh().client
    nameless = settings.model_copy(update={"model": None})
    planned = Planned(ONCOLOGY, abstracts(3), None)
    client.submit(ONCOLOGY, abstracts(2)).wait(timeout=60)
    known = rehearse(planned, nameless)
    assert (known.model, known.cost) == ("double-1-double", None)  # as the double names itself; it has no price
    assert known.model_note is not None
    assert "TAMIS_MODEL is not set here" in known.model_note
    nowhere = rehearse(
        planned, nameless.model_copy(update={"database_url": "postgresql+psycopg://nobody@127.0.0.1:1/none"})
    )
    assert (nowhere.model, nowhere.price, nowhere.cost, nowhere.most_cost) == (None, None, None, None)
    assert (nowhere.cached, nowhere.calls) == (None, 3)
    assert nowhere.unseen is not None


@pytest.mark.parametrize(
    "arguments",
    [
        ["filter", "records.jsonl", "--criteria", "Is this about oncology?"],
        ["screen", "records.jsonl", "--criteria", "criteria.yaml"],
        ["answer", "--instruct", "Say hi", "--format", "short", "--criteria", "polite"],
        ["review", "run", "plan.yaml"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_dry_run_submits_nothing(house: House, tmp_path: Path, arguments: list[str]) -> None:
    double = house.fresh().double
    before = len(house.client.batches(100))
    copies = [*abstracts(6), *abstracts(2)]
    (tmp_path / "records.jsonl").write_text("\n".join(json.dumps(item) for item in copies), "utf-8")
    (tmp_path / "criteria.yaml").write_text("research_question: Oncology?\ninclusion_criteria: [adults]\n", "utf-8")
    plan = "title: T\nrecords: records.jsonl\ncriteria: criteria.yaml\nstages: [inclusion, score: {criteria: good}]\n"
    plan = plan.replace("[inclusion, score: {criteria: good}]", "\n  - inclusion\n  - score: {criteria: good}")
    (tmp_path / "plan.yaml").write_text(plan, "utf-8")
    done = tamis(*arguments, "--dry-run", env=house.environment, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "nothing was submitted" in done.out
    assert "prompt 1 of" in done.out
    if "records.jsonl" in arguments:
        assert "records    6" in done.out  # copies of a record are not asked about
    if arguments[0] == "review":
        assert "stage 2 of 2: score" in done.out
        assert "every record passed" in done.out
    assert (double.count(), len(house.client.batches(100))) == (0, before)


def test_a_dry_run_of_a_judgement_reads_what_it_would_judge(house: House, tmp_path: Path) -> None:
    double = house.fresh().double
    answer = {"reasoning": "the abstract says so", "value": True, "confidence": 0.9}
    double.script(answers=[Scripted("record number", answer)])
    batch = house.client.submit(ONCOLOGY, abstracts(4))
    batch.wait(timeout=60)
    asked = double.count()
    (tmp_path / "g.txt").write_text("Only letters count.", "utf-8")
    done = tamis("judge", batch.id, "--guidelines", "g.txt", "--dry-run", env=house.environment, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "Only letters count." in done.out
    assert "records    4" in done.out
    assert double.count() == asked


def test_items_with_chunks_may_be_asked_about_again(house: House, settings: WorkerSettings) -> None:
    extract = Extract(instruction="What is it?")
    item = {"id": "1", "title": "A trial", "chunks": [{"text": "We enrolled 40 adults."}]}
    assert rehearse(Planned(extract, [item], None), settings).more_rounds
    assert not rehearse(Planned(extract, abstracts(1), None), settings).more_rounds
