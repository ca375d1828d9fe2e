"""A batch's quality and report from Python: what the commands say, from the same calls."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from stage import Finished, judged
from stage.screened import Ledgered, decided, write_batch, write_review, written_batch
from tamis_producer import AsyncClient, Client, ProducerSettings
from tamis_review import calibrate, evaluate, find_review, write_report_file
from tamis_review.quality.gold_labels import read_labels
from tamis_schemas import Filter, InclusionDecision, InputError, InvalidParameters, InvalidRequest, Score, UnknownBatch

IS_IT = Filter(criteria="Is it about walking?")
INCLUDED = [True, True, True, False, True, False, False, False, False, False]  # by the human; the model errs at 2 and 3
ANSWERS = [True, True, False, True, True, False, False, False, False, False]
LABELS = {f"r{n}": included for n, included in enumerate(INCLUDED)}


def screened(client: Client) -> str:
    rows = [
        Ledgered({"id": f"r{n}", "title": f"Title {n}"}, value=answer, confidence=0.9)
        for n, answer in enumerate(ANSWERS)
    ]
    return written_batch(client, rows, operation=IS_IT).id


def test_a_batch_is_evaluated_and_calibrated_by_a_dict_by_a_file_and_by_the_command(
    client: Client, settings: ProducerSettings, run: Callable[..., Finished], tmp_path: Path
) -> None:
    batch = client.batch(screened(client))
    file = tmp_path / "labels.csv"
    file.write_text("id,human\n" + "".join(f"{name},{int(label)}\n" for name, label in LABELS.items()), "utf-8")
    found = evaluate(batch, LABELS)
    assert found == judged.evaluate(batch.results(), LABELS)
    assert found.screening.sensitivity.value == pytest.approx(3 / 4)  # of r0, r1, r2, r4 the model keeps three
    assert [lost.item_id for lost in found.lost] == ["r2"]
    assert evaluate(batch, file, "human") == evaluate(batch, read_labels(str(file), "human"))
    told = json.loads(run("evaluate", batch.id, "--labels", str(file), "--label-column", "human", "--json").out)
    by_file = evaluate(batch, str(file), column="human")
    assert by_file.model_dump(mode="json").items() <= told.items()

    calibrated = calibrate(batch, file, recall=0.3, delta=0.3, column="human")
    threshold = calibrated.calibration.threshold.value
    assert threshold is not None
    arguments = ("--labels", str(file), "--label-column", "human", "--recall", "0.3", "--delta", "0.3", "--json")
    told = json.loads(run("calibrate", batch.id, *arguments).out)
    assert told["threshold"]["value"] == threshold
    assert told["below_ids"] == [one.item_id for one in calibrated.records if not calibrated.kept(one)] != []
    assert "the pilot is too small" in str(calibrate(batch, LABELS).calibration.refusal)

    async def awaited() -> None:
        async with AsyncClient(settings) as asynchronous:
            same = await asynchronous.batch(batch.id)
            assert await same.run_on_thread(evaluate, LABELS) == found
            assert await same.run_on_thread(calibrate, LABELS, 0.3, 0.3) == calibrate(batch, LABELS, 0.3, 0.3)

    asyncio.run(awaited())


def test_what_cannot_be_evaluated_is_refused_with_its_reason(client: Client, tmp_path: Path) -> None:
    batch = client.batch(screened(client))
    with pytest.raises(InvalidParameters, match="recall"):
        calibrate(batch, LABELS, recall=95)
    with pytest.raises(InvalidRequest, match="no label belongs to a record of this batch"):
        evaluate(batch, {"x": True})
    with pytest.raises(InputError, match=r"missing\.csv"):
        evaluate(batch, tmp_path / "missing.csv")
    scores = written_batch(client, [Ledgered({"id": "a"}, value=0.5)], operation=Score(criteria="How well?"))
    for refused in (evaluate, calibrate):
        with pytest.raises(InvalidRequest, match="has the operation score, which includes and excludes nothing"):
            refused(scores, LABELS)


def test_a_report_is_written_to_a_file_in_the_form_of_its_name(
    client: Client, settings: ProducerSettings, run: Callable[..., Finished], tmp_path: Path
) -> None:
    decision = InclusionDecision(status="include", confidence=0.9, rationale="because")
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, [decided({"id": "a", "title": "A"}, decision)])
        review_id = write_review(connection, "begun.csv", IS_IT)
    batch, review = client.batch(str(batch_id)), find_review(client, str(review_id))
    figures = write_report_file(batch, tmp_path / "figures.json")
    assert (figures.kind, figures.id, figures.finished) == ("batch", batch.id, True)
    assert run("report", batch.id, "-o", "told.json").code == 0
    written, told = (json.loads((tmp_path / name).read_text("utf-8")) for name in ("figures.json", "told.json"))
    assert written["flow"] == told["flow"]
    write_report_file(batch, str(tmp_path / "flow"), "svg")  # type: ignore[arg-type]  # its name will do
    assert (tmp_path / "flow").read_text("utf-8").startswith("<?xml")

    async def awaited() -> None:
        async with AsyncClient(settings) as asynchronous:
            await (await asynchronous.batch(batch.id)).run_on_thread(write_report_file, tmp_path / "page.html")

    asyncio.run(awaited())
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(InvalidRequest, match=r"report\.pdf: reports end in \.htm, "):
        write_report_file(batch, tmp_path / "report.pdf")
    with pytest.raises(InputError, match="cannot be written"):
        write_report_file(batch, tmp_path / "missing" / "report.html")
    with pytest.raises(UnknownBatch, match="has no batch yet"):
        write_report_file(review, tmp_path / "review.html")
    assert {path.name for path in tmp_path.iterdir()} == {"figures.json", "told.json", "flow", "page.html"}
