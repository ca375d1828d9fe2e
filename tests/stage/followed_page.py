"""A how-to, followed to the letter: its blocks are applied to a copy of the source, then its program runs there."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from .command import python_path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r'^```(python|diff) title="(\S+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r'^```text title="printed"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PACKAGES = (
    "schemas/tamis_schemas",
    "producer/tamis_producer",
    "worker/tamis_worker",
    "review/tamis_review",
    "cli/tamis_cli",
)
SCRIPT = "use_it.py"  # of the reader, and no part of the source


class FollowedPage:
    """A copy of the source after all that a page says."""

    def __init__(self, page: str, folder: Path) -> None:
        text = (ROOT / "docs" / "how-to" / page).read_text("utf-8")
        self.source = folder / "source"
        self.path = python_path(*(self.source / Path(package).parent for package in PACKAGES))
        self.script = self.source / SCRIPT
        self.printed = "".join(PRINTED.findall(text)).splitlines()
        for package in PACKAGES:
            shutil.copytree(ROOT / package, self.source / package)
        blocks = BLOCK.findall(text)
        for kind, name, body in blocks:
            _follow(self.source / name, kind, body)
        self.files = {name for _, name, _ in blocks} - {SCRIPT}

    def run(self, env: Mapping[str, str]) -> list[str]:
        """Return the lines that the page's program prints."""
        done = subprocess.run(
            [sys.executable, str(self.script)],
            cwd=self.source,
            env={**os.environ, **env, "PYTHONPATH": self.path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


def _follow(file: Path, kind: str, body: str) -> None:
    """Do what a block of the page says: write a new file, or change one that is there."""
    if kind == "python":
        assert not file.exists(), f"{file} is there already"
        file.write_text(body, "utf-8")
        return
    before = "".join(line[1:] for line in body.splitlines(keepends=True) if line[0] in " -")
    after = "".join(line[1:] for line in body.splitlines(keepends=True) if line[0] in " +")
    text = file.read_text("utf-8")
    assert text.count(before) == 1, f"{file} has these lines {text.count(before)} times:\n{before}"
    file.write_text(text.replace(before, after), "utf-8")
