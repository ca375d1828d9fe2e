"""The OpenAPI description, with the models that FastAPI would omit because only requests or problems use them."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Query
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from .problems import Problem
from .submission_body import NDJSON

SERVERS = [{"url": "/", "description": "The gateway that serves this description."}]
PLACE = "#/components/schemas/{model}"
_PAGE = re.compile(r"ListPage_(\w+?)_(?:int|str)_")  # Pydantic's name for the schema of a `ListPage`
_TEXT = {"type": "string"}
_EVENTS = {"description": "Server-sent events."}  # of no type: readers of OpenAPI differ on what has one
_SCHEMAS = {"image/png": {"type": "string", "format": "binary"}, "text/event-stream": _EVENTS}
_named: dict[type[BaseModel], None] = {Problem: None}

Index = Annotated[int, Path(ge=0, lt=2**31, description="The item's place in its batch.")]  # the ledger's limit
BatchId = Annotated[str, Path(description="A batch's id, or its beginning.", examples=["3f2a"])]
OfReview = Annotated[Literal["none"] | None, Query(description="none: only batches of no review.")]


def component(model: type[BaseModel]) -> dict[str, str]:
    """Add a model to the OpenAPI description, and return a reference to the model."""
    _named[model] = None
    return {"$ref": PLACE.format(model=model.__name__)}


def in_forms(types: Mapping[Any, str], model: type[BaseModel]) -> dict[str, Any]:
    """Return FastAPI's description of an answer in these media types. Its JSON form has the schema of `model`."""
    return {"model": model, "content": {media_type: {} for media_type in types.values()}}


class Described(FastAPI):
    """A FastAPI application whose OpenAPI description also contains the pydantic models that `component` added."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description, made at the first call and adapted for generators of clients.

        No parameter may be null. Content without a schema is described as text. Routes that need no key say so. A model
        in a union must contain the field that names its kind.
        """
        if self.openapi_schema is None:
            described: dict[str, Any] = json.loads(_PAGE.sub(r"\1Page", json.dumps(super().openapi())))
            _, models = models_json_schema([(model, "validation") for model in _named], ref_template=PLACE)
            schemas = described["components"]["schemas"] = described["components"]["schemas"] | models["$defs"]
            for name, kind in _discriminated(schemas):
                kind["required"] = [name, *kind.get("required", ())]
                del kind["properties"][name]["default"]
            for operation in (entry for methods in described["paths"].values() for entry in methods.values()):
                operation.setdefault("security", [])
                for parameter in operation.get("parameters", ()):
                    parameter["schema"] = _without_null(parameter["schema"])
                for answer in operation["responses"].values():
                    for kind, content in answer.get("content", {}).items():
                        if kind == NDJSON or not kind.endswith("json"):
                            content.setdefault("schema", _SCHEMAS.get(kind, _TEXT))
            self.openapi_schema = described
        return self.openapi_schema


def _discriminated(schemas: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return (field, schema) for each model in a union, each model once. The field distinguishes the union's models."""
    unions = [
        field["discriminator"]
        for schema in schemas.values()
        for field in schema.get("properties", {}).values()
        if "discriminator" in field
    ]
    named = {place.rpartition("/")[2]: union["propertyName"] for union in unions for place in union["mapping"].values()}
    return [(field, schemas[model]) for model, field in named.items()]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter's schema without null: a client omits the parameter instead, and the route sees None."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    kind: dict[str, Any] = kinds[0]
    return kind | {name: value for name, value in schema.items() if name != "anyOf"}
