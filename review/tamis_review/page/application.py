"""The screening application, as the gateway is extended by it."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import anyio
from fastapi import APIRouter, FastAPI

from tamis_producer.client.client import Client
from tamis_producer.gateway.api_keys import ApiKey

from . import (
    decision_routes,
    files,
    gold_routes,
    page,
    preview_routes,
    quality_routes,
    reading_routes,
    record_routes,
    review_routes,
    sample_routes,
)
from .preview_routes import Rehearse, nothing_renders
from .sight import check_batch_open
from .upload import LONGEST_TERMS
from .written import ReportWriters

PARTS = (
    *(decision_routes, files, gold_routes, preview_routes, quality_routes, reading_routes, record_routes),
    *(review_routes, sample_routes, page),
)
FILES_OF_BATCH = ("decisions", "evaluation", "calibration")
FORMS = ("/v1/files", "/v1/dry-run", "/v1/duplicates", *(f"/v1/batches/{{batch_id}}/{name}" for name in FILES_OF_BATCH))


class Screening:
    """What the screening application adds to the gateway: see `tamis_producer.gateway.extension.Application`."""

    routers: ClassVar[Sequence[APIRouter]] = tuple(part.router for part in PARTS)

    def __init__(self, rehearse: Rehearse = nothing_renders) -> None:
        """`rehearse`: what a planned batch would ask and cost; prompts are rendered where they are sent from."""
        self._rehearse = rehearse

    def largest_bodies(self, client: Client) -> Mapping[str, int]:
        """Return the most bytes of the forms that hold a file."""
        return dict.fromkeys(FORMS, client.settings.max_file_bytes + 2 * LONGEST_TERMS)

    def prepare(self, app: FastAPI, client: Client) -> None:
        """Set up report writers, dry runs and previews."""
        app.state.writers = ReportWriters()
        app.state.rehearse = self._rehearse
        app.state.dry_runs = anyio.CapacityLimiter(preview_routes.RENDERED_AT_ONCE)
        app.state.previews = anyio.CapacityLimiter(preview_routes.PAIRED_AT_ONCE)

    def check_open(self, batch_id: str, client: Client, key: ApiKey) -> None:
        """Raise `Blinded` while a record of the batch, or of its review, is hidden from the holder of the key."""
        check_batch_open(batch_id, client, key)
