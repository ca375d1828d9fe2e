"""The base install: enqueuing from Python needs no command line and no reader of files, and these name their extra."""

import re
import tomllib
from pathlib import Path

import pytest

from stage.imports import imported_by, imported_by_command
from tamis_review.plans.criteria_file import TEMPLATE

ROOT = Path(__file__).parents[3]
MODULES = {"google-re2": "re2", "charset-normalizer": "charset_normalizer"}  # where it is not the package's own name
FEW = 385  # modules that a client imports; of Python's own 3.14 takes three more than 3.11
SUBMITS = """
import tamis_review
from tamis_producer import AsyncClient, Client, ProducerSettings, get_ai_evaluation_service
from tamis_schemas import ConfigurationError, ExtractFields, Filter
fields = ExtractFields(schema={"type": "object", "properties": {"n": {"type": "integer"}}}, instructions="Count.")
with Client() as client:
    items = [{"id": "r1", "title": "A cat"}, {"id": "r2", "title": "A dog"}]
    batch = client.submit(Filter(criteria="Is it about cats?"), items)
    client.submit(fields, items)
    assert [row.item_id for row in batch.results()] == ["r1", "r2"]
    print(batch.status().counts.pending, tamis_review.override(batch, 0, True, reviewer="Reviewer A").value)
    for more in (lambda: tamis_review.write_report_file(batch, "r.html"), lambda: tamis_review.evaluate(batch, {})):
        try:
            more()
        except ConfigurationError as error:
            print(str(error).partition(":")[0])
"""


def brought_by(*extras: str) -> tuple[str, ...]:
    """The modules of the packages that extras bring, beside other extras."""
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    names = [re.split(r"[>\[]", one)[0] for extra in extras for one in optional[extra] if not one.startswith("tamis[")]
    return tuple(MODULES.get(name, name) for name in names)


MISSING = brought_by("cli", "files")
WORKERS = tuple({*brought_by("worker")} - {"celery", "kombu", "redis"})  # which the base brings, too


def test_the_extras_hold_what_enqueuing_does_not_need() -> None:
    assert set(brought_by("files")) == {"bibtexparser", "charset_normalizer", "re2", "lxml", "pylatexenc", "rapidfuzz"}
    assert set(brought_by("cli")) == {"jinja2", "rich", "typer"}
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    brings = {"cli": {"files"}, "worker": {"cli"}, "http": {"cli"}, "stack": {"cli", "files"}}
    brings |= {"demo": {"stack"}, "local": {"demo"}}
    for extra, others in brings.items():
        assert others <= {name for one in optional[extra] for name in re.findall(r"\w+", one.partition("[")[2])}


def test_submitting_and_reading_back_works_with_the_base_alone(database_url: str) -> None:
    env = {"TAMIS_BROKER_URL": "redis://127.0.0.1:1/0", "TAMIS_DATABASE_URL": database_url}
    done = imported_by(SUBMITS, env=env, missing=MISSING)
    assert (done.code, done.out) == (0, "2 True\nthis needs the extra 'cli'\nthis needs the extra 'files'\n"), done.err
    assert not done.modules & set(MISSING)


def test_a_client_is_imported_without_celery_command_line_files_and_the_ledgers_driver() -> None:
    done = imported_by("from tamis_producer import Client")
    assert done.heavy == {
        "asyncio",
        "opentelemetry",
        "pydantic",
        "tamis_producer.client.client",
        "tamis_schemas.operations",
    }
    assert not done.modules & set(MISSING)
    assert len(done.modules) <= FEW
    # The driver that the first statement needs is more than that.
    driver = imported_by("import psycopg, sqlalchemy.dialects.postgresql.psycopg")
    assert len(done.modules) < len(driver.modules)
    assert len(imported_by("import tamis_producer").modules) <= 80


def test_the_command_names_its_extra_in_one_line() -> None:
    done = imported_by_command("batches", missing=MISSING)
    said = "tamis: this needs the extra 'cli': pip install 'tamis[cli]' ('typer' is missing)"
    assert (done.code, done.out, done.err) == (2, "", said)


@pytest.mark.parametrize(
    "command",
    [
        "worker",
        *(
            pytest.param(command, marks=pytest.mark.night)
            for command in ("flower", "screen {cats} --criteria {criteria} --dry-run")
        ),
    ],
)
def test_a_command_that_takes_the_workers_extra_names_it_in_one_line(command: str, tmp_path: Path) -> None:
    cats, criteria = tmp_path / "cats.ris", tmp_path / "criteria.yaml"
    cats.write_text("TY  - JOUR\nTI  - A cat\nAB  - It purrs.\nER  - \n", "utf-8")
    criteria.write_text(TEMPLATE, "utf-8")
    done = imported_by_command(*command.format(cats=cats, criteria=criteria).split(), missing=WORKERS)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("tamis: this needs the extra 'worker': pip install 'tamis[worker]' ('")


@pytest.mark.parametrize(
    ("script", "missing"),
    [
        ("from tamis_review import InitialFilter", "re2"),
        ("from tamis_review.intake.bibtex import read_bibtex", "bibtexparser"),
        ("from tamis_review.intake.endnote_xml import etree", "lxml"),
        ("from tamis_review.intake.likeness import fuzz", "rapidfuzz"),
        (
            "from tamis_schemas import ExtractFields\n"
            "texts = {'type': 'object', 'properties': {'n': {'type': 'string', 'pattern': 'a+'}}}\n"
            "ExtractFields(schema=texts, instructions='Name it.')",
            "re2",
        ),
    ],
)
def test_what_reads_files_or_patterns_names_its_extra(script: str, missing: str) -> None:
    done = imported_by(script, missing=MISSING)
    assert f"this needs the extra 'files': pip install 'tamis[files]' ('{missing}" in done.err
    assert "ConfigurationError" in done.err
