"""The words and sentences of the Markdown documents."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from stage.documents import DOCUMENTS, ROOT

_BLOCK = re.compile(r"^(?P<fence> *```).*?^(?P=fence)$|\A---\n.*?^---$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_ROW_OR_HEADING = re.compile(r"^(?: *\|| *#+ |:::).*$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]+`")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z0-9`])")


@dataclass(frozen=True)
class Document:
    """One Markdown file: `name` is its path from the root of the source."""

    name: str
    text: str
    on_site: bool  # a page of the users' site

    @property
    def words(self) -> int:
        """The number of words, tables and code included, as `wc -w` counts them."""
        return len(self.text.split())

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of paragraphs and list items; each `code` counts as one word."""
        prose = _CODE.sub("`code`", _LINK.sub(r"\1", _ROW_OR_HEADING.sub("\n\n", _BLOCK.sub("\n\n", self.text))))
        paragraphs = _PARAGRAPH.split(_ITEM.sub("\n\n", prose))
        return [
            " ".join(sentence.split())
            for paragraph in paragraphs
            for sentence in _SENTENCE_END.split(paragraph.strip())
            if sentence.strip()
        ]


def read_documents() -> list[Document]:
    """Return every Markdown document of the project."""
    excluded = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8")).get("exclude_docs", "").split()
    names = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]
    return [Document(name, (ROOT / name).read_text("utf-8"), _is_on_site(name, excluded)) for name in names]


def _is_on_site(name: str, excluded: list[str]) -> bool:
    if not name.startswith("docs/"):
        return False
    page = Path(name.removeprefix("docs/"))
    return not any(page.match(pattern.strip("/")) or pattern.strip("/") == page.parts[0] for pattern in excluded)
