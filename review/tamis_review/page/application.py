"""The screening application as an extension of the gateway: its routes, and the page at `/`.

All files of the page come from this server.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar

import anyio
from fastapi import APIRouter, FastAPI, HTTPException
from fastapi.responses import HTMLResponse, Response

from tamis_producer.client.client import Client
from tamis_producer.gateway import problems
from tamis_producer.gateway.api_keys import ApiKey
from tamis_schemas.batches.flow import BY_HUMAN

from ..decisions.visibility import PersonalSight
from ..example import CITATIONS, CRITERIA
from ..report.flow_svg import STYLE
from ..report.page import ASSETS as REPORT_ASSETS
from ..report.page import policy_hash, template
from . import files, gold_routes, preview_routes
from .decision_routes import decision_router, label_router
from .preview_routes import Rehearse, nothing_renders
from .quality_routes import figure_router, judgement_router
from .record_routes import record_router, work_router
from .review_routes import report_router, review_router
from .sample_routes import audit_router, stop_router
from .upload import LONGEST_TERMS
from .written import WRITTEN_AT_ONCE

FILES_OF_BATCH = ("decisions", "evaluation", "calibration")
FORMS = ("/v1/files", "/v1/dry-run", "/v1/duplicates", *(f"/v1/batches/{{batch_id}}/{name}" for name in FILES_OF_BATCH))


router = APIRouter(tags=["page"])

ASSETS = Path(__file__).parent / "assets"
SHOWN = {".css", ".js", ".svg"}
FILES = {
    "report.css": REPORT_ASSETS / "page.css",
    "quotes.js": REPORT_ASSETS / "quotes.js",
    "table.js": REPORT_ASSETS / "table.js",
    **{path.name: path for path in ASSETS.rglob("*") if path.suffix in SHOWN},
    "example.ris": CITATIONS,
    "example.yaml": CRITERIA,
}
TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".ris": "text/plain"}

# Only this server's scripts run, text never becomes a script, and nothing goes to other servers. The only inline style
# is in the drawing of the flow; the page removes this style before it shows the drawing.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' 'sha256-{policy_hash(STYLE)}'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
KEPT = "public, max-age=31536000, immutable"  # a year: changed contents get a new address


@router.get("/", summary="The page", response_class=HTMLResponse)
def get_page() -> HTMLResponse:
    return HTMLResponse(_page(), headers=HEADERS)


@router.get(
    "/assets/{version}/{name}",
    summary="A file that the page loads; browsers cache the files of the current page",
    response_class=Response,
    responses=problems.UNKNOWN | problems.described(HTTPStatus.UNPROCESSABLE_ENTITY),
)
async def get_asset(version: str, name: str) -> Response:
    path = FILES.get(name)
    if path is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"the page loads no file {name!r}")
    headers = {"Cache-Control": KEPT} if version == _version() else None
    return Response(_contents()[name], headers=headers, media_type=TYPES.get(path.suffix, "text/plain"))


@cache
def _contents() -> dict[str, bytes]:
    """Return the page's files: name -> contents. The files are read only once, so `_version` always fits them."""
    return {name: path.read_bytes() for name, path in FILES.items()}


@cache
def _version() -> str:
    """Return a hash of all files of the page. They share one version, because they load each other."""
    return hashlib.sha256(repr(sorted(_contents().items())).encode()).hexdigest()[:16]


@cache
def _page() -> str:
    """Return the page's HTML. It is equal for every user; scripts fetch private data with the user's key."""
    page = template(ASSETS / "gateway.html.jinja", REPORT_ASSETS)
    return page.render(value_heading="Reason", version=_version(), by_human=BY_HUMAN)


class Screening:
    """The screening application as an extension of the gateway: routes, limits, and rules that hide decisions."""

    routers: ClassVar[Sequence[APIRouter]] = (
        *(decision_router, label_router, files.router, gold_routes.router, preview_routes.router),
        *(figure_router, judgement_router, work_router, record_router, review_router, report_router),
        *(audit_router, stop_router, router),
    )

    def __init__(self, rehearse: Rehearse = nothing_renders) -> None:
        """Store `rehearse`, which returns the prompts and cost of a planned batch. This package renders no prompts."""
        self._rehearse = rehearse

    def largest_bodies(self, client: Client) -> Mapping[str, int]:
        """Return the largest size of a request body in bytes, for each route that accepts files."""
        return dict.fromkeys(FORMS, client.settings.max_file_bytes + 2 * LONGEST_TERMS)

    def prepare(self, app: FastAPI, client: Client) -> None:
        """Limit how many reports and dry runs run at the same time."""
        app.state.writers = anyio.CapacityLimiter(WRITTEN_AT_ONCE)
        app.state.rehearse = self._rehearse
        app.state.dry_runs = anyio.CapacityLimiter(preview_routes.RENDERED_AT_ONCE)

    def sight(self, key: ApiKey) -> PersonalSight:
        """Return the rule that hides decisions from this key's holder, in batches that people read blind."""
        return PersonalSight(key.label)
