"""At a terminal with `TAMIS_PERSON`, two ledgers that differ only in hidden decisions answer this person alike."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from stage.assessed import record, said
from stage.hidden_ledgers import AUDITED, DECIDES, DRAWN, ME, OTHER, PAIR, SECOND, WORDS, Twin, twin_ledgers
from stage.ledgers import Ledgers
from stage.screened import decided, written_batch
from tamis_cli.commands.app import app, load_commands
from tamis_cli.commands.commands import pages
from tamis_producer import Client, ProducerSettings
from tamis_review import override, set_screening_mode
from tamis_review.example import CITATIONS, CRITERIA
from tamis_schemas import ScreeningMode, TamisError

load_commands()
PATHS = {page.path for page in pages(get_command(app))}
RUNNER = CliRunner()
LABELS = "id,title,include\nr0,Title 0,1\nr1,Title 1,0\nr2,Title 2,1\n"
# What asks a worker or an endpoint, changes a batch as a whole, or reads no batch.
OTHERS = {
    *("filter", "score", "extract", "fields", "answer", "review run", "pause", "resume", "cancel", "priority"),
    *("unblock", "up", "demo", "flower", "worker", "health", "doctor", "migrate", "purge", "serve", "help"),
    *("completion", "criteria init", "criteria check", "keys create", "keys change", "keys revoke"),
    *("webhooks replay", "webhooks test", "webhooks key", "duplicates", "initial-filter"),
}
# Commands about a batch. {main} and so on are ids; FILE is what the command writes.
FEW = """
status {main}
next {main} -o FILE
report {main} --format md
explain {later} r1
overrides {main} --history --json
"""
READING = """
next {main} --reviewer OTHER
next {main} --by disagreement
stop {main}
results {main} --label zebra
results {main} --json
export {main} -o FILE
report {main} --format html -o FILE
explain {main} 2
explain {main} 1
conflicts {main}
copies {main}
labels {main}
agreement {main}
failures {main}
audit list {main}
audit show {audit} --with-reasons -o FILE
evaluate {main} --labels labels.csv
calibrate {main} --labels labels.csv
pilot {main} --seed 1 -o FILE
judge {main} --guidelines labels.csv --dry-run
retry {main} --sample 2 --seed 1
screen CITATIONS --criteria CRITERIA --examples-from {main} --dry-run
import-decisions {main} labels.csv --decision-column include --reviewer ME --dry-run
blind {main}
explain {examples} 1
batches
status
status {main} --json
status {later}
review status {review}
review list
workers
webhooks list
keys list
results {later}
results {examples}
next {later}
labels {later}
overrides {later}
failures {later}
report {updates} --json
override {later} r1 include
export {main} -o FILE --only include
report {main} --json
overrides {main}
conflicts {main} --json
stop {main} --recall 0.9
stop {main} -o FILE
next {main} --json --n 3
explain {main} 3 --json
audit draw {main} --n 2 --seed 1 -o FILE
override {main} 2 include --settle
override {main} 3 include --reviewer OTHER
override {main} 3 include --stage full-text
"""
WRITING = """
label {main} zebra 2 3
label {main} xylophone 2 3 --remove
note {main} 3 zebra
note {main} 2 xylophones --remove
audit record audit.csv
stop {main} --draw --seed 3
stop {main} --close
"""


class Terminal:
    """A terminal with one of the ledgers."""

    def __init__(self, twin: Twin, folder: Path, settings: ProducerSettings, person: str) -> None:
        self.twin, self._folder = twin, folder
        database = twin.client.settings.database_url or ""
        servers = {"TAMIS_BROKER_URL": settings.broker_url or "", "TAMIS_DATABASE_URL": database}
        self._env = {**servers, "TAMIS_PERSON": person, "COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb"}
        folder.mkdir()
        (folder / "labels.csv").write_text(LABELS)
        sample = f"audit,index,include\n{twin.id_of('audit')},{DRAWN[0]},no\n"
        (folder / "audit.csv").write_text(sample)

    def told(self, command: str) -> tuple[Any, ...]:
        """What a command prints, raises and writes, without ids and times."""
        ids = {name: called for called, name in self.twin.names.items()}
        named = {
            "FILE": "written.csv",
            "CITATIONS": str(CITATIONS),
            "CRITERIA": str(CRITERIA),
            "ME": ME,
            "OTHER": OTHER,
        }
        words = [named.get(word, word.format(**ids)) for word in command.split()]
        with pytest.MonkeyPatch.context() as patched:
            patched.chdir(self._folder)
            done = RUNNER.invoke(app, words, env=self._env)
        if done.exception is not None and not isinstance(done.exception, (SystemExit, TamisError)):
            raise done.exception
        file = self._folder / "written.csv"
        wrote = file.read_text("utf-8-sig") if file.exists() else ""
        file.unlink(missing_ok=True)
        plain = self.twin.plain("\n".join((done.output, repr(done.exception), wrote)))
        return done.exit_code, re.sub(r"\d\d:\d\d(:\d\d)?|\d+(\.\d+)? s\b", "a time", plain)


@pytest.fixture
def terminals(
    ledgers: Ledgers, settings: ProducerSettings, mode: ScreeningMode, tmp_path: Path
) -> Iterator[list[Terminal]]:
    with twin_ledgers(ledgers, settings, mode) as twins:
        yield [Terminal(twin, tmp_path / str(number), settings, ME) for number, twin in enumerate(twins)]


def same(terminals: list[Terminal], commands: str) -> None:
    for command in commands.strip().splitlines():
        first, second = (terminal.told(command) for terminal in terminals)
        assert first == second, command


def test_every_command_that_reads_a_batch_is_asked() -> None:
    commands = [line.split() for line in f"{FEW}{READING}{WRITING}".strip().splitlines()]
    asked = {path for path in PATHS if any(words[: path.count(" ") + 1] == path.split() for words in commands)}
    assert PATHS - asked == OTHERS


@pytest.mark.parametrize("mode", [SECOND])
def test_a_blind_person_sees_a_record_at_the_terminal_only_after_deciding(
    terminals: list[Terminal], settings: ProducerSettings, tmp_path: Path
) -> None:
    same(terminals, FEW)
    openly = Terminal(terminals[0].twin, tmp_path / "open", settings, person="")
    for terminal, seen in ((openly, True), (terminals[0], False)):
        assert (WORDS[0] in terminal.told("overrides {main}")[1]) is seen
    assert terminals[0].told("next {main} -o FILE")[0] == 0  # a sheet has texts only
    assert "still read blind" in terminals[0].told("explain {main} 6")[1]
    decided = terminals[0].told("override {main} 6 include --note mine")
    assert decided[0] == 0
    assert f"include by {ME}" in decided[1]
    assert terminals[0].told("explain {main} 6")[0] == 0
    withdrawn = terminals[0].told("override {main} 6 --withdraw")[1]
    assert "other decisions may be hidden" in withdrawn  # not that there are none
    assert "undecided" not in withdrawn


def test_a_blind_person_is_not_told_that_what_is_hidden_is_not_there(
    client: Client, settings: ProducerSettings
) -> None:
    batch = written_batch(client, [decided(record(n), said("include")) for n in range(2)])
    for who, value in (("Reviewer B", "include"), ("Reviewer C", "exclude")):
        override(batch, 0, value, reviewer=who)
    set_screening_mode(batch, SECOND, set_by="Lead")
    env = {"TAMIS_BROKER_URL": settings.broker_url or "", "TAMIS_DATABASE_URL": settings.database_url or ""}
    for person, expected in (
        ("", ("Reviewer B", "No. 1")),
        (ME, ("you can see no decision", "you can see no conflict")),
    ):
        for command, words in zip(("overrides", "conflicts"), expected, strict=True):
            told = RUNNER.invoke(app, [command, batch.id], env={**env, "TAMIS_PERSON": person, "COLUMNS": "160"}).output
            assert words in told


@pytest.mark.night
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("mode", [PAIR, SECOND, AUDITED])
def test_every_command_answers_a_blind_person_alike(terminals: list[Terminal], mode: ScreeningMode) -> None:
    same(terminals, f"{FEW}{READING}")
    record = (DRAWN[1] if mode is AUDITED else DECIDES) + 1
    for decision in ("include", "--withdraw", "exclude"):
        same(terminals, f"override {{main}} {record} {decision}\n{FEW}{READING}")
    same(terminals, f"{WRITING}{FEW}{READING}")
