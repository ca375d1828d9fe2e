"""A rehearsal as it is shown: prompts, then figures; wide and narrow."""

import io
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console

from tamis_cli.commands import dry_run
from tamis_producer.runs.dry_run import Beginning, Duration, Planned, Rehearsal, RehearsedMessage, Sample
from tamis_schemas import Filter, InvalidParameters, ModelPrice, Panel


def sample(number: int, system: str = "You judge.") -> Sample:
    user = RehearsedMessage("user", f"title: [bold]record[/] {number}\n\n## Instruction")
    return Sample(f"id-{number}", (RehearsedMessage("system", system), user))


REHEARSAL = Rehearsal(
    model="m [x]",
    samples=tuple(sample(n) for n in range(3)),
    items=1000,
    unasked=2,
    questions=998,
    cached=98,
    unseen=None,
    more_rounds=False,
    prompt_tokens=600_000,
    answer_tokens=225_000,
    most_answer_tokens=921_600,
    basis="250 tokens an answer",
    price=ModelPrice(input=Decimal("0.25"), output=Decimal(2)),
    cost=Decimal("0.60"),  # 0.15 + 0.45
    most_cost=Decimal("1.9932"),  # 0.15 + 1.8432
    duration=Duration(540.0, "100 requests a minute"),
)


def shown(rehearsal: Rehearsal, *, width: int = 200, **options: Any) -> str:
    stream = io.StringIO()
    dry_run.show(rehearsal, Console(file=stream, width=width), **options)
    return stream.getvalue()


def test_three_prompts_and_the_figures() -> None:
    text = shown(REHEARSAL)
    for said in (
        "prompt 1 of 3: id-0",
        "title: [bold]record[/] 2",
        "nothing was submitted",
        "m [x]",
        "1,000, 2 without a question",
        "98 of 998 questions are already answered",
        "about 600,000 in prompts and 225,000 in answers",
        "about $0.60, at most $1.99 ($0.25 for prompts and $2.00 for answers, per million tokens)",
        "0:09:00 at 100 requests a minute",
    ):
        assert said in text, said
    assert "900" in text.split("calls")[1].splitlines()[0]


def test_a_prompt_is_named_by_the_title_of_its_record() -> None:
    named = replace(sample(0), title="Walking [bold]home\x1b[2J")
    text = shown(replace(REHEARSAL, samples=(named, sample(1))))
    assert "prompt 1 of 2: Walking [bold]home\ufffd[2J (id-0) " in text
    assert "prompt 2 of 2: id-1 " in text


def test_the_system_message_is_shown_once_as_long_as_it_is_the_same() -> None:
    assert shown(REHEARSAL).count("You judge.") == 1
    changing = replace(REHEARSAL, samples=(sample(0), sample(1, "You rate."), sample(2, "You rate.")))
    text = shown(changing)
    assert (text.count("You judge."), text.count("You rate."), text.count("system: as above")) == (1, 1, 1)


def test_it_says_how_much_of_each_prompt_is_the_same_where_anything_is_asked() -> None:
    text = shown(replace(REHEARSAL, beginning=Beginning(1500, 1024)))
    (line,) = (line for line in text.splitlines() if "shared" in line)
    assert "about 1,500 tokens of each prompt are the same for all records, enough for endpoints" in line
    assert "shared" not in shown(REHEARSAL)


