"""What every fault must end in, asserted on the ledger and on the LLM double's own count; and the figures of it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import text

from llm_double import Double
from tamis_producer import Batch, Client

PROPERTY = "reckoning"  # under this name a test's report carries its figures


@dataclass(frozen=True)
class Reckoning:
    """One batch after its faults; asks one question an item."""

    items: int
    lost: int  # items without an end
    duplicates: int  # rows beyond one an item
    failed: int
    extra_calls: int  # that the double answered beyond one an item


def reckon(
    client: Client, batch: Batch, double: Double, *, failed: int = 0, refused: int = 0, asked_again: int = 0
) -> Reckoning:
    """The figures of a batch that is completed.

    Asserts that each item is terminal, that each has exactly one row, that the accounting identity holds, that one
    summary stands for each round and agrees with the items, and that no more items failed than `failed`. `refused` is
    the number of calls that were refused for a limit or a key: nobody pays for those. `asked_again` counts the items of
    later rounds.
    """
    counts = batch.status().counts
    with client.engine.connect() as connection:
        given = {"id": batch.id}
        rows = Counter(
            connection.execute(text("SELECT idx FROM results WHERE batch_id = :id AND round > 0"), given).scalars()
        )  # of round 0 is the bill of an item that was given back
        rounds = connection.execute(text("SELECT round FROM batches WHERE id = :id"), given).scalar_one()
        summaries = connection.execute(
            text("SELECT round FROM summaries WHERE batch_id = :id ORDER BY round"), given
        ).scalars().all()  # fmt: skip
    assert counts.identity_holds
    assert counts.pending == counts.running == 0, counts
    assert list(summaries) == list(range(1, rounds + 1))
    summary = batch.summary()
    assert summary is not None
    assert summary.counts == counts
    assert counts.failed <= failed, counts
    asked = counts.decided + counts.failed
    result = Reckoning(
        items=counts.n_items,
        lost=asked - len(rows),
        duplicates=rows.total() - len(rows),
        failed=counts.failed,
        extra_calls=double.count() - refused - asked - asked_again,
    )
    assert (result.lost, result.duplicates) == (0, 0), result
    return result


@dataclass(frozen=True)
class Faults:
    """Keeps the figures of a row of the fault table, for the table at the end of the run."""

    keep: Callable[[str, object], None]

    def record(self, *, row: int, reckoning: Reckoning, faults: int, note: str = "") -> None:
        """`faults` of the kind of `row` met this batch; `note`: one figure more, such as a recovery's seconds."""
        self.keep(PROPERTY, {"row": row, "faults": faults, "note": note, **asdict(reckoning)})


COLUMNS = ("row", "faults", "items", "lost", "duplicates", "failed", "extra_calls", "note")


def table(kept: Sequence[Mapping[str, object]]) -> list[str]:
    """The figures that were kept, as the lines of a table, a line a test."""
    rows = sorted(([str(figures[name]) for name in COLUMNS] for figures in kept), key=lambda row: int(row[0]))
    lines = [[name.replace("_", " ") for name in COLUMNS], *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
