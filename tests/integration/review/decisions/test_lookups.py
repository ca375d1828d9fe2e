"""People's decisions are looked up, whatever Postgres expects of a batch that is younger than its statistics.

A join of two parts of one row each, as it then expects, may go through the one for each row of the other. Here it may
join in no other way, and the rows that it goes through are counted.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, event

from stage.assessed import A, B, decide, figures, record, said
from stage.screened import decided, written_batch
from tamis_producer import Batch, Client
from tamis_review import overrides
from tamis_review.decisions.blindness import hidden_from, set_mode
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_schemas import HumanStage, ScreeningMode

N = 30
ONLY_LOOPS = "; ".join(
    f"SET LOCAL enable_{way} = off" for way in ("hashjoin", "mergejoin", "material", "memoize", "seqscan", "bitmapscan")
)
VIEW = re.compile("FROM (standing|item|human)_decisions")


def rows_of_overrides(node: dict[str, Any]) -> float:
    """The rows of `overrides` that a plan went through."""
    own = node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
    below = sum(rows_of_overrides(one) for one in node.get("Plans", ()))
    return below + (own if node.get("Relation Name") == "overrides" else 0)


@contextmanager
def counted(client: Client) -> Iterator[list[tuple[float, int, str]]]:
    """Of each statement on a view of decisions: the rows that it goes through, and how often it names them."""
    found = []

    def explain(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: object) -> None:
        if not VIEW.search(statement):
            return
        with cursor.connection.cursor() as other:
            other.execute("SAVEPOINT before")
            other.execute(ONLY_LOOPS)
            other.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}", parameters)
            found.append((rows_of_overrides(other.fetchone()[0][0]["Plan"]), len(VIEW.findall(statement)), statement))
            other.execute("ROLLBACK TO before")

    event.listen(client.engine, "before_cursor_execute", explain)
    yield found
    event.remove(client.engine, "before_cursor_execute", explain)


def hidden(client: Client, batch: Batch) -> None:
    with client.engine.begin() as connection:
        hidden_from(connection, UUID(batch.id), A)


@pytest.mark.parametrize(
    ("mode", "read"),
    [
        (ScreeningMode.SINGLE, lambda client, batch: figures(client, batch.id)),
        (ScreeningMode.SINGLE, lambda client, batch: list(batch.results())),
        (ScreeningMode.PAIR, hidden),
    ],
    ids=["figures", "results", "hidden"],
)
def test_decisions_are_gone_through_once_and_not_for_each_record(
    client: Client, mode: ScreeningMode, read: Callable[[Client, Batch], object]
) -> None:
    batch = written_batch(client, [decided(record(n), said("include")) for n in range(N)])
    overrides.decide(batch, [HumanDecision(n, "include", who) for n in range(N) for who in (A, B)])
    decide(batch, HumanStage.RETRIEVAL, "retrieved", *range(N))
    decide(batch, HumanStage.FULL_TEXT, "include", *range(N))
    with client.engine.begin() as connection:
        set_mode(connection, UUID(batch.id), mode, set_by=A)
    with counted(client) as found:
        read(client, batch)
    assert found
    for rows, named, statement in found:
        assert rows <= named * 4 * N, statement
