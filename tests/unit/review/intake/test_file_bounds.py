"""A file may be as large, as long in one line or as deeply nested as it likes: reading it ends, and soon."""

from pathlib import Path
from time import process_time

import pytest

from tamis_producer.config.settings import ProducerSettings
from tamis_producer.files.decode import MAX_FILE_BYTES
from tamis_review.filter.identification import identify
from tamis_review.intake import read_file, read_records
from tamis_review.plans.criteria_file import read_criteria
from tamis_schemas import InputError

RECORD = "TY  - JOUR\nTI  - A title\nER  - \n"


def test_the_bound_is_the_setting_s_default() -> None:
    assert ProducerSettings.model_fields["max_file_bytes"].default == MAX_FILE_BYTES


def test_a_file_of_3_gb_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "large.ris"
    with path.open("wb") as file:
        file.truncate(3 * 2**30)
    began = process_time()
    with pytest.raises(
        InputError, match=r"large\.ris: the file has more than 500,000,000 bytes, .*TAMIS_MAX_FILE_BYTES"
    ):
        read_file(path)
    assert process_time() - began < 1


def test_a_file_without_end_is_read_to_the_bound_alone() -> None:
    with pytest.raises(InputError, match="more than 100,000 bytes"):
        read_file(Path("/dev/zero"), max_bytes=100_000)


def test_the_bound_is_a_file_s_last_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.ris"
    path.write_text(RECORD)
    size = len(RECORD.encode())
    assert len(read_records(path, max_bytes=size)) == 1
    with pytest.raises(InputError, match="TAMIS_MAX_FILE_BYTES"):
        read_records(path, max_bytes=size - 1)
    with pytest.raises(InputError, match="TAMIS_MAX_FILE_BYTES"):
        identify(path, max_bytes=size - 1)


def test_what_a_person_writes_has_a_bound_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "criteria.yaml"
    path.write_text("research_question: " + "x" * 5_000_000)
    with pytest.raises(InputError, match=r"more than 5,000,000 bytes, the maximum$"):
        read_criteria(path)


LONG = 20_000_000  # characters without a line end
ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("laughs.xml", f"<?xml version='1.0'?>{ENTITIES}]><xml><records><record>&j;</record></records></xml>"),
        ("hidden.xml", f"<?xml version='1.0'?><!-- -->\n{ENTITIES}]><xml>&j;</xml>"),
        ("external.xml", '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xml><record>&a;</record></xml>'),
        ("deep.xml", "<xml><records>" + "<record>" * 100_000 + "</record>" * 100_000 + "</records></xml>"),
        ("long.xml", "<xml><record><titles><title>" + "x" * LONG + "</title></titles></record></xml>"),
        pytest.param("line.csv", 'id,title\n1,"' + "x" * LONG, marks=pytest.mark.night),
        ("cells.csv", "id,title\n1," + ",x" * 500_000),
        ("line.jsonl", '{"title": "' + "x" * LONG),
        ("deep.jsonl", '{"a":' * 100_000 + "1" + "}" * 100_000),
        ("digits.jsonl", '{"title": "t", "n": ' + "9" * 100_000 + "}"),
        ("braces.bib", "@article{a, title = " + "{" * 1_000_000),
    ],
)  # fmt: skip
def test_a_hostile_file_is_an_error_that_names_it_and_comes_soon(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    began = process_time()
    with pytest.raises(InputError, match=name) as refusal:
        read_file(path)
    assert process_time() - began < 20  # s
    assert len(str(refusal.value)) < 1_000
    assert "root:" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("line.ris", "TY  - JOUR\nTI  - " + "x" * LONG + "\nER  - \n"),
        ("line.nbib", "PMID- 1\nTI  - " + "x" * LONG + "\n"),
        pytest.param("line.csv", "id,title\n1," + "x" * 10_000_000, marks=pytest.mark.night),
    ],
)
def test_a_long_line_is_read_and_left_to_the_bound_of_items(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    began = process_time()
    (record,) = read_records(path)
    assert len(str(record["title"])) >= 10_000_000
    assert process_time() - began < 20  # s
