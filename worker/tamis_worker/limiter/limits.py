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
        self._known: dict[str, Limiter] = {}

    async def of(self, model: str) -> Limiter:
        """The limiter of a model."""
        known = self._known.get(model)
        if known is None:
            key = wire.limiter_key(self._endpoint, model)
            known = Limiter(self._redis, key, self._limits, holder=self._holder, lease=self._lease)
            self._known[model] = known  # before anything is awaited: a second caller must find it
            await known.start()
        return known

    def known(self) -> dict[str, Limiter]:
        """Those there are, by model; may be asked from any thread."""
        return dict(self._known)

    def blocked(self) -> dict[str, float]:
        """The models that the endpoint lets nobody ask for a while, and the seconds; may be asked from any thread."""
        known = {model: limiter.blocked for model, limiter in list(self._known.items())}
        return {model: seconds for model, seconds in known.items() if seconds > 0}

    def ended(self) -> list[str]:
        """The models whose limiter ended by itself; may be asked from any thread."""
        return [model for model, limiter in list(self._known.items()) if limiter.ended]

    def reweigh(self, batch: Hashable, priority: Priority) -> None:
        """Those who wait as one of a batch wait with this priority from now on."""
        for limiter in self._known.values():
            limiter.reweigh(batch, priority)

    async def close(self) -> None:
        """Give back what is held."""
        for limiter in self._known.values():
            await limiter.close()
