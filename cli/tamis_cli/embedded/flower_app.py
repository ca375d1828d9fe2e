"""The Celery app for Flower. Only Flower's own process, whose environment names the servers, imports this module.

The app is made at import, because Celery's command line loads an app by the names of module and variable.
"""

import os

from tamis_producer.config.settings import ProducerSettings
from tamis_producer.transport.broker import make_app
from tamis_schemas import ConfigurationError

if not (os.environ.get("FLOWER_BASIC_AUTH") or os.environ.get("FLOWER_AUTH")):
    # By default Flower listens on every address, without a login.
    raise ConfigurationError("Flower needs a password: set FLOWER_BASIC_AUTH to user:password")

app = make_app(ProducerSettings.load())
