"""An endpoint that moves a model's name to another snapshot."""

from ..asked import Asked
from .behaviour import Behaviour, JsonObject


class AnotherSnapshot(Behaviour):
    """The completion names a later snapshot of the model."""

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The completion with the later name."""
        return completion | {"model": f"{completion['model']}-later"}
