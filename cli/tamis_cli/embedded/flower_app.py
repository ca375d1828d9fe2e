"""The Celery app that Flower is started with; imported by nothing else.

It is built at import because Celery's command line takes the name of an app that exists: this module runs in Flower's
own process, whose environment names the servers.
"""

import os

from tamis_producer.config.settings import ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_schemas import ConfigurationError

if not (os.environ.get("FLOWER_BASIC_AUTH") or os.environ.get("FLOWER_AUTH")):
    # By itself Flower listens on every address, and asks nobody who they are.
    raise ConfigurationError("Flower is not started without a password: set FLOWER_BASIC_AUTH to user:password")

app = make_app(ProducerSettings.load())
