"""How figures are taken from what the double has counted, and how they are shown."""

import json

import pytest
from benchmarks.limit import RPM, Span, steady_part
from benchmarks.records import LENGTH, records, request_body
from benchmarks.recovery import recovered
from benchmarks.report import Machine, Report, Table, ratio, spread
from benchmarks.service import nine_of_ten

from llm_double import Second, Tally

FULL = RPM // 60  # requests a second


def test_the_steady_part_begins_with_the_first_whole_second_after_the_ramp() -> None:
    tally = Tally(tuple(Second(n, requests=n) for n in range(100, 120)), 0, 0)
    # The first call comes within second 100, so whole seconds begin at 101: ramp 101 to 103, steady 104 to 108.
    assert [one.second for one in steady_part(tally, Span(ramp=3, steady=5))] == [104, 105, 106, 107, 108]


@pytest.mark.parametrize(
    ("requests", "seconds"),
    [
        ([FULL] * 8, 1.0),  # the storm ends at 10.0: the first whole second after it is 11
        ([0, 0, *[FULL] * 8], 3.0),
        ([50, 85, *[95] * 8], 2.0),  # 85 and four times 95 are 93 a second, 50, 85 and three times 95 are 84
        ([89] * 12, None),
        ([FULL] * 5, None),  # the last second may be going on still
        ([], None),
    ],
)
def test_recovery_is_the_beginning_of_the_first_five_seconds_at_90_percent(
    requests: list[int], seconds: float | None
) -> None:
    counted = [Second(9, requests=1), *(Second(11 + n, requests=many) for n, many in enumerate(requests))]
    assert recovered(counted, ended=10.0) == seconds


@pytest.mark.parametrize(("count", "bound"), [(10, 9), (20, 18), (11, 10), (1, 1)])  # ceil(0.9 n): 9, 18, 10, 1
def test_nine_tenths_of_the_values_are_not_larger_than_one_of_them(count: int, bound: int) -> None:
    assert nine_of_ten([float(value) for value in range(count, 0, -1)]) == bound


def test_a_table_shows_numbers_to_the_right_with_digits_that_mean_something() -> None:
    table = Table("Speed", ("who", "items/s", "share"), [["a", 12345.6, 0.98765], ["b", 7, None]], ["a note"])
    assert table.to_markdown().splitlines() == [
        "## Speed",
        "",
        "| who | items/s | share |",
        "| --- | ---: | ---: |",
        "| a | 12,346 | 0.988 |",
        "| b | 7 |  |",
        "",
        "- a note",
    ]


def test_a_report_keeps_its_figures_as_they_were_measured() -> None:
    report = Report(Machine.here(), {"short": True})
    report.benchmarks["speed"] = [Table("Speed", ("who", "items/s"), [["a", 12345.6]])]
    told = json.loads(json.dumps(report.to_json()))
    assert told["benchmarks"]["speed"][0]["rows"] == [{"who": "a", "items/s": 12345.6}]
    assert told["machine"]["packages"]["celery"]


def test_a_ratio_is_one_of_medians_and_is_left_out_without_anything_to_compare_with() -> None:
    assert ratio([1.0, 4.0, 3.0], [2.0, 1.0]) == 2.0  # 3 to 1.5
    assert ratio([1.0], []) is None
    assert spread([1.0, 22.5]) == "1.00 22.5"


def test_records_have_their_length_and_are_the_same_again() -> None:
    given = records(20)
    assert [len(one["title"]) + len(one["abstract"]) for one in given] == pytest.approx([LENGTH] * 20, rel=0.02)
    assert given == records(20)
    assert len({one["abstract"] for one in [*given, *records(20, seed=2)]}) == 40
    assert given[0]["title"] in request_body(given[0])["messages"][1]["content"]
