"""The base of models that never change."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A model whose fields stay as they were set; its validator is built when the first one is made."""

    model_config = ConfigDict(frozen=True, defer_build=True)
