"""Every fenced block of the documents is run, read by what reads it in earnest, or excused with a reason."""

import ast
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from stage.command_words import parse
from stage.documents import DOCUMENTS, ROOT, Block, blocks
from tamis_cli.commands.app import app, load_commands
from tamis_cli.commands.commands import pages
from tamis_producer.config.settings import ProducerSettings
from tamis_producer.files.price_file import read_prices
from tamis_review.intake import read_records
from tamis_review.plans.criteria_file import read_criteria
from tamis_review.plans.plan_file import read_plan
from tamis_schemas import EvaluationResult, parse_operation
from tamis_worker.config.settings import WorkerSettings

load_commands()

BLOCKS = blocks()
SETTINGS = {f"TAMIS_{name.upper()}" for name in ProducerSettings.model_fields | WorkerSettings.model_fields}
ROOT_COMMAND = get_command(app)
PAGES = {page.path: page for page in pages(ROOT_COMMAND)}

# Who runs the blocks of a language in a document: the test names the document, and fails where a block does.
RUN_BY = {
    ("README.md", "python"): "tests/integration/test_documented_programs.py",
    ("docs/python.md", "python"): "tests/integration/worker/test_python_document.py",
    ("docs/plain-celery.md", "python"): "tests/unit/producer/test_plain_celery_document.py",
    ("docs/screening.md", "python"): "tests/integration/test_documented_programs.py",
    ("docs/panels.md", "python"): "tests/integration/worker/test_panels.py",
    ("docs/webhooks.md", "python"): "tests/integration/test_documented_programs.py",
    ("docs/how-to/enqueue-from-a-service.md", "python"): "tests/integration/test_documented_programs.py",
    ("docs/how-to/retry-failed-items.md", "python"): "tests/integration/test_documented_programs.py",
    ("docs/how-to/add-an-operation.md", "python"): "tests/acceptance/test_add_an_operation.py",
    ("docs/how-to/add-an-operation.md", "diff"): "tests/acceptance/test_add_an_operation.py",
    ("docs/how-to/add-a-reader.md", "python"): "tests/acceptance/test_how_tos.py",
    ("docs/how-to/add-a-reader.md", "diff"): "tests/acceptance/test_how_tos.py",
    ("docs/how-to/add-a-reader.md", "text"): "tests/acceptance/test_how_tos.py",
    ("docs/how-to/add-a-route.md", "python"): "tests/acceptance/test_how_tos.py",
    ("docs/how-to/add-a-route.md", "diff"): "tests/acceptance/test_how_tos.py",
    ("docs/how-to/add-a-route.md", "text"): "tests/acceptance/test_how_tos.py",
    ("docs/how-to/add-a-setting.md", "python"): "tests/acceptance/test_how_tos.py",
    ("docs/how-to/add-a-setting.md", "diff"): "tests/acceptance/test_how_tos.py",
    ("docs/how-to/add-a-setting.md", "text"): "tests/acceptance/test_how_tos.py",
    ("docs/architecture.md", "text"): "tests/unit/test_documentation.py",
    ("docs/tutorial.md", "sh"): "tests/integration/test_documented_programs.py",
    ("docs/tutorial.md", "csv"): "tests/integration/test_documented_programs.py",
    ("docs/ledger.md", "sql"): "tests/integration/test_sql_views.py",
    ("docs/security.md", "sql"): "tests/integration/test_least_rights.py",
    ("docs/security.md", "acl"): "tests/integration/test_least_rights.py",
    ("docs/security.md", "postgres"): "tests/integration/test_least_rights.py",
    ("docs/files.md", "text"): "tests/unit/review/intake/test_documented_files.py",
    ("docs/evidence.md", "python"): "tests/acceptance/test_evidence_judge.py",
}

