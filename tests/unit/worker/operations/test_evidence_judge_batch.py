"""A batch of classifications: in order, so many at a time, with clients of either kind."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from judge_clients import BOUND, CLASSIFICATION, REPLY, Kind, Many, each_form_of_many, each_kind, saying
from tamis_worker.operations.judge import EvidenceEvaluation, JudgeClient, evaluate_evidence_quality_batch


def judged_together(client: JudgeClient, values: str, **changes: Any) -> list[EvidenceEvaluation]:
    classifications = [CLASSIFICATION | {"value": value} for value in values]
    return evaluate_evidence_quality_batch(classifications, "c", "g", client, **changes)


def value_in(prompt: str) -> str:
    return prompt.split("- Taxonomy Value: ")[1][0]


@pytest.mark.spec("5.24")
@each_form_of_many
def test_no_classifications_are_an_empty_list(evaluate: Many) -> None:
    client = saying(REPLY)
    assert evaluate([], "c", "g", client) == []
    assert client.asked == []


@pytest.mark.spec("5.25")
@each_kind
@each_form_of_many
def test_a_single_classification_is_judged(kind: Kind, evaluate: Many) -> None:
    assert evaluate([CLASSIFICATION], "c", "g", saying(REPLY, kind)) == [
        {"is_valid": True, "quality_score": 0.9, "evidence_type": "explicit", "issue": None}
    ]


class Backwards:
    """Answers the last classification first; fails on b."""

    def __init__(self) -> None:
        self.turns = {value: threading.Event() for value in "abcd"}

    def call_json(self, _system: str, user_prompt: str, /, *, temperature: float) -> object:
        value = value_in(user_prompt)
        following = chr(ord(value) + 1)
        assert following not in self.turns or self.turns[following].wait(BOUND)
        self.turns[value].set()
        if value == "b":
            raise RuntimeError("b failed")
        return REPLY | {"issue": value}


class AsyncBackwards(Backwards):
    async def call_json(self, _system: str, user_prompt: str, /, *, temperature: float) -> object:
        return await asyncio.to_thread(super().call_json, _system, user_prompt, temperature=temperature)


@pytest.mark.spec("5.23", "5.27")
@pytest.mark.parametrize("client", [Backwards, AsyncBackwards])
def test_evaluations_come_in_the_order_of_their_classifications_and_a_failure_stays_alone(
    client: Callable[[], JudgeClient],
) -> None:
    found = judged_together(client(), "abcd")
    assert [evaluation["issue"] for evaluation in found] == ["a", "Judge error: b failed", "c", "d"]


class Crowd:
    """Answers so many callers at a time as are there together, and keeps how many that were at most."""

    def __init__(self, together: int) -> None:
        self.inside = self.most = 0
        self._lock, self._full = threading.Lock(), threading.Barrier(together)

    def call_json(self, _system: str, _user: str, /, *, temperature: float) -> object:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        self._full.wait(BOUND)
        with self._lock:
            self.inside -= 1
        return REPLY


class AsyncCrowd(Crowd):
    async def call_json(self, _system: str, _user: str, /, *, temperature: float) -> object:
        return await asyncio.to_thread(super().call_json, _system, _user, temperature=temperature)


@pytest.mark.spec("5.23", "5.26")
@pytest.mark.parametrize("crowd", [Crowd, AsyncCrowd])
@pytest.mark.parametrize(("given", "together"), [({}, 5), ({"max_workers": 2}, 2)])
def test_no_more_than_max_workers_are_judged_at_a_time_five_unless_said_otherwise(
    crowd: type[Crowd], given: dict[str, int], together: int
) -> None:
    client = crowd(together)
    found = judged_together(client, "abcdefghij", **given)
    assert [evaluation["evidence_type"] for evaluation in found] == ["explicit"] * 10
    assert client.most == together


@pytest.mark.spec("5.27")
def test_a_mistake_ends_the_batch_and_abandons_the_other_judgements() -> None:
    begun: list[str] = []
    abandoned: list[str] = []

    class Mistaken:
        async def call_json(self, _system: str, user_prompt: str, /, *, temperature: float) -> object:
            value = value_in(user_prompt)
            begun.append(value)
            if value == "c":
                raise NameError("a mistake")
            try:
                return await asyncio.Event().wait()
            finally:
                abandoned.append(value)

    with pytest.raises(NameError, match="a mistake"):
        judged_together(Mistaken(), "abcdefgh", max_workers=3)
    assert begun[:3] == ["a", "b", "c"]
    assert begun[3:] in ([], ["d"])  # c's place was free for a moment
    assert sorted([*abandoned, "c"]) == begun
