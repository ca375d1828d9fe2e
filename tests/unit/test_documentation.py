"""What the documents say is what the code does."""

import pkgutil
import re
import tomllib
from pathlib import Path

from tamis_producer.config.settings import ProducerSettings
from tamis_producer.results.result_columns import RESULT_COLUMNS
from tamis_review.intake.columns import SYNONYMS
from tamis_worker.config.settings import WorkerSettings

ROOT = Path(__file__).parents[2]
README_WORDS = 650
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def fences_under(heading: str) -> list[list[str]]:
    """The lines of each fenced block between `heading` and the next one in the README."""
    section = (ROOT / "README.md").read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [block.splitlines()[1:] for block in section.split("```")[1::2]]


def test_the_readme_has_one_command_line_to_run_after_that_of_the_clone_and_one_to_test() -> None:
    (run,), (test,) = fences_under("Run it"), fences_under("Test it")
    assert [len(run), len(test)] == [2, 1]
    assert run[0] == "git clone ADDRESS tamis && cd tamis"  # .ci/bare fills in the address


def test_the_readme_says_first_what_tamis_is_and_for_whom_then_gives_the_commands_then_the_picture() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    first = text.split("\n## ")[0]
    for words in ("systematic review", "review team", "pipeline service", "operator"):
        assert words in first
    places = [text.index(part) for part in ("## Run it", "## Test it", "```mermaid", "## Twenty nouns")]
    assert places == sorted(places)


def test_the_readme_is_short_has_one_picture_and_says_that_a_ledger_is_one_team() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.split()) <= README_WORDS
    assert text.count("```mermaid\n") == 1
    assert "One ledger is one team" in text


def test_both_commands_install_what_the_constraints_pin() -> None:
    for heading in ("Run it", "Test it"):
        assert "--constraint constraints.txt" in fences_under(heading)[0][-1]


def test_the_constraints_pin_exactly_and_name_no_url() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line), line


def test_every_setting_is_documented_with_its_default() -> None:
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(TAMIS_\w+)` \| (?:`(.*?)`)? ?\| ", text, re.MULTILINE))
    fields = ProducerSettings.model_fields | WorkerSettings.model_fields
    assert rows == {
        f"TAMIS_{name.upper()}": "" if field.default is None else str(field.default) for name, field in fields.items()
    }


def test_every_column_of_results_is_documented_in_its_order() -> None:
    section = (ROOT / "docs" / "cli.md").read_text("utf-8").split("\n## Columns of results\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?`) \| \S", section, re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert names == [column.name for column in RESULT_COLUMNS]


def test_every_column_that_is_taken_as_an_id_is_named() -> None:
    text = (ROOT / "docs" / "how-to" / "screen-a-table.md").read_text("utf-8")
    (columns,) = re.findall(r"^\| `id` \| (.*?); else ", text, re.MULTILINE)
    assert [name.casefold() for name in columns.split(", ")] == list(SYNONYMS["id"])


def test_every_file_that_a_document_links_to_exists() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_file_of_the_code_that_contributors_are_sent_to_exists() -> None:
    for name in ("CONTRIBUTING.md", "docs/faults.md"):
        named = re.findall(
            r"`((?:schemas|producer|worker|review|cli|tests)/[\w/.]+)`", (ROOT / name).read_text("utf-8")
        )
        assert len(named) >= 15
        assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_chaos_test_stands_in_the_table_of_faults() -> None:
    text = (ROOT / "docs" / "faults.md").read_text("utf-8")
    there = {f"tests/chaos/{path.name}" for path in (ROOT / "tests" / "chaos").glob("test_*.py")}
    assert set(re.findall(r"`(tests/chaos/\w+\.py)`", text)) == there


def test_the_rooms_in_the_architecture_are_those_that_the_import_linter_knows() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    rooms = {contract["containers"][0]: contract["layers"] for contract in contracts if "containers" in contract}
    assert len(rooms) == 5
    for package, layers in rooms.items():
        (picture,) = re.findall(rf"^`{package}`\n\n```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        named = re.findall(r"^(\w+(?:, \w+)*)", picture, re.MULTILINE)
        files = {"__main__", "start", "errors", "extras", "pause", "lazy", "release", "shared_library"}
        expected = [" | ".join(room for room in layer.split(" | ") if room not in files) for layer in layers]
        assert [line.replace(", ", " | ") for line in named] == [layer for layer in expected if layer], package


def test_every_name_of_the_code_in_the_architecture_can_be_imported() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"`(tamis_\w+(?:\.\w+)+)`", text))
    assert len(named) >= 5
    for name in named:
        pkgutil.resolve_name(name)


def test_every_decision_has_its_date_and_the_alternative_that_was_rejected() -> None:
    decisions = [path for path in (ROOT / "docs" / "decisions").glob("*.md") if path.name != "README.md"]
    assert len(decisions) >= 40
    for decision in decisions:
        text = decision.read_text("utf-8")
        assert re.match(r"# \S.*\n\n20\d\d-\d\d-\d\d\n\n\S", text), decision.name
        assert "\n**Rejected:** " in text, decision.name
