"""The database that a record says it comes from."""

from typing import Any

import pytest

from tamis_review.intake.databases import database_of


@pytest.mark.parametrize(
    ("record", "database"),
    [
        ({"_ris_DB": ["Embase", "Medline"]}, "Embase; Medline"),
        ({"_DB": "APA PsycInfo"}, "APA PsycInfo"),
        ({"_Source": "Scopus", "_Database": "Embase"}, "Embase"),
        ({"__source": "Scopus", "_source": {"format": "CSV"}}, "Scopus"),
        ({"_source_file": " embase.ris "}, "embase.ris"),
        ({"_source": {"format": "CSV"}, "title": "A", "database": "shown to the model"}, None),
        ({"_ris_DB": ""}, None),
    ],
)
def test_columns_and_tags_of_many_tools_name_it(record: dict[str, Any], database: str | None) -> None:
    assert database_of(record) == database
