"""The fenced blocks of the documents: what a reader copies."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "benchmarks" / "README.md",
    ROOT / "deploy" / "settings" / "README.md",
    ROOT / "examples" / "pipeline_service" / "README.md",
]
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_ASSIGNED = re.compile(r"([A-Z_][A-Z0-9_]*)=")
_JOINS = {"&&", "|", ";", "||"}


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    document: str  # from the root of the source
    line: int  # of its fence
    info: str
    text: str

    @property
    def language(self) -> str:
        return self.info.split(" ")[0]

    @property
    def title(self) -> str:
        """The file that it is to be saved as; empty: none."""
        found = re.search(r'title="([^"]+)"', self.info)
        return found[1] if found else ""

    @property
    def begins(self) -> str:
        """Its first line, by which a table names it; a number would change with each line above."""
        return self.text.split("\n", 1)[0].strip()

    @property
    def place(self) -> str:
        return f"{self.document}:{self.line}"

    @cached_property
    def commands(self) -> list[list[str]]:
        """The words of each command of a shell's block, without its environment."""
        return [command for line in self._lines for command in _parted(shlex.split(line, comments=True))]

    @cached_property
    def _lines(self) -> list[str]:
        """The lines that are typed: where there are prompts those behind one, the others are what was printed."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")] or lines

    @cached_property
    def assigned(self) -> list[str]:
        """The variables that it sets."""
        words = [word for line in self._lines for word in shlex.split(line, comments=True)]
        return [found[1] for word in words if (found := _ASSIGNED.match(word))]


def _parted(words: list[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in [*words, ";"]:
        if word in _JOINS:
            if command:
                yield command
            command = []
        elif command or not _ASSIGNED.match(word):
            command.append(word)


def blocks() -> list[Block]:
    """Every block of every document."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text("utf-8")
        for match in _FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(path.relative_to(ROOT).as_posix(), line, match["info"], match["text"]))
    return found
