"""The Celery app that Flower is started with; imported by nothing else.

It is built at import because Celery's command line takes the name of an app that exists: this module runs in Flower's
own process, whose environment names the servers.
"""

from tamis_producer.broker import make_app
from tamis_producer.settings import ProducerSettings

app = make_app(ProducerSettings.load())
