"""The questions of all seven operations, each with a sound answer, another sound one, and how an answer is read."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tamis_schemas import Filter, Inclusion, Judge, SearchCriteria
from tamis_schemas.operations.extract import Extract
from tamis_schemas.operations.extract_fields import ExtractFields
from tamis_schemas.operations.score import Score
from tamis_worker.llm.answer_reading import ReadAnswer, read_answer
from tamis_worker.llm.chat import Schema
from tamis_worker.operations import answer, extract, extract_fields, inclusion, judge, score
from tamis_worker.operations import filter as filter_

RECORD = {"title": "Ketamine in adults", "abstract": "We randomized 40 adults."}


@dataclass(frozen=True)
class Asked:
    """One operation's question, as its answers are read."""

    name: str  # of the operation
    schema: Schema
    parse: Callable[[object], object]
    sound: dict[str, Any]
    other: dict[str, Any]  # sound too, and decides otherwise
    decisive: str  # the key that decides
    number: str  # the key of a number from 0 to 1
    deviating: dict[str, dict[str, Any]]  # what may be harmlessly otherwise in the sound answer, by what it is

    def read(self, content: str) -> ReadAnswer:
        """The answer in the shape of the schema, as the engine reads it."""
        return read_answer(content, self.schema)

    def decide(self, content: str) -> object:
        """What the operation makes of a content; raises `Malformed` or `InvalidAnswer` where it decides nothing."""
        return self.parse(self.read(content).value)

    def text(self, **changes: Any) -> str:
        """The sound answer with some keys changed."""
        return json.dumps(self.sound | changes)


def _seven() -> list[Asked]:
    criteria = SearchCriteria(
        research_question="Does it work?", inclusion_criteria=["adults"], exclusion_criteria=["case reports"]
    )
    screen = Inclusion(criteria=criteria)
    met, not_met = {"quote": "40 adults", "verdict": "met"}, {"quote": None, "verdict": "not met"}
    included = {"rationale": "r", "verdicts": {"I1": met, "E1": not_met}, "status": "include", "confidence": 0.9}
    excluded = {"rationale": "r", "verdicts": {"I1": not_met, "E1": met}, "status": "exclude", "confidence": 0.8}
    yes_no = Filter(criteria="Is it a trial?")
    rate = Score(criteria="Rate it.")
    blinded = Extract(instruction="Blinded?", output_type="boolean")
    study = ExtractFields(
        schema={
            "type": "object",
            "properties": {
                "design": {"enum": ["RCT", "cohort"]},
                "n": {"type": "integer", "minimum": 1},
                "arm": {"type": "object", "properties": {"name": {"type": "string"}, "blind": {"type": "boolean"}}},
            },
            "required": ["design"],
        },
        instructions="The study.",
    )
    fields = {"design": "RCT", "n": 40, "arm": {"name": "ketamine", "blind": True}}
    evidence = Judge(guidelines="Which evidence counts.")
    true = {"reasoning": "r", "value": True, "confidence": 0.9}
    good = {"evaluation_reasoning": "r", "score": 0.9, "meets_criteria": True, "improvement_suggestions": ["x"]}
    explicit = {"issue": "none", "evidence_type": "explicit", "quality_score": 0.9, "is_valid": True}
    return [
        Asked(
            "filter",
            filter_.response_schema(yes_no),
            lambda data: filter_.parse(yes_no, data),
            sound=true,
            other=true | {"value": False},
            decisive="value",
            number="confidence",
            deviating={
                "a boolean as text": {"value": " True "},
                "a yes": {"value": "Yes"},
                "in capitals": {"value": "TRUE"},
            },
        ),
        Asked(
            "score",
            score.response_schema(rate),
            lambda data: score.parse(rate, data),
            sound=true | {"value": 0.75},
            other=true | {"value": 0.25},
            decisive="value",
            number="confidence",
            deviating={"a score as text": {"value": "0.75"}, "a score as text with a zero": {"value": " 0.750 "}},
        ),
        Asked(
            "extract",
            extract.response_schema(blinded),
            lambda data: extract.parse(blinded, data),
            sound=true,
            other=true | {"value": False},
            decisive="value",
            number="confidence",
            deviating={"a boolean as text": {"value": "true"}},
        ),
        Asked(
            "extract_fields",
            extract_fields.response_schema(study),
            lambda data: extract_fields.parse(study, data),
            sound={"reasoning": "r", "fields": fields, "confidence": 0.9},
            other={"reasoning": "r", "fields": fields | {"design": "cohort"}, "confidence": 0.9},
            decisive="fields",
            number="confidence",
            deviating={
                "an enum in another case": {"fields": fields | {"design": " rct "}},
                "a number as text": {"fields": fields | {"n": "40"}},
                "a boolean as text inside": {"fields": fields | {"arm": {"name": "ketamine", "blind": "TRUE"}}},
                "keys in capitals inside": {
                    "fields": {"Design": "RCT", "N": 40, "ARM": {"Name": "ketamine", " blind": True}}
                },
                "an extra key inside": {"fields": fields | {"country": "NL"}},
            },
        ),
        Asked(
            "judge",
            judge.response_schema(evidence),
            judge.parse,
            sound=explicit,
            other=explicit | {"evidence_type": "weak", "is_valid": False},
            decisive="evidence_type",
            number="quality_score",
            deviating={
                "a type in another case": {"evidence_type": "Explicit"},
                "a boolean as text": {"is_valid": "True"},
            },
        ),
        Asked(
            "inclusion",
            inclusion.response_schema(screen),
            lambda data: inclusion.parse(screen, RECORD, data),
            sound=included,
            other=excluded,
            decisive="status",
            number="confidence",
            deviating={
                "a status in another case": {"status": " Include"},
                "a status as a participle": {"status": "Included"},
                "a verdict with an underscore": {"verdicts": {"I1": met, "E1": not_met | {"verdict": "not_met"}}},
                "a verdict with a hyphen": {"verdicts": {"I1": met, "E1": not_met | {"verdict": "Not-Met"}}},
                "a verdict in capitals": {"verdicts": {"I1": met | {"verdict": "MET "}, "E1": not_met}},
                "labels in another case": {"verdicts": {"i1": met, "e1 ": not_met}},
                "keys in capitals inside": {
                    "verdicts": {"I1": {"Quote": "40 adults", "VERDICT": "met"}, "E1": not_met}
                },
            },
        ),
        Asked(
            "answer",
            answer.EVALUATION_SCHEMA,
            answer.parse_evaluation,
            sound=good,
            other=good | {"score": 0.1, "meets_criteria": False},
            decisive="meets_criteria",
            number="score",
            deviating={"a boolean as text": {"meets_criteria": "true"}},
        ),
    ]


SEVEN = _seven()
