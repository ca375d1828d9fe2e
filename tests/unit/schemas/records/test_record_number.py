"""People count records from 1, programs their places from 0."""

from tamis_schemas.records.record_number import indexed_words, record_number, record_words


def test_people_count_records_from_1() -> None:
    assert record_number(0) == 1
    assert record_words(3) == "No. 4"
    assert record_words(3, "r3") == "No. 4 (r3)"


def test_what_people_and_programs_read_names_the_index_too() -> None:
    assert indexed_words(3) == "No. 4 (index 3)"