def test_nothing_is_wider_than_the_terminal() -> None:
    assert max(len(line) for line in shown(REHEARSAL, width=50).splitlines()) <= 50


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"price": None, "cost": None, "most_cost": None}, "price unknown: put the model's price in a file"),
        (
            {"price": None, "cost": None, "most_cost": None, "tier": "scale"},
            "price unknown at the tier scale: put the model's price",
        ),
        (
            {"price": None, "cost": None, "most_cost": None, "model": None, "model_note": "only the workers know it"},
            "unknown, because the model is unknown",
        ),
        ({"model": None, "model_note": "only the workers know it"}, "unknown here (only the workers know it)"),
        ({"model_note": "from the workers' latest answers"}, "m [x] (from the workers' latest answers)"),
        ({"tier": "flex"}, "about $0.60 at flex, at most $1.99"),
        ({"other_tiers": {"flex": Decimal("0.30")}}, "about $0.30 with --tier flex"),
        (
            {"price": ModelPrice(input=Decimal("0.25"), cached_input=Decimal("0.025"), output=Decimal(2))},
            "retries and repairs of unusable answers; savings by the endpoint's prompt cache",
        ),
        ({"cached": None, "unseen": "Postgres does not answer"}, "not checked: Postgres does not answer"),
        ({"more_rounds": True}, "in the first round; later rounds depend"),
        ({"duration": Duration(0.0, "64 calls in flight")}, "under a second at 64"),
    ],
)
def test_what_is_not_known_is_said(changes: dict[str, Any], said: str) -> None:
    assert said in shown(replace(REHEARSAL, **changes))


@pytest.mark.parametrize(
    ("max_cost", "said"),
    [("1", "$1.00 is probably enough"), ("0.30", "$0.30 covers about 50% of the cost")],
)
def test_a_budget_is_compared_with_the_estimate(max_cost: str, said: str) -> None:
    assert said in shown(REHEARSAL, max_cost=Decimal(max_cost))


def test_a_price_that_is_not_known_is_never_nothing() -> None:
    unknown = replace(REHEARSAL, price=None, cost=None, most_cost=None)
    assert "$0" not in shown(unknown)
    assert "$0" not in shown(replace(unknown, model=None))


def planned(**panel: object) -> Planned:
    operation = Filter(criteria="Is it?", panel=Panel.model_validate({"models": ["small", "large"], **panel}))
    return Planned(operation, [{"id": "1", "title": "A trial"}], None)


def test_a_panel_is_rehearsed_model_by_model_and_paid_for_together(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rehearsed(one: Planned) -> Rehearsal:
        assert isinstance(one.operation, Filter)
        assert one.operation.panel is None
        factor = {"small": 1, "large": 10}[one.model or ""]
        return replace(
            REHEARSAL,
            model=one.model,
            cost=factor * Decimal("0.60"),
            most_cost=factor * Decimal(2),
        )

    monkeypatch.setattr(dry_run, "rehearsed", rehearsed)
    everyone = dry_run.rehearsal_facts(planned(policy="any"), Decimal(9))
    assert [one["model"] for one in everyone["panel"]] == ["small", "large"]
    # 900 calls of each; 0.60 + 6.00 dollars, at most 2 + 20
    assert (everyone["calls"], everyone["cost"], everyone["most_cost"]) == (1800, Decimal("6.60"), Decimal(22))
    assert everyone["max_cost"] == 9

    dry_run.dry_run(planned(policy="any"), max_cost=Decimal(9))
    text = " ".join(capsys.readouterr().out.split())
    assert "the panel of 2 models together" in text
    assert "calls 1,800" in text
    assert "about $6.60, at most $22.00" in text
    assert "$9.00 is probably enough" in text  # 0.60 + 6.00
    assert text.count("You judge.") == 1  # every model gets the same prompts
    dry_run.dry_run(planned(policy="any"), max_cost=Decimal("3.30"))
    assert "$3.30 covers about 50% of the cost" in " ".join(capsys.readouterr().out.split())


def test_a_model_beside_a_panel_is_refused_before_anything_is_rehearsed() -> None:
    with pytest.raises(InvalidParameters, match="'third' cannot be combined with a panel"):
        dry_run.rehearsal_facts(replace(planned(), model="third"))


def test_a_price_that_is_not_known_makes_none_for_the_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "rehearsed", lambda one: replace(REHEARSAL, cost=None if one.model == "large" else 1))
    assert dry_run.rehearsal_facts(planned())["cost"] is None
