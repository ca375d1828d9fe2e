"""The engine as Celery's remote control finds it: what a worker holds now, and what can be done with it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from tamis_producer.config.redaction import Redaction

from ..celery_adapter.remote_control import EngineControls
from ..config.settings import WorkerSettings
from ..ledger.cancellations import cancel_items, cancel_waiting
from ..ledger.claims import ItemKey
from ..limiter.limiter import Limiter
from .runtime import Runtime

ANSWER_WITHIN = 5.0  # s; meanwhile the consumer's thread takes no message


def controls_of(runtime: Runtime, settings: WorkerSettings, redact: Redaction) -> EngineControls:
    """The controls of one worker process; what they return names no secret of it."""
    engine = runtime.ledger.transactions

    def cancelled(keys: Sequence[ItemKey]) -> int:
        return sum(runtime.run(cancel_items(engine, keys), within=ANSWER_WITHIN))

    def waiting_cancelled(batch_ids: Collection[UUID]) -> int:
        return runtime.run(cancel_waiting(engine, batch_ids), within=ANSWER_WITHIN)

    return EngineControls(
        report=lambda: runtime.run(report(runtime), within=ANSWER_WITHIN),
        settings=lambda: settings.model_dump(mode="json"),  # secret texts are stars in it, URLs are not
        cancel_items=cancelled,
        cancel_waiting=waiting_cancelled,
        is_claimed=runtime.evaluation.held.__contains__,
        drain=runtime.drain,
        redact=redact,
    )


async def report(runtime: Runtime) -> Mapping[str, Any]:
    """What the engine holds: items, calls in flight, each model's limiter and circuit breaker."""
    vitals, stack = runtime.vitals.report(), runtime.evaluation
    limiters = stack.limiters.known()
    return {
        "worker": vitals.id,
        "version": vitals.version,
        "state": vitals.state.value,
        "reason": vitals.reason,
        "items": {
            "at_once": vitals.concurrency,
            "here": vitals.in_flight,
            "claimed": len(stack.held.keys),
            "without_capacity": stack.capacity.waiting,
        },
        "calls_in_flight": sum(limiter.in_flight for limiter in limiters.values()),
        "limiters": {model: _limiter(limiter) for model, limiter in limiters.items()},
        "circuit_breakers": dict(stack.runner.breakers),
    }


def _limiter(limiter: Limiter) -> Mapping[str, Any]:
    """The shared limit of a model as this process last heard of it; `None`: no such limit is set or known."""
    return {
        "calls_in_flight": limiter.in_flight,
        "calls_waiting": limiter.waiting,
        "calls_at_once_of_all_workers": limiter.concurrency,
        "requests_per_minute": limiter.limits.rpm,
        "tokens_per_minute": limiter.limits.tpm,
        "share_of_requests": limiter.share_of_requests,
        "blocked_seconds": limiter.blocked,
    }
