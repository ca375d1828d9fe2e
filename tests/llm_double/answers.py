"""Valid answers to whatever JSON schema is asked for, the same for the same prompt."""

import json
import random
import re
import zlib
from typing import Any

from .script import Quotes

QUOTED = 8  # words of a quote
QUOTE_LENGTH = 120  # characters
WORDS = ("adults", "trial", "outcome", "cohort", "report", "population", "treatment", "follow-up", "dose", "design")


def answer_for(schema: dict[str, Any], seed: str) -> Any:
    """A JSON value that the schema allows, drawn by the seed.

    Understands type, properties, enum, const, bounds of numbers, strings and arrays, anyOf, oneOf, allOf with one part,
    and $ref into $defs. Optional properties are answered too.
    """
    # A short seed: drawing from a whole prompt would cost more than the rest of the answer.
    return _value(schema, schema, random.Random(zlib.crc32(seed.encode("utf-8", "surrogatepass"))))


def source_data(prompt: str) -> str:
    """The lines of the record that a prompt is about; empty where it is about none."""
    return prompt.partition("## Source Data\n")[2].partition("\n\n## ")[0]


def with_quotes(answer: Any, prompt: str, quotes: Quotes) -> Any:
    """The answer, with each value under `quote` replaced by words of the source data or by others."""
    fields = [text.split() for line in source_data(prompt).splitlines() if (text := line.partition(": ")[2])]
    draw = random.Random(prompt)

    def quote() -> str:
        if quotes is Quotes.INVENTED or not fields:
            return " ".join(f"{word}-{draw.randrange(10**6)}" for word in draw.choices(WORDS, k=QUOTED))
        words = draw.choice(fields)
        start = draw.randrange(max(1, len(words) - QUOTED + 1))
        return " ".join(words[start : start + QUOTED])[:QUOTE_LENGTH]

    def replaced(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: quote() if name == "quote" else replaced(part) for name, part in value.items()}

    return replaced(answer)


def with_citations(answer: Any, prompt: str, quotes: Quotes | None) -> Any:
    """The answer, with each extraction citing a chunk of the prompt, by words that stand there, or by others.

    Words and numbers are then taken from the words that are cited; values that the schema lists stay as they are.
    """
    chunks = re.findall(r"^chunk (\d+): (.*)$", prompt, re.MULTILINE)
    draw = random.Random(prompt)

    def cited(extraction: dict[str, Any]) -> dict[str, Any]:
        number, text = draw.choice(chunks)
        words = text.split()
        start = draw.randrange(max(1, len(words) - QUOTED + 1))
        evidence = " ".join(words[start : start + QUOTED])[:QUOTE_LENGTH]
        if quotes is Quotes.INVENTED:
            evidence = " ".join(f"{word}-{draw.randrange(10**6)}" for word in draw.choices(WORDS, k=QUOTED))
        cited = extraction | {"chunk_number": int(number), "evidence": evidence}
        digits = re.findall(r"(?<![\w.,-])\d{1,9}(?![\w.,])", evidence)
        match extraction.get("value"):
            case str(text) if " " in text and text.partition(" ")[0] in WORDS:
                return cited | {"value": " ".join(evidence.split()[-2:])}
            case bool():
                return cited
            case int() | float() if digits:
                return cited | {"value": int(draw.choice(digits))}
        return cited

    def replaced(value: Any) -> Any:
        match value:
            case {"chunk_number": _, "evidence": _}:
                return cited(value)
            case dict():
                return {name: replaced(part) for name, part in value.items()}
            case list():
                return [replaced(part) for part in value]
        return value

    return replaced(answer) if chunks else answer


def schema_in(text: str) -> dict[str, Any] | None:
    """The last JSON schema of an object written out in a text, as prompts do for models without response formats."""
    decoder = json.JSONDecoder()
    found = None
    place = text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError:
            end = place + 1
        else:
            if isinstance(value, dict) and "properties" in value:
                found = value
        place = text.find("{", end)
    return found


def _value(schema: dict[str, Any], root: dict[str, Any], draw: random.Random) -> Any:
    if "$ref" in schema:
        return _value(resolve(schema["$ref"], root), root, draw)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw.choice(schema["enum"])
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return _value(draw.choice(schema[union]), root, draw)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = draw.choice(kind)
    match kind:
        case "object":
            return {name: _value(part, root, draw) for name, part in schema.get("properties", {}).items()}
        case "array":
            low = schema.get("minItems", 0)
            length = draw.randint(low, max(low, min(schema.get("maxItems", low + 2), low + 2)))
            return [_value(schema.get("items", {}), root, draw) for _ in range(length)]
        case "boolean":
            return draw.random() < 0.5
        case "null":
            return None
        case "integer":
            low, high = _bounds(schema, step=1)
            return draw.randint(int(low), int(high))
        case "number":
            low, high = _bounds(schema, step=0)
            return min(high, max(low, round(draw.uniform(low, high), 2)))
        case _:
            return _text(schema, draw)


def _bounds(schema: dict[str, Any], step: int) -> tuple[float, float]:
    low: float | None = schema.get("minimum")
    high: float | None = schema.get("maximum")
    if low is None and "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + (step or 0.01)
    if high is None and "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"] - (step or 0.01)
    if low is None:
        low = 0 if high is None else min(0, high)
    return low, max(100, low + 100) if high is None else high


def _text(schema: dict[str, Any], draw: random.Random) -> str:
    low = schema.get("minLength", 0)
    high = schema.get("maxLength", max(low, 60))
    text = " ".join(draw.choices(WORDS, k=6))
    while len(text) < low:
        text += " " + draw.choice(WORDS)
    return text[: max(low, min(len(text), high))]


def resolve(ref: str, root: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference into the root leads to."""
    node: Any = root
    for part in ref.removeprefix("#/").split("/"):
        node = node[part]
    resolved: dict[str, Any] = node
    return resolved
