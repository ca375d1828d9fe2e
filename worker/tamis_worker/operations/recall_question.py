"""The question behind `context_recall_llm`: do the chunks hold all that was asked for? One question for all fields."""

from collections.abc import Mapping
from typing import Any

from tamis_schemas import Item, RecallAnswer

from ..llm.chat import Message, Schema
from ..quotes.one_line import one_line, shown_value
from .answer_model import InvalidAnswer, StrictAnswer, UnitInterval, object_schema, validated
from .program import Question
from .prompt import DATA_RULE, escape_headings, source_data, user_message

SHOWN = 10  # chunks, the first ones (spec 4)
VALUE_LENGTH = 300  # characters of a value that is shown
MISSING, MISSING_LENGTH = 5, 200  # parts that are missing, and characters of each
TOKENS, TOKENS_OF_FIELD = 200, 250  # that an answer may need

SYSTEM = f"""\
You are a retrieval evaluator. A search retrieved the numbered chunks of the source data from a document, and values
were extracted from them. The document may hold more than these chunks.
Judge whether the chunks hold all the information that is needed to answer what was asked for. Judge the chunks, not the
extracted values.
First name what is missing, in a few words each; nothing where nothing is. Then give a score:
- 1.0: the chunks hold everything that is needed
- 0.5: they hold a part of it
- 0.0: they hold none of it

{DATA_RULE}"""

_SCHEMA: Schema = object_schema(
    {
        "missing": {
            "type": "array",
            "items": {"type": "string", "maxLength": MISSING_LENGTH},
            "maxItems": MISSING,
        },
        "score": {"type": "number", "minimum": 0, "maximum": 1},
    }
)


class _Answer(StrictAnswer):
    missing: list[str]
    score: UnitInterval


class _Answers(StrictAnswer):
    fields: dict[str, _Answer]


def recall_question(
    instruction: str, fields: Mapping[str, str], values: Mapping[str, Any], chunks: Item, *, single: bool
) -> Question[dict[str, RecallAnswer]]:
    """The question about the recall of these fields; its answer is read by field.

    `instruction` is the caller's; `fields` holds the instruction for each field, and `values` what was extracted; where
    a `single` value was, there is one field, of the empty name. `chunks` are as they are shown.
    """
    shown = dict(list(chunks.items())[:SHOWN])
    for name in fields:
        value = values.get(name)
        extracted = "nothing was found" if value is None else shown_value(value)[:VALUE_LENGTH]
        shown[f"extracted value of {one_line(name)}" if name else "extracted value"] = extracted
    section = f"## Instruction\n{escape_headings(instruction)}"
    lines = [f"- {one_line(f'{name}: {words}' if words else name)}" for name, words in fields.items()]
    parts = ["\n".join(["## Fields", *lines])] if not single else []
    return Question(
        (
            Message("system", SYSTEM),
            Message("user", user_message(source_data(shown), section, *parts)),
        ),
        schema_name="context_recall",
        schema=_SCHEMA if single else object_schema({"fields": object_schema(dict.fromkeys(fields, _SCHEMA))}),
        parse=lambda data: _of_one(data) if single else _of_fields(set(fields), data),
        tokens=TOKENS + TOKENS_OF_FIELD * len(fields),
    )


def _of_one(data: object) -> dict[str, RecallAnswer]:
    """Raises `InvalidAnswer`."""
    return {"": _kept(validated(_Answer, data))}


def _of_fields(names: set[str], data: object) -> dict[str, RecallAnswer]:
    """Raises `InvalidAnswer`."""
    answers = validated(_Answers, data).fields
    if set(answers) != names:
        raise InvalidAnswer(f"fields: given for {sorted(answers)}, asked for {sorted(names)}")
    return {name: _kept(answer) for name, answer in answers.items()}


def _kept(answer: _Answer) -> RecallAnswer:
    missing = tuple(part[:MISSING_LENGTH] for part in answer.missing if part.strip())
    return RecallAnswer(score=answer.score, missing=missing[:MISSING])
