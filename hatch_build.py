"""Write down in a wheel and in an sdist which commit it was built from; `tamis --version` tells it."""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "commit.txt"  # as `tamis_schemas/release.py` reads it
PLACES = {"wheel": "tamis_schemas", "sdist": "schemas/tamis_schemas"}


class CommitHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"
    _folder: "tempfile.TemporaryDirectory[str] | None" = None  # of the file; a build that fails removes it at its end

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file. What is built from an sdist has it already, and an editable installation asks git."""
        root = Path(self.root)
        if version == "editable" or not (root / ".git").exists():
            return
        told = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 - whoever builds from a clone has git in the path
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
        if told.returncode == 0:
            self._folder = tempfile.TemporaryDirectory(prefix="tamis-build-")
            file = Path(self._folder.name) / NAME
            file.write_text(told.stdout, "ascii")
            build_data["force_include"][str(file)] = f"{PLACES[self.target_name]}/{NAME}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file, which the archive holds by now."""
        if self._folder is not None:
            self._folder.cleanup()
