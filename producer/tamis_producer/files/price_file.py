"""A user's prices: a YAML or JSON file that adds models, or corrects the price of a known model."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tamis_schemas import ModelPrice, Prices, PriceTable, TierPrice, packaged_prices

if TYPE_CHECKING:  # YAML is slow to import, and few users have such a file
    from .yaml_file import Location, YamlFile

EXAMPLE = """\
models:
  my-model:
    input: 0.25  # dollars per 1,000,000 tokens
    cached_input: 0.025
    cache_write: 0.3125
    output: 2.00
    tiers:
      flex:
        factor: 0.5"""


def known_prices(own: Path | None) -> Prices:
    """Return Tamis's prices of models, overridden by the prices in the user's file `own`.

    Raises `InputError` with file, line and field if the file cannot be read or has an invalid price.
    """
    packaged = Prices(packaged_prices().models)
    return packaged if own is None else packaged.before(read_prices(own).models)


def read_prices(path: Path | str) -> PriceTable:
    """Return the prices in a file. Raises `InputError` with file, line and field for a mistake."""
    from .yaml_file import read_yaml

    file = read_yaml(path, what="a price file", example=EXAMPLE)
    file.check_names(PriceTable.model_fields)
    models = file.values.get("models")
    if not isinstance(models, dict) or not models:
        raise file.wrong(f"must list models, each with its prices, for example:\n{EXAMPLE}", ("models",))
    for name, prices in models.items():
        location: Location = ("models", name)
        if not isinstance(name, str):
            raise file.wrong("put a model's name that is a number in quotes", ("models",))
        if not isinstance(prices, dict):
            raise file.wrong("needs input and output on the lines below it, in dollars per 1,000,000 tokens", location)
        file.check_names(ModelPrice.model_fields, location)
        if "tiers" in prices:
            _check_tiers(file, prices["tiers"], (*location, "tiers"))
    file.check_names(models, ("models",))  # no name occurs twice
    try:
        return PriceTable.model_validate(file.values)
    except ValidationError as error:
        raise _wrong(file, error) from error


def _check_tiers(file: "YamlFile", tiers: object, location: "Location") -> None:
    if not isinstance(tiers, dict) or not all(isinstance(name, str) for name in tiers):
        raise file.wrong("must list tiers by name, for example flex, each with its prices", location)
    file.check_names(tiers, location)  # no name occurs twice
    for name, price in tiers.items():
        if not isinstance(price, dict):
            raise file.wrong("needs a factor of the standard prices, or its own input and output", (*location, name))
        file.check_names(TierPrice.model_fields, (*location, name))


def _wrong(file: "YamlFile", error: ValidationError) -> Exception:
    first = error.errors(include_url=False)[0]
    location = first["loc"]
    if first["type"] == "missing":
        return file.wrong(f"{location[-1]!r} is missing: dollars per 1,000,000 tokens, or 0 if free", location[:-1])
    if first["type"] == "value_error":
        return file.wrong(first["msg"].removeprefix("Value error, "), location)
    if location[0] == "models":
        return file.wrong(f"{first['input']!r} is not a price: write dollars per 1,000,000 tokens, from 0", location)
    return file.wrong(first["msg"], location)
