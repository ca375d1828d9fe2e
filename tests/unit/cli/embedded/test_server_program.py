"""Which program serves: the package's, else the system's, each only where it runs and is not too old."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tamis_cli.embedded import postgres, valkey
from tamis_cli.embedded.postgres import POSTGRES, release_of
from tamis_cli.embedded.server_program import SYSTEM, ProgramCandidate, ServerKind, ServerProgram, Version, choose
from tamis_cli.embedded.valkey import REDIS
from tamis_schemas import ConfigurationError

# A server whose package is installed (this project is) and one whose package is not.
INSTALLED = ServerKind("Thing", "thing-embedded", "tamis_worker", "thing-server", (6, 2))
MISSING = ServerKind("Thing", "thing-embedded", "no_such_module", "thing-server", (6, 2))

PACKAGE, OWN, OTHER = Path("/venv/bin/thing"), Path("/usr/bin/thing"), Path("/usr/local/bin/thing")
CANDIDATES = [
    ProgramCandidate("thing-embedded", PACKAGE),
    ProgramCandidate(SYSTEM, OWN),
    ProgramCandidate(SYSTEM, OTHER),
]
NOT_INSTALLED = "the package thing-embedded is not installed"


def let_programs_answer(monkeypatch: pytest.MonkeyPatch, versions: Mapping[Path, Version | str]) -> None:
    """Let these programs say these versions; any other that is asked is an error."""
    monkeypatch.setattr("tamis_cli.embedded.server_program.ask_version", versions.__getitem__)


@pytest.mark.parametrize(
    ("server", "versions", "chosen", "passed_over"),
    [
        (INSTALLED, {PACKAGE: (8, 1), OWN: (7,)}, PACKAGE, ()),
        (MISSING, {OWN: (7,), OTHER: (9,)}, OWN, (NOT_INSTALLED,)),
        (
            INSTALLED,
            {PACKAGE: "Permission denied", OWN: (7,)},
            OWN,
            ("/venv/bin/thing of thing-embedded does not run: Permission denied",),
        ),
        (
            INSTALLED,
            {PACKAGE: "it was ended by SIGILL", OWN: (6, 1, 9), OTHER: (6, 2)},
            OTHER,
            (
                "/venv/bin/thing of thing-embedded does not run: it was ended by SIGILL",
                "/usr/bin/thing of this system is 6.1.9, but 6.2 is the minimum",
            ),
        ),
    ],
)
def test_the_first_that_runs_and_is_new_enough_is_chosen_and_the_others_are_named(
    monkeypatch: pytest.MonkeyPatch,
    server: ServerKind,
    versions: dict[Path, Version | str],
    chosen: Path,
    passed_over: tuple[str, ...],
) -> None:
    candidates = [candidate for candidate in CANDIDATES if candidate.path in versions]
    let_programs_answer(monkeypatch, versions)
    program = choose(server, candidates)
    assert (program.path, program.passed_over) == (chosen, passed_over)
    assert program.of_system == (chosen != PACKAGE)


def test_no_program_after_the_chosen_one_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    let_programs_answer(monkeypatch, {PACKAGE: (7,)})
    assert choose(INSTALLED, CANDIDATES).path == PACKAGE


def test_where_none_serves_the_error_says_why_and_names_package_extra_debians_package_and_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_programs_answer(monkeypatch, {OWN: (5, 0)})
    with pytest.raises(ConfigurationError) as raised:
        choose(MISSING, CANDIDATES[1:2])
    message = str(raised.value)
    for part in (
        NOT_INSTALLED,
        "/usr/bin/thing of this system is 5.0, but 6.2 is the minimum",
        "install thing-embedded (part of tamis[demo])",
        "Debian's package thing-server",
        "TAMIS_BROKER_URL and TAMIS_DATABASE_URL",
    ):
        assert part in message


def test_where_the_package_is_installed_and_does_not_run_nobody_is_told_to_install_it(tmp_path: Path) -> None:
    program = tmp_path / "thing"
    program.write_text(
        "#!/bin/sh\necho 'thing: error while loading shared libraries: libz.so.1: cannot open shared object file: "
        "No such file or directory' >&2\nexit 127\n"
    )
    program.chmod(0o755)
    with pytest.raises(ConfigurationError, match=r"libz\.so\.1 is missing: install Debian's package zlib1g") as raised:
        choose(INSTALLED, [ProgramCandidate("thing-embedded", program)])
    assert "install thing-embedded" not in str(raised.value)


def test_a_program_is_told_with_its_version_and_where_it_is_from() -> None:
    assert str(ServerProgram(PACKAGE, (18, 6), "thing-embedded")) == "18.6 of thing-embedded"
    system = ServerProgram(OWN, (7, 0, 15), SYSTEM, (NOT_INSTALLED,))
    assert system.told == f"7.0.15 of this system, /usr/bin/thing; {NOT_INSTALLED}"


def make(program: Path) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.touch(mode=0o755)
    return program


def only_here(monkeypatch: pytest.MonkeyPatch, *path: Path) -> None:
    """Leave nothing of the machine's own servers in sight."""
    monkeypatch.setattr(postgres, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", ":".join(map(str, path)))


def test_the_systems_releases_of_postgres_are_tried_from_the_newest_down_and_each_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {release: tmp_path / "lib" / release / "bin" for release in ("9", "15", "17", "16")}
    for folder in folders.values():
        make(folder / "postgres")
        make(folder / "initdb")
    (folders["16"] / "initdb").unlink()  # a server without it can make no data folder
    on_path = tmp_path / "bin"
    on_path.mkdir()
    (on_path / "postgres").symlink_to(folders["15"] / "postgres")
    only_here(monkeypatch, on_path)
    monkeypatch.setattr(postgres, "SYSTEM_FOLDERS", (str(tmp_path / "lib" / "*" / "bin"),))
    found = [candidate.path for candidate in postgres.candidates() if candidate.origin == SYSTEM]
    assert found == [folders[release] / "postgres" for release in ("17", "15", "9")]


def test_valkey_of_the_system_comes_before_redis_and_both_after_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(valkey, "REDIS", replace(REDIS, module=INSTALLED.module))
    redis_server, valkey_server = (make(tmp_path / name) for name in ("redis-server", "valkey-server"))
    only_here(monkeypatch, tmp_path)
    assert [candidate.path for candidate in valkey.candidates()][-2:] == [valkey_server, redis_server]
    assert [candidate.origin for candidate in valkey.candidates()] == [REDIS.package, SYSTEM, SYSTEM]


def programs(monkeypatch: pytest.MonkeyPatch, **versions: Version) -> None:
    """Let the package and the system have these versions of Postgres, and nothing else."""
    paths = {name: Path(f"/{name}/postgres") for name in versions}
    found = [ProgramCandidate(POSTGRES.package if name == "package" else SYSTEM, path) for name, path in paths.items()]
    monkeypatch.setattr(postgres, "candidates", lambda: iter(found))
    let_programs_answer(monkeypatch, {paths[name]: version for name, version in versions.items()})


def data_of(folder: Path, version: str) -> Path:
    (folder / "PG_VERSION").write_text(version)
    return folder


@pytest.mark.parametrize(("made_by", "chosen"), [("18\n", "package"), ("15\n", "system")])
def test_data_are_served_by_the_release_that_made_them_wherever_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_by: str, chosen: str
) -> None:
    programs(monkeypatch, package=(18, 6), system=(15, 18))
    assert postgres.server_program(tmp_path).path == Path("/package/postgres")  # no data yet
    assert postgres.server_program(data_of(tmp_path, made_by)).path == Path(f"/{chosen}/postgres")


def test_data_of_a_release_that_is_not_here_are_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(monkeypatch, package=(18, 6), system=(15, 18))
    with pytest.raises(
        ConfigurationError, match=r"need Postgres 17, but this machine has 18\.6 and 15\.18.*postgresql-17"
    ):
        postgres.server_program(data_of(tmp_path, "17\n"))
    programs(monkeypatch, system=(14, 2))  # none that would do for any data: that comes first
    with pytest.raises(ConfigurationError, match=r"14\.2, but 15 is the minimum"):
        postgres.server_program(tmp_path)


@pytest.mark.parametrize(("written", "release"), [("18\n", 18), ("9.6\n", 9), ("", None), ("x\n", None)])
def test_the_release_of_a_data_folder_is_what_it_says(tmp_path: Path, written: str, release: int | None) -> None:
    assert release_of(data_of(tmp_path, written)) == release
    assert release_of(tmp_path / "nowhere") is None
