"""Conversion: what becomes of dicts, models, dataclasses and SQLAlchemy objects."""

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from sqlalchemy import String, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, Session, deferred, mapped_column

from tamis_producer import to_item
from tamis_schemas import InvalidParameters, resolve_item_id


class Design(Enum):
    RCT = "randomised"


class Source(StrEnum):
    PUBMED = "pubmed"


class Phase(IntEnum):
    THREE = 3


class Author(BaseModel):
    name: str
    born: date | None = None


class Article(BaseModel):
    """As a canonical research article is."""

    pmid: str
    title: str
    published: date | None = None
    authors: list[Author] = []
    extra: Any = None


@dataclass
class Trial:
    nct_id: str
    phase: Phase
    sites: set[str] = field(default_factory=set)
    lead: Author | None = None


class Base(DeclarativeBase):
    pass


class WipArticle(Base):
    __tablename__ = "wip_articles"

    id: Mapped[int] = mapped_column(primary_key=True)
    pmid: Mapped[str | None]
    title: Mapped[str]
    abstract: Mapped[str | None] = deferred(mapped_column(String))
    journal: Mapped[str | None] = mapped_column("journal_name")
    publication_date: Mapped[date | None]


class Study(MappedAsDataclass, Base):
    __tablename__ = "studies"

    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str]


@pytest.fixture
def session() -> Iterator[Session]:
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        yield session
    engine.dispose()


def wip(pmid: str | None, published: date | None = None) -> WipArticle:
    return WipArticle(id=7, pmid=pmid, title="T", abstract="A", journal="J", publication_date=published)


@pytest.mark.spec("1.53")
@pytest.mark.parametrize(
    "item",
    [
        {},
        {"title": "T", "abstract": None, "year": 2024, "share": 0.5, "open": True},
        {"id": 0, "_label": "1", "authors": ["A", {"name": "B", "orcid": []}]},
    ],
)
def test_a_dict_of_json_values_is_used_as_it_is(item: dict[str, Any]) -> None:
    assert to_item(item) == item
    assert list(to_item(item)) == list(item)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=25)
@given(st.dictionaries(st.text(), json_values))
def test_every_dict_of_json_values_stays_what_it_is(item: dict[str, Any]) -> None:
    assert to_item(item) == item
    assert json.dumps(to_item(item)) == json.dumps(item)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (date(2024, 1, 15), "2024-01-15"),
        (datetime(2024, 1, 15, 8, 30, tzinfo=UTC), "2024-01-15T08:30:00+00:00"),
        (time(8, 30), "08:30:00"),
        (UUID("12345678123456781234567812345678"), "12345678-1234-5678-1234-567812345678"),
        (Decimal("1.10"), "1.10"),
        (Design.RCT, "randomised"),
        (Source.PUBMED, "pubmed"),
        (Phase.THREE, 3),
        ({"b", "a", "c"}, ["a", "b", "c"]),
        (frozenset({2, 10, 1}), [1, 10, 2]),  # sorted by their text: any one order will do
        ({date(2024, 1, 2), "x", 1, None}, [None, 1, "2024-01-02", "x"]),
        ((1, "two"), [1, "two"]),
        ([{"on": date(2024, 1, 15)}], [{"on": "2024-01-15"}]),
        (Fraction(1, 2), 0.5),
        (Author(name="Smith", born=date(1970, 1, 1)), {"name": "Smith", "born": "1970-01-01"}),
        (MappingProxyType({"a": Design.RCT}), {"a": "randomised"}),
    ],
)
def test_values_that_json_lacks_become_json_at_any_depth(value: object, expected: object) -> None:
    assert to_item({"field": value}) == {"field": expected}
    assert to_item({"outer": [{"field": value}]}) == {"outer": [{"field": expected}]}
    converted = to_item({"field": value})["field"]
    assert json.loads(json.dumps(converted)) == converted
    assert type(converted) is type(expected)


def test_names_become_text_and_none_is_lost() -> None:
    assert to_item(OrderedDict([(2024, 3), (Source.PUBMED, 1)])) == {"2024": 3, "pubmed": 1}
    with pytest.raises(InvalidParameters, match=r"counts\.1: two fields have this name"):
        to_item({"counts": {1: "a", "1": "b"}})


