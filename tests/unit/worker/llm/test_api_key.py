"""Keys that expire: renewed before they are over and where they are refused, by one at a time for all calls."""

import asyncio
import json
import logging
import os
import shlex
import sys
from pathlib import Path

import pytest

from stage import wait_until
from tamis_schemas import ConfigurationError
from tamis_worker.llm.api_key import CommandKey, FileKey, FixedKey, NoKey, key_source, printed


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Printer:
    """A command that prints what a file holds, and counts how often it ran."""

    def __init__(self, folder: Path) -> None:
        self.output, self._runs = folder / "printed", folder / "runs"
        self._runs.touch()
        self.says("")
        write = f"open({str(self._runs)!r}, 'a').write('x')"
        program = f"import sys; {write}; t = open({str(self.output)!r}).read(); print(t); sys.exit(3 * (not t))"
        self.command = shlex.join([sys.executable, "-SIc", program])

    def says(self, text: str) -> None:
        """Nothing: it fails."""
        self.output.write_text(text)

    @property
    def runs(self) -> int:
        return len(self._runs.read_text())


@pytest.fixture
def printer(tmp_path: Path) -> Printer:
    return Printer(tmp_path)


async def settled() -> None:
    """Return once no renewal runs in the background."""
    for task in asyncio.all_tasks():
        if task.get_name() == "renewal of the API key":
            await asyncio.wait([task], timeout=20)


async def test_a_fixed_key_stays() -> None:
    key = FixedKey("sk-1")
    assert await key.current() == "sk-1"
    assert await key.instead_of("sk-1") is None


@pytest.mark.parametrize("key", ["two words", "line\nend", "sch\u00fcssel", "\u00a0"])
def test_a_key_that_no_header_can_hold_is_a_wrong_setting_and_is_not_said(key: str) -> None:
    with pytest.raises(ConfigurationError, match="TAMIS_LLM_API_KEY") as raised:
        FixedKey(key)
    assert key not in str(raised.value)


async def test_a_rewritten_file_is_read_once_a_second(tmp_path: Path, clock: Clock) -> None:
    path, learned = tmp_path / "key", list[str]()
    key = FileKey("sk-1", path, learn=learned.append, clock=clock)
    path.write_text("sk-2\n")
    assert await key.current() == "sk-1"
    clock.now += 1.0
    assert await key.current() == "sk-2"
    path.write_text("sk-3\n")
    os.utime(path, ns=(1, 1))  # of the same size, and no newer
    assert await key.current() == "sk-2"
    clock.now += 1.0
    assert await key.current() == "sk-3"
    assert learned == ["sk-2", "sk-3"]


