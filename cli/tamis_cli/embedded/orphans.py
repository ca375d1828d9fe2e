"""`children.json`: which processes a supervisor has started, so that the next one can end what is left of them.

The kernel ends the children of a killed supervisor (see `launch`); this file is for where it cannot: other systems than
Linux, and the moments between. A process counts as the one recorded only where pid and start time both agree.
"""

import threading
from contextlib import suppress
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

SAME_START = 1.0  # seconds: the same start read twice differs by as much as the system clock was set meanwhile
GRACE = 10.0  # seconds for a left-over process to end on its own signal


class ChildRecord(BaseModel):
    """One child process: enough to recognise it, and to end it the way it likes."""

    model_config = ConfigDict(frozen=True)

    name: str
    pid: int
    create_time: float
    stop_signal: int

    def find(self) -> psutil.Process | None:
        """The process, where it still runs; None where it is gone or its pid now belongs to another."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.create_time) < SAME_START
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


_RECORDS = TypeAdapter(list[ChildRecord])


class ChildrenFile:
    """The children of one supervisor, written through to `path` at every change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[int, ChildRecord] = {}
        self._lock = threading.Lock()  # parts start and stop from more than one thread

    def add(self, name: str, pid: int, stop_signal: int) -> None:
        """Record a child that has just been started; one that has ended already is not recorded."""
        try:
            create_time = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            return
        with self._lock:
            self._records[pid] = ChildRecord(name=name, pid=pid, create_time=create_time, stop_signal=stop_signal)
            self._write()

    def remove(self, pid: int) -> None:
        """Forget a child that has ended."""
        with self._lock:
            if self._records.pop(pid, None) is not None:
                self._write()

    def end_survivors(self, grace: float = GRACE) -> list[str]:
        """End what an earlier supervisor left running, forget the file; the names of what was ended.

        Each gets its own stop signal first, and is killed after `grace` seconds.
        """
        survivors = {record: process for record in self._read() if (process := record.find())}
        for record, process in survivors.items():
            with suppress(psutil.NoSuchProcess):  # it ended in the meantime, which is what was wanted
                process.send_signal(record.stop_signal)
        _, stubborn = psutil.wait_procs(list(survivors.values()), timeout=grace)
        for process in stubborn:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(stubborn, timeout=grace)
        self.path.unlink(missing_ok=True)
        return [record.name for record in survivors]

    def _read(self) -> list[ChildRecord]:
        try:
            return _RECORDS.validate_json(self.path.read_bytes())
        except (FileNotFoundError, ValidationError):
            return []  # a damaged file names nobody whom it would be safe to end

    def _write(self) -> None:
        draft = self.path.with_suffix(".draft")
        draft.write_bytes(_RECORDS.dump_json(list(self._records.values()), indent=2))
        draft.replace(self.path)
