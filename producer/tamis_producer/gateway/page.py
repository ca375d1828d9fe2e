"""The page at `/`, and the files that it loads: all of them from here, none from elsewhere."""

from functools import cache
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response

from ..example import CITATIONS, CRITERIA
from ..report.flow_svg import STYLE
from ..report.page import ASSETS as REPORT_ASSETS
from ..report.templates import policy_hash, template
from . import problems

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

# No script but ours runs, none is made from text, and nothing is sent elsewhere. The one style that is not a file is
# that of the flow's drawing, which is fetched with it and taken out before it is shown.
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


@router.get("/", summary="The page", response_class=HTMLResponse)
def get_page() -> HTMLResponse:
    return HTMLResponse(_page(), headers=HEADERS)


@router.get(
    "/assets/{name}",
    summary="A file that the page loads",
    response_class=Response,
    responses=problems.UNKNOWN | problems.described(HTTPStatus.UNPROCESSABLE_ENTITY),
)
def get_asset(name: str) -> Response:
    path = FILES.get(name)
    if path is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"the page loads no file {name!r}")
    return Response(path.read_bytes(), media_type=TYPES.get(path.suffix, "text/plain"))


@cache
def _page() -> str:
    """The page's HTML: the same for everybody, as what differs is fetched with a key."""
    return template(ASSETS / "gateway.html.jinja", REPORT_ASSETS).render(value_heading="Reason")
