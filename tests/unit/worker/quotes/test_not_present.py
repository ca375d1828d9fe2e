"""What models write instead of null: it is not present, whatever type was asked for, unless an enum lists it."""

import re
from pathlib import Path
from typing import Any

import pytest

from tamis_schemas import EvaluationResult, FieldsResult, Item, Retrieved
from tamis_schemas.operations.extract import Extract
from tamis_schemas.operations.extract_fields import ExtractFields
from tamis_worker.operations import extract, extract_fields
from tamis_worker.operations.answer_model import InvalidAnswer
from tamis_worker.quotes.not_present import NOT_PRESENT, means_not_present

ROOT = Path(__file__).parents[4]
WRITTEN = [
    *("", " ", " \n\t\u2003", "-", "--", "\u2013", "\u2014", " - "),
    *("N/A", "n/a", "NA", "na", "n.a.", "N.A.", "n.a"),
    *("None", "none.", "null", "NULL", "Nil", "unknown", "Unknown.", " UNKNOWN "),
    *("Not reported", "not reported.", "NOT  REPORTED", "not\nreported", "not available", "Not applicable"),
    *("not stated", "not specified", "not mentioned", "not provided", "not present", "Not found."),
]
VALUES = [
    *("unclear", "Unclear risk", "no", "0", "nothing", "none of the patients", "not reported in the abstract"),
    *("sodium (Na)", "null hypothesis", "?", "n", "---", "..", "unknown primary tumour", "not"),
]
TYPES = {
    "text": Extract(instruction="Which design?"),
    "number": Extract(instruction="How many?", output_type="number"),
    "boolean": Extract(instruction="Blinded?", output_type="boolean"),
    "enum": Extract(instruction="Which?", output_type="enum", enum_values=["RCT", "cohort"]),
}
LISTING = Extract(instruction="Risk?", output_type="enum", enum_values=["low", "unknown", "N/A", "-"])
ITEM: Item = {"title": "A trial", "chunks": [{"id": "a", "text": "The trial was blinded."}]}
FOUND = Retrieved.of(ITEM)


def value_of(operation: Extract, value: object) -> object:
    result = extract.parse(operation, {"reasoning": "r", "value": value, "confidence": 0.5}).result
    assert isinstance(result, EvaluationResult)
    return result.value


def fields_of(schema: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any] | None:
    operation = ExtractFields(schema=schema, instructions="x")
    result: object = extract_fields.parse(operation, {"reasoning": "r", "fields": fields, "confidence": 0.5}).result
    assert isinstance(result, FieldsResult)
    return result.fields


