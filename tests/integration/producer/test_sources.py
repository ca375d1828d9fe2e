"""Records of several sources in the ledger: which is from where, counted by SQL, told in results and explanations."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select, text

from stage.searches import write_searches
from tamis_producer import Client
from tamis_producer.ledger import insert_batch
from tamis_producer.ledger.sources import read_sources
from tamis_producer.submission.new_batch import NewBatch, NewItem, Stage, parameters
from tamis_producer.submission.spool import Spool
from tamis_review import explain, override, submit_review
from tamis_review.explanation.words import as_text
from tamis_review.filter.identification import Identified, identify
from tamis_review.report.flow_reading import count_by_source
from tamis_review.report.reading import find_subject, read_figures, snapshot
from tamis_schemas import (
    Filter,
    InvalidParameters,
    ReviewPlan,
    ReviewStage,
    SourceKind,
)
from tamis_schemas.ledger import batches

OPERATION = Filter(criteria="Is it about walking?")


@pytest.fixture
def identified(tmp_path: Path) -> Identified:
    return identify(list(write_searches(tmp_path).values()))


def places(client: Client, batch_id: str) -> list[int | None]:
    with client.engine.connect() as connection:
        statement = text("SELECT source FROM payloads WHERE batch_id = :id ORDER BY idx")
        return list(connection.execute(statement, {"id": UUID(batch_id)}).scalars())


def row_of(client: Client, batch_id: str) -> Any:
    with client.engine.connect() as connection:
        return connection.execute(select(batches).where(batches.c.id == UUID(batch_id))).one()


def test_each_record_knows_its_source_and_every_source_is_counted(client: Client, identified: Identified) -> None:
    batch = client.submit(OPERATION, identified.records, exclusions=identified.exclusions, source=identified.sources)
    assert places(client, batch.id) == [0] * 6 + [1] * 4 + [2] * 2
    row = row_of(client, batch.id)
    assert read_sources(row) == identified.sources
    override(batch, 7, True, reviewer="Reviewer A")  # one of Embase's copies is screened after all
    with snapshot(client.engine) as connection:
        first, second, third = ((source.name, source.kind) for source in identified.sources)
        counted = [
            ((one.name, one.kind), one.identified, one.duplicates, one.screened)
            for one in count_by_source(connection, row)
        ]
        assert counted == [
            (first, 6, 0, 6),
            (second, 4, 2, 2),  # 4 = 2 + 2: three were copies, one was taken back
            (third, 2, 0, 2),
        ]
        figures = read_figures(connection, find_subject(connection, batch.id))
    assert [(tally.name, tally.n) for tally in figures.flow.identified] == [
        ("PubMed", 6),
        ("Embase", 4),
        ("trials.csv", 2),
    ]
    assert (figures.screening.sources, figures.screening.source) == (identified.sources, None)
    rows = list(batch.results())
    assert [one.source for one in rows] == ["PubMed"] * 6 + ["Embase"] * 4 + ["trials.csv"] * 2


def test_a_record_is_explained_with_its_source_its_copies_and_what_was_filled(
    client: Client, identified: Identified
) -> None:
    batch = client.submit(OPERATION, identified.records, exclusions=identified.exclusions, source=identified.sources)
    story = explain(batch, 3)
    assert story.source == identified.sources[0]
    assert [(copy.index, copy.item_id, copy.source) for copy in story.copies] == [
        (7, "L2", "Embase"),
        (9, "L4", "Embase"),
    ]
    lines = as_text(story).partition("# Source\n")[2].partition("#")[0].splitlines()
    assert lines == [
        "PubMed (database), medline.csv, line 5",
        "its duplicate No. 8, id L2 of Embase, was removed: A copy of record '104' (PubMed, medline.csv, line 5): the "
        "same DOI, 10.1000/stairs.",
        "its duplicate No. 10, id L4 of Embase, was removed: A copy of record '104' (PubMed, medline.csv, line 5): the "
        "same DOI, 10.1000/stairs.",
        "abstract was filled from pubmed.nbib, line 16",
        "year is contradicted: its duplicate No. 8 of Embase has 2017",
        "",
    ]
    copy = as_text(explain(batch, 7))
    assert "Embase (database), embase.csv, line 3" in copy
    assert "No. 4 was kept" in copy


def test_a_later_stage_of_a_review_knows_where_its_records_are_from(client: Client, identified: Identified) -> None:
    plan = ReviewPlan(stages=(ReviewStage(operation=OPERATION), ReviewStage(operation=OPERATION)))
    review = submit_review(
        client, plan, identified.records, label="r", exclusions=identified.exclusions, source=identified.sources
    )
    again = submit_review(
        client, plan, identified.records, label="r", exclusions=identified.exclusions, source=identified.sources
    )
    assert review.id == again.id
    items = Spool[NewItem]()
    for origin in (3, 10):
        items.append(NewItem.of(identified.records[origin], origin=origin), 100)
    params = parameters(OPERATION)
    stage = Stage(UUID(review.id), 1)
    with client.engine.begin() as connection:
        later = insert_batch(connection, NewBatch("filter", params, None, items, 50, 2, stage=stage))
    batch = client.batch(str(later))
    assert [(row.index, row.origin, row.source) for row in batch.results()] == [
        (0, 3, "PubMed"),
        (1, 10, "trials.csv"),
    ]
    story = explain(batch, 0)
    assert (story.source, len(story.copies)) == (identified.sources[0], 2)


def test_one_source_leaves_the_column_empty(client: Client, tmp_path: Path) -> None:
    one = identify(write_searches(tmp_path)["trials.csv"])
    assert one.sources[0].kind is SourceKind.REGISTER
    batch = client.submit(OPERATION, one.records, source=one.sources[0])
    assert places(client, batch.id) == [None, None]
    assert {row.source for row in batch.results()} == {None}


def test_sources_that_do_not_say_whose_the_items_are_are_refused(client: Client, identified: Identified) -> None:
    first, *others = identified.sources
    for sources, why in (
        ([first.model_copy(update={"records": None}), *others], "'PubMed' does not state its number"),
        (others, "the sources have 6 records, but there are 12 items"),
    ):
        with pytest.raises(InvalidParameters, match=why):
            client.submit(OPERATION, identified.records, source=sources)
    assert client.batches() == []
