"""Synthetic records of real size, and the question about them. They are the same for every contestant."""

import random
from typing import Any

from tamis_schemas import Filter
from tamis_worker.operations import filter as filter_prompt

LENGTH = 1700  # characters of title and abstract together, as the field's records have on the average
TITLE_WORDS = 14
SENTENCE_WORDS = (12, 28)
VOWELS, CONSONANTS = "aeiou", "bcdfghklmnprstv"
VOCABULARY = 4000

QUESTION = Filter(criteria="Does the record report a randomised trial of a drug treatment in adults?")
MODEL = "double-1"
TEMPERATURE = 0.0
MAX_TOKENS = 1024


def records(count: int, *, seed: int = 1, length: int = LENGTH) -> list[dict[str, Any]]:
    """Return different records with `id`, `title` and `abstract`, of `length` characters. The seed determines them."""
    draw = random.Random(seed)  # noqa: S311 - nothing secret
    words = [_word(draw) for _ in range(VOCABULARY)]
    return [_record(f"rec-{seed}-{number}", words, length, draw) for number in range(count)]


def request_body(record: dict[str, Any]) -> dict[str, Any]:
    """Return the request about a record, with prompt, schema and parameters of Tamis's own filter."""
    messages = filter_prompt.messages(QUESTION, record)
    schema = filter_prompt.response_schema(QUESTION)
    return {
        "model": MODEL,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "max_tokens": MAX_TOKENS,
        "temperature": TEMPERATURE,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "filter", "strict": True, "schema": schema},
        },
    }


def _record(name: str, words: list[str], length: int, draw: random.Random) -> dict[str, Any]:
    title = " ".join(draw.choices(words, k=TITLE_WORDS)).capitalize() + "."
    sentences: list[str] = []
    left = length - len(title)
    while left > 0:
        sentence = " ".join(draw.choices(words, k=draw.randint(*SENTENCE_WORDS))).capitalize() + "."
        sentences.append(sentence[:left])
        left -= len(sentence) + 1
    return {"id": name, "title": title, "abstract": " ".join(sentences)}


def _word(draw: random.Random) -> str:
    syllables = draw.choices((1, 2, 3, 4), weights=(3, 5, 3, 1))[0]
    return "".join(draw.choice(CONSONANTS) + draw.choice(VOWELS) for _ in range(syllables)) + draw.choice("nrst")
