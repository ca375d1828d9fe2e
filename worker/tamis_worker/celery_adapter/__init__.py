"""The adapter to Celery's internals: it receives messages, and acknowledges them."""
