"""The operations and their parameters: what a batch asks of every one of its items."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from .criteria import SearchCriteria
from .errors import InvalidParameters

Criteria = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Filter(BaseModel):
    """Yes or no (spec 1): does the item meet the criteria?"""

    model_config = ConfigDict(frozen=True, extra="forbid")
    operation: Literal["filter"] = "filter"
    criteria: Criteria
    include_reasoning: bool = True


class Inclusion(BaseModel):
    """Include, exclude or uncertain (spec 3): a record against a review's criteria, with a rationale."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    operation: Literal["inclusion"] = "inclusion"
    criteria: SearchCriteria


Operation = Annotated[Filter | Inclusion, Field(discriminator="operation")]
OPERATIONS: tuple[type[Filter] | type[Inclusion], ...] = (Filter, Inclusion)

_adapter: TypeAdapter[Filter | Inclusion] = TypeAdapter(Operation)


def parse_operation(params: object) -> Filter | Inclusion:
    """The operation that a batch's stored parameters describe.

    Raises:
        InvalidParameters: naming the field, where the parameters describe none.
    """
    try:
        return _adapter.validate_python(params)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InvalidParameters(f"{field or 'operation'}: {first['msg']}") from error
