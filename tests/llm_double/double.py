"""A running double, held by a test."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode, urlsplit

from .account import Account
from .answers import schema_in
from .asked import text_of
from .personalities.character import Character
from .personalities.personality import Personality, Told
from .script import Fault, Options, Scripted
from .strictness import follows
from .tally import Tally

if TYPE_CHECKING:
    from nursery import Child, Nursery

START_BOUND = 20.0  # seconds; usual are 0.4
STOP_BOUND = 10.0


@dataclass(frozen=True)
class Call:
    """A call that reached the double. Times are of the machine's monotonic clock, in seconds."""

    number: int  # from 1, since the start or the last reset
    model: str
    messages: list[dict[str, Any]]
    response_format: dict[str, Any] | None
    parameters: dict[str, Any]  # everything else in the request's body
    key_present: bool
    key_matches: bool  # the expected key; True where none is expected
    in_flight: int  # calls in flight when it came, itself included
    started: float
    ended: float | None  # None: still in flight
    status: int | None  # None: still in flight; 499: the client left before the answer; 0: dropped without one
    fault: str | None  # the Kind of the fault that hit it
    content: str | None  # that was sent; None: no answer, or one without a text in its place

    @property
    def prompt(self) -> str:
        """The text of all messages."""
        return "\n".join(text_of(message) for message in self.messages)

    @property
    def schema(self) -> dict[str, Any] | None:
        """The schema that was asked for, in `response_format` or else in the messages."""
        if (self.response_format or {}).get("type") == "json_schema":
            schema: dict[str, Any] = (self.response_format or {})["json_schema"]["schema"]
            return schema
        return schema_in(self.prompt)

    @property
    def followed(self) -> bool:
        """Was the answer that was sent, read strictly as one JSON value, what the schema allows?

        A call that was paid for and did not follow is a wasted one. Without a schema any JSON value follows.
        """
        try:
            value = json.loads(self.content or "")
        except ValueError:
            return False
        return self.schema is None or follows(value, self.schema)


class Double:
    """A double in a process of its own; it ends with the `with` block, or with this process."""

    def __init__(self, process: "subprocess.Popen[str] | Child", base_url: str, options: Options) -> None:
        self.base_url = base_url  # ends in /v1
        self._process = process
        self._options = options

    @classmethod
    def start(
        cls,
        *,
        port: int = 0,
        nursery: "Nursery | None" = None,
        faults: "list[Fault] | tuple[Fault, ...]" = (),
        answers: "list[Scripted] | tuple[Scripted, ...]" = (),
        personalities: Sequence[Told] = (),
        **options: Any,  # the other fields of Options
    ) -> Self:
        """Start one, in a new interpreter or out of a nursery; options are those of `Options`."""
        wanted = Options(
            faults=tuple(faults), answers=tuple(answers), personalities=_personalities(personalities), **options
        )
        folder = str(Path(__file__).resolve().parents[1])
        paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        arguments = ["--with-parent", "--port", str(port), "--options", json.dumps(wanted.to_json())]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        process: subprocess.Popen[str] | Child
        if nursery is None:
            command = [sys.executable, "-m", "llm_double", *arguments]
            pipe = subprocess.PIPE
            process = subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True)
        else:
            process = nursery.start_piped("llm_double", arguments, env=env, cwd=Path.cwd())
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            process.wait(START_BOUND)
            raise RuntimeError(f"the double did not start; its exit status is {process.returncode}")
        return cls(process, url, wanted)

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def calls(self) -> list[Call]:
        """Every call that came, in order."""
        return [Call(**call) for call in self._ask("GET", "calls")]

    def count(self, status: int | None = None) -> int:
        """Calls that came; with a status, those that were answered so."""
        counts = self._ask("GET", "count")
        return int(counts["calls"] if status is None else counts["statuses"].get(str(status), 0))

    def tally(self) -> Tally:
        """What came second by second, and the most that any minute was asked for."""
        return Tally.from_json(self._ask("GET", "tally"))

    def account(self) -> Account:
        """What it has billed since the start or the last reset."""
        return Account.from_json(self._ask("GET", "account"))

    def valid_key(self) -> str | None:
        """The key that the personality `expiring_key` takes now; None where every key of its list is used up."""
        key: str | None = self._ask("GET", "key")["key"]
        return key

    def rotate_key(self) -> str | None:
        """Let the valid key of `expiring_key` expire; the one that is valid then."""
        key: str | None = self._ask("POST", "key/rotate")["key"]
        return key

    def in_flight(self) -> int:
        """Calls that wait for their answer now."""
        return int(self._ask("GET", "count")["in_flight"])

    def wait(self, *, calls: int | None = None, in_flight: int | None = None, bound: float = 10.0) -> None:
        """Return as soon as at least so many calls have come and exactly so many are in flight.

        Raises:
            TimeoutError: after `bound` seconds. In a coroutine use `asyncio.to_thread(double.wait, ...)`.
        """
        wanted = {"calls": calls, "in_flight": in_flight, "bound": bound}
        query = urlencode({name: value for name, value in wanted.items() if value is not None})
        self._ask("GET", f"wait?{query}", bound=bound + STOP_BOUND)

    def script(
        self,
        *,
        faults: "list[Fault] | tuple[Fault, ...] | None" = None,
        answers: "list[Scripted] | tuple[Scripted, ...] | None" = None,
        personalities: Sequence[Told] | None = None,
        **options: Any,  # the other fields of Options
    ) -> None:
        """Change the options given and keep the others; limits start afresh. Calls stay remembered.

        A personality that stays as it was keeps what it remembers: keys in use, prefixes.
        """
        changes = dict(options)
        if faults is not None:
            changes["faults"] = [asdict(fault) for fault in faults]
        if answers is not None:
            changes["answers"] = [asdict(scripted) for scripted in answers]
        if personalities is not None:
            changes["personalities"] = [asdict(told) for told in _personalities(personalities)]
        self._ask("POST", "script", changes)

    def reset(self) -> None:
        """Forget every call, and behave as at the start."""
        self._ask("POST", "reset", self._options.to_json())

    def stop(self) -> None:
        """End the process. Connections to it break."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(STOP_BOUND)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _ask(self, method: str, what: str, body: object = None, bound: float = STOP_BOUND) -> Any:
        place = urlsplit(self.base_url).netloc
        connection = http.client.HTTPConnection(place, timeout=bound)
        try:
            connection.request(
                method,
                f"/double/{what}",
                None if body is None else json.dumps(body),
                {"content-type": "application/json"},
            )
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status == 408:
            raise TimeoutError(f"the double has seen {answer['error']}")
        if response.status != 200:
            raise ValueError(f"the double refuses {what}: {answer}")
        return answer


def _personalities(told: Sequence[Told]) -> tuple[Personality, ...]:
    """Raises ValueError for one that does not exist, or takes no such parameter."""
    personalities = tuple(Personality.of(one) for one in told)
    Character(personalities)
    return personalities
