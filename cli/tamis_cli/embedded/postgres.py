"""An embedded Postgres for the ledger. It is durable, and reachable only through a Unix socket.

The class can be used without a stack: `with Postgres(folder) as postgres: ... postgres.url`.
"""

import contextlib
import fcntl
import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import psutil
import psycopg

from tamis_schemas import ConfigurationError, OperationFailed

from .part import Part
from .process import ChildrenFile, Command, ask_program, server_environment
from .server_program import SYSTEM, ProgramCandidate, ServerKind, ServerProgram, Version, brought_along, choose, shown

DATABASE = "tamis"
SUPERUSER = "postgres"
PORT = 5432  # part of the socket's file name; nothing listens on TCP
SOCKET_PATH_LIMIT = 103  # bytes: the limit of macOS; Linux allows 107
CONNECT_WITHIN = 5  # seconds
SYSTEM_USER = "embedded_postgres"  # runs the server for root, because Postgres refuses to run as root
DEBIAN_USER = "postgres"  # made by Debian's package; used if `SYSTEM_USER` cannot be created
ACCOUNTS = Path("/etc/passwd")
POSTGRES = ServerKind(
    name="Postgres",
    package="embedded-postgres",
    module="embedded_postgres",
    debian="postgresql",
    at_least=(15,),  # docs/operations.md
)
# Folders of installed releases: Debian's, and the Postgres project's for Red Hat.
SYSTEM_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
ASK_WITHIN = 10.0  # seconds

