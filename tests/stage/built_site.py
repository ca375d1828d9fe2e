"""The documentation as a site, built as `make site` does, on a machine without a network."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).parents[2]
SOURCES = ("schemas", "producer", "worker", "review", "cli")  # whose docstrings are the reference
BUILT_WITHIN = 120.0  # s
NOWHERE = "http://127.0.0.1:9"  # a proxy that nobody is


@dataclass(frozen=True)
class Built:
    """What came of a build."""

    code: int
    said: str
    folder: Path


def build(folder: Path) -> Built:
    """Build the site of this tree into a folder of its own; the tree is only read."""
    for part in SOURCES:
        (folder / part).symlink_to(ROOT / part)
    for part in ("docs", "deploy/site"):
        shutil.copytree(ROOT / part, folder / part)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    ended = subprocess.run(
        [*_without_network(), sys.executable, "-m", "zensical", "build", "--clean", "--strict"],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", "http_proxy": NOWHERE, "https_proxy": NOWHERE},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILT_WITHIN,
        check=False,
    )
    return Built(ended.returncode, ended.stdout, folder / "site")


def _without_network() -> list[str]:
    """Before a command: as root a namespace in which there is no network at all; the proxies alone elsewhere."""
    return ["unshare", "--net"] if os.geteuid() == 0 and shutil.which("unshare") else []


class _Reader(HTMLParser):
    """The ids, links and loaded resources of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := named.get(name))}
        target = named.get("href") or named.get("src") or named.get("data")
        if target is not None:
            # A page of the site is a link; all else that a tag names is fetched by the browser.
            fetched = tag != "a" and not (tag == "link" and named.get("rel") in {"canonical", "next", "prev"})
            (self.loaded if fetched else self.links).append(target)


@dataclass(frozen=True)
class PageOfSite:
    """One page as it was built."""

    path: Path
    site: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(self.site).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def read(self) -> _Reader:
        reader = _Reader()
        reader.feed(self.text)
        return reader

    def target(self, link: str) -> tuple[Path, str]:
        """The file that a link of this page leads to, and the anchor in it."""
        path, anchor = urldefrag(link)
        place = self.path if path in {"", "."} else (self.path.parent / unquote(path)).resolve()
        return place / "index.html" if place.is_dir() else place, unquote(anchor)


def pages(site: Path) -> dict[Path, PageOfSite]:
    """Every page but that for addresses which lead nowhere, whose links are made for the root of a server."""
    return {
        path.resolve(): PageOfSite(path.resolve(), site.resolve())
        for path in site.rglob("*.html")
        if path.name != "404.html"
    }
