"""BibTeX: what an entry says, what comes back when it is written, and what is no BibTeX."""

import io
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stage.hostile import TEXT, without_source
from tamis_review.intake.bibtex import read_bibtex
from tamis_review.intake.bibtex_values import balanced
from tamis_review.intake.bibtex_writing import write_bibtex
from tamis_review.intake.latex import decode, encode
from tamis_review.intake.notes import NoteKind, Notes
from tamis_schemas import InputError
from tamis_schemas.records.item import shown_fields

PATH = Path("library.bib")
FILE = r"""Some database
EXPORT DATE: 12 January 2024

@preamble{"\newcommand{\x}{y}"}

@string{jw = {Journal of Walks}}

@Article{Rossi2021,
  author = {Rossi, Ann and M{\"u}ller, B. and {World Health and Safety Organization} and
            Jos{\'e} Garc{\'\i}a and others},
  title = "{W}alking \& {DNA}: 50% of 10--20~km",
  journal = jw # " (London)",
  year = 2021,
  month = jan,
  Abstract = {Line one
    goes on.

    Second {$\alpha$} paragraph.},
  doi = {https://doi.org/10.1234/a\_b},
  keywords = {walking, mood},
  publisher = ACM,
  note = {},
}

% between two

@inproceedings{WOS:1,
  Title = {{Second one}},
  Year = {{2010-05}},
  Unique-ID = {{WOS:0001}},
  type = {Conference Abstract},
}

@comment{the end}
"""


def read_strictly(text: str) -> list[dict[str, Any]]:
    return read_bibtex(text, Notes(PATH, strict=True))


