"""Whatever a record holds, its file can be read, and says the same: BibTeX, EndNote XML, CSV, TSV, JSONL."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stage.hostile import TEXT, records, without_source
from tamis_review.intake.reading import READERS
from tamis_review.intake.recognise import Format
from tamis_review.intake.writing import WRITERS

PATH = Path("written")
TSV = pytest.param(Format.TSV, marks=pytest.mark.night)
FORMS = [Format.BIBTEX, Format.ENDNOTE_XML, Format.DELIMITED, TSV, Format.JSONL]
TEXTS = ["title", "abstract", "journal", "language", "_tamis_decision", "_tamis_reason"]


def written(form: Format, read: list[dict[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    WRITERS[form](json.loads(json.dumps(read)), stream)  # as the ledger gives them back
    return stream.getvalue()


def read_again(form: Format, text: str) -> list[dict[str, Any]]:
    return READERS[Format.DELIMITED if form is Format.TSV else form](text, PATH)


def plain(text: object) -> str:
    """Text but for what a format may fold: blanks, line ends, control characters."""
    return " ".join(re.sub("[\x00-\x1f\ufffe\uffff]", " ", str(text)).split())


@pytest.mark.parametrize("form", FORMS)
@given(before=records())
def test_no_value_harms_another_and_each_survives(form: Format, before: list[dict[str, Any]]) -> None:
    text = written(form, before)
    after = read_again(form, text)
    assert len(after) == len(before)
    for own, back in zip(before, after, strict=True):
        for name in TEXTS:
            assert plain(back.get(name, "")) == plain(own.get(name, ""))
        assert back.get("_tamis_confidence") == own.get("_tamis_confidence")
        if form is not Format.DELIMITED and form is not Format.TSV:
            names = [plain(name) for name in own.get("authors", ()) if plain(name)]
            assert [plain(name) for name in back.get("authors", ()) if plain(name)] == names
    assert written(form, after) == text


@pytest.mark.parametrize("form", FORMS)
@given(before=records(), changes=st.dictionaries(st.sampled_from(TEXTS), TEXT, min_size=1))
def test_what_is_changed_in_a_record_that_was_read_shows_and_nothing_else_changes(
    form: Format, before: list[dict[str, Any]], changes: dict[str, str]
) -> None:
    read = read_again(form, written(form, before))
    read[0].update(changes)
    after = read_again(form, written(form, read))
    for own, back in zip(without_source(read), without_source(after), strict=True):
        for name in own.keys() | back.keys() - changes.keys():
            if name not in ("id", "type"):  # an id may have been the record's place, a type what was left of none
                assert plain(back.get(name, "")) == plain(own.get(name, "")), name


@pytest.mark.parametrize("form", FORMS)
@given(before=records())
def test_a_decision_that_is_withdrawn_is_gone(form: Format, before: list[dict[str, Any]]) -> None:
    read = read_again(form, written(form, before))
    for own in read:
        for name in [name for name in own if name.startswith("_tamis_")]:
            del own[name]
    for back in read_again(form, written(form, read)):
        assert [name for name in back if name.startswith("_tamis_")] == []
