"""The example: 24 made-up citations, and the criteria of a small review of them."""

from pathlib import Path

CITATIONS = Path(__file__).parent / "citations.ris"
CRITERIA = Path(__file__).parent / "criteria.yaml"

__all__ = ["CITATIONS", "CRITERIA"]
