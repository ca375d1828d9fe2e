"""Which calls a fault hits, and what strict mode refuses."""

import json
from typing import Any

import pytest

from llm_double import Fault, Kind, Options, Scripted
from llm_double.strictness import objection


@pytest.mark.parametrize(
    ("fault", "hit"),
    [
        (Fault(Kind.EMPTY), [1, 2, 3, 4]),
        (Fault(Kind.EMPTY, calls=(2, 4)), [2, 4]),
        (Fault(Kind.EMPTY, contains="odd"), [1, 3]),
        (Fault(Kind.EMPTY, calls=(1, 2), contains="odd"), [1]),
        (Fault(Kind.EMPTY, probability=0.0), []),
        (Fault(Kind.EMPTY, probability=1.0), [1, 2, 3, 4]),
    ],
)
def test_a_fault_hits_the_calls_that_meet_all_its_conditions(fault: Fault, hit: list[int]) -> None:
    prompts = {1: "odd one", 2: "even two", 3: "odd three", 4: "even four"}
    assert [number for number, prompt in prompts.items() if fault.hits(number, prompt, seen=0)] == hit


def test_a_probable_fault_hits_its_share_in_whatever_order_calls_come() -> None:
    fault = Fault(Kind.EMPTY, probability=0.2, seed=1)
    hits = {n for n in range(2000) if fault.hits(1, f"prompt {n}", seen=0)}
    assert 340 < len(hits) < 460  # 400 expected, 18 the standard deviation
    assert hits == {n for n in reversed(range(2000)) if fault.hits(2000 - n, f"prompt {n}", seen=0)}


def test_the_same_prompt_draws_anew_each_time_it_comes() -> None:
    fault = Fault(Kind.EMPTY, probability=0.5)
    assert {fault.hits(1, "prompt", seen) for seen in range(20)} == {True, False}


def test_options_survive_the_way_as_json() -> None:
    options = Options(
        latency=0.1,
        models=("a",),
        faults=(Fault(Kind.CUT, calls=(1,), probability=0.5),),
        answers=(Scripted("x", {"a": 1}), Scripted("y", "text")),
    )
    assert Options.from_json(json.loads(json.dumps(options.to_json()))) == options


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="latencie"):
        Options.from_json({"latencie": 1})


GOOD: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"anyOf": [{"type": "null"}]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


def test_strict_mode_takes_a_closed_schema_of_few_keywords() -> None:
    assert objection(GOOD) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"additionalProperties": True}, "'additionalProperties' is required to be supplied and to be false"),
        ({"required": ["a"]}, "Missing 'b'"),
        ({"minProperties": 1}, "'minProperties' is not permitted"),
        (
            {"properties": {**GOOD["properties"], "a": {"type": "string", "maxLength": 3}}},
            "'maxLength' is not permitted",
        ),
        ({"properties": {**GOOD["properties"], "b": {"anyOf": [{"minimum": 3}]}}}, "'minimum' is not permitted"),
        ({"properties": {**GOOD["properties"], "b": {"type": "object", "properties": {}}}}, "'additionalProperties'"),
    ],
)
def test_strict_mode_says_what_it_refuses(change: dict[str, Any], reason: str) -> None:
    assert reason in (objection({**GOOD, **change}) or "")
