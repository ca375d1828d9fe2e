"""Celery's consumer without its queues for delays.

Where a queue is a quorum queue, Celery makes 28 more at each connection, for tasks with an ETA. No task here has one.
"""

from typing import ClassVar

from celery.worker.consumer import Consumer
from celery.worker.consumer.delayed_delivery import DelayedDelivery

_DELAYS = f"{DelayedDelivery.__module__}:{DelayedDelivery.__name__}"


class ConsumerWithoutDelayQueues(Consumer):  # type: ignore[misc] # Celery ships no types
    """The consumer of every worker; a broker other than RabbitMQ has no such queues anyway."""

    class Blueprint(Consumer.Blueprint):  # type: ignore[misc]
        """The same steps, but for one."""

        default_steps: ClassVar[list[str]] = [step for step in Consumer.Blueprint.default_steps if step != _DELAYS]
