"""Which binaries of Postgres serve, and who may run them."""

import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tamis_schemas import ConfigurationError

from .server_program import SYSTEM, Candidate, Server, ServerProgram, Version, brought_along, choose, shown

SYSTEM_USER = "embedded_postgres"  # who runs the server where we are root, which Postgres refuses to be
DEBIAN_USER = "postgres"  # whom the distribution's package makes; used where no other can be made
POSTGRES = Server(
    name="Postgres",
    package="embedded-postgres",
    module="embedded_postgres",
    debian="postgresql",
    at_least=(15,),  # docs/operations.md
)
# Where distributions keep their releases side by side: Debian's, and those of the Postgres project for Red Hat's.
SYSTEM_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
ASK_WITHIN = 10.0  # seconds


def server_program(data: Path) -> ServerProgram:
    """The program `postgres` for a data folder, with `initdb` beside it; releases read only the data of their own.

    Raises:
        ConfigurationError: where there is none; says what to install.
    """
    release = release_of(data)
    if release is None:
        return choose(POSTGRES, candidates())
    runs: list[Version] = []

    def unfit(version: Version) -> str | None:
        runs.append(version)
        return None if version[0] == release else f"and the data are of {release}"

    try:
        return choose(POSTGRES, candidates(), unfit=unfit)
    except ConfigurationError as error:
        if not runs:
            raise
        raise ConfigurationError(
            f"the data in {data} are of Postgres {release}, and here runs {' and '.join(map(shown, runs))}, which does "
            f"not read them: install Postgres {release} (Debian's package is postgresql-{release}), where it runs move "
            "the ledger by a dump (docs/operations.md, Backup), or begin anew in another folder with TAMIS_HOME"
        ) from error


def release_of(data: Path) -> int | None:
    """The major release that made a data folder; None where there is no data folder, or it does not say."""
    try:
        return int((data / "PG_VERSION").read_text("ascii").partition(".")[0])
    except (OSError, ValueError):  # where it is another user's, that is said with the folder's owner
        return None


def candidates() -> Iterator[Candidate]:
    """The programs that may be there, each once: the package's, then the system's, the newest release first."""
    yield from brought_along(POSTGRES, "pginstall/bin/postgres")
    seen: set[Path] = set()
    for folder in _system_folders():
        program = (folder / "postgres").resolve()
        if program not in seen and program.exists() and (program.parent / "initdb").exists():
            seen.add(program)
            yield Candidate(SYSTEM, program)


def _system_folders() -> Iterator[Path]:
    if (named := _named_by_pg_config()) is not None:
        yield named
    for pattern in SYSTEM_FOLDERS:
        yield from sorted(Path("/").glob(pattern.lstrip("/")), key=_release_in_path, reverse=True)
    if (on_path := shutil.which("postgres")) is not None:
        yield Path(on_path).resolve().parent


def _named_by_pg_config() -> Path | None:
    """The folder that `pg_config` names; it may belong to a client's package, and hold no server."""
    try:
        done = subprocess.run(
            ["pg_config", "--bindir"],  # noqa: S607 - the user's own PATH
            capture_output=True,
            text=True,
            timeout=ASK_WITHIN,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Path(done.stdout.strip())


def _release_in_path(folder: Path) -> int:
    digits = "".join(character for character in folder.parent.name if character.isdigit())
    return int(digits or 0)


def server_account() -> pwd.struct_passwd | None:
    """The account that must run the server: None for our own; where we are root one that is made for it."""
    if os.geteuid() != 0:
        return None
    if (account := _account(SYSTEM_USER)) is not None:
        return account
    try:
        _make_user()
        return pwd.getpwnam(SYSTEM_USER)
    except ConfigurationError:
        if (account := _account(DEBIAN_USER)) is None:
            raise
        return account


def open_binaries(program: Path) -> None:
    """Let every user run a package's binaries, where an installation under a strict umask has closed them."""
    binaries = program.parent
    allow_passage(binaries)
    if os.access(program, os.X_OK) and _open_to_all(program):
        return
    for folder, _, files in os.walk(binaries.parent):
        Path(folder).chmod(0o755)
        for name in files:
            file = Path(folder) / name
            if not file.is_symlink():
                file.chmod(0o755 if os.access(file, os.X_OK) else 0o644)


def allow_passage(path: Path) -> None:
    """Let every user pass through the folders above `path`: pass, not read, and only where they could not."""
    for folder in path.resolve().parents:
        mode = stat.S_IMODE(folder.stat().st_mode)
        if not mode & stat.S_IXOTH:
            folder.chmod(mode | stat.S_IXOTH)


def _open_to_all(program: Path) -> bool:
    return all(file.stat().st_mode & stat.S_IXOTH for file in (program, program.parent, program.parent.parent))


def _account(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _make_user() -> None:
    try:
        subprocess.run(
            ["useradd", "--system", "--no-create-home", "--shell", "/bin/sh", SYSTEM_USER],  # noqa: S607 - root's own PATH
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise ConfigurationError(
            f"Postgres does not run as root, and the user {SYSTEM_USER!r} cannot be made ({error}): run as another user"
        ) from error
