"""The screening application, as the gateway is extended by it."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import anyio
from fastapi import APIRouter, FastAPI

from tamis_producer.client.client import Client
from tamis_producer.gateway.api_keys import ApiKey

from . import (
    audit_routes,
    dry_run_route,
    duplicates_route,
    explanations,
    export_route,
    figure_routes,
    files,
    gold_routes,
    judgement_routes,
    mode_routes,
    next_route,
    override_routes,
    page,
    records,
    remark_routes,
    report_stream,
    review_routes,
    stop_routes,
    work_route,
)
from .dry_run_route import Rehearse, nothing_renders
from .sight import check_batch_open
from .upload import LONGEST_TERMS
from .written import ReportWriters

PARTS = (
    *(audit_routes, records, report_stream, dry_run_route, duplicates_route, work_route, review_routes, explanations),
    *(export_route, figure_routes, files, gold_routes, judgement_routes, mode_routes, next_route, override_routes),
    *(remark_routes, stop_routes, page),
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
        app.state.dry_runs = anyio.CapacityLimiter(dry_run_route.AT_ONCE)
        app.state.previews = anyio.CapacityLimiter(duplicates_route.AT_ONCE)

    def check_open(self, batch_id: str, client: Client, key: ApiKey) -> None:
        """Raise `Blinded` while a record of the batch, or of its review, is hidden from the holder of the key."""
        check_batch_open(batch_id, client, key)
