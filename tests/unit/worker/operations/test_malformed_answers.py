"""What models write instead of an answer, and what it is taken for: a value, or an error of its kind; never a guess."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tamis_schemas import ErrorKind, Filter, Inclusion, SearchCriteria
from tamis_schemas.answers.results import FieldsResult
from tamis_schemas.operations.extract import Extract
from tamis_schemas.operations.extract_fields import ExtractFields
from tamis_schemas.operations.score import Score
from tamis_worker.llm.answer_reading import read_answer
from tamis_worker.llm.json_answer import Malformed
from tamis_worker.operations import extract, extract_fields, inclusion, score
from tamis_worker.operations import filter as filter_
from tamis_worker.operations.answer_model import Decided, InvalidAnswer

MALFORMED, INVALID = ErrorKind.MALFORMED, ErrorKind.INVALID

FILTER = Filter(criteria="Is it a trial?")
BARE = Filter(criteria="Is it a trial?", include_reasoning=False)
INCLUSION = Inclusion(criteria=SearchCriteria(research_question="Does it work?", inclusion_criteria=["adults"]))
SCORE = Score(criteria="Rate it.")
GRADE = Score(criteria="Rate it.", min_value=1, max_value=10, interval=0.5)
TEXT = Extract(instruction="Which design?")
NUMBER = Extract(instruction="How many?", output_type="number")
BLINDED = Extract(instruction="Blinded?", output_type="boolean")
DESIGN = Extract(instruction="Which design?", output_type="enum", enum_values=["RCT", "cohort"])
FIELDS = ExtractFields(
    schema={
        "type": "object",
        "properties": {"design": {"enum": ["RCT", "cohort"]}, "n": {"type": "integer", "minimum": 1}},
        "required": ["design"],
    },
    instructions="The study.",
)


@dataclass(frozen=True)
class Case:
    """A content, and what it is taken for."""

    content: str
    operation: Any  # any of the five
    expected: object  # an ErrorKind, else the value (of an extraction of fields, the fields)


def said(value: str, confidence: str = "0.9", reasoning: str = '"r"') -> str:
    """An answer whose parts are written as they are given, JSON or not."""
    return f'{{"reasoning": {reasoning}, "value": {value}, "confidence": {confidence}}}'


def fields(text: str) -> str:
    return f'{{"reasoning": "r", "fields": {text}, "confidence": 0.9}}'


def verdict(verdicts: str, status: str) -> str:
    return f'{{"rationale": "r", "verdicts": {verdicts}, "status": {status}, "confidence": 0.9}}'


MET = '{"I1": {"quote": "adults", "verdict": "met"}}'
DEEP = '{"a": ' * 400 + "1" + "}" * 400

CASES = {
    # Sound, or sound but for what stands around it.
    "sound": Case(said("true"), FILTER, True),
    "false is an answer": Case(said("false"), FILTER, False),
    "a code fence": Case(f"```json\n{said('true')}\n```", FILTER, True),
    "a thought before": Case(f"<think>Maybe {{0.4}}?</think>{said('0.5')}", SCORE, 0.5),
    "a byte order mark": Case("\ufeff" + said('"RCT"'), DESIGN, "RCT"),
    "trailing commas": Case('{"reasoning": "r", "value": "RCT", "confidence": 0.9,}', DESIGN, "RCT"),
    "a line break in a string": Case(said("null", reasoning='"two\nlines"'), TEXT, None),
    "an integer for a score": Case(said("1", confidence="1"), SCORE, 1.0),
    "fields with null": Case(fields('{"design": null, "n": null}'), FIELDS, {"design": None, "n": None}),
    "fields in another order": Case(fields('{"n": 5, "design": "RCT"}'), FIELDS, {"design": "RCT", "n": 5}),
    "no reasoning where it was asked for": Case('{"value": true, "confidence": 0.9}', FILTER, True),
    "reasoning where it was not asked for": Case(said("true"), BARE, True),
    "a verdict with its quote": Case(verdict(MET, '"include"'), INCLUSION, "include"),
    "a verdict without a quote": Case(verdict('{"I1": {"verdict": "met"}}', '"include"'), INCLUSION, "include"),
    "an invented quote": Case(verdict(MET.replace("adults", "in mice"), '"include"'), INCLUSION, "include"),
    "a quote of 200 kB": Case(verdict(MET.replace("adults", "a" * 200_000), '"include"'), INCLUSION, "include"),
    # Otherwise than asked for, and yet clear.
    "an array of one": Case(f"[{said('true')}]", FILTER, True),
    "an object around the answer": Case(f'{{"answer": {said("true")}}}', FILTER, True),
    "a boolean as text": Case(said('"true"'), FILTER, True),
    "a score as text": Case(said('"0.8"'), SCORE, 0.8),
    "a field that was not asked for": Case('{"value": 1, "confidence": 1, "unit": "mg"}', NUMBER, 1),
    "an enum in another case": Case(said('"rct"'), DESIGN, "RCT"),
    "a status in another case": Case(verdict(MET, '"Include"'), INCLUSION, "include"),
    "fields with one too many": Case(
        fields('{"design": "RCT", "n": 5, "country": "NL"}'), FIELDS, {"design": "RCT", "n": 5}
    ),
    "fields with text for a number": Case(fields('{"design": "RCT", "n": "5"}'), FIELDS, {"design": "RCT", "n": 5}),
    "fields with an enum in another case": Case(
        fields('{"design": "Cohort", "n": 5}'), FIELDS, {"design": "cohort", "n": 5}
    ),
    # Not present.
    "null as text in an enum": Case(said('"null"'), DESIGN, None),
    "an empty text": Case(said('""'), TEXT, None),
    "a number that is not reported": Case(said('"Not reported."'), NUMBER, None),
    "a field that is not reported": Case(fields('{"design": "N/A", "n": "-"}'), FIELDS, {"design": None, "n": None}),
    # Not JSON, or not one answer.
    "text before": Case(f"Here is my assessment:\n\n{said('7.5')}", GRADE, MALFORMED),
    "text after": Case(f"{said('0.25')}\n\nI hope this helps!", SCORE, MALFORMED),
    "the same object twice": Case(f"{said('12')}\n{said('12')}", NUMBER, MALFORMED),
    "empty": Case("", FILTER, MALFORMED),
    "white space": Case(" \n\n", SCORE, MALFORMED),
    "a refusal": Case("I'm sorry, but I can't help with that request.", TEXT, MALFORMED),
    "a word": Case("Yes", FILTER, MALFORMED),
    "prose with the value in it": Case("The score is 0.8 with a confidence of 0.9.", SCORE, MALFORMED),
    "cut off in the reasoning": Case('{"reasoning": "The trial was', FILTER, MALFORMED),
    "cut off after the value": Case('{"reasoning": "r", "value": true', FILTER, MALFORMED),
    "cut off in the fields": Case('{"reasoning": "r", "fields": {"design": "RCT"}', FIELDS, MALFORMED),
    "cut off in a code fence": Case('```json\n{"value": 12, "conf', NUMBER, MALFORMED),
    "two answers": Case(f"{said('true')}\n{said('false')}", FILTER, MALFORMED),
    "a draft and an answer": Case(f"Draft: {said('1')} Final: {said('2')}", NUMBER, MALFORMED),
    "the value twice": Case('{"value": true, "value": false, "confidence": 0.9}', FILTER, MALFORMED),
    "Python": Case("{'value': True, 'confidence': 0.9}", FILTER, MALFORMED),
    "names without quotes": Case('{value: "RCT", confidence: 0.9}', DESIGN, MALFORMED),
    "a comment": Case('{"value": 3, // participants\n"confidence": 0.9}', NUMBER, MALFORMED),
    "YAML": Case("value: true\nconfidence: 0.9", FILTER, MALFORMED),
    "XML": Case("<value>true</value><confidence>0.9</confidence>", FILTER, MALFORMED),
    "NaN for a score": Case(said("NaN"), SCORE, MALFORMED),
    "NaN for a confidence": Case(said("true", "NaN"), FILTER, MALFORMED),
    "Infinity": Case(said("Infinity"), NUMBER, MALFORMED),
    "a number beyond numbers": Case(said("1e999"), NUMBER, MALFORMED),
    "NUL": Case(said('"x\\u0000"'), TEXT, MALFORMED),
    "nested without end": Case(said("[" * 100_000 + "]" * 100_000), TEXT, MALFORMED),
    # JSON, but not what was asked for.
    "null": Case("null", FILTER, INVALID),
    "an array of two": Case(f"[{said('true')}, {said('true')}]", FILTER, INVALID),
    "only the value": Case("true", FILTER, INVALID),
    "an empty object": Case("{}", SCORE, INVALID),
    "an object around it that may be a draft": Case(f'{{"draft": {said("true")}}}', FILTER, INVALID),
    "the schema itself": Case('{"type": "object", "properties": {"value": {"type": "boolean"}}}', FILTER, INVALID),
    "perhaps for a boolean": Case(said('"perhaps"'), BLINDED, INVALID),
    "1 for a boolean": Case(said("1"), FILTER, INVALID),
    "null for a boolean that must be": Case(said("null"), FILTER, INVALID),
    "null for a score": Case(said("null", "0.0"), SCORE, INVALID),
    "a boolean for a score": Case(said("true"), SCORE, INVALID),
    "a percentage": Case(said("85"), SCORE, INVALID),
    "a score below the range": Case(said("0.5"), GRADE, INVALID),
    "a score beside the interval": Case(said("7.3"), GRADE, INVALID),
    "a fraction": Case(said('"8/10"'), GRADE, INVALID),
    "text for a number": Case(said('"1,250"'), NUMBER, INVALID),
    "a number with its unit": Case(said('"12 mg"'), NUMBER, INVALID),
    "a boolean for a number": Case(said("false"), NUMBER, INVALID),
    "several numbers": Case(said("[12, 13]"), NUMBER, INVALID),
    "an enum with more words": Case(said('"RCT (double-blind)"'), DESIGN, INVALID),
    "an object for a text": Case(said('{"design": "RCT"}'), TEXT, INVALID),
    "a confidence in percent": Case(said("true", "95"), FILTER, INVALID),
    "a confidence in words": Case(said("true", '"high"'), FILTER, INVALID),
    "a confidence that is null": Case(said("null", "null"), TEXT, INVALID),
    "no confidence": Case('{"reasoning": "r", "value": true}', FILTER, INVALID),
    "fields without the fields": Case('{"design": "RCT", "n": 5, "confidence": 0.9}', FIELDS, INVALID),
    "fields as text": Case(fields('"{\\"design\\": \\"RCT\\"}"'), FIELDS, INVALID),
    "fields that are null": Case(fields("null"), FIELDS, INVALID),
    "fields with one missing": Case(fields('{"design": "RCT"}'), FIELDS, INVALID),
    "fields below a minimum": Case(fields('{"design": "RCT", "n": 0}'), FIELDS, INVALID),
    "fields with words for a number": Case(fields('{"design": "RCT", "n": "five"}'), FIELDS, INVALID),
    "fields nested deeply": Case(fields(f'{{"design": {DEEP}, "n": 5}}'), FIELDS, INVALID),
    "a verdict that is missing": Case(verdict("{}", '"include"'), INCLUSION, INVALID),
    "a status that is a boolean": Case(verdict(MET, "true"), INCLUSION, INVALID),
    "a verdict without its object": Case(verdict('{"I1": "met"}', '"include"'), INCLUSION, INVALID),
    "a quote without its verdict": Case(verdict('{"I1": {"quote": "adults"}}', '"include"'), INCLUSION, INVALID),
    "several quotes for one verdict": Case(
        verdict('{"I1": {"quote": ["adults", "trial"], "verdict": "met"}}', '"include"'), INCLUSION, INVALID
    ),
    "a number for a quote": Case(verdict('{"I1": {"quote": 18, "verdict": "met"}}', '"include"'), INCLUSION, INVALID),
    "verdicts as a list": Case(verdict(f"[{MET}]", '"include"'), INCLUSION, INVALID),
}


def read(content: str, operation: Any) -> Decided:
    """What an answer decides, read as the engine reads it."""
    match operation:
        case Filter():
            return filter_.parse(operation, read_answer(content, filter_.response_schema(operation)).value)
        case Inclusion():
            answer = read_answer(content, inclusion.response_schema(operation)).value
            return inclusion.parse(operation, {"title": "A trial in adults"}, answer)
        case Score():
            return score.parse(operation, read_answer(content, score.response_schema(operation)).value)
        case Extract():
            return extract.parse(operation, read_answer(content, extract.response_schema(operation)).value)
        case _:
            answer = read_answer(content, extract_fields.response_schema(operation)).value
            return extract_fields.parse(operation, answer)


def taken_for(content: str, operation: Any) -> object:
    """What an answer ends as: its value, or the kind of its error."""
    try:
        result: object = read(content, operation).result
    except Malformed:
        return MALFORMED
    except InvalidAnswer:
        return INVALID
    return result.fields if isinstance(result, FieldsResult) else getattr(result, "value", None)


def test_the_table_has_all_kinds_and_40_answers_that_are_none() -> None:
    kinds = [case.expected for case in CASES.values() if isinstance(case.expected, ErrorKind)]
    assert len(kinds) >= 40
    assert set(kinds) == {MALFORMED, INVALID}
    assert {type(case.operation).__name__ for case in CASES.values()} == {
        "Filter",
        "Inclusion",
        "Score",
        "Extract",
        "ExtractFields",
    }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_an_answer_is_taken_for_what_it_is_and_for_nothing_better(case: Case) -> None:
    taken = taken_for(case.content, case.operation)
    assert taken == case.expected
    assert type(taken) is type(case.expected)


FAILING = {name: case for name, case in CASES.items() if isinstance(case.expected, ErrorKind)}


@pytest.mark.parametrize("case", FAILING.values(), ids=FAILING.keys())
def test_what_is_wrong_is_said_in_one_short_line(case: Case) -> None:
    """The line goes back to the model, and into the ledger where it cannot do better."""
    with pytest.raises((Malformed, InvalidAnswer)) as caught:
        read(case.content, case.operation)
    assert 0 < len(str(caught.value)) < 500
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "operation", [FILTER, INCLUSION, SCORE, GRADE, TEXT, NUMBER, BLINDED, DESIGN, FIELDS], ids=repr
)
def test_no_scalar_and_no_container_is_an_answer_by_itself(operation: Any) -> None:
    for value in (None, True, False, 0, 1, 0.5, "", "RCT", [], [1], {}, {"value": True}, {"confidence": 1}):
        assert taken_for(json.dumps(value), operation) is INVALID
