"""`tamis pilot`: a random sample of a batch's records for a human to label, without the model's decisions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer.results.results_file import replacing
from tamis_review import draw_pilot
from tamis_review.decisions.sheets import write_pilot
from tamis_review.overrides import read_visible
from tamis_schemas.operations import check_decides
from tamis_schemas.records.random_order import seed_or_new

from .app import app, err
from .arguments import BatchId, is_new, to_file
from .connected import connected
from .tables import short

USUAL = 200  # records


@app.command(examples=("tamis pilot 3f2a91c0 --n 200 --seed 1", "tamis pilot 3f2a91c0 --n 400 --seed 1 -o pilot.csv"))
def pilot(
    batch_id: BatchId,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many records.")] = USUAL,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed draws the same records.  [default: a new one]")
    ] = None,
    output: Annotated[Path | None, to_file("The file.  [default: pilot-BATCH.csv]")] = None,
) -> Iterator[object]:
    """Draw a random sample of records, as a table to label for `tamis calibrate` and `tamis evaluate`."""
    with connected() as client:
        batch = client.batch(batch_id)
        view = batch.status()
        check_decides(view.id, view.operation, "A pilot")
        output = output or Path(f"pilot-{short(view.id)}.csv")
        is_new(output, may_hold="labels")
        drawn = draw_pilot(batch, n, seed=seed_or_new(seed))
        with replacing(output) as stream:
            write_pilot(drawn, read_visible(batch, drawn.places), stream)
    facts = {"batch": view.id, "seed": drawn.seed, "population": drawn.population, "places": drawn.places}
    yield facts | {"written_to": output}
    err.say(
        f"{len(drawn.places):,} of {drawn.population:,} records, drawn with seed {drawn.seed}, written to {output}.",
        markup=False,
    )
    err.say(
        "Fill in the column include with yes or no, from the top: if you stop early, these rows are a random sample. "
        "Then: "
        f"[bold]tamis calibrate {view.id} --labels {escape(str(output))}[/]"
    )
