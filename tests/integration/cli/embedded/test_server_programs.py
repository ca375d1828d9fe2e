"""Programs that are asked for their version: real processes, of which most do not run here."""

from pathlib import Path

import pytest

from tamis_cli.embedded.server_program import ask_version

# Answers as the programs give them, and what is wrong with others.
ANSWERS = [
    ("echo 'Valkey server v=8.1.8 sha=00000000:0 malloc=libc bits=64 build=a3b4'", (8, 1, 8)),
    ("echo 'Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=5a'", (7, 0, 15)),
    ("echo 'postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)'", (15, 18)),
    ("echo 'postgres (PostgreSQL) 19beta1'", (19,)),
    ("echo 'at your service'", "it does not report its version"),
    (
        "echo \"thing: /lib/libc.so.6: version 'GLIBC_2.99' not found (required by thing)\" >&2; exit 1",
        "thing: /lib/libc.so.6: version 'GLIBC_2.99' not found (required by thing)",
    ),
    ("kill -ILL $$", "it was ended by SIGILL"),
    ("exit 3", "it ended with status 3"),
]


@pytest.mark.parametrize(("script", "answer"), ANSWERS)
def test_a_program_says_its_version_or_why_it_does_not_run(tmp_path: Path, script: str, answer: object) -> None:
    assert ask_version(written(tmp_path, f"#!/bin/sh\n{script}\n")) == answer


def test_a_program_of_another_system_without_its_rights_or_without_itself_is_noticed(tmp_path: Path) -> None:
    assert ask_version(written(tmp_path, "#!/lib/ld-musl-of-nowhere.so.1\n")) == "it was built for another system"
    assert ask_version(written(tmp_path, "\x7fELF of no kind")) == "Exec format error"
    assert ask_version(written(tmp_path, "#!/bin/sh\n", mode=0o644)) == "Permission denied"
    assert ask_version(tmp_path / "nowhere") == "it is missing"


def written(folder: Path, text: str, *, mode: int = 0o755) -> Path:
    program = folder / "program"
    program.write_text(text)
    program.chmod(mode)
    return program
