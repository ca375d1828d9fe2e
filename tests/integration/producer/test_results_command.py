"""`tamis results`: the form follows the file's name, and Parquet holds what `batch.frame()` gives."""

from collections.abc import Callable
from pathlib import Path

import polars as pl

from stage import Finished
from stage.screened import Ledgered, failed, written_batch
from tamis_producer import Client
from tamis_review import results_frame
from tamis_schemas import Score

SCALE = Score(criteria="How well is it reported?", max_value=10)
ROWS = [
    Ledgered({"id": "a", "title": "Walking"}, value=7.5, confidence=0.9, reasoning="because"),
    failed({"id": "b", "title": "Swimming"}, "timeout"),
]


def test_results_become_parquet_with_the_types_of_the_operation(
    client: Client, run: Callable[..., Finished], tmp_path: Path
) -> None:
    batch_id = written_batch(client, ROWS, operation=SCALE).id
    done = run("results", batch_id, "-o", "scores.parquet")
    assert done.code == 0, done.err
    assert "2 items written to scores.parquet" in done.err
    frame = pl.read_parquet(tmp_path / "scores.parquet")
    assert frame.equals(results_frame(client.batch(batch_id), "polars"))
    assert frame.schema["value"] == pl.Float64
    assert frame.select("item_id", "value", "error_kind").rows() == [("a", 7.5, None), ("b", None, "timeout")]
    assert client.engine.pool.checkedout() == 0  # type: ignore[attr-defined]

    (tmp_path / "named").write_text("before", "utf-8")
    assert run("results", batch_id, "--format", "parquet", "-o", "named").code == 0
    assert pl.read_parquet(tmp_path / "named").equals(frame)
    for arguments, told in (
        (("--format", "parquet"), "Parquet is not text: name a file with -o"),
        (("--json", "--format", "parquet", "-o", "x"), "--json and --format parquet cannot be combined"),
        (("-o", "x.xlsx"), "x.xlsx: name it .csv, .jsonl or .parquet, or add --format"),
        (("-o", "missing/x.parquet"), "missing/x.parquet: cannot be written"),
    ):
        refused = run("results", batch_id, *arguments)
        assert refused.code != 0
        assert told in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["named", "scores.parquet"]
    assert run("results", batch_id).out.startswith("index,item_id,status,value")
