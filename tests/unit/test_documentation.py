"""What the documents say is what the code does."""

import re
from pathlib import Path

from tamis_producer.config.settings import ProducerSettings
from tamis_producer.results.result_columns import RESULT_COLUMNS
from tamis_review.intake.columns import SYNONYMS
from tamis_worker.config.settings import WorkerSettings

ROOT = Path(__file__).parents[2]
README_WORDS = 900
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
        named = re.findall(r"`((?:schemas|producer|worker|tests)/[\w/.]+)`", (ROOT / name).read_text("utf-8"))
        assert len(named) >= 15
        assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_chaos_test_stands_in_the_table_of_faults() -> None:
    text = (ROOT / "docs" / "faults.md").read_text("utf-8")
    there = {f"tests/chaos/{path.name}" for path in (ROOT / "tests" / "chaos").glob("test_*.py")}
    assert set(re.findall(r"`(tests/chaos/\w+\.py)`", text)) == there


def test_every_path_and_name_in_the_architecture_exists() -> None:
    """`path/to/file.py: name, name` in the table of the way of an item."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = re.findall(r"`((?:schemas|producer|worker)/[\w/.]+\.(?:py|lua))`(?:: ((?:`[\w.]+`(?:, )?)+))?", text)
    assert len(named) >= 15
    for path, names in named:
        source = (ROOT / path).read_text("utf-8")
        for name in re.findall(r"`([\w.]+)`", names):
            for part in name.split("."):
                assert re.search(rf"\b{part}\b", source), f"{path} has no {name}"


def test_every_decision_has_its_date_and_the_alternative_that_was_rejected() -> None:
    decisions = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("\n## Decisions\n")[1].split("\n**")[1:]
    assert len(decisions) >= 40
    for decision in decisions:
        assert re.search(r"\n\*20\d\d-\d\d-\d\d\. Rejected:\* \S", decision), decision.split("**")[0]
