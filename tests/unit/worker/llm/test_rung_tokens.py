"""What each rung adds to a prompt, by operation.

Tokens are characters / 4. Where the endpoint counts the schema as input, as OpenAI does, it is part of the prompt.
"""

import json
from dataclasses import replace

import pytest

from tamis_schemas import (
    Answer,
    Extract,
    ExtractFields,
    Filter,
    Inclusion,
    Judge,
    Operation,
    Score,
    SearchCriteria,
)
from tamis_worker.llm.chat import ChatRequest, Message, Rung
from tamis_worker.llm.dialect import Dialect, body
from tamis_worker.operations import program_of

RECORD = {"id": "1", "title": "A trial", "abstract": "Adults were randomised."}
CLASSIFICATION = {"id": "1", "value": "25-34", "confidence": 0.9, "reasoning": "Email 3 says so.", "context": "Email 3"}
FIELDS = {
    "type": "object",
    "properties": {"design": {"type": "string"}, "participants": {"type": "integer"}, "country": {"type": "string"}},
}


def inclusion(criteria: int) -> Inclusion:
    texts = [f"criterion {n}" for n in range(criteria)]
    return Inclusion(criteria=SearchCriteria(research_question="Does it help?", inclusion_criteria=texts))


OPERATIONS: dict[str, Operation] = {
    "filter": Filter(criteria="Is it a trial?"),
    "score": Score(criteria="How relevant is it?"),
    "inclusion, 5 criteria": inclusion(5),
    "inclusion, 15 criteria": inclusion(15),
    "extract": Extract(instruction="Which country?"),
    "extract_fields, 3 fields": ExtractFields(schema=FIELDS, instructions="As stated."),
    "judge": Judge(guidelines="A stated age."),
    "answer": Answer(instruct="Answer.", resp_format="One sentence.", eval_crit="It is true."),
}


def asked(operation: Operation) -> ChatRequest:
    """The operation's first question."""
    item = CLASSIFICATION if isinstance(operation, Judge) else RECORD
    question = next(program_of(operation, item))[0]
    return ChatRequest("m", question.messages, question.schema_name, question.schema, 0.0, 100)


def repaired(request: ChatRequest) -> ChatRequest:
    """The same question, with an answer and a word on it that both have no length."""
    return replace(request, messages=(*request.messages, Message("assistant", ""), Message("user", "")))


def added(request: ChatRequest, rung: Rung) -> int:
    """Tokens of the prompt that are there for the shape's sake."""
    written = body(request, Dialect(rung))
    schema = written.get("response_format", {}).get("json_schema")
    told = "" if schema is None else json.dumps(schema["schema"], ensure_ascii=False, separators=(",", ":"))
    grown = sum(len(m["content"]) for m in written["messages"]) - sum(len(m.content) for m in request.messages)
    return -(-(len(told) + grown) // 4)


# strict, bounded, json_object, text, reminded, and a repair on strict
TOKENS = {
    "filter": (49, 179, 92, 92, 121, 141),
    "score": (49, 304, 98, 98, 127, 146),
    "inclusion, 5 criteria": (385, 535, 448, 448, 477, 833),
    "inclusion, 15 criteria": (991, 1180, 1093, 1093, 1122, 2084),
    "extract": (56, 193, 106, 106, 135, 162),
    "extract_fields, 3 fields": (115, 245, 158, 158, 187, 273),
    "judge": (77, 206, 119, 119, 148, 196),
    "answer": (28, 28, 61, 61, 90, 88),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_rung_adds_these_tokens(name: str) -> None:
    request = asked(OPERATIONS[name])
    rungs = (Rung.STRICT, Rung.BOUNDED, *list(Rung)[2:])
    assert (*(added(request, rung) for rung in rungs), added(repaired(request), Rung.STRICT)) == TOKENS[name]


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_first_rung_is_the_cheapest_where_the_schema_is_input(name: str) -> None:
    request = asked(OPERATIONS[name])
    costs = {rung: added(request, rung) for rung in Rung}
    assert min(costs.values()) == costs[Rung.STRICT]
    assert costs[Rung.JSON_OBJECT] == costs[Rung.TEXT] < costs[Rung.REMINDED]
