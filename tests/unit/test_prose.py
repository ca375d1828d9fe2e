"""Documents, docstrings, comments and names are plain English; `python -m tests.prose` prints the counts."""

import ast
import builtins
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from prose import PHRASES, Document, Source, phrase_counts, read_documents, read_source
from stage.documents import ROOT

MOST_WORDS, MOST_WORDS_ON_SITE = 45_000, 25_000
LONGEST_SENTENCE, AVERAGE_SENTENCE = 25, 15.0  # words
DOCUMENTS = read_documents()
# Per 1,000 words, in documents and in docstrings and comments alike: some phrases have an unavoidable rest.
MOST_PHRASES = dict.fromkeys(PHRASES, 0.2) | {"one that/what is": 0.7, "of which/of whom": 0.3}
# Reads, writes and parameters of a variable whose name does not say what it holds.
MOST_VARIABLES = {"one": 60, "each": 4, "found": 35, "given": 2, "known": 15, "said": 22, "asked": 13, "told": 1}
BRITISH = re.compile(
    r"\b\w*(?:color|behavior|neighbor|favor|honor|labor|canceled|canceling|judgment|artifact|analyz\w|catalog\b"
    r"|summariz|normaliz|organiz|recogniz|initializ|serializ|prioritiz|minimiz|maximiz|optimiz|authoriz|center\b)\w*",
    re.IGNORECASE,
)


@cache
def source() -> list[Source]:
    return read_source()


@cache
def counts_by_text() -> dict[str, tuple[int, dict[str, int]]]:
    """The words of each text, and how often each phrase occurs in it."""
    texts = {
        "documents": " ".join(sentence for document in DOCUMENTS for sentence in document.sentences),
        "docstrings and comments": " ".join(module.prose for module in source()),
    }
    return {name: (len(prose.split()), phrase_counts(prose)) for name, prose in texts.items()}


def names(documents: list[Document]) -> list[str]:
    return [document.name for document in documents]


def test_the_documents_and_the_users_site_are_short() -> None:
    assert sum(document.words for document in DOCUMENTS) <= MOST_WORDS
    assert sum(document.words for document in DOCUMENTS if document.on_site) <= MOST_WORDS_ON_SITE


def test_no_sentence_of_a_document_has_more_than_25_words() -> None:
    for document in DOCUMENTS:
        long = [sentence for sentence in document.sentences if len(sentence.split()) > LONGEST_SENTENCE]
        assert long == [], document.name


def test_sentences_have_15_words_on_average() -> None:
    lengths = [len(sentence.split()) for document in DOCUMENTS for sentence in document.sentences]
    assert sum(lengths) / len(lengths) <= AVERAGE_SENTENCE


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_that_must_be_read_twice_are_rare(phrase: str) -> None:
    for name, (words, counts) in counts_by_text().items():
        assert 1000 * counts[phrase] / words <= MOST_PHRASES[phrase], name


def test_a_variable_is_named_after_what_it_holds() -> None:
    variables: Counter[str] = Counter()
    for module in source():
        variables.update(module.variables)
    assert {name: variables[name] for name, most in MOST_VARIABLES.items() if variables[name] > most} == {}


def test_no_two_public_classes_have_one_name() -> None:
    classes = Counter(name for module in source() for name in module.classes if not name.startswith("_"))
    assert [name for name, count in classes.items() if count > 1] == []


def functions() -> Iterator[tuple[Source, ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Yield every function that has a docstring, with its module."""
    for module in source():
        for node, text in module.docstrings:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield module, node, text


def test_a_docstring_describes_no_parameter_that_does_not_exist() -> None:
    for module, function, text in functions():
        described = re.findall(r"^    \*{0,2}(\w+):", text.partition("\nArgs:\n")[2].partition("\n\n")[0], re.MULTILINE)
        parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
        assert set(described) <= parameters, f"{module.name}: {function.name}"


def test_a_docstring_mentions_no_name_that_does_not_exist() -> None:
    anywhere = {name for module in source() for name in module.names} | {*dir(builtins), *sys.builtin_module_names}
    for module, function, text in functions():
        mentioned = re.findall(r"`((?!tamis_)[a-z]\w*)`", text)  # `_` and `tamis_` begin the fields that Tamis adds
        assert set(mentioned) <= anywhere | set(module.variables), f"{module.name}: {function.name}"


def test_spelling_is_british_and_without_known_mistakes() -> None:
    american = [
        (document.name, word)
        for document in DOCUMENTS
        for sentence in document.sentences
        for word in BRITISH.findall(sentence)
    ]
    assert american == []
    files = [*names(DOCUMENTS), *(module.name for module in source())]
    command = [sys.executable, "-m", "codespell_lib", "--toml", "pyproject.toml", *files]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.stdout + checked.stderr == ""


def test_phrases_and_sentences_are_counted() -> None:
    text = "# Heading\n\nOne that waits is told. It stands. `a b`?\n\n| row | stands |\n\n- First item\n- Next [x](y)\n"
    document = Document("x.md", text, on_site=False)
    assert document.sentences == ["One that waits is told.", "It stands.", "`code`?", "First item", "Next x"]
    counts = Counter(phrase_counts(" ".join(document.sentences)))
    assert +counts == {"one that/what is": 1, "told/tells": 1, "stands/stood": 1}
