"""JSONL: objects keep their names; a line that is no object has its number."""

from pathlib import Path

import pytest

from tamis_producer.intake.jsonl import read_jsonl
from tamis_schemas import InputError

PATH = Path("items.jsonl")


def test_objects_keep_their_own_names_and_values() -> None:
    text = (
        '{"id": 0, "Title": "a", "label": 1, "nested": {"x": [null, true]}}\n\n{"pmid": "5"}\r\n{"doi": "10.1/x"}\n{}\n'
    )
    assert read_jsonl(text, PATH) == [
        {"id": 0, "Title": "a", "label": 1, "nested": {"x": [None, True]}, "_line": 1},
        {"pmid": "5", "_line": 3},
        {"doi": "10.1/x", "id": "10.1/x", "_line": 4},
        {"id": "record-4", "_line": 5},
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"id": 1}\n{"id": 2,}\n', r"items\.jsonl:2: not JSON: .* \(column \d+\)"),
        ('{\n"id": 1\n}\n', r"items\.jsonl:1: not JSON: .*one line"),
        ('{"id": 1}\n[1]\n', r"items\.jsonl:2: a JSON array"),
        ('{"id": 1}\n"x"\n', r"items\.jsonl:2: a JSON string"),
        ('{"id": 1}\nnull\n', r"items\.jsonl:2: a JSON null"),
        ('{"id": 1} {"id": 2}\n', r"items\.jsonl:1: not JSON: Extra data"),
        ('{"score": NaN}\n', r"items\.jsonl:1: .*NaN"),
        ('{"id": 1, "id": 2}\n', r"items\.jsonl:1: .*'id' stands twice"),
        ("{" + '"a":{' * 100_000, r"items\.jsonl:1: "),
    ],
)
def test_a_line_that_is_no_object_is_an_error_naming_it(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_jsonl(text, PATH)
