"""The example: 24 made-up citations, the criteria of a small review of them, and a handwritten answer about each."""

from pathlib import Path

CITATIONS = Path(__file__).parent / "citations.ris"
CRITERIA = Path(__file__).parent / "criteria.yaml"
ANSWERS = Path(__file__).parent / "answers.json"  # in the form of a model's answers, but handwritten

__all__ = ["ANSWERS", "CITATIONS", "CRITERIA"]
