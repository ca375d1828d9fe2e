"""The documentation as a site: built strictly and without a network, whole, and without a link that leads nowhere."""

import re
from collections.abc import Iterator

import pytest
import yaml
from playwright.sync_api import Browser

import tamis_producer
import tamis_review
import tamis_schemas
from prose import read_documents
from stage.browser import needs_chromium
from stage.built_site import ROOT, Built, PageOfSite, build, pages
from stage.site_server import served

pytestmark = pytest.mark.built_from("docs", "mkdocs.yml", "deploy/site")

DOCS = ROOT / "docs"
NAVIGATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
NARROW = {"width": 390, "height": 844}
LOOKED_AT = ("index.html", "tutorial.html", "reference/clients.html", "security.html")
SEARCHED = "possibly unbilled"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def site(built: Built) -> dict[str, PageOfSite]:
    assert built.code == 0, built.said
    return {page.name: page for page in pages(built.folder).values()}


PACKAGES = (tamis_schemas, tamis_producer, tamis_review)


def listed(part: object) -> Iterator[str]:
    """The pages that the navigation names, in its order."""
    match part:
        case str():
            yield part
        case list():
            for each in part:
                yield from listed(each)
        case dict():
            for each in part.values():
                yield from listed(each)


def test_it_is_built_without_a_network_and_without_a_warning(built: Built) -> None:
    assert built.code == 0, built.said
    assert "No issues found" in built.said
    assert "warning" not in built.said.lower(), built.said


def test_every_page_is_in_the_navigation_once_and_contributors_documents_are_on_no_page(
    site: dict[str, PageOfSite],
) -> None:
    users = [document.name.removeprefix("docs/") for document in read_documents() if document.on_site]
    assert sorted(listed(NAVIGATION)) == sorted(users)
    assert sorted(site) == sorted(name.removesuffix("md") + "html" for name in users)


def test_the_navigation_has_a_tutorial_how_tos_a_reference_and_explanations() -> None:
    assert [title for part in NAVIGATION for title in part] == [
        "Home",
        "Tutorial",
        "How to",
        "Reference",
        "Explanation",
    ]


def test_every_link_leads_to_a_page_and_to_an_anchor_on_it(site: dict[str, PageOfSite]) -> None:
    by_path = {page.path: page for page in site.values()}
    astray = []
    for page in site.values():
        for link in page.read.links:
            if re.match(r"[a-z]+:", link):
                continue
            path, anchor = page.target(link)
            if not path.is_file() or (anchor and path in by_path and anchor not in by_path[path].read.ids):
                astray.append((page.name, link))
    assert astray == []
    assert sum(len(page.read.links) for page in site.values()) > 1000


def test_no_page_loads_anything_from_elsewhere(site: dict[str, PageOfSite]) -> None:
    for page in site.values():
        assert page.read.loaded
        for link in page.read.loaded:
            assert not re.match(r"(?:[a-z]+:)?//", link), f"{page.name}: {link}"
            assert page.target(link.split("?")[0])[0].is_file(), f"{page.name}: {link}"


def test_no_fence_is_left_as_text(site: dict[str, PageOfSite]) -> None:
    assert [name for name, page in site.items() if "```" in page.text or "\n::: " in page.text] == []


def test_the_reference_has_every_public_name_once_with_its_words(site: dict[str, PageOfSite]) -> None:
    public = {f"{package.__name__}.{name}" for package in PACKAGES for name in package.__all__}
    asked_for = [
        name
        for path in (DOCS / "reference").glob("*.md")
        for name in re.findall(r"^::: (\S+)$", path.read_text("utf-8"), re.M)
    ]
    assert sorted(asked_for) == sorted(public)
    reference = [page for name, page in site.items() if name.startswith("reference/")]
    anchors = {anchor for page in reference for anchor in page.read.ids}
    assert public <= anchors
    clients = site["reference/clients.html"]
    assert "tamis_producer.AsyncBatch.wait" in clients.read.ids
    for words in (
        "dicts of JSON values, or a data frame",
        "the model to ask. None",
        "iterated over with <code>async for</code>",
    ):
        assert words in clients.text, words  # of `Args:`, and of a method that mirrors another
    assert "None: it is not paused." in clients.text  # the comment beside a field


def test_the_picture_on_the_first_page_says_what_the_readme_s_does() -> None:
    """The README's is drawn by whoever shows Mermaid; a site that loads no script from elsewhere has a drawing."""
    (diagram,) = re.findall(r"```mermaid\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
    drawn = " ".join(re.findall(r">([^<>]+)</text>", (DOCS / "images" / "way-of-a-record.svg").read_text("utf-8")))
    drawn = drawn.replace("OpenAI- compatible", "OpenAI-compatible")
    words = [*re.findall(r"\[\(?([^\])]+)", diagram), *re.findall(r" -- (.+?) --> ", diagram)]
    assert len(words) == 14
    assert [each for each in words if each not in drawn] == []


@needs_chromium
def test_pages_fit_a_telephone_ask_nobody_else_and_are_found_by_their_words(built: Built, browser: Browser) -> None:
    with served(built.folder) as address, browser.new_context(viewport=NARROW) as context:
        page = context.new_page()
        asked: list[str] = []
        faults: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        for name in LOOKED_AT:
            page.goto(f"{address}/{name}", wait_until="networkidle")
            assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], name
        page.locator("label[for='__search']").first.click()
        page.keyboard.type(SEARCHED)
        page.get_by_text(re.compile(r"^[1-9]\d* results?$")).wait_for(timeout=15_000)
        assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
        assert faults == []