async def test_a_refused_key_has_its_file_read_at_once(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "key"
    path.write_text("sk-1")
    key = FileKey("sk-1", path, clock=clock)
    assert await key.instead_of("sk-1") is None
    path.write_text("sk-2")
    assert await key.instead_of("sk-1") == "sk-2"
    path.write_text("sk-3")
    assert await key.instead_of("sk-1") == "sk-2"  # which nobody has refused yet


@pytest.mark.parametrize("text", [None, "", "two words", "x" * 70_000, b"\xff\xfe"])
async def test_a_file_without_a_key_leaves_the_old_one_and_is_told_of_once(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture, text: str | bytes | None
) -> None:
    path = tmp_path / "key"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    key = FileKey("sk-1", path, clock=clock)
    for _ in range(3):
        clock.now += 1.0
        assert await key.current() == "sk-1"
    assert len(caplog.records) == 1
    assert "TAMIS_LLM_API_KEY_FILE" in caplog.text
    path.write_text("sk-2")
    clock.now += 1.0
    assert await key.current() == "sk-2"


async def test_an_empty_file_means_an_endpoint_without_keys_until_there_is_one(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "key"
    path.touch()
    key = FileKey("", path, clock=clock)
    assert await key.current() == "none"
    path.write_text("sk-1")
    assert await key.instead_of("none") == "sk-1"


async def test_a_command_is_run_once_for_all_who_wait_for_the_first_key(printer: Printer, clock: Clock) -> None:
    printer.says("sk-1")
    key = CommandKey(printer.command, clock=clock)
    assert await asyncio.gather(*(key.current() for _ in range(32))) == ["sk-1"] * 32
    assert printer.runs == 1


async def test_a_key_is_renewed_shortly_before_its_end_and_calls_go_on_with_it(printer: Printer, clock: Clock) -> None:
    printer.says("sk-1")
    key = CommandKey(printer.command, ttl=3000, clock=clock)
    await key.current()
    printer.says("sk-2")
    clock.now += 2969.0  # 3000 s, less 30 s before its end
    assert await key.current() == "sk-1"
    await settled()
    assert printer.runs == 1
    clock.now += 1.0
    assert await asyncio.gather(*(key.current() for _ in range(8))) == ["sk-1"] * 8
    await settled()
    assert await key.current() == "sk-2"
    assert printer.runs == 2
    clock.now += 2969.0
    assert await key.current() == "sk-2"
    await settled()
    assert printer.runs == 2


async def test_a_key_that_is_over_is_waited_for(printer: Printer, clock: Clock) -> None:
    printer.says("sk-1")
    key = CommandKey(printer.command, ttl=100, clock=clock)
    await key.current()
    printer.says("sk-2")
    clock.now += 100.0
    assert await key.current() == "sk-2"


@pytest.mark.parametrize(
    ("printed", "life"),
    [
        ({"token": "t1", "expires_in": 60}, 60.0),
        ({"token": "t1", "expires_at": 5_000_060}, 60.0),  # the wall's clock says 5,000,000
        ({"token": "t1", "expires_in": 90, "expires_at": 5_000_060}, 60.0),
        ({"token": "t1", "expires_in": 7200}, 3000.0),
        ({"token": "t1", "expires_at": 4_999_000}, 1.0),  # over already by its own word: not run for every call
    ],
)
async def test_what_is_told_of_its_end_counts_where_it_is_sooner(
    printer: Printer, clock: Clock, printed: dict[str, object], life: float
) -> None:
    printer.says(json.dumps(printed))
    key = CommandKey(printer.command, clock=clock, wall=lambda: 5_000_000.0)
    await key.current()
    printer.says("t2")
    clock.now += 0.9 * life - 30 * (life > 300) - 0.01
    assert await key.current() == "t1"
    await settled()
    assert printer.runs == 1
    clock.now += 0.1 * life + 30 * (life > 300) + 0.02
    assert await key.current() == "t2"


async def test_many_refusals_of_one_key_are_one_renewal(printer: Printer, clock: Clock) -> None:
    printer.says("sk-1")
    key = CommandKey(printer.command, clock=clock)
    await key.current()
    printer.says("sk-2")
    assert await asyncio.gather(*(key.instead_of("sk-1") for _ in range(32))) == ["sk-2"] * 32
    assert await key.instead_of("sk-1") == "sk-2"
    assert printer.runs == 2


async def test_the_same_key_again_is_none_and_not_asked_for_again_at_once(printer: Printer, clock: Clock) -> None:
    printer.says("sk-1")
    key = CommandKey(printer.command, clock=clock)
    await key.current()
    for _ in range(3):
        assert await asyncio.gather(*(key.instead_of("sk-1") for _ in range(8))) == [None] * 8
    assert printer.runs == 2
    clock.now += 5.0
    printer.says("sk-2")
    assert await key.instead_of("sk-1") == "sk-2"


async def test_a_failing_command_keeps_the_key_and_names_its_exit_status_once(
    printer: Printer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    printer.says("sk-1")
    key = CommandKey(printer.command, ttl=100, clock=clock)
    await key.current()
    printer.says("")
    for _ in range(3):
        clock.now += 100.0
        assert await key.current() == "sk-1"
        assert await key.current() == "sk-1"
    assert printer.runs == 4
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == ["the API key was not renewed: TAMIS_LLM_API_KEY_COMMAND ended with exit status 3"]


async def test_without_any_key_it_says_why(printer: Printer, clock: Clock) -> None:
    key = CommandKey(printer.command, clock=clock)
    for _ in range(3):
        with pytest.raises(NoKey, match="ended with exit status 3"):
            await key.current()
    assert printer.runs == 1
    printer.says("sk-1")
    clock.now += 5.0
    assert await key.current() == "sk-1"


async def test_a_call_that_is_cancelled_takes_the_renewal_from_nobody(printer: Printer, clock: Clock) -> None:
    printer.says("sk-1")
    key = CommandKey(printer.command, clock=clock)
    first, second = (asyncio.create_task(key.current()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == "sk-1"
    assert printer.runs == 1


async def test_no_key_is_in_a_log_or_a_repr(printer: Printer, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    printer.says("sk-secret-1")
    key = CommandKey(printer.command, clock=clock)
    await key.current()
    printer.says("sk-secret-2")
    await key.instead_of("sk-secret-1")
    assert "secret" not in caplog.text + repr(key) + str(key)


async def says(program: str, within: float = 20.0) -> str:
    return await printed([sys.executable, "-SIc", program], within=within)


async def test_a_command_has_no_input_no_shell_and_an_error_output_that_nobody_reads() -> None:
    program = "import sys; print('oh', file=sys.stderr); print(sys.stdin.read() + sys.argv[1])"
    assert await printed([sys.executable, "-SIc", program, "$HOME; *"]) == "$HOME; *\n"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import sys; print('sk-secret'); sys.exit(7)", "exit status 7"),
        ("import os; os.kill(os.getpid(), 9)", "exit status -9"),
        ("while True: print('sk-secret' * 1000)", "more than 65,536 bytes"),
    ],
)
async def test_a_command_that_fails_says_how_and_not_what_it_printed(program: str, why: str) -> None:
    with pytest.raises(NoKey, match=why) as raised:
        await says(program)
    assert "secret" not in str(raised.value)


async def test_a_command_that_is_not_there_is_named_by_its_setting() -> None:
    with pytest.raises(NoKey, match="TAMIS_LLM_API_KEY_COMMAND cannot be run: No such file"):
        await printed(["/nowhere/at-all"])


def has_ended(file: Path) -> bool:
    """Whether the process is gone, or a zombie, whose number a file holds."""
    state = Path(f"/proc/{file.read_text()}/stat")
    return not state.exists() or state.read_text().split()[2] == "Z"


async def test_a_command_that_takes_too_long_ends_with_what_it_has_started(tmp_path: Path) -> None:
    child = tmp_path / "child"
    with pytest.raises(NoKey, match="longer than 2 s"):
        await printed(["sh", "-c", f"sleep 600 & echo $! > {shlex.quote(str(child))}; wait"], within=2.0)
    wait_until(lambda: has_ended(child), within=10, what="the child has ended")


def test_the_settings_say_where_keys_come_from(tmp_path: Path) -> None:
    def made(key: str, file: Path | None = None, command: str | None = None) -> type:
        return type(key_source(key, file=file, command=command, learn=lambda key: None))

    assert made("sk-1", command="true") is FixedKey
    assert made("") is FixedKey
    assert made("sk-1", file=tmp_path / "key") is FileKey
    assert made("", command="true") is CommandKey


@pytest.mark.parametrize("command", ["", "  ", "echo 'x"])
def test_a_command_that_is_none_is_a_wrong_setting(command: str) -> None:
    with pytest.raises(ConfigurationError, match="TAMIS_LLM_API_KEY_COMMAND"):
        CommandKey(command)
