"""Tab in a real shell, with the script that `tamis completion` prints."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BASH = shutil.which("bash")
COMPLETED_WITHIN = 60.0  # s
TAB = """
eval "$(tamis completion bash)"
COMP_WORDS=({words}) COMP_CWORD={at}
_tamis_completion tamis
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.night
@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_tab_completes_in_bash(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "tamis").write_text(f'#!/bin/sh\nexec {sys.executable} -m tamis_cli "$@"\n', "utf-8")
    (folder / "tamis").chmod(0o755)
    done = subprocess.run(
        [str(BASH), "--norc", "-c", TAB.format(words='tamis keys ""', at=2)],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMPLETED_WITHIN,
        check=True,
    )
    assert set(done.stdout.split()) == {"change", "create", "list", "revoke"}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bin"]  # it changed no file