def written(records: list[dict[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    write_bibtex(records, stream)
    return stream.getvalue()


def test_an_entry_is_a_record_under_canonical_names_with_its_latex_decoded() -> None:
    first, second = read_bibtex(FILE, Notes(PATH, strict=True))
    assert shown_fields(first) == {
        "title": "Walking & DNA: 50% of 10–20 km",
        "abstract": "Line one goes on.\nSecond α paragraph.",
        "authors": ["Rossi, Ann", "Müller, B.", "World Health and Safety Organization", "José García"],
        "year": 2021,
        "journal": "Journal of Walks (London)",
        "keywords": ["walking", "mood"],
        "type": "Article",
        "doi": "10.1234/a_b",
    }
    assert (first["id"], first["_line"], first["_bib_month"], first["_bib_publisher"]) == ("Rossi2021", 8, "jan", "ACM")
    assert (second["id"], second["_line"], second["title"], second["year"]) == ("WOS:1", 27, "Second one", 2010)
    assert (second["type"], second["_bib_Year"]) == ("Conference Abstract", "{2010-05}")


def test_a_file_comes_back_as_it_was() -> None:
    assert written(read_bibtex(FILE, Notes(PATH, strict=True))) == FILE


def test_what_is_changed_is_written_as_latex_and_the_rest_stays() -> None:
    (first, _) = records = read_bibtex(FILE, Notes(PATH, strict=True))
    first |= {"title": "100% {new} \\ @ $5", "authors": ["A and B Ltd", "Öst, C."], "year": "soon", "journal": "Gait"}
    first |= {"_bib_note": "unbalanced {", "url": "https://a.b/~c_d%20--e"}
    del first["abstract"]
    text = written(records)
    assert r"  title = {100\% \textbraceleft{}new\textbraceright{} \textbackslash{} @ \$5}," in text
    assert "  author = {{A and B Ltd} and Öst, C.}," in text
    assert "  year = {soon},\n  month = jan," in text
    assert "  Abstract = {}," in text
    assert "  url = {https://a.b/~c_d%20--e}," in text
    assert r"  note = {unbalanced \textbraceleft{}}," in text
    again = read_bibtex(text, Notes(PATH, strict=True))
    first["_bib_note"] = r"unbalanced \textbraceleft{}"  # what has no canonical name has the text that stands there
    assert without_source(again) == without_source(records)


def test_the_decision_is_added_read_back_and_replaced() -> None:
    records = read_bibtex(FILE, Notes(PATH, strict=True))
    records[0] |= {"_tamis_decision": "exclude", "_tamis_confidence": 0.9, "_tamis_reason": "a\n\n  b -- {c}\\"}
    once = written(records)
    assert "  tamis_decision = {exclude},\n  tamis_confidence = {0.9},\n  tamis_reason = {" in once
    again = read_bibtex(once, Notes(PATH, strict=True))
    assert without_source(again) == without_source(records)
    assert "tamis_decision" not in shown_fields(again[0])
    again[0]["_tamis_decision"] = "include"
    assert written(again) == once.replace("{exclude}", "{include}")


def test_a_name_that_an_entry_uses_is_defined_wherever_it_is_written() -> None:
    text = "@string{j = {Gait}}\n@string{k = j # { B}}\n@article{a, title={x}}\n@article{b, journal = k, title={y}}\n"
    records = read_bibtex(text, Notes(PATH, strict=True))
    assert records[1]["journal"] == "Gait B"
    assert written(records[1:]) == "@string{k = {Gait B}}\n\n@article{b,\n  journal = k,\n  title = {y},\n}\n\n"
    other = read_bibtex("@string{k = {Posture}}\n@book{c, journal = k, title={z}}", Notes(PATH, strict=True))
    assert [own["journal"] for own in read_bibtex(written([records[1], *other]), Notes(PATH, strict=True))] == [
        "Gait B",
        "Posture",
    ]


def test_a_record_from_elsewhere_gets_the_usual_fields_and_a_key_of_its_own() -> None:
    own: dict[str, Any] = {
        "id": "k 1",
        "title": "a & b",
        "authors": ["X, Y"],
        "year": 2020,
        "journal": "J",
        "_label": "1",
    }
    text = written([{**own, "type": "Review"}, {**own, "type": "Conference Paper"}, {"id": "k 1"}])
    assert text == (
        "@article{k_1,\n  type = {Review},\n  author = {X, Y},\n  title = {a \\& b},\n"
        "  journal = {J},\n  year = {2020},\n}\n\n"
        "@inproceedings{k_1-2,\n  type = {Conference Paper},\n  author = {X, Y},\n  title = {a \\& b},\n"
        "  booktitle = {J},\n  year = {2020},\n}\n\n@misc{k_1-3,\n}\n\n"
    )
    back = read_bibtex(text, Notes(PATH, strict=True))
    assert [(one["type"], one.get("journal")) for one in back] == [
        ("Review", "J"),
        ("Conference Paper", "J"),
        ("misc", None),
    ]


def test_two_entries_without_a_key_are_two_records() -> None:
    records = read_bibtex("@book{, title={a}}\n@book{, title={b}}\n", Notes(PATH, strict=True))
    assert [own["id"] for own in records] == ["record-1", "record-2"]
    assert written(records) == "@book{,\n  title = {a},\n}\n\n@book{,\n  title = {b},\n}\n\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "@article{a,\n title={x}\n year={2}}",
            r"library\.bib:2: the entry 'a' is broken in the field 'title': a comma",
        ),
        ("@article{a,\n title={x\n@article{b,title={y}}", r"library\.bib:1: the article 'a' is broken: a brace"),
        ('@article{a,\n title="x\n}\n@article{b,title={y}}', r"library\.bib:1: the article 'a' is broken"),
        ("@article{a,\n title={x}},\n year={2}\n}\n", r"library\.bib:3: the entry 'a' has a field outside"),
        ("article{a,\n title={x}}\n@book{b,title={z}}", r"library\.bib:1: an entry without `@` or braces"),
        ("@book{b,}\n@article a,\n", r"library\.bib:2: an entry without `@` or braces"),
        ("@article{a title={x}}", r"library\.bib:1: the article 'a' is broken"),
        ("@article{a, = {x}}", r"library\.bib:1: the entry 'a' is broken"),
        ("@article{a, title={x", r"library\.bib:1: the article 'a' is broken"),
        ("@comment{x}\n", r"no entry"),
        (
            "@string{a = {lol}}\n" + "".join(f"@string{{a{'a' * n} = {'a' * n} # {'a' * n}}}\n" for n in range(1, 40)),
            "too long",
        ),
    ],
)
def test_a_fault_is_an_error_naming_line_and_key_where_reading_is_strict(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_bibtex(text, Notes(PATH, strict=True))


def test_keys_that_stand_again_are_numbered_and_fields_that_do_are_all_kept() -> None:
    text = (
        "@article{k,\n  title = {x},\n  funding_details = {A},\n  funding_details = {B},\n  Note = {C},\n"
        "  note = {D},\n}\n\n@article{k-2,\n  title = {y},\n}\n\n"
        "@article{k,\n  title = {z},\n  title = {w},\n  author = {Q},\n  author = {R},\n}\n\n"
    )
    records = read_bibtex(text, Notes(PATH, strict=True))
    assert [own["id"] for own in records] == ["k", "k-2", "k-3"]
    assert records[0]["_bib_funding_details"] == ["A", "B"]
    assert (records[0]["_bib_Note"], records[0]["_bib_note"]) == ("C", "D")
    assert (records[2]["title"], records[2]["_bib_title"]) == ("z", "w")
    assert (records[2]["authors"], records[2]["_bib_author"]) == (["Q"], "R")
    again = written(records)
    assert again == text.replace("@article{k,\n  title = {z}", "@article{k-3,\n  title = {z}")
    assert without_source(read_bibtex(again, Notes(PATH, strict=True))) == without_source(records)


A, B, C = (f"@article{{{name},\n  title = {{{name}}},\n  year = {{2020}},\n}}\n" for name in "abc")


@pytest.mark.parametrize(
    ("damaged", "line"),
    [
        (B.replace("{b},\n", "{b,\n", 1), 5),
        (B.replace("{b},", "{b}},"), 7),  # ends too early
        (B.replace("@", ""), 5),
        (B.replace("@article{", "@article"), 5),
        (B.replace("title = {b},", "title = {b}"), 6),
        (B.replace("  title = {b}", "  title {b}"), 5),
        (B[:-3], 5),
    ],
)
def test_a_broken_entry_costs_no_other(damaged: str, line: int) -> None:
    notes = Notes(PATH)
    records = read_bibtex(A + damaged + C, notes)
    assert [own["title"] for own in records] == ["a", "c"]
    assert [(note.kind, note.line) for note in notes.taken] == [(NoteKind.LOST, line)]


def test_a_broken_string_is_no_record_but_said() -> None:
    notes = Notes(PATH)
    assert len(read_bibtex("@string{x = }\n@string{y\n" + A, notes)) == 1
    assert [(note.kind, note.line, note.text) for note in notes.taken] == [
        (NoteKind.SKIPPED, 1, "@string that is not a text, or is too long"),
        (NoteKind.SKIPPED, 2, "@string without its end"),
    ]
    with pytest.raises(InputError, match=r"library\.bib:1: @string that is not a text"):
        read_bibtex("@string{x = }\n" + A, Notes(PATH, strict=True))


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (
            r"{\"o} \"{o} \"o \'{\i} {\'\i} \c{c} \v s {\ss} \O rsted \r{a} \H{o} \k{a} \.z",
            "ö ö ö í í ç š ß Ørsted å ő ą ż",
        ),
        (r"50% of $5 and $10, US$ 3", "50% of $5 and $10, US$ 3"),
        (r"$\alpha$-blockers, $p < 0.05$, H$_{2}$O, $\pm$", "α-blockers, p < 0.05, H_2O, ±"),
        (r"``quoted'' -- a---b 1--2 Dr.~X", "“quoted” – a—b 1–2 Dr. X"),
        (r"\emph{E. coli} \textbf{x} \url{http://a/\~{}b} \& \% \# \_ \$ \{y\}", "E. coli x http://a/~b & % # _ $ {y}"),
        (r"C:\temp \unknown x \unknown{y}", r"C:\temp \unknown x y"),
        (r"\mkbibemph {Salmonella}{{\mkbibquote{x}}} \L{} \aleph", "Salmonellax Ł ℵ"),
        (r"a \&\#38; b \&amp; c \&\#x3bc; \&{}amp; \&c;", "a & b & c μ &amp; &c;"),
        ("a\n  b\n\n  c\n\n\n\nd", "a b\nc\n\n\nd"),
    ],
)
def test_latex_says(latex: str, text: str) -> None:
    assert decode(latex) == text


