"""The OpenAPI description: what FastAPI finds out of the routes, and the models that only requests or problems name."""

from typing import Annotated, Any

from fastapi import FastAPI, Path
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from .problems import Problem

PLACE = "#/components/schemas/{model}"
_named: dict[type[BaseModel], None] = {Problem: None}

BatchId = Annotated[str, Path(description="A batch's id, or its beginning.", examples=["3f2a"])]


def component(model: type[BaseModel]) -> dict[str, str]:
    """Where the description holds a model, which this has it hold."""
    _named[model] = None
    return {"$ref": PLACE.format(model=model.__name__)}


class Described(FastAPI):
    """An application whose description holds those models, too."""

    def openapi(self) -> dict[str, Any]:
        """The description, made once."""
        if self.openapi_schema is None:
            described = super().openapi()
            _, models = models_json_schema([(model, "validation") for model in _named], ref_template=PLACE)
            described["components"]["schemas"] |= models["$defs"]
        return super().openapi()
