"""What the embedded model costs."""

from tamis_cli.embedded.endpoint import MODEL_NAME
from tamis_producer.files.price_file import known_prices
from tamis_schemas import Usage


def test_the_model_that_tamis_up_serves_is_free_for_workers_and_producers_alike() -> None:
    assert known_prices(None).cost(MODEL_NAME, Usage(1000, 200)) == 0