@given(TEXT)
def test_what_is_written_as_latex_says_the_same(text: str) -> None:
    latex = encode(text)
    assert decode(latex) == text.replace("\r\n", "\n").replace("\r", "\n")
    assert balanced(latex)


@given(st.lists(TEXT | st.from_regex(r"[{}\\a\n]{0,9}"), min_size=1, max_size=4))
def test_any_text_of_a_field_comes_back_as_it_stood_or_is_an_error(texts: list[str]) -> None:
    text = "@misc{k,\n" + "".join(f"  f{at} = {{{one}}},\n" for at, one in enumerate(texts)) + "}\n"
    try:
        records = read_bibtex(text, Notes(PATH, strict=True))
    except InputError:
        return
    assert without_source(read_bibtex(written(records), Notes(PATH, strict=True))) == without_source(records)


def test_hostile_files_cost_no_time() -> None:
    size = 2**15
    hostile = [
        "@article{a,\n title={" + "{" * size + "}" * size + "}}",
        "@article{a,\n title={" + "{" * size + "\n@article{b, title={x}}",
        "@article{a,\n abstract={" + '\\"o ' * (size // 4) + "}}",
        "@article{a,author={A" + " " * size + "B}}",
        "@article{a,author={" + "A and " * (size // 6) + "B}}",
        "@article{a,title=" + "a#" * size + "a}",
        "@article{a,\n" * 10_000,
        "\n" + " " * size + "@",
        "@a" * size,
        "@article{a}" + "\n" * (4 * size) + "@article{",
    ]
    begun = time.process_time()  # of this process alone, however many others there are
    for text in hostile:
        with suppress(InputError):
            written(read_bibtex(text, Notes(PATH, strict=True)))
    assert time.process_time() - begun < 10  # about 0.4; minutes where a pattern goes wrong


@pytest.mark.parametrize("head", ["@article{", "@article{\n  ", "@Article (", "@article{,"])
def test_an_entry_without_a_key_is_an_entry(head: str) -> None:
    end = ")" if "(" in head else "}"
    text = (
        f"@string{{j = {{J Walks}}}}\n{head}title = {{First}}, journal = j{end}\n\n@article{{b, title = {{Second}}}}\n"
    )
    first, second = read_strictly(text)
    assert (first["id"], first["title"], first["journal"]) == ("record-1", "First", "J Walks")
    assert (second["id"], second["title"]) == ("b", "Second")
    assert without_source(read_strictly(written([first, second]))) == without_source([first, second])


def test_a_key_keeps_its_escaped_entities() -> None:
    (record,) = read_strictly(r"@article{Moor_\&\#38;_2001, title = {T}}")
    assert record["id"] == r"Moor_\&\#38;_2001"
    assert written([record]).startswith(r"@article{Moor_\&\#38;_2001,")