# Durable by default (fsync and synchronous_commit stay on).
PARAMETERS = {
    "listen_addresses": "",
    "port": str(PORT),
    "max_connections": "200",  # enough for a pool in each worker process, for producers, and in reserve
    "shared_buffers": "128MB",
    "max_wal_size": "2GB",  # a large COPY does not wait for checkpoints
    "jit": "off",  # the package's binaries cannot compile; the system's should behave alike
    "log_min_duration_statement": "5s",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class Postgres(Part):
    """A Postgres server with its data in `folder`, which is created if missing. `log` is in this folder by default."""

    title: ClassVar[str] = "Postgres"

    def __init__(
        self, folder: Path, *, log: Path | None = None, children: ChildrenFile | None = None, patience: float = 10.0
    ) -> None:
        """Prepare the server, without starting it.

        `patience`: seconds that the processes of a killed server may take to end.
        """
        self.folder = folder.absolute()
        self.data = self.folder / "data"
        self._patience = patience
        super().__init__("postgres", (log or self.folder / "postgres.log").absolute(), children=children)

    @cached_property
    def program(self) -> ServerProgram:
        """Return the server program. Raise `ConfigurationError` if no installed program can read the data."""
        return server_program(self.data)

    @property
    def url(self) -> str:
        """Return the URL of the database for SQLAlchemy, with the psycopg driver."""
        socket = quote(str(self.socket_folder), safe="/")
        # The URL has the port, because PGPORT in the environment could name another.
        return f"postgresql+psycopg://{SUPERUSER}@/{DATABASE}?host={socket}&port={PORT}"

    @cached_property
    def socket_folder(self) -> Path:
        """Return the socket's folder: beside the data or, if that path is too long for a socket, in `/tmp`."""
        beside = self.folder / "run"
        if len(os.fsencode(beside / f".s.PGSQL.{PORT}.lock")) <= SOCKET_PATH_LIMIT:
            return beside
        return Path("/tmp") / f"tamis-{hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]}"  # noqa: S108 - owner checked

    def prepare(self) -> Command:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._make_reachable()
        self._make_socket_folder()
        if self._needs_cluster():
            self._make_cluster()
        self._clear_stale_pid_file()
        parameters = [word for name, value in PARAMETERS.items() for word in ("-c", f"{name}={value}")]
        folders = ("-D", str(self.data), "-k", str(self.socket_folder))
        return replace(
            self.command(str(self.program.path), *folders, *parameters),
            user=self._account.pw_name if self._account else None,
            stop_signal=signal.SIGINT,  # fast shutdown: rolls back open transactions, writes a checkpoint
            stop_within=30.0,
            death_signal=signal.SIGQUIT,  # immediate shutdown: the server ends its own children too
        )

    def healthy(self) -> bool:
        with contextlib.suppress(psycopg.OperationalError), self._connect() as connection:
            connection.execute("SELECT 1")
            return True
        return False

    def wait_until_healthy(self) -> None:
        """Wait until the server answers, and create the database if it is missing."""
        super().wait_until_healthy()
        with self._connect() as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
                connection.execute(f"CREATE DATABASE {DATABASE}")

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=str(self.socket_folder),
            port=PORT,
            user=SUPERUSER,
            dbname=SUPERUSER,
            connect_timeout=CONNECT_WITHIN,
            autocommit=True,
        )

    def _needs_cluster(self) -> bool:
        try:
            owner = self.data.stat().st_uid
        except FileNotFoundError:
            return True
        if owner != self._owner:
            raise ConfigurationError(
                f"{self.data} belongs to another user: run as that user (as root, if it belongs to {SYSTEM_USER} or "
                f"{DEBIAN_USER}), or set TAMIS_HOME to another folder"
            )
        return False

    def _make_cluster(self) -> None:
        """Create the data folder (a cluster of Postgres) under a draft name, then rename it.

        An interrupted `initdb` thus leaves no incomplete data folder.
        """
        draft = self.folder / "data.draft"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        self._give(draft)
        command = [
            *(str(self.program.path.with_name("initdb")), "-D", str(draft), "-U", SUPERUSER, "--auth=trust"),
            *("--encoding=UTF8", "--locale=C", *_case_rules(self.program.version)),
        ]
        try:
            done = subprocess.run(
                command,
                env=server_environment(),
                capture_output=True,
                text=True,
                check=False,
                cwd="/",  # initdb may have no access to the current folder
                user=self._account.pw_uid if self._account else None,
                group=self._account.pw_gid if self._account else None,
                extra_groups=[] if self._account else None,
            )
        except OSError as error:
            raise OperationFailed(f"{command[0]} cannot be run: {error.strerror}") from error
        if done.returncode != 0:
            raise OperationFailed(f"initdb failed in {draft}:\n{done.stderr.strip()}")
        draft.replace(self.data)

    def _make_reachable(self) -> None:
        """If the present user is root, give the server's account access to the server's binaries and data."""
        if self._account is not None:
            if not self.program.of_system:
                open_binaries(self.program.path)
            allow_passage(self.data)

    def _make_socket_folder(self) -> None:
        """Create a folder that only the server's user (and root) can use, because the socket needs no login."""
        with contextlib.suppress(FileExistsError):
            self.socket_folder.mkdir(mode=0o700)
            self._give(self.socket_folder)
        status = self.socket_folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != self._owner:
            raise ConfigurationError(
                f"{self.socket_folder}, the folder for the Postgres socket, belongs to another user: set TAMIS_HOME to "
                "another folder"
            )
        self.socket_folder.chmod(0o700)

    def _clear_stale_pid_file(self) -> None:
        """Remove the pid file of a killed server, because another process may have the file's pid by now.

        Raises:
            ConfigurationError: a server is running with these data.
        """
        pid_file = self.data / "postmaster.pid"
        if not pid_file.exists():
            return
        server = {"name": "postgres", "cwd": str(self.data.resolve())}
        # Processes that ended are not listed. The current folder of another user's process is unknown.
        processes = [process for process in psutil.process_iter(list(server)) if process.info == server]
        _, alive = psutil.wait_procs(processes, timeout=self._patience)
        if alive:
            raise ConfigurationError(
                f"a Postgres server (process {min(process.pid for process in alive)}) already uses {self.data}: "
                "stop it, or set TAMIS_HOME to another folder"
            )
        pid_file.unlink(missing_ok=True)

    @cached_property
    def _account(self) -> pwd.struct_passwd | None:
        return server_account()

    @property
    def _owner(self) -> int:
        return self._account.pw_uid if self._account else os.geteuid()

    def _give(self, path: Path) -> None:
        if self._account is not None:
            os.chown(path, self._account.pw_uid, self._account.pw_gid)


def _case_rules(version: Version) -> tuple[str, ...]:
    """Return the options of `initdb` for UTF-8 case rules, and for the same sorting on every machine."""
    if version >= (17,):
        return "--locale-provider=builtin", "--builtin-locale=C.UTF-8"
    return ("--lc-ctype=C.UTF-8",)  # from the C library; sorting is by bytes in all versions


