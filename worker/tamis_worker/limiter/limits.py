"""One limiter per model, made when the model is first asked: models never throttle each other."""

from collections.abc import Hashable

from redis.asyncio import Redis

from tamis_schemas import Priority
from tamis_schemas.batches import wire

from .limiter import Limiter, Limits


class Limiters:
    """The limiters of one worker process and endpoint."""

    def __init__(self, redis: "Redis", endpoint: str, limits: Limits, *, holder: str, lease: float) -> None:
        self._redis = redis
        self._endpoint = endpoint
        self._limits = limits
        self._holder = holder
        self._lease = lease
        self._limiters: dict[str, Limiter] = {}

    async def of(self, model: str) -> Limiter:
        """Return the limiter of a model."""
        limiter = self._limiters.get(model)
        if limiter is None:
            key = wire.limiter_key(self._endpoint, model)
            limiter = Limiter(self._redis, key, self._limits, holder=self._holder, lease=self._lease)
            self._limiters[model] = limiter  # before anything is awaited: a second caller must find it
            await limiter.start()
        return limiter

    def known(self) -> dict[str, Limiter]:
        """Return the limiters that there are, by model; may be asked from any thread."""
        return dict(self._limiters)

    def blocked(self) -> dict[str, float]:
        """Return the models that nobody may ask for a while, and the seconds; may be asked from any thread."""
        blocked = {model: limiter.blocked for model, limiter in list(self._limiters.items())}
        return {model: seconds for model, seconds in blocked.items() if seconds > 0}

    def ended(self) -> list[str]:
        """Return the models whose limiter ended by itself; may be asked from any thread."""
        return [model for model, limiter in list(self._limiters.items()) if limiter.ended]

    def reweigh(self, batch: Hashable, priority: Priority) -> None:
        """Change the priority of a batch's calls that wait."""
        for limiter in self._limiters.values():
            limiter.reweigh(batch, priority)

    async def close(self) -> None:
        """Give back what is held."""
        for limiter in self._limiters.values():
            await limiter.close()
