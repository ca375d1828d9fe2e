"""docs/files.md says which formats are read and written, and which of their fields: what the readers do."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tamis_cli.commands.intake import say_notes
from tamis_review.intake import Format, bibtex_writing, endnote_writing, nbib, read_file, ris
from tamis_review.intake.columns import canonical_name
from tamis_review.intake.reading import READERS
from tamis_review.intake.wos_and_enw import ENW, WOS
from tamis_review.intake.writing import WRITERS

PAGE = (Path(__file__).parents[4] / "docs" / "files.md").read_text("utf-8")
OF_TAGS: Mapping[Format, Mapping[str, tuple[str, ...]]] = {
    Format.RIS: {**ris.SCHEME.sources, "id": ("AN", "ID")},
    Format.NBIB: {
        **nbib.SCHEME.sources,
        **{pattern.name: pattern.tags for pattern in nbib.SCHEME.patterns if pattern.name != "url"},  # in ERIC's row
    },
    Format.BIBTEX: bibtex_writing.SOURCES,
    Format.ENDNOTE_XML: endnote_writing.SOURCES,
    Format.WOS_TAGGED: {**WOS.sources, "id": tuple(WOS.accessions)},
    Format.ENDNOTE_TAGGED: ENW.sources,
}


def _rows() -> Iterator[tuple[str, str, str]]:
    table = PAGE.split("\n## What is read\n")[1].split("\n## ")[0]
    for line in re.findall(r"^\| (.*) \|$", table, re.MULTILINE)[1:]:
        source, form, fields = line.split(" | ")
        yield source, form, fields


def _format(cell: str) -> Format:
    named = re.match(r"\*\*(.+?)\*\*", cell)
    assert named is not None, cell
    return Format(named[1])


def test_every_format_that_is_read_has_a_row_and_says_whether_it_is_written() -> None:
    forms = [(_format(cell), cell) for _, cell, _ in _rows()]
    assert {form for form, _ in forms} - {Format.TSV} == {*READERS}
    said = {form for form, cell in forms if ", written" in cell}
    assert said | {Format.TSV, Format.JSONL} == {*WRITERS}


@pytest.mark.parametrize("form", OF_TAGS)
def test_the_first_row_of_a_format_names_the_tags_of_every_field_in_their_order(form: Format) -> None:
    fields = next(fields for _, cell, fields in _rows() if _format(cell) is form)
    said = {name: tuple(re.findall(r"`([^`]+)`", tags)) for name, tags in re.findall(r"(\w+): ([^;]*)", fields)}
    for name, tags in OF_TAGS[form].items():
        assert said.get(name) == tags, name


def test_every_column_that_is_named_is_one_that_is_read() -> None:
    rows = [(source, fields) for source, cell, fields in _rows() if _format(cell) in (Format.DELIMITED, Format.TSV)]
    assert len(rows) >= 10
    for source, fields in rows:
        assert all(canonical_name(column) for column in re.findall(r"`([^`]+)`", fields)), source


def test_what_the_page_shows_is_what_commands_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = "TY  - JOUR\nTI  - a\nER  - \n"
    above = "Record #{0} of 18\nProvider: A Library\nContent: text/plain\n\n"
    texts = {
        "cochrane.ris": "".join(above.format(number) + record for number in range(1, 19)),
        "export.ris": record
        + "\n" * 4_047
        + "TY  - JOUR\n"
        + "AB  - more\n" * 36
        + record
        + "\n" * 5_029
        + "TY  - JOUR\nTI  - cut o",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        say_notes(read_file(tmp_path / name).notes, tmp_path / name)
    assert capsys.readouterr().err == "".join(re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))
