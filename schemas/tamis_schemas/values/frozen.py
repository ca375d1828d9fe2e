"""The base of models that never change."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A model whose fields stay as they were set; its validator is built when the first one is made."""

    # The names that pydantic keeps for itself, as from 2.10 on; before, a field like `model_status` is warned of.
    model_config = ConfigDict(frozen=True, defer_build=True, protected_namespaces=("model_validate", "model_dump"))
