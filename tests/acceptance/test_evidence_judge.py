"""The patterns of use in spec 5, word for word, with the `openai` package's own clients behind a small `call_json`."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from llm_double import Double, Fault, Kind, Scripted
from nursery import shared
from stage.shared_data import DATA, needs_real_records
from tamis_worker.event_loop.loop import synchronous
from tamis_worker.operations.judge import (
    JudgeClient,
    adjust_confidence_with_evidence_quality,
    evaluate_evidence_quality,
    evaluate_evidence_quality_async,
    evaluate_evidence_quality_batch,
    evaluate_evidence_quality_batch_async,
    should_block_classification,
)

SPEC = DATA.parent / "spec" / "5-evidence-judge.md"
SETTINGS: dict[str, Any] = {"api_key": "sk-x", "max_retries": 0, "timeout": 30.0}
FUNCTIONS = (
    adjust_confidence_with_evidence_quality,
    evaluate_evidence_quality,
    evaluate_evidence_quality_batch,
    should_block_classification,
)


def request(system_prompt: str, user_prompt: str, temperature: float) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": [{"role": "system", "content": system_prompt}, {"role": "user", "content": user_prompt}],
        "response_format": {"type": "json_object"},
        "temperature": temperature,
    }


class Synchronous:
    def __init__(self, base_url: str) -> None:
        self.client = OpenAI(base_url=base_url, **SETTINGS)

    def call_json(self, system_prompt: str, user_prompt: str, *, temperature: float) -> object:
        answer = self.client.chat.completions.create(**request(system_prompt, user_prompt, temperature))
        return json.loads(answer.choices[0].message.content or "")


class Asynchronous:
    def __init__(self, base_url: str) -> None:
        self.client = AsyncOpenAI(base_url=base_url, **SETTINGS)

    async def call_json(self, system_prompt: str, user_prompt: str, *, temperature: float) -> object:
        answer = await self.client.chat.completions.create(**request(system_prompt, user_prompt, temperature))
        return json.loads(answer.choices[0].message.content or "")


@pytest.fixture(scope="module")
def running() -> Iterator[Double]:
    with Double.start(nursery=shared()) as double:
        yield double


@pytest.fixture
def double(running: Double) -> Double:
    running.reset()
    return running


@pytest.fixture(params=[Synchronous, Asynchronous])
def client(request: pytest.FixtureRequest, double: Double) -> Iterator[JudgeClient]:
    made: Synchronous | Asynchronous = request.param(double.base_url)
    yield made
    if isinstance(made, Asynchronous):
        synchronous(made.client.close)()  # on the loop that its connections belong to
    else:
        made.client.close()


def judged(kind: str, score: float, issue: str | None = None) -> dict[str, Any]:
    return {"is_valid": score > 0.15, "quality_score": score, "evidence_type": kind, "issue": issue}


def follow(pattern: str, **names: Any) -> dict[str, Any]:
    """The names after the code under a heading of spec 5 was run as it stands there."""
    code = re.search(rf"^### {pattern}\n```python\n(.*?)^```$", SPEC.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert code is not None
    known = {function.__name__: function for function in FUNCTIONS} | {"DEMOGRAPHICS_GUIDELINES": "Titles count."}
    names |= known | {"email_batch": "Dear all, ..."}
    exec(compile(code[1], f"{SPEC.name}: {pattern}", "exec"), names)  # noqa: S102 # the specification's own words
    return names


@pytest.mark.spec("5.3", "5.36")
@needs_real_records
@pytest.mark.parametrize(
    ("reply", "confidence"),
    [
        (judged("explicit", 1.0), 0.9),  # 0.9 x 1.0
        (judged("contextual", 0.7), 0.765),  # 0.9 x min(0.85, 0.7 + 0.15)
        (judged("weak", 0.4), 0.585),  # 0.9 x min(0.65, 0.4 + 0.25)
        (judged("inappropriate", 0.7), 0.63),  # 0.9 x 0.7
        (judged("inappropriate", 0.0), None),  # 0.0 < 0.15: blocked
    ],
)
def test_pattern_1_runs_word_for_word(
    double: Double, client: JudgeClient, reply: dict[str, Any], confidence: float | None
) -> None:
    double.script(answers=[Scripted("- Taxonomy Value: Male\n", reply)])
    given = {"value": "Male", "confidence": 0.9, "reasoning": "Marital status mentioned"}
    for _ in range(2):  # an asynchronous client keeps the connection of its first call
        names = follow("Pattern 1: Single Classification Validation", client=client, classification=dict(given))
        evaluation, classification = names["evaluation"], names["classification"]
        assert {name: evaluation[name] for name in reply} == reply
        if confidence is None:
            assert classification == given
        else:
            assert classification["confidence"] == pytest.approx(confidence)
            assert classification["original_confidence"] == 0.9


@pytest.mark.spec("5.36")
@needs_real_records
def test_pattern_2_runs_word_for_word(double: Double, client: JudgeClient) -> None:
    double.script(
        answers=[
            Scripted("- Taxonomy Value: a\n", judged("explicit", 1.0)),
            Scripted("- Taxonomy Value: b\n", judged("contextual", 0.7)),
            Scripted("- Taxonomy Value: c\n", judged("weak", 0.4, "Indirect.")),
            Scripted("- Taxonomy Value: d\n", judged("inappropriate", 0.7, "Products.")),
            Scripted("- Taxonomy Value: e\n", judged("inappropriate", 0.0, "Products.")),
        ],
        faults=[Fault(Kind.SERVER_ERROR, contains="- Taxonomy Value: f\n")],
    )
    classifications = [{"value": value, "confidence": 0.9, "reasoning": "r"} for value in "abcdef"]
    classifications.append({"value": "g", "confidence": 0.9, "reasoning": "as Email 21 says"})  # of 20
    follow("Pattern 2: Batch Validation", client=client, all_classifications=classifications)
    assert [(one["value"], one["confidence"], one.get("evidence_type")) for one in classifications] == [
        ("a", pytest.approx(0.9), "explicit"),  # 0.9 x 1.0
        ("b", pytest.approx(0.765), "contextual"),  # 0.9 x min(0.85, 0.7 + 0.15)
        ("c", pytest.approx(0.585), "weak"),  # 0.9 x min(0.65, 0.4 + 0.25)
        ("d", pytest.approx(0.63), "inappropriate"),  # 0.9 x 0.7
        ("e", 0.9, None),  # blocked, and left alone
        ("f", pytest.approx(0.63), "unknown"),  # a judge that failed: 0.9 x 0.7
        ("g", 0.9, None),  # a hallucination, blocked
    ]
    assert double.count() == 6  # nobody was asked about the hallucination


FAULTS = {
    "a": Kind.SERVER_ERROR,
    "b": Kind.UNAUTHORIZED,
    "c": Kind.RATE_LIMITED,
    "d": Kind.DROPPED,
    "e": Kind.BAD_GATEWAY,
    "f": Kind.MALFORMED,
    "g": Kind.REFUSAL,
    "h": Kind.EMPTY,
}


@pytest.mark.spec("5.21")
def test_whatever_goes_wrong_with_a_call_is_neutral_and_disturbs_no_other(double: Double, client: JudgeClient) -> None:
    double.script(
        answers=[Scripted("- Taxonomy Value: i\n", judged("inappropriate", 0.0))],
        faults=[Fault(kind, contains=f"- Taxonomy Value: {value}\n") for value, kind in FAULTS.items()],
    )
    classifications = [{"value": value, "confidence": 0.9, "reasoning": "r"} for value in [*FAULTS, "i"]]
    *failed, last = evaluate_evidence_quality_batch(classifications, "c", "g", client)
    assert {(one["is_valid"], one["quality_score"], one["evidence_type"]) for one in failed} == {(True, 0.7, "unknown")}
    assert all((one["issue"] or "").startswith("Judge error: ") for one in failed)
    assert (last["quality_score"], last["evidence_type"]) == (0.0, "inappropriate")


@pytest.mark.spec("5.37")
@pytest.mark.parametrize("kind", [Synchronous, Asynchronous])
async def test_the_asynchronous_forms_are_awaited_with_clients_of_either_kind(
    double: Double, kind: type[Synchronous | Asynchronous]
) -> None:
    double.script(answers=[Scripted("- Taxonomy Value: x\n", judged("inappropriate", 0.0))])
    classification = {"value": "x", "confidence": 0.9, "reasoning": "r"}
    made = kind(double.base_url)
    one, many = await asyncio.gather(
        evaluate_evidence_quality_async(classification, "c", "g", made),
        evaluate_evidence_quality_batch_async([classification] * 7, "c", "g", made),
    )
    closed = made.client.close()
    if closed is not None:
        await closed
    assert [evaluation["evidence_type"] for evaluation in [one, *many]] == ["inappropriate"] * 8


def test_the_client_of_the_documentation_judges(double: Double) -> None:
    page = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(class .*?)^```$", page, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {"json": json, "openai": openai}
    exec(compile(code, "docs/evidence.md", "exec"), names)  # noqa: S102 # the documentation's own words
    double.script(answers=[Scripted("- Taxonomy Value: x\n", judged("weak", 0.4))])
    with OpenAI(base_url=double.base_url, **SETTINGS) as connected:
        found = evaluate_evidence_quality({"value": "x", "reasoning": "r"}, "c", "g", names["Judge"](connected))
    assert found == judged("weak", 0.4)
