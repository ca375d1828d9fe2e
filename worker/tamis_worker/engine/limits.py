"""One limiter per model, made when the model is first asked: models never throttle each other."""

from redis.asyncio import Redis

from tamis_schemas import wire

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

    async def close(self) -> None:
        """Give back what is held."""
        for limiter in self._known.values():
            await limiter.close()
