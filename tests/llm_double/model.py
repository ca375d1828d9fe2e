"""The model behind the double: it answers by the schema that it sees."""

import json
import random
import zlib
from typing import Any

from . import answers
from .asked import Asked, Schema
from .personalities.behaviour import Shape
from .personalities.character import Character
from .script import Options, Quotes


def written(asked: Asked, options: Options, character: Character) -> str:
    """The text that the model writes."""
    shape = character.shape(asked)
    return character.content(asked, _text(asked, options, character, shape))


def _text(asked: Asked, options: Options, character: Character, shape: Shape) -> str:
    for scripted in options.answers:
        if scripted.contains in asked.prompt and scripted.model in (None, asked.model):
            if isinstance(scripted.answer, str):
                return scripted.answer
            return json.dumps(character.value(asked, scripted.answer, shape))
    if shape.shown is None:
        return _invented(asked, shape) if character else ("{}" if shape.json_only else "Hello.")
    value = character.value(asked, _answer(shape.shown, asked.prompt, options.quotes), shape)
    if asked.schema is shape.shown:
        return json.dumps(value)
    content = json.dumps(value, indent=2)
    if character or shape.json_only:
        return content
    # Left to itself, and without a personality, a model puts JSON into a fence.
    return f"```json\n{content}\n```\n"


def _answer(schema: Schema, prompt: str, quotes: str | None) -> Any:
    answer = answers.answer_for(schema, prompt)
    source = None if quotes is None else Quotes(quotes)
    answer = answers.with_citations(answer, prompt, source)
    return answer if source is None else answers.with_quotes(answer, prompt, source)


def _invented(asked: Asked, shape: Shape) -> str:
    """What a model makes of a question whose schema it never saw: an object of its own, or a sentence."""
    draw = random.Random(zlib.crc32(asked.prompt.encode("utf-8", "surrogatepass")))
    words = " ".join(draw.choices(answers.WORDS, k=5))
    if shape.json_only or draw.random() < 0.5:
        return json.dumps({"assessment": draw.choice(("relevant", "not relevant")), "comment": words})
    return f"The record is about {words}, so it seems {draw.choice(('relevant', 'not relevant'))} to me."
