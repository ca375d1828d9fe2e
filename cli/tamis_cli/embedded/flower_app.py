"""The Celery app for Flower; only Flower's command line imports it.

It is built at import, because Celery's command line takes the name of an existing app. This module runs in Flower's
own process, whose environment names the servers.
"""

import os

from tamis_producer.config.settings import ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_schemas import ConfigurationError

if not (os.environ.get("FLOWER_BASIC_AUTH") or os.environ.get("FLOWER_AUTH")):
    # By default Flower listens on every address, without a login.
    raise ConfigurationError("Flower needs a password: set FLOWER_BASIC_AUTH to user:password")

app = make_app(ProducerSettings.load())
