"""The base of immutable models."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable pydantic model. Its validator is built when its first object is made."""

    # pydantic's reserved names, as from 2.10 on; earlier versions warn of fields like `model_status`.
    model_config = ConfigDict(frozen=True, defer_build=True, protected_namespaces=("model_validate", "model_dump"))
