"""The part of an extraction's answer that names the source chunks of each value."""

from collections.abc import Callable, Mapping
from typing import Any

from tamis_schemas import Extraction, Retrieved

from ..llm.chat import Schema
from .answer_model import CONFIDENCE_SCHEMA, InvalidAnswer, StrictAnswer, UnitInterval, object_schema

EVIDENCE_LENGTH = 300  # characters, about fifty words
LISTED = 20  # extractions requested per value
MOST = 50  # per value; more are rambling
MOST_OF_ALL = 500  # for all values together: each is searched in its chunk
KEPT = 2_000  # characters of evidence

# Tokens that an answer may need.
TOKENS_OF_ANSWER = 1_024
TOKENS_OF_VALUE = 300

RULE = """\
The source data holds numbered chunks of a document: "chunk 1", "chunk 2" and so on, as a search ranked them.
Under extractions, list every chunk that states a value: the chunk's number; as evidence the words of the chunk that
state it, verbatim and at most fifty; the value as this chunk gives it; and your confidence in it. Where chunks state
different values, list them all. Where no chunk states a value, the list is empty."""


class Cited(StrictAnswer):
    """One value in a model's answer, with the number of the chunk that states it."""

    chunk_number: int
    evidence: str
    value: Any
    confidence: UnitInterval


def extractions_schema(value: Schema) -> Schema:
    """Return the schema of a list of extractions. In each extraction, the evidence precedes the value."""
    extraction = object_schema(
        {
            "chunk_number": {"type": "integer", "minimum": 1},
            "evidence": {"type": "string", "maxLength": EVIDENCE_LENGTH},
            "value": value,
            "confidence": CONFIDENCE_SCHEMA,
        }
    )
    return {"type": "array", "items": extraction, "maxItems": LISTED}


def read_extractions(
    cited_by_field: Mapping[str, list[Cited]], retrieved: Retrieved, judged: Callable[[str, str, Any], Any]
) -> dict[str, tuple[Extraction, ...]]:
    """Check the extractions in a model's answer, and return them by field.

    `judged(field, place, value)` returns the value to keep, or None to drop the extraction. `place` names the value in
    errors. The chunk number of a dropped extraction is not checked.

    Raises:
        InvalidAnswer: there are too many extractions, a value is invalid, or a chunk does not exist.
    """
    available = len(retrieved.numbered)
    if sum(map(len, cited_by_field.values())) > MOST_OF_ALL:
        raise InvalidAnswer(f"extractions: more than {MOST_OF_ALL} in all")
    by_field: dict[str, tuple[Extraction, ...]] = {}
    for name, citations in cited_by_field.items():
        path = f"extractions.{name}" if name else "extractions"
        if len(citations) > MOST:
            raise InvalidAnswer(f"{path}: {len(citations)} of them; list at most {LISTED}")
        kept = []
        for place, cited in enumerate(citations):
            value = None if cited.value is None else judged(name, f"{path}.{place}.value", cited.value)
            if value is None:
                continue
            number = cited.chunk_number
            if not 1 <= number <= available:
                raise InvalidAnswer(f"{path}.{place}.chunk_number: {number} is no chunk, there are {available}")
            evidence = cited.evidence.strip()[:KEPT] or None
            kept.append(Extraction(value=value, chunk_number=number, evidence=evidence, confidence=cited.confidence))
        by_field[name] = tuple(kept)
    return by_field
