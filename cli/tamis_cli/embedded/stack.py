"""The embedded stack: servers, LLM, workers, Flower and gateway as children of one process."""

import fcntl
import os
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import IO, Literal, Self

from tamis_producer.config.redaction import shown_url
from tamis_producer.config.stack_file import StackFile
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import WorkerSettings

from .endpoint import Endpoint, LlmServer, RecordedAnswers, need_server
from .flower_options import FLOWER_PORT
from .model import fetch_model, model_folder
from .part import Part
from .postgres import Postgres
from .process import ChildrenFile
from .programs import KEY_FILE, PAGE_PORT, STOP_WITHIN, Flower, Gateway, WorkerProgram, keep_key
from .valkey import Valkey
from .watch import Watch

LlmChoice = Literal["local", "recorded", "remote", "none"]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def lock_home(home: Path) -> IO[str]:
    """Lock a home folder, so that only one stack runs from it. Return the lock file.

    The lock ends when this file is closed, or the process ends. The file is never removed, because two processes could
    then lock two files of the same name. Raises `ConfigurationError` if another process has the lock, or if
    the file cannot be opened.
    """
    path = home / "lock"
    try:
        file = path.open("a+", encoding="ascii")
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be opened ({error}): if it is another user's, set TAMIS_HOME to another folder"
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        owner = file.read().strip() or "unknown"
        file.close()
        raise ConfigurationError(
            f"a stack already runs in {str(home)!r} (process {owner}): use it, stop it with Ctrl-C in its terminal, or "
            "set TAMIS_HOME to another folder"
        ) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


class StopSignals:
    """A handler of SIGINT, SIGTERM and SIGHUP: the first signal means stop, the next means stop at once.

    Inside `with`, the first signal raises `KeyboardInterrupt`, and later signals set `hurry`. After `stopping()`, the
    first signal sets `hurry` too, so that no exception interrupts the stop. In threads other than the main thread, this
    class does nothing.
    """

    def __init__(self) -> None:
        self.hurry = threading.Event()
        self._asked = False
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def stopping(self) -> None:
        """Mark the beginning of the stop, after which every signal sets `hurry`."""
        self._asked = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # nohup: survive the terminal
            self._before = {
                number: signal.signal(number, self._on_signal)
                for number in SIGNALS
                if not (nohup and number is signal.SIGHUP)
            }
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            self.hurry.set()
            return
        self._asked = True
        raise KeyboardInterrupt