@pytest.mark.spec("1.54")
def test_a_pydantic_model_becomes_its_fields_as_json() -> None:
    article = Article(pmid="1", title="T", published=date(2024, 1, 15), authors=[Author(name="Smith")])
    assert to_item(article) == {
        "pmid": "1",
        "title": "T",
        "published": "2024-01-15",
        "authors": [{"name": "Smith", "born": None}],
        "extra": None,
    }
    assert resolve_item_id(to_item(article)) == "1"


def test_a_dataclass_becomes_its_fields_as_json() -> None:
    trial = Trial("NCT01", Phase.THREE, {"Paris", "Lyon"}, Author(name="Curie"))
    assert to_item(trial) == {
        "nct_id": "NCT01",
        "phase": 3,
        "sites": ["Lyon", "Paris"],
        "lead": {"name": "Curie", "born": None},
    }


@pytest.mark.spec("1.55")
@pytest.mark.parametrize(("pmid", "expected"), [("38000001", "38000001"), (None, "7"), ("", "7")])
def test_a_mapped_instance_has_its_pmid_as_id_or_its_own_id_as_text(pmid: str | None, expected: str) -> None:
    item = to_item(wip(pmid))
    assert item["id"] == expected
    assert resolve_item_id(item) == expected
    assert item["pmid"] == pmid


@pytest.mark.spec("1.55")
def test_a_mapped_instance_becomes_its_columns_by_the_names_of_its_attributes() -> None:
    assert to_item(wip("1", date(2024, 1, 15))) == {
        "id": "1",
        "pmid": "1",
        "title": "T",
        "abstract": "A",
        "journal": "J",
        "publication_date": "2024-01-15",
    }


def test_a_mapped_instance_without_pmid_keeps_its_id() -> None:
    assert to_item(Study(id=7, title="T")) == {"id": 7, "title": "T"}


def test_a_loaded_instance_reads_what_its_session_still_holds(session: Session) -> None:
    session.add(wip("1"))
    session.commit()  # everything expired
    (loaded,) = session.scalars(select(WipArticle))
    assert to_item(loaded)["abstract"] == "A"  # deferred until now


def test_an_instance_that_left_its_session_is_an_error_naming_the_column_and_the_way_out(session: Session) -> None:
    session.add(wip("1"))
    session.commit()
    (loaded,) = session.scalars(select(WipArticle))
    session.expunge(loaded)
    with pytest.raises(InvalidParameters, match=r"'abstract' of a WipArticle can no longer be read.* session is open"):
        to_item(loaded)


def test_a_row_becomes_its_columns(session: Session) -> None:
    session.add(wip("1", date(2024, 1, 15)))
    session.commit()
    row = session.execute(select(WipArticle.title, WipArticle.publication_date)).one()
    assert to_item(row) == {"title": "T", "publication_date": "2024-01-15"}
    assert to_item(row._mapping) == {"title": "T", "publication_date": "2024-01-15"}


def test_a_row_of_one_mapped_instance_is_that_instance(session: Session) -> None:
    session.add(wip(None))
    session.commit()
    assert to_item(session.execute(select(WipArticle)).one())["id"] == "7"
    both = to_item(session.execute(select(WipArticle, WipArticle.title)).one())
    assert (both["WipArticle"]["id"], both["title"]) == ("7", "T")


@pytest.mark.parametrize(
    "source", ["text", 3, None, ["title"], ("title", "T"), object(), Article, Trial, WipArticle, b"bytes"]
)
def test_anything_else_is_an_error_naming_its_type(source: object) -> None:
    with pytest.raises(InvalidParameters, match=f"a {type(source).__name__} is not an item: pass a dict"):
        to_item(source)


@pytest.mark.parametrize("value", [b"bytes", object(), timedelta(days=1), Article, 1j])
def test_a_value_that_cannot_be_json_is_an_error_naming_its_field_and_type(value: object) -> None:
    with pytest.raises(InvalidParameters, match=rf"outer\.1\.field: a {type(value).__name__} is not a JSON value"):
        to_item({"outer": [0, {"field": value}]})


def test_a_model_that_cannot_become_json_is_an_error_naming_its_type() -> None:
    with pytest.raises(InvalidParameters, match="a Article cannot be converted to JSON"):
        to_item(Article(pmid="1", title="T", extra=object()))


def test_what_holds_itself_is_an_error() -> None:
    item: dict[str, Any] = {"title": "T"}
    item["self"] = item
    with pytest.raises(InvalidParameters, match="contains itself"):
        to_item(item)
