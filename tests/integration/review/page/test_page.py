"""The page and its files: open to everybody, from here alone, and under a policy that lets nothing else run."""

import hashlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import httpx2 as httpx
import pytest

from stage.gateway import gateway
from stage.plain_http import http_client
from tamis_producer import Client
from tamis_review.example import CITATIONS, CRITERIA
from tamis_review.page.application import ASSETS, FILES


class Elements(HTMLParser):
    """The elements of a page and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with gateway(client) as base, http_client(base) as http:
        yield http


def assets(http: httpx.Client) -> str:
    """Where the page says that its files are."""
    (at,) = set(re.findall(r'"(/assets/[^/"]+)/', http.get("/").text))
    return str(at)


def test_the_page_runs_and_loads_nothing_but_files_of_the_gateway(http: httpx.Client) -> None:
    answer = http.get("/")
    assert answer.headers["Content-Type"].startswith("text/html")
    policy = dict(part.partition(" ")[::2] for part in answer.headers["Content-Security-Policy"].split("; "))
    assert (policy["default-src"], policy["script-src"], policy["connect-src"]) == ("'none'", "'self'", "'self'")
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    elements = Elements(answer.text).found
    for tag, attributes in elements:
        assert not any(name == "style" or name.startswith("on") for name in attributes), tag
        assert tag != "style"
        if tag == "script":
            assert attributes["src"]
        loaded = attributes.get("src") or (attributes.get("href") if tag == "link" else None)
        if loaded:
            assert http.get(loaded).status_code == 200, loaded


def test_every_file_of_the_page_is_served_as_what_it_is_and_no_other_file(http: httpx.Client) -> None:
    kinds = {
        "js": "text/javascript",
        "css": "text/css",
        "svg": "image/svg+xml",
        "ris": "text/plain",
        "yaml": "text/plain",
    }
    at = assets(http)
    for name, path in FILES.items():
        answer = http.get(f"{at}/{name}")
        assert answer.content == path.read_bytes()
        assert answer.headers["Content-Type"].partition(";")[0] == kinds[name.rpartition(".")[2]]
    for name in ("page.py", "..%2Fapp.py", "gateway.html.jinja", ""):
        assert http.get(f"{at}/{name}").status_code == 404


def test_a_browser_keeps_the_files_that_the_page_names_and_asks_for_the_page_again(http: httpx.Client) -> None:
    page, script = http.get("/"), http.get(f"{assets(http)}/main.js")
    assert page.headers["Cache-Control"] == "no-store"
    assert script.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_files_of_another_release_s_page_are_served_and_not_kept(http: httpx.Client) -> None:
    answer = http.get("/assets/another/main.js")
    assert answer.content == FILES["main.js"].read_bytes()
    assert answer.headers["Cache-Control"] == "no-store"


def test_every_script_is_served_and_imports_only_what_is_served() -> None:
    paths = {path.name: path for path in ASSETS.rglob("*.js")}
    scripts = set(paths)
    assert scripts <= set(FILES)
    for path in paths.values():
        text = path.read_text("utf-8")
        if path.parent.name == "vendor":
            assert "import" not in text
            continue
        assert set(re.findall(r'(?:from |import\()"\./([^"]+)"', text)) <= scripts
        assert "innerHTML" not in text
        assert "http://" not in text
        assert "https://" not in text


def test_the_example_is_there_to_be_tried(http: httpx.Client) -> None:
    at = assets(http)
    assert http.get(f"{at}/example.ris").text == CITATIONS.read_text("utf-8")
    assert http.get(f"{at}/example.yaml").text == CRITERIA.read_text("utf-8")


def test_the_library_is_the_one_that_the_page_of_dependencies_names() -> None:
    told = (Path(__file__).parents[4] / "docs/dependencies.md").read_text("utf-8")
    for path in (ASSETS / "vendor").glob("*.js"):
        assert f"`{path.name}`" in told
        assert hashlib.sha256(path.read_bytes()).hexdigest() in told
