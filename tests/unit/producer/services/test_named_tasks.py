"""What services ask by the name of a task: which arguments are taken, what is said of others, and what comes back."""

import asyncio
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from tamis_producer.calls.single_calls import CallQuestion
from tamis_producer.ledger import CallResult
from tamis_producer.services.named_tasks import NamedTasks, result_of
from tamis_schemas import (
    ErrorKind,
    EvaluationResult,
    FieldsResult,
    Filter,
    InvalidParameters,
    ItemStatus,
    OperationFailed,
)

ITEM = {"id": "31", "title": "A trial"}
FILTER = {"operation": "filter", "params": {"criteria": "Is it a trial?"}}
ANSWER = CallResult(ItemStatus.DECIDED, EvaluationResult(value=True, confidence=0.9, reasoning="it says so"))


class Asked:
    """A client that keeps what it is asked, and answers."""

    def __init__(self) -> None:
        self.calls = self
        self.questions: list[CallQuestion] = []
        self.call_ids: list[UUID | None] = []
        self.submitted: list[dict[str, Any]] = []

    async def ask(self, question: CallQuestion, item: object, *, call_id: UUID | None = None) -> CallResult:
        self.questions.append(question)
        self.call_ids.append(call_id)
        return ANSWER

    def submit(self, operation: Any, items: Any, **terms: Any) -> Any:
        self.submitted.append({"operation": operation, "items": items, **terms})
        return SimpleNamespace(id="a batch")


def evaluate(*args: Any, **kwargs: Any) -> tuple[CallQuestion, dict[str, Any]]:
    client: Any = Asked()
    result = asyncio.run(NamedTasks(client).evaluate("an id", args, kwargs))
    return client.questions[0], result


def submit(*args: Any, **kwargs: Any) -> dict[str, Any]:
    client: Any = Asked()
    assert NamedTasks(client).submit("an id", args, kwargs) == "a batch"
    terms: dict[str, Any] = client.submitted[0]
    return terms


def test_an_item_is_asked_about_with_the_terms_of_its_task() -> None:
    question, result = evaluate(item=ITEM, model="m", fresh=True, **FILTER)
    assert question == CallQuestion(Filter(criteria="Is it a trial?"), service="celery", model="m", fresh=True)
    assert result == {"item_id": "31", "value": True, "confidence": 0.9, "reasoning": "it says so", "error": None}
    assert evaluate(ITEM, **FILTER)[1] == result  # as a chain hands it on


def test_a_message_that_comes_again_is_the_same_call_and_any_other_message_is_another() -> None:
    client: Any = Asked()
    tasks = NamedTasks(client)
    other = {"operation": "filter", "params": {"criteria": "Is it not?"}}
    for task_id, args, kwargs in (
        ("a", [ITEM], FILTER),
        ("a", [], {"item": ITEM, **FILTER}),
        ("b", [ITEM], FILTER),
        ("a", [ITEM], other),
        ("a", [{**ITEM, "title": "Another \ud800"}], FILTER),
    ):
        asyncio.run(tasks.evaluate(task_id, args, kwargs))
    first, again, *others = client.call_ids
    assert first == again
    assert len({first, *others}) == 4


def test_a_batch_has_the_terms_that_it_is_sent_with_and_else_those_of_submit() -> None:
    plain = submit([ITEM], **FILTER)
    assert (plain["items"], plain["idempotency_key"], plain["max_cost"]) == ([ITEM], "celery task an id", None)
    given = submit(items=[ITEM], idempotency_key="k", label="l", max_cost="$2.50", priority="high", **FILTER)
    assert {name: str(given[name]) for name in ("idempotency_key", "label", "max_cost", "priority")} == {
        "idempotency_key": "k",
        "label": "l",
        "max_cost": "2.500000000",
        "priority": "high",
    }


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((), FILTER, "item: Field required"),
        ((), {"item": ITEM}, "operation: Field required"),
        (("an id",), FILTER, "item: Input should be a valid dictionary"),
        ((ITEM, "filter"), {}, "tamis.evaluate: 2 positional arguments; only 'item' may be positional"),
        (
            (ITEM,),
            {"item": ITEM, **FILTER},
            "item: it is given twice, once by position; `.si(...)` makes a signature without the previous result",
        ),
        (
            (ITEM,),
            {"operation": "filter", "criteria": "Is it?"},
            "'criteria': not an argument of tamis.evaluate, which takes item, operation, params, model, fresh; "
            "put the operation's into `params`",
        ),
        ((ITEM,), {"operation": "filter"}, "operation: filter.criteria: Field required"),
    ],
)
def test_a_mistake_is_said_with_its_place(args: tuple[Any, ...], kwargs: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameters) as raised:
        evaluate(*args, **kwargs)
    assert str(raised.value) == said


def test_a_mistake_in_a_batch_is_said_with_its_place() -> None:
    for wrong, said in (
        ({"items": [ITEM, 7]}, r"^items\.1: "),
        ({"items": [ITEM], "max_cost": "much"}, "not an amount"),
    ):
        with pytest.raises(InvalidParameters, match=said):
            submit(**wrong, **FILTER)


@pytest.mark.parametrize(
    ("came", "said"),
    [
        (
            CallResult(ItemStatus.FAILED, EvaluationResult(error="it declined"), error_kind=ErrorKind.REFUSED),
            "refused: it declined",
        ),
        (CallResult(ItemStatus.CANCELLED), "not evaluated: the item is cancelled"),
    ],
)
def test_an_item_without_a_result_is_an_error_with_its_kind(came: CallResult, said: str) -> None:
    with pytest.raises(OperationFailed) as raised:
        result_of(ITEM, came)
    assert str(raised.value) == said


def test_fields_and_what_stands_behind_a_value_come_along() -> None:
    fields = CallResult(ItemStatus.DECIDED, FieldsResult(fields={"n": 12}, confidence=0.5), detail={"stands": "behind"})
    assert result_of(ITEM, fields) == {
        "item_id": "31",
        "fields": {"n": 12},
        "confidence": 0.5,
        "reasoning": None,
        "error": None,
        "detail": {"stands": "behind"},
    }