# What no test runs, by its document and first line, and why.
EXCUSED = {
    ("README.md", "flowchart LR"): "a picture; tests/acceptance/test_site.py holds the site's drawing to it",
    ("docs/quality.md", "P(X <= k) = sum over i = 0 .. k of C(K, i) C(N - K, n - i) / C(N, n)"): "a formula",
    (
        "docs/screening.md",
        "confidence = model's confidence x (1 - 0.5 x quotes that are altered or not found / quotes given)",
    ): "a formula",
}

# Programs that are not this project's, and why the line that calls them is only split into words.
ELSEWHERE = {
    "curl": "the gateway's requests are tested in tests/integration/producer/gateway",
    "cd": "the shell's own",
    "git": "the clone of the README's first lines, which .ci/bare makes",
    "celery": "Celery's own",
    "deploy/make-secrets": "tests/unit/test_compose.py runs it",
    "docker": ".ci/compose runs docker-compose.yml",
    "echo": "the shell's own",
    "export": "the shell's own; the variables' names are looked up",
    "kubectl": "there is no cluster; tests/unit/test_kubernetes.py reads the manifest",
    "lint-imports": ".ci/run runs it",
    "mypy": ".ci/run runs it",
    "openapi-python-client": "tests/acceptance/test_generated_client.py runs it",
    "pg_dump": "of Postgres",
    "pg_restore": "of Postgres",
    "pip": ".ci/run installs with it",
    "psql": "tests/integration/producer/retention/test_archives.py runs it on this script",
    "ruff": ".ci/run runs it",
    "uv": ".ci/run installs with it",
}


