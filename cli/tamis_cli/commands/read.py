"""`tamis results` and `tamis export`: write the records of a batch from the ledger."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape

from tamis_producer import Batch
from tamis_producer.results.result_frames import write_parquet
from tamis_producer.results.results_file import replacing, replacing_bytes, write_csv, write_jsonl
from tamis_review import count_labels, labelled_places
from tamis_review.decisions.decided_records import decided_records
from tamis_review.intake.recognise import Format, format_named
from tamis_review.intake.source import source_format
from tamis_schemas import InvalidRequest
from tamis_schemas.values.printable import STANDARD_OUTPUT

from .app import app, err
from .arguments import BatchId, to_file
from .connected import connected
from .tables import counted, short

Label = Annotated[str | None, typer.Option(help="Only records with this label.")]
ENDINGS: dict[str, Literal["csv", "jsonl", "parquet"]] = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}


@app.command(examples=("tamis results 3f2a91c0 -o decisions.csv", "tamis results 3f2a91c0 --json"))
def results(
    batch_id: BatchId,
    form: Annotated[
        Literal["csv", "jsonl", "parquet"] | None,
        typer.Option("--format", help="csv, jsonl or parquet.  [default: by the ending of FILE, else csv]"),
    ] = None,
    output: Annotated[Path | None, to_file("A file.  [default: the terminal]")] = None,
    label: Label = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format jsonl.")] = False,
) -> None:
    """Write every item of a batch with its result, in the batch's order."""
    if as_json:
        if form not in {None, "jsonl"}:
            raise InvalidRequest(f"--json and --format {form} cannot be combined")
        form = "jsonl"
    if form is None:
        ending = (output.suffix.lower() if output else "") or ".csv"
        if ending not in ENDINGS:
            raise InvalidRequest(f"{output}: name it .csv, .jsonl or .parquet, or add --format")
        form = ENDINGS[ending]
    if form == "parquet" and output is None:
        raise InvalidRequest("Parquet is not text: name a file with -o")
    with connected() as client:
        batch = client.batch(batch_id)
        rows = _write(batch, form, _labelled(batch, label), output or STANDARD_OUTPUT)
    if output is not None:
        err.print(f"{counted(rows, 'item')} written to {output}")


def _write(batch: Batch, form: str, places: Collection[int] | None, output: Path) -> int:
    """Write the results of the items numbered `places` (None: of all items), and return the number of results."""
    if form == "parquet":
        with replacing_bytes(output) as table:
            return write_parquet(batch.results(places), batch.operation(), table)
    with replacing(output) as stream:
        if form == "jsonl":
            return write_jsonl(batch.results(places), stream)
        return write_csv(batch.results(places), stream, batch.operation())


@app.command(
    examples=("tamis export 3f2a91c0 -o decided.ris", "tamis export 3f2a91c0 -o kept.csv --format csv --only include")
)
def export(
    of: Annotated[str, typer.Argument(metavar="ID", help="A batch or a review.")],
    output: Annotated[Path, to_file("The file to write.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="ris, nbib, bibtex, endnote, csv, tsv or jsonl.  [default: the format of the screened files]",
        ),
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only records with this decision. Repeatable.")] = None,
    label: Label = None,
) -> Iterator[object]:
    """Write the records with their decisions, as a file for reference managers."""
    from tamis_review.intake import write_records  # loads all file formats, which only this command needs

    with connected() as client:
        batch = client.first_batch(of)
        with decided_records(batch.id, batch.results(_labelled(batch, label)), only) as records:
            count = len(records)
            written = form or _format_for(list(dict.fromkeys(map(source_format, records))), output)
            dropped = write_records(records, output, format=written)
    yield {"batch": batch.id, "records": count, "written_to": output, "dropped": dropped}
    _say_dropped(dropped)
    err.print(f"{counted(count, 'record')} written to {output}", markup=False)


def _say_dropped(dropped: Mapping[str, int]) -> None:
    if dropped:
        fields = ", ".join(f"{name} ({counted(n, 'record')})" for name, n in dropped.items())
        err.say(f"[yellow]not written, because the format has no place for them:[/] {escape(fields)}")


def _format_for(came_as: Sequence[Format | None], output: Path) -> Format | None:
    """Return the format to write: the screened files' format if they have only one, otherwise that of the suffix.

    `came_as`: the formats of the screened files; None: a format that cannot be written. Raises `InvalidRequest` if the
    output's suffix contradicts the only format, or if there are several formats and the suffix names none.
    """
    ending = format_named(output.suffix.removeprefix("."))
    if len(came_as) > 1:
        formats = " and ".join("a format that cannot be written" if form is None else form.value for form in came_as)
        if ending is None:
            raise InvalidRequest(f"the records came as {formats}: choose the output's format with --format")
        lost = "" if ending is Format.JSONL else ": records of other formats keep only the canonical fields"
        err.say(f"The records came as {formats} and are written as {ending.value}{lost}.")
        return ending
    (only,) = came_as
    if only is not None and ending is not None and ending is not only:
        raise InvalidRequest(
            f"the records came as {only.value}, which keeps every field, but {output} looks like {ending.value}: "
            f"add --format {only.value} or --format {ending.value}"
        )
    return ending if only is None else only


def _labelled(batch: Batch, label: str | None) -> list[int] | None:
    """Return the numbers of the batch's records that have `label`. If `label` is None, return None, for all records.

    Raises `InvalidRequest` if no record has the label.
    """
    if label is None:
        return None
    words = " ".join(label.split())
    if not (places := list(labelled_places(batch, words))):
        there = ", ".join(count_labels(batch)) or "none"
        raise InvalidRequest(f"no record of batch {short(batch.id)} has the label {words!r}; existing labels: {there}")
    return places
