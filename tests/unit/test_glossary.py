"""The glossary and the README use the same words, and the code has them where the glossary says."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOUNS = 20  # of the README


@dataclass(frozen=True)
class Word:
    """One row of the glossary."""

    name: str
    meaning: str
    files: list[str]
    bold: bool


def rows() -> list[list[str]]:
    """The cells of the glossary's table, without its head."""
    lines = [line for line in (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def words() -> list[Word]:
    return [
        Word(name.strip("*"), meaning, re.findall(r"`([^`]+)`", files), bold=name.startswith("**"))
        for name, meaning, files in rows()
    ]


def test_every_row_has_a_word_a_meaning_of_a_few_sentences_and_files_alone() -> None:
    for name, meaning, files in rows():
        assert name
        assert 1 <= len(re.findall(r"[.?](?: |$)", meaning)) <= 3, name
        assert re.fullmatch(r"`[\w/.]+`(?:, `[\w/.]+`)*", files), name


def test_every_file_that_the_glossary_names_exists() -> None:
    named = [(word.name, path) for word in words() for path in word.files]
    assert [each for each in named if not (ROOT / each[1]).is_file()] == []


def test_the_words_stand_in_the_order_of_the_alphabet_each_once() -> None:
    names = [word.name.lower() for word in words()]
    assert names == sorted(set(names))


def test_the_bold_words_are_the_twenty_nouns_of_the_readme() -> None:
    section = (ROOT / "README.md").read_text("utf-8").split("\n## Twenty nouns\n")[1].split("\n## ")[0]
    nouns = re.findall(r"\*\*([\w ]+)\*\*", section)
    assert len(nouns) == NOUNS
    assert sorted(nouns) == [word.name for word in words() if word.bold]


def test_a_noun_of_the_readme_is_spoken_of_in_the_file_where_it_is_looked_for_first() -> None:
    for word in words():
        if word.bold:
            source = (ROOT / word.files[0]).read_text("utf-8")
            assert re.search(rf"(?i)(?:\b|_){word.name.replace(' ', '[ _]')}", source), f"{word.files[0]}: {word.name}"
