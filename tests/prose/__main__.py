"""Print the counts: words and sentences of each document, phrases and names of each package."""

from collections import Counter
from collections.abc import Iterator

from .documents import Document, read_documents
from .phrases import PHRASES, phrase_counts
from .source import PACKAGES, Source, read_source

VARIABLES = ("one", "each", "found", "given", "known", "said", "asked", "told")


def _document_rows(documents: list[Document]) -> Iterator[str]:
    yield "| document | words | sentences | average | longest |\n|---|---|---|---|---|"
    for document in documents:
        lengths = [len(sentence.split()) for sentence in document.sentences] or [0]
        average, longest = sum(lengths) / len(lengths), max(lengths)
        yield f"| {document.name} | {document.words} | {len(lengths)} | {average:.1f} | {longest} |"
    on_site = sum(document.words for document in documents if document.on_site)
    yield f"| all | {sum(document.words for document in documents)}, on the site {on_site} | | | |"


def _phrase_rows(documents: list[Document], source: list[Source]) -> Iterator[str]:
    yield f"| per 1,000 words | {' | '.join(PHRASES)} |\n|---|{'---|' * len(PHRASES)}"
    texts = {
        package: " ".join(module.prose for module in source if module.name.startswith(package)) for package in PACKAGES
    }
    texts["documents"] = " ".join(sentence for document in documents for sentence in document.sentences)
    for name, text in texts.items():
        words = len(text.split())
        shares = [f"{1000 * count / words:.1f}" for count in phrase_counts(text).values()]
        yield f"| {name}, {words} words | {' | '.join(shares)} |"


def _name_rows(source: list[Source]) -> Iterator[str]:
    variables: Counter[str] = sum((module.variables for module in source), Counter())
    yield "variables: " + ", ".join(f"{name} {variables[name]}" for name in VARIABLES)
    classes = Counter(name for module in source for name in module.classes if not name.startswith("_"))
    yield "classes with one name: " + ", ".join(f"{name} {count}" for name, count in classes.items() if count > 1)


DOCUMENTS, SOURCE = read_documents(), read_source()
ROWS = (*_document_rows(DOCUMENTS), "", *_phrase_rows(DOCUMENTS, SOURCE), "", *_name_rows(SOURCE))
print("\n".join(ROWS))  # noqa: T201 - a command