def of(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


def named(chosen: list[Block]) -> Callable[..., pytest.MarkDecorator]:
    return pytest.mark.parametrize("block", chosen, ids=[block.place for block in chosen])


def test_blocks_are_found_in_every_kind_of_document() -> None:
    assert len(BLOCKS) >= 90
    assert {"README.md", "CONTRIBUTING.md", "docs/tutorial.md", "benchmarks/README.md"} <= {b.document for b in BLOCKS}
    for path in DOCUMENTS:  # a fence that is not closed would hide all that follows it
        fences = re.findall(r"^ *```", path.read_text("utf-8"), re.MULTILINE)
        assert len(fences) == 2 * sum(block.document == path.relative_to(ROOT).as_posix() for block in BLOCKS), path


def test_every_block_has_a_language_of_which_something_is_checked_or_a_reason() -> None:
    checked = {"", "sh", "console", "python", "yaml", "json", "csv"}
    left = [
        block for block in BLOCKS if block.language not in checked and (block.document, block.language) not in RUN_BY
    ]
    assert {(block.document, block.begins) for block in left} == set(EXCUSED)


def test_no_command_stands_in_an_indented_block_that_nobody_checks() -> None:
    for path in DOCUMENTS:
        assert re.findall(r"^\n {4}(?:\$ )?\S*tamis .*$", path.read_text("utf-8"), re.MULTILINE) == [], path


def test_whoever_is_said_to_run_a_document_names_it() -> None:
    present = {(block.document, block.language) for block in BLOCKS}
    for (document, language), test in RUN_BY.items():
        assert (document, language) in present
        assert Path(document).name in (ROOT / test).read_text("utf-8"), test


@named(of("python"))
def test_a_program_is_python_and_what_it_imports_is_there(block: Block) -> None:
    tree = ast.parse(block.text, block.place)
    assert (block.document, block.language) in RUN_BY, "nobody runs it"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and "triage" not in str(node.module):
            names = [alias.name for alias in node.names if alias.name != "Triage"]
            module = __import__(str(node.module), fromlist=names)  # with the modules among the names
            assert [name for name in names if not hasattr(module, name)] == []


@named(of("", "sh", "console"))
def test_a_command_exists_with_its_options_and_a_variable_is_a_setting(block: Block) -> None:
    for name in block.assigned:
        assert not name.startswith("TAMIS_") or name.removesuffix("_FILE") in SETTINGS, name
    for program, *words in block.commands:
        match program.rsplit("/", 1)[-1] if program.startswith(".venv/bin/") else program:
            case "tamis":
                if words != ["--version"]:
                    parse(ROOT_COMMAND, [word.strip("[]") for word in words])
            case "python" | "python3":
                if words[:2] != ["-m", "venv"] and words[0] == "-m":
                    assert (ROOT / f"{words[1].replace('.', '/')}").with_suffix(".py").exists() or (
                        ROOT / words[1] / "__main__.py"
                    ).exists(), words
                elif words[0] != "-m":
                    assert ((ROOT / block.document).parent / words[0]).exists(), words
            case "pytest":
                assert [word for word in words if word.startswith("tests/") and not (ROOT / word).exists()] == []
            case other:
                assert other in ELSEWHERE, f"{block.place}: {other}"


def test_every_command_in_the_text_has_the_options_that_are_named_with_it() -> None:
    """`tamis retry ID --kind timeout` between two sentences, or in a table."""
    wrong, seen = [], 0
    for path in DOCUMENTS:
        for command in re.findall(r"`(?:\.venv/bin/)?tamis ([a-z][^`\n]*)`", path.read_text("utf-8")):
            words = command.replace("[", " ").replace("]", " ").split()
            pages = [page for name, page in PAGES.items() if words[: len(name.split())] == name.split()]
            options = {re.split(r"[=,]", word)[0] for word in words if re.match(r"--[a-z]", word)}
            known = {name for page in pages for names in page.options for name in re.split(r"[\s/,|]+", names)}
            seen += len(options)
            if words[0] not in {name.split()[0] for name in PAGES} or not options <= known | {"--help"}:
                wrong.append((path.name, command, options - known))
    assert wrong == []
    assert seen >= 40


@named(of("json"))
def test_a_json_document_is_one_and_an_operation_in_it_is_taken(block: Block) -> None:
    value = json.loads(block.text)
    if "operation" in value:
        parse_operation(value)
    elif "item_id" in value:
        assert set(value) - {"item_id"} == set(EvaluationResult.model_fields)
    else:
        assert value["type"] == "batch.completed"


@named(of("yaml"))
def test_a_yaml_file_is_taken_by_what_reads_it(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "document.yaml"
    names = set(yaml.safe_load(block.text))
    if "stages" in names:
        (tmp_path / "citations.ris").write_text("TY  - JOUR\nTI  - One\nER  - \n")
        (tmp_path / "criteria.yaml").write_text("research_question: Any?\ninclusion_criteria: [one]\n")
        (tmp_path / "fields.yaml").write_text("type: object\nproperties: {n: {type: integer}}\n")
        (tmp_path / "guidelines.txt").write_text("Any.")
        whole = {"records": "citations.ris", "criteria": "criteria.yaml"}
        instead = names | {"records"} if "sources" in names else names
        given = {name: value for name, value in whole.items() if name not in instead}  # of a part of a plan
        file.write_text(yaml.safe_dump(given) * bool(given) + block.text)
        assert read_plan(file).plan.stages
    elif "models" in names:
        file.write_text(block.text)
        read_prices(file)
    elif "content_type_overrides" in names:  # the client of tests/acceptance/test_generated_client.py is made with it
        configuration = yaml.safe_load((Path(__file__).parents[1] / "generated_client/config.yaml").read_text("utf-8"))
        assert yaml.safe_load(block.text).items() <= configuration.items()
    else:
        rest = {"research_question": "Any?", "inclusion_criteria": ["one"], "study_types": ["trial"]}
        given = {name: value for name, value in rest.items() if name not in names}
        file.write_text(yaml.safe_dump(given) * bool(given) + block.text)
        read_criteria(file)


@named(of("csv"))
def test_a_table_is_read_with_a_title_in_every_row(block: Block, tmp_path: Path) -> None:
    file = tmp_path / (block.title or "table.csv")
    file.write_text(block.text)
    records = read_records(file)
    assert len(records) == len(block.text.splitlines()) - 1
    assert all(record["title"] for record in records)
