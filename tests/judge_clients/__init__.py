"""Clients of the evidence judge, synchronous and asynchronous, and both forms of the functions that take them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tamis_worker.operations.judge import (
    EvidenceEvaluation,
    JudgeClient,
    evaluate_evidence_quality,
    evaluate_evidence_quality_async,
    evaluate_evidence_quality_batch,
    evaluate_evidence_quality_batch_async,
)

CLASSIFICATION: dict[str, Any] = {"value": "Male", "confidence": 0.9, "reasoning": "Signed as Mr. Smith in Email 3"}
REPLY: dict[str, Any] = {"is_valid": True, "quality_score": 0.9, "evidence_type": "explicit", "issue": ""}
BLOCKED: dict[str, Any] = {"is_valid": False, "quality_score": 0.0, "evidence_type": "inappropriate", "issue": "No."}
BOUND = 10  # seconds


class Client:
    """A judge that answers from a function of the user prompt, and keeps what it was asked."""

    def __init__(self, answer: Callable[[str], object]) -> None:
        self._answer = answer
        self.asked: list[tuple[str, str, float]] = []

    def call_json(self, system_prompt: str, user_prompt: str, temperature: float) -> object:
        self.asked.append((system_prompt, user_prompt, temperature))
        return self._answer(user_prompt)


class AsyncClient(Client):
    async def call_json(self, system_prompt: str, user_prompt: str, temperature: float) -> object:
        return super().call_json(system_prompt, user_prompt, temperature)


class AwaitableClient(Client):
    """Its function is a plain one, what it returns is awaited."""

    def call_json(self, system_prompt: str, user_prompt: str, temperature: float) -> Awaitable[object]:
        call = super().call_json

        async def answer() -> object:
            return call(system_prompt, user_prompt, temperature)

        return answer()


def asynchronously(*args: Any, **kwargs: Any) -> EvidenceEvaluation:
    return asyncio.run(evaluate_evidence_quality_async(*args, **kwargs))


def together_asynchronously(*args: Any, **kwargs: Any) -> list[EvidenceEvaluation]:
    return asyncio.run(evaluate_evidence_quality_batch_async(*args, **kwargs))


Kind = type[Client]
One = Callable[..., EvidenceEvaluation]
Many = Callable[..., list[EvidenceEvaluation]]
each_kind = pytest.mark.parametrize("kind", [Client, AsyncClient, AwaitableClient])
each_form = pytest.mark.parametrize("evaluate", [evaluate_evidence_quality, asynchronously])
each_form_of_many = pytest.mark.parametrize("evaluate", [evaluate_evidence_quality_batch, together_asynchronously])


def failing(error: Exception, kind: Kind = Client) -> Client:
    def fail(_: str) -> object:
        raise error

    return kind(fail)


def saying(reply: object, kind: Kind = Client) -> Client:
    return kind(lambda _: reply)


def evaluated(
    client: JudgeClient, batch_size: int | None = 20, evaluate: One = evaluate_evidence_quality, **changes: Any
) -> EvidenceEvaluation:
    return evaluate(
        classification=CLASSIFICATION | changes,
        email_context="Dear all, ...",
        section_guidelines="Titles count.",
        llm_client=client,
        actual_batch_size=batch_size,
    )


def neutral(issue: str) -> EvidenceEvaluation:
    return {"is_valid": True, "quality_score": 0.7, "evidence_type": "unknown", "issue": f"Judge error: {issue}"}
