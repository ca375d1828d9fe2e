"""The number of a record for people, from 1. Programs count the same records from 0, by their `index`."""


def record_number(index: int) -> int:
    """Return the number that people see for a record. `index` is the record's place in its batch, from 0."""
    return index + 1


def record_words(index: int, item_id: str | None = None) -> str:
    """Return a record's name in a line for people: `No. 4`, and with its id `No. 4 (PMID 123)`."""
    return f"No. {record_number(index)}" + ("" if item_id is None else f" ({item_id})")


def indexed_words(index: int) -> str:
    """Return a record's name in messages for people and programs: `No. 4 (index 3)`."""
    return f"No. {record_number(index)} (index {index})"