def server_program(data: Path) -> ServerProgram:
    """Return a program `postgres` that can read the data folder. A major release reads only its own data.

    Raises:
        ConfigurationError: no program with `initdb` beside it is suitable; the message names packages to install.
    """
    release = release_of(data)
    runs: list[Version] = []  # versions that do not read the data

    def unfit(version: Version) -> str | None:
        if release in (None, version[0]):
            return None
        runs.append(version)
        return f"but the data need {release}"

    try:
        return choose(POSTGRES, candidates(), unfit=unfit)
    except ConfigurationError as error:
        if not runs:
            raise
        raise ConfigurationError(
            f"the data in {data} need Postgres {release}, but this machine has {' and '.join(map(shown, runs))}. "
            f"Install Postgres {release} (Debian's package is postgresql-{release}), or move the ledger with a dump "
            "from a machine that has it (docs/operations.md, Backup), or begin a new ledger: set TAMIS_HOME to a new "
            "folder"
        ) from error


def release_of(data: Path) -> int | None:
    """Return the major release that made a data folder; None if unknown."""
    with contextlib.suppress(OSError, ValueError):  # another user's folder; a later error names this problem
        return int((data / "PG_VERSION").read_text("ascii").partition(".")[0])
    return None


def candidates() -> Iterator[ProgramCandidate]:
    """Yield server programs to try, each once: first the Python package's program, then the system's programs."""
    yield from brought_along(POSTGRES, "pginstall/bin/postgres")
    seen: set[Path] = set()
    for folder in _system_folders():
        program = (folder / "postgres").resolve()
        if program not in seen and program.exists() and (program.parent / "initdb").exists():
            seen.add(program)
            yield ProgramCandidate(SYSTEM, program)


def _system_folders() -> Iterator[Path]:
    if (named := _named_by_pg_config()) is not None:
        yield named
    for pattern in SYSTEM_FOLDERS:
        yield from sorted(Path("/").glob(pattern.lstrip("/")), key=_release_in_path, reverse=True)
    if (on_path := shutil.which("postgres")) is not None:
        yield Path(on_path).resolve().parent


def _named_by_pg_config() -> Path | None:
    """Return the folder of programs that `pg_config` names, or None. The folder may have no server, only a client."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = ask_program("pg_config", "--bindir", within=ASK_WITHIN)
        return Path(done.stdout.strip()) if done.returncode == 0 else None
    return None


def _release_in_path(folder: Path) -> int:
    return int("".join(filter(str.isdigit, folder.parent.name)) or 0)


def server_account() -> pwd.struct_passwd | None:
    """Return a separate account for the server if the present user is root; otherwise None.

    Postgres refuses to run as root. The account is created if it is missing.
    """
    if os.geteuid() != 0:
        return None
    command = ["useradd", "--system", "--no-create-home", "--shell", "/bin/sh", SYSTEM_USER]
    try:
        # `useradd` does not wait for another `useradd`: if two create the account at once, one user id is lost.
        with ACCOUNTS.open() as accounts:
            fcntl.flock(accounts, fcntl.LOCK_EX)
            with contextlib.suppress(KeyError):
                return pwd.getpwnam(SYSTEM_USER)
            subprocess.run(command, check=True, capture_output=True, text=True)
        return pwd.getpwnam(SYSTEM_USER)
    except (OSError, subprocess.CalledProcessError) as error:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(DEBIAN_USER)
        raise ConfigurationError(
            f"Postgres cannot run as root, and creating the user {SYSTEM_USER!r} failed ({error}): run as another user"
        ) from error


def open_binaries(program: Path) -> None:
    """Let every user run `program` and the other binaries of its package.

    After an installation under a strict umask, other users have no access.
    """
    binaries = program.parent
    allow_passage(binaries)
    closed = [file for file in (program, binaries, binaries.parent) if not file.stat().st_mode & stat.S_IXOTH]
    if os.access(program, os.X_OK) and not closed:
        return
    for folder, _, files in os.walk(binaries.parent):
        Path(folder).chmod(0o755)
        for name in files:
            file = Path(folder) / name
            if not file.is_symlink():
                file.chmod(0o755 if os.access(file, os.X_OK) else 0o644)


def allow_passage(path: Path) -> None:
    """Let every user reach `path` through the folders above it, without the right to list these folders."""
    for folder in path.resolve().parents:
        mode = stat.S_IMODE(folder.stat().st_mode)
        if not mode & stat.S_IXOTH:
            folder.chmod(mode | stat.S_IXOTH)
