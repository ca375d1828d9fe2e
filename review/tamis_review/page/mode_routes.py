"""Routes of the screening mode: who sees whose decisions while people read."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from tamis_producer.gateway import problems
from tamis_producer.gateway.access import Of, Operator, Reader
from tamis_producer.gateway.description import BatchId
from tamis_review import reading
from tamis_schemas import ScreeningMode, ScreeningModeSet

router = APIRouter(
    prefix="/v1/batches/{batch_id}", tags=["human decisions"], responses=problems.KEYED | problems.UNKNOWN
)


class NewMode(BaseModel):
    """The screening mode to be set."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"mode": "pair"}]})

    mode: ScreeningMode


@router.get("/mode", summary="How people read a batch, and who set it when")
def get_screening_mode(batch_id: BatchId, client: Of, _: Reader) -> ScreeningModeSet:
    return reading.get_screening_mode(client.batch(batch_id))


@router.put(
    "/mode",
    summary="Set how people read a batch: openly, in pairs, beside the model, or a sample of what it excluded",
    responses=problems.OF_BODIES,
)
def set_screening_mode(batch_id: BatchId, wanted: NewMode, client: Of, key: Operator) -> ScreeningModeSet:
    return reading.set_screening_mode(client.batch(batch_id), wanted.mode, set_by=key.label)
