"""The validators for the drafts of JSON Schema, with patterns matched by RE2. Their import is slow."""

from jsonschema import Draft6Validator, Draft7Validator, Draft201909Validator, Draft202012Validator
from jsonschema.protocols import Validator

from .schema_pattern import linear

LATEST = linear(Draft202012Validator)
DRAFTS: dict[object, type[Validator]] = {
    "https://json-schema.org/draft/2020-12/schema": LATEST,
    "https://json-schema.org/draft/2019-09/schema": linear(Draft201909Validator),
    "http://json-schema.org/draft-07/schema": linear(Draft7Validator),
    "http://json-schema.org/draft-06/schema": linear(Draft6Validator),
}
