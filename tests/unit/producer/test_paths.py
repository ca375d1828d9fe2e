"""A file is named by its path, as a `Path` or as text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tamis_producer.files.price_file import read_prices
from tamis_producer.results.results_file import replacing
from tamis_review import read_records, write_records
from tamis_review.decisions.sheets import read_decisions, read_sample
from tamis_review.intake import read_file
from tamis_review.plans.criteria_file import read_criteria
from tamis_review.plans.plan_file import read_plan, read_schema
from tamis_review.quality.gold_labels import read_labels
from tamis_schemas import Filter, InputError

RIS = "TY  - JOUR\nTI  - One\nER  - \n"
CRITERIA = "research_question: Does it?\ninclusion_criteria: [Adults]\n"
PLAN = "records: a.ris\nstages:\n  - filter: {criteria: 'Is it?'}\n"
READERS: list[tuple[Callable[..., object], str, dict[str, object]]] = [
    (read_records, RIS, {}),
    (read_file, RIS, {}),
    (read_labels, "id,included\nr1,1\n", {}),
    (read_criteria, CRITERIA, {}),
    (read_plan, PLAN, {}),
    (read_schema, '{"type": "object"}', {}),
    (read_prices, "models:\n  m:\n    input: 1\n    output: 2\n", {}),
    (read_sample, "audit,index,include,reviewer\na,0,1,Reviewer A\n", {"reviewer": None}),
    (
        read_decisions,
        "index,decision,reviewer\n0,true,Reviewer A\n",
        {"operation": Filter(criteria="x"), "item_ids": ["r1"], "reviewer": None},
    ),
]


@pytest.mark.parametrize(("reader", "content", "more"), READERS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_reader_takes_text_as_it_takes_a_path(
    reader: Callable[..., object], content: str, more: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    assert reader(str(path), **more) == reader(path, **more)
    with pytest.raises(InputError, match="there is no such file"):
        reader(str(path) + ".not", **more)


def test_a_writer_takes_text_as_it_takes_a_path(tmp_path: Path) -> None:
    source, target = tmp_path / "a.ris", tmp_path / "b.ris"
    source.write_text(RIS)
    write_records(read_records(str(source)), str(target))
    assert [record["title"] for record in read_records(target)] == ["One"]
    with replacing(str(target)) as stream:
        stream.write("two")
    assert target.read_text() == "two"