class Stack:
    """All parts of Tamis on a single machine, with data and logs under `settings.home`.

    If the settings name a broker and a database, the stack uses them, and starts no Postgres and no Valkey. Inside
    `with`, the first SIGINT, SIGTERM or SIGHUP raises `KeyboardInterrupt`. During a stop, these signals kill the
    remaining processes.

    Use the stack in the main thread, or in another thread that outlives the stack. On Linux, the kernel ends a child
    when the thread that started the child ends.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        *,
        workers: int = 2,
        llm: LlmChoice = "none",
        flower: bool = True,
        page: bool = False,
        usual_ports: bool = True,
        worker_patience: float = STOP_WITHIN,
        announce: Callable[[str], None] = lambda line: None,
        starting: Callable[[str], None] = lambda name: None,
        fetch: Callable[[], Path] = lambda: fetch_model(model_folder()),
    ) -> None:
        """Prepare the stack without starting it.

        Args:
            settings: `home` is the folder of data and logs. With `broker_url` and `database_url`, no server is started.
            workers: number of worker processes.
            llm: "local" serves the small model, "recorded" the recorded answers to the example's records, "remote"
                requires an LLM in the settings, and "none" needs no LLM.
            flower: whether Flower runs.
            page: whether the gateway runs, with its page; needs the extra `http`.
            usual_ports: whether Flower and the gateway try their usual ports before any free port.
            worker_patience: seconds for calls in flight to return when the stack stops.
            announce: receives a line for each event while the stack runs and stops.
            starting: receives the title of each part whose start is awaited.
            fetch: returns the model's file; called only for "local".
        """
        self.settings = settings
        self.home = settings.home.absolute()
        self._wanted_workers = workers
        self._llm_choice = llm
        self._wants_flower = flower
        self._wants_page = page
        self._usual_ports = usual_ports
        self._worker_patience = worker_patience
        self._announce = announce
        self._starting = starting
        self._fetch = fetch
        self._lock: IO[str] | None = None  # held while any part of this stack may run
        self._children = ChildrenFile(self.home / "children.json")
        self._signals = StopSignals()
        self._watch: Watch | None = None
        self.postgres: Postgres | None = None
        self.valkey: Valkey | None = None
        self.llm: Endpoint | None = None
        self.flower: Flower | None = None
        self.gateway: Gateway | None = None
        self.workers: list[WorkerProgram] = []

    @property
    def broker_url(self) -> str:
        """Return the broker's URL for workers and producers."""
        return self.valkey.url if self.valkey else self.settings.broker

    @property
    def database_url(self) -> str:
        """Return the ledger's URL for workers and producers."""
        return self.postgres.url if self.postgres else self.settings.database

    @property
    def model(self) -> str | None:
        """Return the model for batches that name no model; None if unknown."""
        return self.llm.model if self.llm else self.settings.model

    @property
    def llm_base_url(self) -> str | None:
        """Return the URL of the workers' LLM, without user and password; None if no LLM is set."""
        if self.llm is not None:
            return self.llm.base_url
        return shown_url(self.settings.endpoint) if self.settings.names_an_llm else None

    def start(self) -> None:
        """Start everything, and wait until all parts work.

        Raises:
            ConfigurationError: another stack runs from the same home folder, or a needed program or setting is missing.
            OperationFailed: a part does not become ready; the message quotes its log. All parts are stopped again.
        """
        if self._llm_choice == "remote":
            _ = self.settings.endpoint  # raises if no LLM is set, before any worker does
        elif self._llm_choice == "local":
            need_server()
        make_home(self.home)
        self._lock = lock_home(self.home)
        try:
            # We have the lock, so no other supervisor needs the processes left here.
            if ended := self._children.end_survivors():
                self._announce(f"stopped the remaining processes of a killed stack: {', '.join(ended)}")
            StackFile.remove(self.home)
            self._start_servers()
            self._start_workers()
            self._stack_file().write(self.home)
        except BaseException:
            self.stop()
            raise
        self._watch = Watch(self._parts(), self._announce)
        self._watch.start()

    def run_until_stopped(self) -> None:
        """Wait for the first SIGINT, SIGTERM or SIGHUP. Until then, parts that end are restarted."""
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            self._announce("stopping; a second Ctrl-C stops at once")

    def stop(self) -> None:
        """Stop everything in a safe order: clients first, then servers."""
        if self._lock is None:
            return
        self._signals.stopping()
        if self._watch is not None:
            self._watch.end()
        StackFile.remove(self.home)
        parts = self._parts()
        for part in parts:
            if part in (self.flower, self.gateway, *self.workers):
                part.process.ask_to_stop()  # all at once; the code below waits for each
        for part in reversed(parts):
            if not part.stop(self._signals.hurry):
                why = "after a second signal" if self._signals.hurry.is_set() else "because it did not stop by itself"
                self._announce(f"{part.name} was killed {why}")
        if self._watch is not None:
            self._watch.release()
            self._watch = None
        self._children.path.unlink(missing_ok=True)
        self._lock.close()
        self._lock = None

    def __enter__(self) -> Self:
        self._signals.__enter__()
        try:
            self.start()
        except BaseException:
            self._signals.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.stop()
        finally:
            self._signals.__exit__(None, None, None)

    def _start_servers(self) -> None:
        from tamis_schemas.ledger.migrate import upgrade  # alembic is slow to import

        logs = self.home / "log"
        if self.settings.broker_url is None:
            self.postgres = Postgres(self.home / "postgres", log=logs / "postgres.log", children=self._children)
            self.valkey = Valkey(self.home / "redis", log=logs / "valkey.log", children=self._children)
        if self._llm_choice == "local":
            self.llm = LlmServer(self._fetch(), logs / "llm.log", self._children)
        elif self._llm_choice == "recorded":
            self.llm = RecordedAnswers(logs / "llm.log", self._children)
        if self.llm is not None:
            self.llm.launch()  # it loads while the servers start
        for server in (self.postgres, self.valkey):
            if server is not None:
                self._starting(server.title)
                server.start()
                for reason in server.program.passed_over:
                    self._announce(f"{server.name} {server.program}: {reason}")
        self._starting("the ledger")
        upgrade(self.database_url)
        if self.llm is not None:
            self._wait_for(self.llm)

    def _start_workers(self) -> None:
        environment = self._environment()
        self.workers = [
            WorkerProgram(number, self.home, environment, self._children, stop_within=self._worker_patience)
            for number in range(1, self._wanted_workers + 1)
        ]
        if self._wants_flower:
            password = self.settings.flower_password
            self.flower = Flower(
                self.home,
                environment,
                self._children,
                usual_port=FLOWER_PORT if self._usual_ports else None,
                address=self.settings.flower_address,
                password=None if password is None else password.get_secret_value(),
            )
        users: list[Part] = [part for part in (*self.workers, self.flower) if part is not None]
        for part in users:
            part.launch()
        if self._wants_page:
            keep_key(self.database_url, self.home / KEY_FILE)
            links = {} if self.flower is None else {"TAMIS_FLOWER_URL": f"http://{self.flower.place}"}
            port = PAGE_PORT if self._usual_ports else None
            self.gateway = Gateway(self.home, {**environment, **links}, self._children, usual_port=port)
            self.gateway.launch()
            users.append(self.gateway)
        for part in users:
            self._wait_for(part)

    def _wait_for(self, part: Part) -> None:
        self._starting(part.title)
        part.wait_until_healthy()

    def _environment(self) -> Mapping[str, str]:
        """Return the environment variables of workers, Flower and gateway: this process's, and the servers' addresses.

        An empty value counts as not set.
        """
        return {
            **os.environ,
            "TAMIS_HOME": str(self.home),
            "TAMIS_BROKER_URL": self.broker_url,
            "TAMIS_DATABASE_URL": self.database_url,
            "TAMIS_RESULT_BACKEND_URL": self.settings.result_backend_url or "",
            "TAMIS_LIMITER_URL": self.settings.limiter_url or "",
            **(self.llm.environment if self.llm else {}),
        }

    def _stack_file(self) -> StackFile:
        return StackFile(
            broker_url=self.broker_url,
            database_url=self.database_url,
            flower_url=self.flower.url if self.flower else None,
            page_url=self.gateway.url if self.gateway else None,
            llm_base_url=self.llm_base_url,
            llm_embedded=self.llm is not None,
            model=self.model,
            servers={part.name: part.program.told for part in (self.postgres, self.valkey) if part is not None},
        )

    def _parts(self) -> list[Part]:
        """Return every launched part, in start order."""
        parts: list[Part | None] = [self.postgres, self.valkey, self.llm, *self.workers, self.flower, self.gateway]
        return [part for part in parts if part is not None and part.launched]


def make_home(home: Path) -> None:
    """Create the folder of a stack, which only its owner can read.

    If root creates the folder, other users can reach Postgres's data through it, but cannot list the folder.

    Raises:
        ConfigurationError: the folder cannot be created or written.
    """
    try:
        if not home.exists():
            home.mkdir(parents=True, mode=0o711 if os.geteuid() == 0 else 0o700)
        (home / "log").mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigurationError(f"{home} cannot be used ({error}): set TAMIS_HOME to another folder") from error
