"""The functions of spec 5: dictionaries in and out, neutral where the judge fails."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tamis_schemas import InvalidParameters
from tamis_worker.operations import judge
from tamis_worker.operations.judge import (
    QUALITY_CONTEXTUAL,
    QUALITY_EXPLICIT,
    QUALITY_INAPPROPRIATE,
    QUALITY_WEAK,
    EvidenceEvaluation,
    adjust_confidence_with_evidence_quality,
    evaluate_evidence_quality,
    evaluate_evidence_quality_batch,
    should_block_classification,
)

CLASSIFICATION: dict[str, Any] = {"value": "Male", "confidence": 0.9, "reasoning": "Signed as Mr. Smith in Email 3"}
REPLY: dict[str, Any] = {"is_valid": True, "quality_score": 0.9, "evidence_type": "explicit", "issue": ""}


class Client:
    """A judge that answers from a function of the user prompt, and keeps what it was asked."""

    def __init__(self, answer: Callable[[str], object]) -> None:
        self._answer = answer
        self.asked: list[tuple[str, str, float]] = []

    async def call_json(self, system_prompt: str, user_prompt: str, temperature: float) -> object:
        self.asked.append((system_prompt, user_prompt, temperature))
        return self._answer(user_prompt)


def saying(reply: object) -> Client:
    return Client(lambda _: reply)


def failing(error: Exception) -> Client:
    def fail(_: str) -> object:
        raise error

    return Client(fail)


async def evaluated(client: Client, batch_size: int | None = 20, **changes: Any) -> EvidenceEvaluation:
    return await evaluate_evidence_quality(
        classification=CLASSIFICATION | changes,
        email_context="Dear all, ...",
        section_guidelines="Titles count.",
        llm_client=client,
        actual_batch_size=batch_size,
    )


def neutral(issue: str) -> EvidenceEvaluation:
    return {"is_valid": True, "quality_score": 0.7, "evidence_type": "unknown", "issue": f"Judge error: {issue}"}


def test_the_constants_are_public_here() -> None:
    assert (QUALITY_EXPLICIT, QUALITY_CONTEXTUAL, QUALITY_WEAK, QUALITY_INAPPROPRIATE) == (1.0, 0.7, 0.4, 0.0)
    assert should_block_classification(0.149)
    assert not should_block_classification(0.15)


async def test_the_judge_is_asked_with_both_prompts_at_temperature_01() -> None:
    client = saying(REPLY)
    await evaluated(client)
    ((system, user, temperature),) = client.asked
    assert (system, temperature) == (judge.JUDGE_SYSTEM_PROMPT, 0.1)
    assert user.startswith("## Section Evidence Guidelines:\nTitles count.\n\n## Classification to Evaluate:\n")
    assert "- Taxonomy Value: Male\n- Confidence: 0.9\n- Reasoning: Signed as Mr. Smith in Email 3\n" in user
    assert "NOTE: The agent analyzed a batch of 20 emails.\n\n## Your Task:" in user


@pytest.mark.parametrize(
    ("changes", "issue"),
    [
        ({"email_numbers": [1, 21]}, "Email 21 but batch only contains 20 emails."),
        ({"cited": [21]}, "Email 21 but batch only contains 20 emails."),
        ({"reasoning": "see EMAIL 21"}, "'Email 21' but batch only contains 20 emails."),
    ],
)
async def test_a_hallucination_is_found_without_asking_the_judge(changes: dict[str, Any], issue: str) -> None:
    client = saying(REPLY)
    assert await evaluated(client, **changes) == {
        "is_valid": False,
        "quality_score": 0.0,
        "evidence_type": "inappropriate",
        "issue": f"HALLUCINATION: Reasoning cites {issue}",
    }
    assert client.asked == []


@pytest.mark.parametrize("batch_size", [None, 0])
async def test_without_a_batch_size_nothing_is_a_hallucination(batch_size: int | None) -> None:
    client = saying(REPLY)
    found = await evaluated(client, batch_size, reasoning="Email 99", email_numbers=[99])
    assert found["is_valid"]
    assert "batch of" not in client.asked[0][1]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (True, 0.9, "explicit", None)),
        ({"quality_score": 1.4}, (True, 1.0, "explicit", None)),
        ({"quality_score": -1, "evidence_type": "inappropriate"}, (True, 0.0, "inappropriate", None)),
        ({"quality_score": None}, (True, 1.0, "explicit", None)),
        ({"quality_score": 0.0, "evidence_type": "contextual"}, (True, 0.7, "contextual", None)),
        ({"quality_score": 0, "evidence_type": "weak"}, (True, 0.4, "weak", None)),
        ({"quality_score": 0.0, "evidence_type": "inappropriate"}, (True, 0.0, "inappropriate", None)),
        ({"evidence_type": " Weak "}, (True, 0.9, "weak", None)),
        ({"evidence_type": "banana"}, (True, 0.9, "unknown", None)),
        ({"evidence_type": "banana", "quality_score": 0.0}, (True, 0.0, "unknown", None)),
        ({"evidence_type": None, "quality_score": 0.0}, (True, 0.0, "unknown", None)),  # 0.0 is a score
        ({"quality_score": "0.5"}, (True, 0.5, "explicit", None)),
        ({"is_valid": False, "issue": "Products."}, (False, 0.9, "explicit", "Products.")),
        ({"is_valid": "false"}, (False, 0.9, "explicit", None)),
        ({"is_valid": None}, (True, 0.9, "explicit", None)),
        ({"is_valid": None, "evidence_type": "inappropriate", "quality_score": 0}, (False, 0.0, "inappropriate", None)),
        ({"issue": None}, (True, 0.9, "explicit", None)),
        ({"more": 1}, (True, 0.9, "explicit", None)),
    ],
)
async def test_a_reply_is_read_tolerantly(changes: dict[str, Any], expected: tuple[object, ...]) -> None:
    found = await evaluated(saying(REPLY | changes))
    assert (found["is_valid"], found["quality_score"], found["evidence_type"], found["issue"]) == expected


async def test_a_score_that_is_missing_is_that_of_its_type() -> None:
    assert (await evaluated(saying({"evidence_type": "weak"})))["quality_score"] == 0.4


@pytest.mark.parametrize(
    "reply",
    [
        None,
        "valid",
        [REPLY],
        {},
        {"is_valid": False},
        REPLY | {"quality_score": "high"},
        REPLY | {"quality_score": True},
        REPLY | {"quality_score": float("nan")},
        REPLY | {"quality_score": float("inf")},
        REPLY | {"quality_score": 10**400},
        REPLY | {"quality_score": [1]},
        REPLY | {"is_valid": "perhaps"},
        REPLY | {"is_valid": 1},
    ],
)
async def test_a_reply_that_says_nothing_is_neutral(reply: object) -> None:
    found = await evaluated(saying(reply))
    assert found["issue"] is not None
    assert found == neutral(found["issue"].removeprefix("Judge error: "))


@pytest.mark.parametrize(
    ("error", "issue"), [(RuntimeError("no connection"), "no connection"), (TimeoutError(), "TimeoutError")]
)
async def test_a_judge_that_fails_blocks_nothing(
    error: Exception, issue: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert await evaluated(failing(error)) == neutral(issue)
    assert [record.exc_info is not None for record in caplog.records] == [True]


async def test_a_classification_that_is_none_is_neutral() -> None:
    found = await evaluate_evidence_quality(None, "c", "g", saying(REPLY), 20)  # type: ignore[arg-type] # the wrong use
    assert (found["is_valid"], found["quality_score"], found["evidence_type"]) == (True, 0.7, "unknown")


async def test_another_noun_can_be_judged() -> None:
    client = saying(REPLY)
    judged = CLASSIFICATION | {"reasoning": "Study 9"}
    found = await evaluate_evidence_quality(judged, "c", "g", client, 5, noun="Study", plural="studies")
    assert found["issue"] == "HALLUCINATION: Reasoning cites 'Study 9' but batch only contains 5 studies."


async def judged_together(client: Client, values: list[str], max_workers: int = 5) -> list[EvidenceEvaluation]:
    return await evaluate_evidence_quality_batch(
        classifications=[CLASSIFICATION | {"value": value} for value in values],
        email_context="c",
        section_guidelines="g",
        llm_client=client,
        max_workers=max_workers,
        actual_batch_size=20,
    )


async def test_no_classifications_are_an_empty_list() -> None:
    client = saying(REPLY)
    assert await judged_together(client, []) == []
    assert client.asked == []


async def test_a_single_classification_is_judged() -> None:
    assert await judged_together(saying(REPLY), ["a"]) == [
        {"is_valid": True, "quality_score": 0.9, "evidence_type": "explicit", "issue": None}
    ]


async def test_evaluations_come_in_the_order_of_their_classifications_and_a_failure_stays_alone() -> None:
    turns = {value: asyncio.Event() for value in "abcd"}

    class Backwards(Client):
        """Answers the last classification first."""

        async def call_json(self, system_prompt: str, user_prompt: str, temperature: float) -> object:
            value = user_prompt.split("- Taxonomy Value: ")[1][0]
            following = chr(ord(value) + 1)
            if following in turns:
                await asyncio.wait_for(turns[following].wait(), 5)
            turns[value].set()
            if value == "b":
                raise RuntimeError("b failed")
            return REPLY | {"issue": value}

    found = await judged_together(Backwards(lambda _: None), ["a", "b", "c", "d"])
    assert [evaluation["issue"] for evaluation in found] == ["a", "Judge error: b failed", "c", "d"]


class Counting(Client):
    """Lets go of its callers when so many of them are there."""

    def __init__(self, full_at: int) -> None:
        super().__init__(lambda _: REPLY)
        self.inside = self.most = 0
        self._full_at = full_at
        self._full = asyncio.Event()

    async def call_json(self, system_prompt: str, user_prompt: str, temperature: float) -> object:
        self.inside += 1
        self.most = max(self.most, self.inside)
        if self.inside == self._full_at:
            self._full.set()
        await asyncio.wait_for(self._full.wait(), 5)
        self.inside -= 1
        return REPLY


async def test_no_more_than_max_workers_are_judged_at_a_time() -> None:
    client = Counting(full_at=2)
    assert len(await judged_together(client, list("abcdefg"), max_workers=2)) == 7
    assert client.most == 2


async def test_five_are_judged_at_a_time_unless_said_otherwise() -> None:
    client = Counting(full_at=5)
    found = await evaluate_evidence_quality_batch([CLASSIFICATION] * 12, "c", "g", client)
    assert [evaluation["evidence_type"] for evaluation in found] == ["explicit"] * 12
    assert client.most == 5


@pytest.mark.parametrize("max_workers", [0, -1])
async def test_no_workers_at_all_are_refused(max_workers: int) -> None:
    with pytest.raises(InvalidParameters, match=f"max_workers: {max_workers} "):
        await judged_together(saying(REPLY), ["a", "b"], max_workers)


def evaluation(score: float, kind: str, issue: str | None = None) -> EvidenceEvaluation:
    return {"is_valid": score > 0, "quality_score": score, "evidence_type": kind, "issue": issue}


@pytest.mark.parametrize(
    ("confidence", "score", "kind", "adjusted"),
    [
        (0.9, 1.0, "explicit", 0.9),
        (0.9, 0.7, "contextual", 0.765),  # 0.9 x min(0.85, 0.7 + 0.15)
        (0.9, 0.4, "weak", 0.585),  # 0.9 x min(0.65, 0.4 + 0.25)
        (0.9, 0.0, "inappropriate", 0.0),
        (0.9, 0.7, "inappropriate", 0.63),  # 0.9 x 0.7
        (0.9, 0.7, "unknown", 0.63),  # a judge that failed costs 30 %: 0.9 x 0.7
        (0.9, 0.7, "strong", 0.63),  # a type that is not on the scale
        (0.9, 0.7, "Contextual ", 0.765),
        (0.0, 1.0, "explicit", 0.0),
    ],
)
def test_an_adjusted_classification_says_what_it_was_and_why(
    confidence: float, score: float, kind: str, adjusted: float
) -> None:
    given = {"value": "Male", "confidence": confidence, "reasoning": "r"}
    returned = adjust_confidence_with_evidence_quality(given, evaluation(score, kind))
    assert returned == {
        "value": "Male",
        "reasoning": "r",
        "confidence": pytest.approx(adjusted),
        "original_confidence": confidence,
        "evidence_quality": score,
        "evidence_type": kind,
    }


def test_the_classification_itself_is_adjusted_as_spec_5_uses_it() -> None:
    given = dict(CLASSIFICATION)
    returned = adjust_confidence_with_evidence_quality(given, evaluation(0.0, "inappropriate", "Products."))
    assert returned is given
    assert (given["confidence"], given["evidence_issue"]) == (0.0, "Products.")


@pytest.mark.parametrize(
    ("classification", "found", "named"),
    [
        ({"value": "x"}, evaluation(1.0, "explicit"), "confidence: None"),
        ({"confidence": "0.9"}, evaluation(1.0, "explicit"), "confidence: '0.9'"),
        ({"confidence": True}, evaluation(1.0, "explicit"), "confidence: True"),
        ({"confidence": 0.9}, {"evidence_type": "weak"}, "quality_score: None"),
    ],
)
def test_what_cannot_be_adjusted_is_refused_and_left_alone(
    classification: dict[str, Any], found: dict[str, Any], named: str
) -> None:
    before = dict(classification)
    with pytest.raises(InvalidParameters, match=f"^{named}"):
        adjust_confidence_with_evidence_quality(classification, found)
    assert classification == before


@pytest.mark.parametrize(
    ("score", "kind", "warned"),
    [
        (1.0, "explicit", False),
        (0.7, "contextual", False),  # 0.7 + 0.15 = 0.85: a drop of 15 %
        (0.65, "contextual", False),  # 0.80: 20 % to the point
        (0.64, "contextual", True),  # 0.79: 21 %
        (0.7, "inappropriate", True),  # 0.7: 30 %
        (0.7, "unknown", True),
        (0.4, "weak", True),
        (0.0, "inappropriate", True),
    ],
)
def test_a_drop_of_more_than_20_percent_is_warned_of(
    score: float, kind: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        adjust_confidence_with_evidence_quality(dict(CLASSIFICATION), evaluation(score, kind))
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warned
    assert "Male" not in caplog.text  # a value may be personal


async def test_a_batch_is_judged_blocked_and_adjusted_as_spec_5_uses_it() -> None:
    replies: dict[str, object] = {
        "a": REPLY | {"quality_score": 1.0},
        "b": REPLY | {"quality_score": 0.7, "evidence_type": "contextual"},
        "c": REPLY | {"quality_score": 0.4, "evidence_type": "weak", "issue": "Indirect."},
        "d": REPLY | {"quality_score": 0.0, "evidence_type": "inappropriate", "is_valid": False, "issue": "Products."},
        "e": None,  # a judge that fails
    }
    classifications = [CLASSIFICATION | {"value": value} for value in replies]
    client = Client(lambda prompt: replies[prompt.split("- Taxonomy Value: ")[1][0]])
    evaluations = await evaluate_evidence_quality_batch(
        classifications=classifications,
        email_context="c",
        section_guidelines="g",
        llm_client=client,
        max_workers=5,
        actual_batch_size=20,
    )
    kept = []
    for classification, found in zip(classifications, evaluations, strict=True):
        if should_block_classification(found["quality_score"]):
            continue
        adjust_confidence_with_evidence_quality(classification, found)
        kept.append(classification)
    assert [(one["value"], one["confidence"], one["evidence_type"]) for one in kept] == [
        ("a", pytest.approx(0.9), "explicit"),  # 0.9 x 1.0
        ("b", pytest.approx(0.765), "contextual"),  # 0.9 x min(0.85, 0.7 + 0.15)
        ("c", pytest.approx(0.585), "weak"),  # 0.9 x min(0.65, 0.4 + 0.25)
        ("e", pytest.approx(0.63), "unknown"),  # neutral: 0.9 x 0.7
    ]
    assert "original_confidence" not in classifications[3]
