"""The Celery app for Flower, which only Flower's own process imports. That process's environment names the servers.

The app is made at import, because Celery's command line takes the name of an existing app.
"""

import os

from tamis_producer.config.settings import ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_schemas import ConfigurationError

if not (os.environ.get("FLOWER_BASIC_AUTH") or os.environ.get("FLOWER_AUTH")):
    # By default Flower listens on every address, without a login.
    raise ConfigurationError("Flower needs a password: set FLOWER_BASIC_AUTH to user:password")

app = make_app(ProducerSettings.load())
