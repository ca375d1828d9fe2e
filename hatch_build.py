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
            file = Path(tempfile.mkdtemp()) / NAME
            file.write_text(told.stdout, "ascii")
            build_data["force_include"][str(file)] = f"{PLACES[self.target_name]}/{NAME}"
