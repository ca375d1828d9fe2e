"""The verdict of a value, compared in SQL as it is written: the same as when its JSON is read."""

import pytest
from sqlalchemy import JSON, Text, cast, column, literal, select, values
from sqlalchemy.engine import Engine

from tamis_producer.ledger import connect
from tamis_schemas.ledger.verdicts import is_value, scalar_text, text_of

WRITTEN = [
    *('"include"', ' "include"', '"include" ', '"incl\\u0075de"', '"in\\"clude"', '"exclude"', '"uncertain"', '""'),
    *("true", "false", " true", '"true"', "null", '"null"', "0.5", '"0.5"', "1", "[]", '["include"]', '{"a": "b"}'),
    *('"not retrieved"', '"not\\u0020retrieved"', "\n[\n]", '"é"', '"\\u00e9"', '"\\\\"'),
]


@pytest.mark.parametrize("value", ["include", "exclude", "not retrieved", "é", "\\", 'in"clude', True, False, None])
def test_a_value_is_told_however_its_json_is_written(database_url: str, value: str | bool | None) -> None:
    engine: Engine = connect(database_url)
    written = values(column("written", Text), name="written").data([(one,) for one in [*WRITTEN, None]])
    kept = cast(written.c.written, JSON)
    asked = select(written.c.written, is_value(kept, value), scalar_text(kept) == literal(text_of(value)))
    if value is None:
        asked = select(written.c.written, is_value(kept, None), scalar_text(kept).is_(None))
    with engine.connect() as connection:
        told = connection.execute(asked).all()
    engine.dispose()
    assert [(one, short) for one, short, _ in told] == [(one, long) for one, _, long in told]
    assert any(short for _, short, _ in told)
