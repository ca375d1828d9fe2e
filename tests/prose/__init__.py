"""Counts of words, sentences and phrases in documents, docstrings and comments; `python -m tests.prose` prints them."""

from .documents import Document, read_documents
from .phrases import PHRASES, phrase_counts
from .source import Source, read_source

__all__ = ["PHRASES", "Document", "Source", "phrase_counts", "read_documents", "read_source"]
