"""Foreign text can do nothing to a terminal: neither escape sequences nor rich's markup in it are obeyed."""

import io
import logging
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.markup import escape
from rich.table import Table
from typer.testing import CliRunner

from tamis_cli.commands.app import NAME, app, load_commands
from tamis_cli.commands.console import PlainConsole, out
from tamis_cli.commands.render import print_summary, print_view, print_views
from tamis_cli.commands.tables import counted, listing
from tamis_producer.ledger.batch_view import BatchView
from tamis_schemas import (
    BatchStatus,
    ConfidenceDistribution,
    Counts,
    Pause,
    PauseKind,
    Summary,
    wilson,
)
from tamis_schemas.values.printable import PrintableStream, for_data, printable, printable_line

HOSTILE = "[bold red]no[/] \x1b[2J\x1b]0;title\x07 \x9b31m \u202ereversed [/nonsense] [link=http://x]y[/link]"
STEERING = ("\x1b", "\x07", "\x9b", "\u202e")


def shown(print_it: object, *arguments: object) -> str:
    stream = io.StringIO()
    print_it(*arguments, PlainConsole(file=stream, width=300))  # type: ignore[operator]  # one of the renderers
    return stream.getvalue()


def plain(text: str) -> bool:
    return not any(character in text for character in STEERING)


def view(**changes: object) -> BatchView:
    given: dict[str, object] = {
        "id": "0a1b2c3d-0000-4000-8000-000000000000",
        "label": HOSTILE,
        "operation": "filter",
        "model": HOSTILE,
        "state": BatchStatus.PAUSED,
        "round": 1,
        "counts": Counts(n_items=1, pending=1),
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        "started_at": None,
        "finished_at": None,
        "elapsed_seconds": None,
        "live_workers": 1,
        "pause": Pause(kind=PauseKind.AUTHENTICATION, reason=HOSTILE),
    }
    return BatchView.model_validate(given | changes)


def test_a_batch_s_label_model_and_reason_are_shown_as_text() -> None:
    for text in (shown(print_view, view()), shown(print_views, [view()])):
        assert plain(text)
        assert "[bold red]no[/]" in text


def test_a_summary_s_models_and_rules_are_shown_as_text() -> None:
    summary = Summary(
        batch_id="b",
        round=1,
        operation="filter",
        counts=Counts(n_items=1, decided=1),
        values={"true": 1},
        pass_rate=wilson(1, 1),
        errors={},
        exclusions={HOSTILE: 1},
        confidence=ConfidenceDistribution(),
        prompt_tokens=1,
        completion_tokens=1,
        calls=1,
        cut=7,
        call_seconds_median=None,
        call_seconds_p95=None,
        wall_seconds=1.0,
        models={HOSTILE: 1},
        finished_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    text = shown(print_summary, summary)
    assert plain(text)
    assert text.count("[bold red]no[/]") == 2
    assert "7 shortened" in text


def test_cells_and_lines_pass_through_the_same_gate() -> None:
    stream = io.StringIO()
    console = PlainConsole(file=stream, width=300)
    table = Table()
    table.add_column(escape(HOSTILE))
    table.add_row(escape(HOSTILE))
    console.print(table)
    console.print(escape(HOSTILE))
    console.rule(escape(HOSTILE))
    assert plain(stream.getvalue())


@given(st.lists(st.text("ab ", min_size=1), min_size=40))
def test_a_text_is_one_line_at_any_width_and_on_any_path(words: list[str]) -> None:
    text = " ".join(words)
    for way in ("print", "say"):
        stream = io.StringIO()
        getattr(PlainConsole(file=stream, width=80), way)(text)
        assert stream.getvalue() == f"{text}\n"


@pytest.mark.parametrize("others", [1, 4, 7])
def test_the_first_column_of_a_listing_is_whole_at_80_columns(others: int) -> None:
    names = ["0a1b2c3d-4e5f", "initial filter: language", "3f2a 91c0"]
    rows = [[name, *(["some words that are long " * 3] * others), "1,000,000"] for name in names]
    text = shown_at_80(listing("name of a record", *(["a long heading"] * others), numbers=("number",), rows=rows))
    for name in ("name of a record", *names):
        assert re.search(rf"^{re.escape(name)} ", text, re.MULTILINE), text


def shown_at_80(table: Table) -> str:
    stream = io.StringIO()
    PlainConsole(file=stream, width=80).print(table)
    return stream.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_data_goes_to_a_file_as_it_is_and_to_a_terminal_as_text() -> None:
    file, terminal = io.StringIO(), Terminal()
    for stream in (file, terminal):
        for_data(stream).write(f"{HOSTILE}\r\n")
    assert file.getvalue() == f"{HOSTILE}\r\n"
    assert plain(terminal.getvalue())
    assert isinstance(for_data(terminal), PrintableStream)


@given(st.text())
def test_what_is_printable_is_left_alone(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert plain(printable(text))
    assert len(printable_line(text).splitlines()) <= 1
    if text.isprintable():
        assert printable(text) == printable_line(text) == text


def test_a_line_of_a_log_is_one_line_for_people_and_for_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tamis_worker.telemetry import log as log_setup

    root = logging.getLogger()
    before, level = root.handlers, root.level
    try:
        log_setup.configure()
        logging.getLogger("x").info("item=%s", '1\n{"event": "forged"}\x1b[2J')
        (line,) = capsys.readouterr().err.splitlines()
        assert "\x1b" not in line
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        log_setup.configure()
        logging.getLogger("x").info("item=%s", "\x1b[2Jgone")
        assert "\x1b[2J" not in capsys.readouterr().err
    finally:
        root.handlers, root.level = before, level


@pytest.mark.parametrize(
    ("n", "words"), [(0, "0 records are"), (1, "1 record is"), (2, "2 records are"), (1000, "1,000 records are")]
)
def test_a_number_agrees_with_its_words(n: int, words: str) -> None:
    assert counted(n, "record is", "records are") == words


def test_words_go_to_standard_output_again_after_a_command_that_wrote_its_file_there() -> None:
    load_commands()
    wrong_url = {"TAMIS_DATABASE_URL": "mysql://x/y", "TAMIS_BROKER_URL": "redis://127.0.0.1:1/0"}
    CliRunner().invoke(app, ["results", "3f2a91c0", "-o", "-"], prog_name=NAME, env=wrong_url)
    assert not out.stderr
