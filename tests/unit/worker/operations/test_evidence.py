"""The formulas of evidence, as tables with the arithmetic of spec 5, and the laws they keep or do not keep."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas.answers.judgement import EvidenceType
from tamis_worker.operations.evidence import (
    QUALITY_CONTEXTUAL,
    QUALITY_EXPLICIT,
    QUALITY_INAPPROPRIATE,
    QUALITY_WEAK,
    CitedNoun,
    adjusted_confidence,
    cited_numbers,
    drops_sharply,
    evidence_type_of,
    hallucination,
    quality,
    should_block_classification,
)

EMAIL = CitedNoun()
UNIT = st.floats(0, 1)
KINDS = st.sampled_from(EvidenceType)


@pytest.mark.spec("5.1")
def test_the_scale_is_that_of_spec_5() -> None:
    assert (QUALITY_EXPLICIT, QUALITY_CONTEXTUAL, QUALITY_WEAK, QUALITY_INAPPROPRIATE) == (1.0, 0.7, 0.4, 0.0)


@pytest.mark.spec("5.28", "5.29", "5.30", "5.31")
@pytest.mark.parametrize(
    ("original", "kind", "quality_score", "adjusted"),
    [
        # the examples of spec 5
        (0.9, "explicit", 1.0, 0.9),  # 0.9 x 1.0
        (0.9, "contextual", 0.7, 0.765),  # 0.9 x min(0.85, 0.7 + 0.15) = 0.9 x 0.85, instead of 0.63
        (0.9, "weak", 0.4, 0.585),  # 0.9 x min(0.65, 0.4 + 0.25) = 0.9 x 0.65, instead of 0.36
        (0.9, "inappropriate", 0.0, 0.0),  # 0.9 x 0.0
        # the contextual band, from end to end
        (1.0, "contextual", 0.59, 0.59),  # below it: x quality
        (1.0, "contextual", 0.6, 0.75),  # min(0.85, 0.6 + 0.15)
        (1.0, "contextual", 0.65, 0.80),  # min(0.85, 0.65 + 0.15)
        (1.0, "contextual", 0.8, 0.85),  # min(0.85, 0.8 + 0.15 = 0.95)
        (1.0, "contextual", 0.81, 0.81),  # above it: x quality
        (1.0, "contextual", 0.4, 0.4),  # in the band of weak evidence: x quality
        # the weak band, from end to end
        (1.0, "weak", 0.29, 0.29),
        (1.0, "weak", 0.3, 0.55),  # min(0.65, 0.3 + 0.25)
        (1.0, "weak", 0.35, 0.60),  # min(0.65, 0.35 + 0.25)
        (1.0, "weak", 0.5, 0.65),  # min(0.65, 0.5 + 0.25 = 0.75)
        (1.0, "weak", 0.51, 0.51),
        (1.0, "weak", 0.7, 0.7),  # in the band of contextual evidence: x quality
        # no other type has a milder band
        (0.9, "inappropriate", 0.7, 0.63),  # 0.9 x 0.7, not 0.765
        (0.9, "inappropriate", 0.4, 0.36),  # 0.9 x 0.4, not 0.585
        (0.9, "explicit", 0.7, 0.63),
        (0.9, "explicit", 0.4, 0.36),
        (0.9, "unknown", 0.7, 0.63),  # a judge that failed
        (0.9, "unknown", 0.4, 0.36),
        # everything else is a plain product
        (0.5, "explicit", 0.9, 0.45),
        (0.8, "inappropriate", 0.1, 0.08),
        (0.0, "explicit", 1.0, 0.0),  # a confidence of 0.0 is a confidence
        (0.0, "contextual", 0.7, 0.0),
    ],
)
def test_the_adjusted_confidence_is_that_of_spec_5(
    original: float, kind: str, quality_score: float, adjusted: float
) -> None:
    assert adjusted_confidence(original, quality_score, EvidenceType(kind)) == pytest.approx(adjusted, abs=1e-12)


def test_the_worked_table_of_the_documentation_is_what_the_formula_leaves() -> None:
    page = (Path(__file__).parents[4] / "docs" / "evidence.md").read_text("utf-8")
    rows = re.findall(r"^\| (\w+)[^|]* \| (\d\.\d) \| .* = (\d\.\d{3})\b[^|]* \|$", page, re.MULTILINE)
    assert len(rows) == 5
    for kind, quality_score, left in rows:
        assert f"{adjusted_confidence(0.9, float(quality_score), EvidenceType(kind)):.3f}" == left


@given(original=UNIT, quality_score=UNIT, kind=KINDS)
def test_an_adjusted_confidence_is_from_the_plain_product_to_the_original(
    original: float, quality_score: float, kind: EvidenceType
) -> None:
    adjusted = adjusted_confidence(original, quality_score, kind)
    assert 0 <= original * quality_score <= adjusted <= original


@given(original=UNIT, quality_score=UNIT, kind=st.sampled_from(["explicit", "inappropriate", "unknown"]))
def test_only_contextual_and_weak_evidence_keep_more_than_the_plain_product(
    original: float, quality_score: float, kind: str
) -> None:
    assert adjusted_confidence(original, quality_score, EvidenceType(kind)) == original * quality_score


@given(quality_score=UNIT, kind=KINDS, first=UNIT, second=UNIT)
def test_for_one_piece_of_evidence_a_higher_confidence_stays_the_higher(
    quality_score: float, kind: EvidenceType, first: float, second: float
) -> None:
    low, high = sorted((first, second))
    assert adjusted_confidence(low, quality_score, kind) <= adjusted_confidence(high, quality_score, kind)


@pytest.mark.spec("5.29", "5.30")
@pytest.mark.parametrize(
    ("kind", "worse", "leaves", "better", "leaves_less"),
    [
        ("weak", 0.5, 0.65, 0.51, 0.51),  # at the end of the weak band
        ("contextual", 0.8, 0.85, 0.81, 0.81),  # at the end of the contextual band
    ],
)
def test_the_formula_is_not_monotone_where_a_milder_band_ends(
    kind: str, worse: float, leaves: float, better: float, leaves_less: float
) -> None:
    assert adjusted_confidence(1.0, worse, EvidenceType(kind)) == leaves
    assert adjusted_confidence(1.0, better, EvidenceType(kind)) == leaves_less
    assert worse < better
    assert leaves > leaves_less


@pytest.mark.parametrize(
    ("given_type", "kind"),
    [
        ("weak", "weak"),
        (" Contextual\n", "contextual"),
        (EvidenceType.INAPPROPRIATE, "inappropriate"),
        ("unknown", "unknown"),
        ("strong", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
        (0.7, "unknown"),
    ],
)
def test_a_type_that_is_not_on_the_scale_is_unknown(given_type: object, kind: str) -> None:
    assert evidence_type_of(given_type) is EvidenceType(kind)


@pytest.mark.spec("5.19", "5.20")
@pytest.mark.parametrize(
    ("score", "kind", "expected"),
    [
        (0.8, "explicit", 0.8),  # a score that is given counts, whatever the type
        (0.8, "inappropriate", 0.8),
        (0.8, "unknown", 0.8),
        (1.7, "weak", 1.0),  # clamped
        (-0.3, "inappropriate", 0.0),
        (-0.3, "weak", 0.4),  # clamped to 0.0, which the type replaces
        (None, "explicit", 1.0),
        (None, "contextual", 0.7),
        (None, "weak", 0.4),
        (None, "inappropriate", 0.0),
        (None, "unknown", 0.0),
        (0.0, "explicit", 1.0),
        (0.0, "contextual", 0.7),
        (0.0, "weak", 0.4),
        (0.0, "inappropriate", 0.0),
        (0.0, "unknown", 0.0),
        (0.01, "explicit", 0.01),  # low, but given
    ],
)
def test_a_quality_is_the_clamped_score_or_that_of_its_type(score: float | None, kind: str, expected: float) -> None:
    assert quality(score, EvidenceType(kind)) == expected


@pytest.mark.spec("5.19")
@given(score=st.none() | st.floats(allow_nan=False, allow_infinity=False), kind=KINDS)
def test_a_quality_is_always_from_0_to_1(score: float | None, kind: EvidenceType) -> None:
    assert 0 <= quality(score, kind) <= 1


@pytest.mark.spec("5.35")
@pytest.mark.parametrize(
    ("quality_score", "blocked"),
    [(0.0, True), (0.1, True), (0.1499, True), (0.15, False), (0.2, False), (1.0, False)],
)
def test_evidence_below_015_blocks_and_at_015_does_not(quality_score: float, blocked: bool) -> None:
    assert should_block_classification(quality_score) is blocked


@pytest.mark.spec("5.35")
def test_the_block_threshold_can_be_given_and_at_0_blocks_nothing() -> None:
    assert should_block_classification(0.4, threshold=0.5)
    assert should_block_classification(0.4, 0.5)
    assert not should_block_classification(0.0, 0.0)


@pytest.mark.spec("5.34")
@pytest.mark.parametrize(
    ("original", "adjusted", "sharp"),
    [
        (0.9, 0.765, False),  # contextual: 15 %
        (0.9, 0.9 * (0.65 + 0.15), False),  # quality 0.65: 20 % to the point
        (0.9, 0.585, True),  # weak: 35 %
        (0.9, 0.0, True),
        (0.1, 0.065, True),  # 35 % of itself, although 0.035 only
        (0.9, 0.9, False),
        (0.0, 0.0, False),  # nothing to lose
    ],
)
def test_a_drop_of_more_than_20_percent_is_sharp(original: float, adjusted: float, sharp: bool) -> None:
    assert drops_sharply(original, adjusted) is sharp


@pytest.mark.spec("5.5", "5.6", "5.8")
@pytest.mark.parametrize(
    ("reasoning", "cited", "batch_size", "issue"),
    [
        ("", [3, 25], 20, "Email 25 but batch only contains 20 emails."),
        ("", [20], 20, None),
        ("", [21], 20, "Email 21 but batch only contains 20 emails."),
        ("", [], 20, None),
        ("", None, 20, None),
        ("See Email 25.", None, 20, "'Email 25' but batch only contains 20 emails."),
        ("see email 25", None, 20, "'Email 25' but batch only contains 20 emails."),
        ("EMAIL\n25 says so", None, 20, "'Email 25' but batch only contains 20 emails."),
        ("Email 3 and Email 7, then Email 21", [3], 20, "'Email 21' but batch only contains 20 emails."),
        ("Email 20", None, 20, None),
        ("Email 007", None, 20, None),
        ("Emails 25 and 26", None, 20, None),  # spec 5 looks for "Email N"
        ("webmail 25, e-mail25, Email25, Email 25th", None, 20, None),
        ("He is 25", None, 20, None),
        ("Email 25", [25], None, None),  # not known how many there were
        ("Email 25", [25], 0, None),
    ],
)
def test_what_is_cited_must_exist(reasoning: str, cited: object, batch_size: int | None, issue: str | None) -> None:
    found = hallucination(reasoning, cited, batch_size, EMAIL)
    if issue is None:
        assert found is None
    else:
        assert found is not None
        assert found.issue == f"HALLUCINATION: Reasoning cites {issue}"
        assert (found.is_valid, found.quality_score, found.evidence_type) == (False, 0.0, EvidenceType.INAPPROPRIATE)


@pytest.mark.spec("5.7")
def test_the_structured_numbers_are_looked_at_before_the_reasoning() -> None:
    found = hallucination("Email 99", [50], 20, EMAIL)
    assert found is not None
    assert found.issue is not None
    assert "cites Email 50 but" in found.issue


@pytest.mark.parametrize(
    ("noun", "plural", "reasoning", "cited"),
    [
        ("Abstract", None, "as Abstract 9 says", "'Abstract 9' but batch only contains 5 abstracts."),
        ("Study", "studies", "study 9", "'Study 9' but batch only contains 5 studies."),
        ("Case report", None, "CASE  REPORT 9", "'Case report 9' but batch only contains 5 case reports."),
        ("C++ file", None, "C++ file 9", "'C++ file 9' but batch only contains 5 c++ files."),
    ],
)
def test_another_noun_is_cited_in_its_place(noun: str, plural: str | None, reasoning: str, cited: str) -> None:
    named = CitedNoun.of(noun, plural)
    found = hallucination(reasoning, None, 5, named)
    assert found is not None
    assert found.issue == f"HALLUCINATION: Reasoning cites {cited}"
    assert hallucination("Email 9", None, 5, named) is None


def test_a_number_too_long_to_read_is_a_hallucination_and_no_fault() -> None:
    assert hallucination("Email " + "9" * 10_000, None, 20, EMAIL) is not None
    assert hallucination("Email " + "0" * 10_000 + "7", None, 20, EMAIL) is None
    assert hallucination("", "9" * 10_000, 20, EMAIL) is not None


@pytest.mark.spec("5.5")
@pytest.mark.parametrize(
    ("cited", "numbers"),
    [
        (7, [7]),
        (7.0, [7]),
        (7.5, []),
        (float("inf"), []),
        (True, []),
        (None, []),
        ([3, "25", 4.0, None, "x", True], [3, 25, 4]),
        ([None, [3, 7]], [3, 7]),
        ((1, 2), [1, 2]),
        ("3, 7", [3, 7]),
        ("[3; 7]", [3, 7]),
        ("in 2019", []),
        ({"a": 25}, []),
    ],
)
def test_citations_are_read_from_what_models_and_files_give(cited: Any, numbers: list[int]) -> None:
    assert cited_numbers(cited) == numbers
