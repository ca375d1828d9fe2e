"""A team reads page by page, samples when nothing comes any more, and each rule stops where it would have."""

from collections.abc import Mapping

import pytest
from benchmarks.asreview_runs import Priors
from benchmarks.pure_desk import PureDesk
from benchmarks.reading_replay_table import orders, rules
from benchmarks.reading_team import Look, at_once, read_until_found, read_with_certificate
from benchmarks.stop_rules import CERTIFICATE, DRY_RULE, ESTIMATOR, certificate_stop, stops

from tamis_review.order.text_features import TextFeatures

START = Priors(included=0, excluded=1)


class ListDesk:
    """Reads in the order of the rows; a sample, once drawn, is `sample`."""

    def __init__(self, records: int, sample: list[int] | None = None, enough_after: int | None = None) -> None:
        self.unread = list(range(records))
        self.sample, self.enough_after = sample or [], enough_after
        self.drawn_after: int | None = None
        self.read = 0

    def next_rows(self, n: int) -> list[int]:
        first = [row for row in self._waiting() if row in self.unread]
        return list(dict.fromkeys([*first, *self.unread]))[:n]

    def decide(self, decisions: Mapping[int, bool]) -> None:
        self.unread = [row for row in self.unread if row not in decisions]
        self.read += len(decisions)

    def look(self) -> Look:
        waiting = sum(row in self.unread for row in self._waiting())
        enough = self.enough_after is not None and self.read >= self.enough_after
        return Look(promised=enough, refused=False, p=1.0, sampled=waiting)

    def draw(self) -> None:
        self.drawn_after = self.read

    def _waiting(self) -> list[int]:
        return [] if self.drawn_after is None else self.sample


def test_reading_for_the_order_ends_with_the_page_that_holds_the_last_include() -> None:
    labels = [row in (0, 5, 27) for row in range(400)]
    read = read_until_found(ListDesk(400), labels, START, pace=lambda _: 10)
    # two to begin with, then rows 2 to 11, 12 to 21, 22 to 31
    assert read.order == tuple(range(32))
    assert read.curve.found_at == (1, 6, 28)
    assert read.recall == 1.0


def test_the_order_is_asked_after_each_of_the_first_decisions_and_then_after_a_few() -> None:
    assert [at_once(2_500)(read) for read in (0, 2, 99, 100, 105)] == [1, 1, 1, 5, 5]
    # 4 % of 6,189 are 247.56
    assert [at_once(6_189)(read) for read in (100, 247, 248)] == [1, 1, 5]


def test_a_team_samples_after_a_hundred_records_without_an_include_and_reads_the_sample_first() -> None:
    labels = [row in (0, 5, 350) for row in range(400)]
    desk = ListDesk(400, sample=[390, 350, 380], enough_after=160)
    read = read_with_certificate(desk, labels, START)
    # row 5 is the sixth record; 2 + 20 * 6 = 122 are the first page end with 100 or more behind it
    assert desk.drawn_after == 122
    assert read.order[122:125] == (390, 350, 380)
    assert (len(read.order), read.recall) == (162, 1.0)
    assert certificate_stop(read).stopped
    assert certificate_stop(read).read == pytest.approx(162 / 400)


def test_rules_stop_where_they_would_have_whatever_comes_after_the_last_include() -> None:
    labels = [row % 2 == 0 and row < 40 for row in range(1_000)]  # 20 includes among the first 39 records
    read = read_until_found(ListDesk(1_000), labels, START)
    assert len(read.order) == 42
    found = {one.rule: one for one in stops(read, labels)}
    # the last include is the 39th record: after 2 + 20 * 7 = 142 records 103 have none
    assert (found[DRY_RULE].read, found[DRY_RULE].recall, found[DRY_RULE].stopped) == (0.142, 1.0, True)
    # with 20 found two more would break 0.95 (floor(20 / 0.95 + 1) = 22): unread u, dry d, (u / (u + d))^2 is about p
    assert found[ESTIMATOR].stopped
    assert 0.7 < found[ESTIMATOR].read < 0.85  # sqrt(0.05) = 0.22 of 961 left unread: 39 + 0.78 * 961 = 785


def test_a_rule_that_never_stops_has_read_everything() -> None:
    labels = [row < 3 for row in range(50)]
    found = {one.rule: one for one in stops(read_until_found(ListDesk(50), labels, START), labels)}
    assert (found[DRY_RULE].read, found[DRY_RULE].stopped) == (1.0, False)


def test_the_pure_desk_reads_by_text_and_promises_what_its_sample_bears() -> None:
    words = ["walking gait hip recovery"] * 30 + ["planets stars orbit light"] * 370
    texts = [f"{text} {row % 7} number{row % 13}" for row, text in enumerate(words)]
    labels = [row < 30 for row in range(400)]
    features = TextFeatures.of(texts)

    def desk() -> PureDesk:
        return PureDesk(features, [None] * 400, seed=5)

    start = Priors(included=0, excluded=399)
    read = read_with_certificate(desk(), labels, start)
    assert read.curve.read_for(1.0) is not None
    assert read.curve.found_at[-1] < 60  # 30 includes in four pages or so
    assert [look.sampled > 0 for _, look in read.looks].count(True) > 0
    assert certificate_stop(read).stopped
    assert len(read.order) < 400
    assert read_with_certificate(desk(), labels, start) == read  # the same seed, the same reading


def test_the_tables_say_medians_with_the_smallest_and_the_largest() -> None:
    def run(read: float, recall: float) -> dict[str, object]:
        stop = {"rule": CERTIFICATE, "read": 0.5, "recall": recall, "stopped": True}
        shares = {"read_95": read, "read_98": 0.5, "read_100": 0.6, "wss_95": 0.95 - read}
        return {"n": 1_000, "includes": 40, "stops": [stop], **shares}

    found = {"cdss_ro, no model": {"0": run(0.2, 1.0), "1": run(0.3, 0.94), "2": run(0.1, 0.96)}}
    beside = {"cdss_ro": {"0": {"read_95": 0.4}, "1": {"read_95": 0.5}, "2": {"read_95": 0.3}}}
    row = list(orders(found, beside))[-1]
    assert row == (
        "| Radiation oncology: 40 of 1,000 | no model | 3 | 20.0 % (10.0 to 30.0) | 50.0 % | 60.0 % | 75.0 % "
        "| 40.0 % (30.0 to 50.0) | 0.50 |"
    )
    assert list(orders(found, {}))[-1].endswith("| 75.0 % |  |  |")
    assert list(rules(found))[-1] == (
        "| Radiation oncology | no model | certificate | 50.0 % | 96.0 % | 94.0 % | 2 of 3 |"
    )
