"""Every table is written through the guard against formulas."""

import csv
from io import StringIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from stage.hostile import TEXT
from tamis_producer.results.formula_guard import FORMULA_STARTS, GuardedTable

ROOT = Path(__file__).parents[4]


def test_no_module_but_the_guard_writes_tables_of_its_own() -> None:
    writers = ("csv.writer", "DictWriter", "openpyxl", "xlsxwriter")
    modules = [
        path for floor in ("schemas", "producer", "worker", "review", "cli") for path in (ROOT / floor).rglob("*.py")
    ]
    writing = [path.name for path in modules if any(name in path.read_text("utf-8") for name in writers)]
    assert writing == ["formula_guard.py"]


@given(st.lists(TEXT | st.text("'=+-@\t\ra") | st.integers(-9, 9) | st.none(), min_size=2))
def test_no_text_in_a_table_is_a_formula(cells: list[object]) -> None:
    stream = StringIO(newline="")
    GuardedTable(stream).write(cells)
    numbers = {str(cell) for cell in cells if isinstance(cell, int)}
    (row,) = csv.reader(StringIO(stream.getvalue(), newline=""))
    assert not [cell for cell in row if cell.startswith(FORMULA_STARTS) and cell not in numbers]