def objects(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize("text", WRITTEN)
def test_what_says_only_that_it_is_not_there_means_not_present(text: str) -> None:
    assert means_not_present(text)


@pytest.mark.parametrize("value", [*VALUES, None, 0, False, [], {}, "-" * 1000])
def test_what_can_be_a_finding_does_not(value: object) -> None:
    assert not means_not_present(value)


def test_every_entry_of_the_list_is_written_in_some_way_by_the_table() -> None:
    bare = {" ".join(text.casefold().split()).removesuffix(".") for text in WRITTEN}
    assert bare == NOT_PRESENT


@pytest.mark.spec("1.34")
@pytest.mark.parametrize("text", WRITTEN)
def test_an_extraction_of_any_type_is_none_and_no_error(text: str) -> None:
    assert {name: value_of(operation, text) for name, operation in TYPES.items()} == dict.fromkeys(TYPES)


@pytest.mark.parametrize("value", LISTING.enum_values or ())
def test_an_enum_that_lists_such_a_value_means_it(value: str) -> None:
    assert value_of(LISTING, value) == value


def test_an_enum_that_lists_another_such_value_does_not_mean_this_one() -> None:
    assert value_of(LISTING, "not reported") is None


SCHEMA = objects(
    design={"enum": ["RCT", "cohort"]},
    risk={"enum": ["low", "unknown"]},
    n={"type": "integer", "minimum": 1},
    blinded={"type": "boolean"},
    outcome={"type": "string", "minLength": 3},
    arm=objects(name={"type": "string"}, risk={"enum": ["unknown"]}),
    arms={"type": "array", "items": objects(name={"type": "string"}, size={"type": "number"})},
    tags={"type": "array", "items": {"type": "string"}},
    effect={"anyOf": [objects(mean={"type": "number"}), objects(events={"type": "integer"})]},
) | {"required": ["n", "outcome"]}


def test_a_field_of_any_type_at_any_level_is_null_unless_its_enum_lists_the_value() -> None:
    given = {
        "design": "unknown",
        "risk": "unknown",
        "n": "N/A",
        "blinded": "Not reported",
        "outcome": "-",
        "arm": {"name": "none", "risk": "unknown"},
        "arms": [{"name": "placebo", "size": "n/a"}, {"name": "", "size": 12}],
        "tags": ["a", "none"],  # what stands in a list is no field: it stays as it is
        "effect": {"events": "not stated"},
    }
    assert fields_of(SCHEMA, given) == {
        "design": None,
        "risk": "unknown",
        "n": None,
        "blinded": None,
        "outcome": None,
        "arm": {"name": None, "risk": "unknown"},
        "arms": [{"name": "placebo", "size": None}, {"name": None, "size": 12}],
        "tags": ["a", "none"],
        "effect": {"events": None},
    }


def test_a_list_or_an_object_may_be_not_present_too() -> None:
    schema = objects(arms={"type": "array", "items": {"type": "string"}}, arm=objects(name={"type": "string"}))
    assert fields_of(schema, {"arms": "not reported", "arm": "N/A"}) == {"arms": None, "arm": None}


@pytest.mark.parametrize("text", ["unclear", "12 mg"])
def test_another_text_in_a_number_is_still_refused(text: str) -> None:
    with pytest.raises(InvalidAnswer, match=r"fields\.n: "):
        fields_of(objects(n={"type": "integer"}), {"n": text})


def cited(value: object, chunk_number: int = 1) -> dict[str, Any]:
    return {"chunk_number": chunk_number, "evidence": "was blinded", "value": value, "confidence": 0.9}


@pytest.mark.parametrize("number", [1, 0])
def test_an_extraction_that_cites_nothing_is_left_out_whatever_chunk_it_names(number: int) -> None:
    answer = {"reasoning": "r", "value": "N/A", "confidence": 0.5}
    given = answer | {"extractions": [cited("not reported", number), cited(True)]}
    sourced = extract.parse_citing(TYPES["boolean"], FOUND, given)
    assert isinstance(sourced.result, EvaluationResult)
    assert sourced.result.value is None
    assert [one.value for one in sourced.extractions[""]] == [True]


def test_of_fields_too_and_an_enum_that_lists_the_value_keeps_it() -> None:
    schema = objects(risk={"enum": ["low", "unknown"]}, n={"type": "integer"})
    operation = ExtractFields(schema=schema, instructions="x")
    given = {
        "reasoning": "r",
        "fields": {"risk": "unknown", "n": "unknown"},
        "extractions": {"risk": [cited("unknown")], "n": [cited("unknown", 0)]},
        "confidence": 0.5,
    }
    sourced = extract_fields.parse_citing(operation, FOUND, given)
    assert isinstance(sourced.result, FieldsResult)
    assert sourced.result.fields == {"risk": "unknown", "n": None}
    assert [one.value for one in sourced.extractions["risk"]] == ["unknown"]
    assert sourced.extractions["n"] == ()


def test_an_extraction_with_a_value_still_names_a_chunk_that_exists() -> None:
    given = {"reasoning": "r", "value": True, "extractions": [cited(True, 2)], "confidence": 0.5}
    with pytest.raises(InvalidAnswer, match="2 is no chunk"):
        extract.parse_citing(TYPES["boolean"], FOUND, given)


def test_the_documentation_lists_them_all() -> None:
    section = (ROOT / "docs" / "retries.md").read_text("utf-8").split("mean that the information is not present")[1]
    listed = section.split("But such an answer is a value")[0]
    named = set(re.findall(r"`([^`]+)`", listed))
    said = {word if f"not {word}" not in NOT_PRESENT else f"not {word}" for word in named - {"not"}}
    assert {" ".join(text.casefold().split()).removesuffix(".") for text in said} | {""} == NOT_PRESENT
