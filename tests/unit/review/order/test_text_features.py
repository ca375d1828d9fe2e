"""The words of records as numbers."""

from math import log, sqrt

import numpy as np
import pytest

from tamis_review.order.text_features import TextFeatures

TEXTS = [
    "Wood dust. In the workshop, wood dust!",
    "wood dust of a workshop",
    "",
    "Salt water in the harbour basin",
    "a b c",
    "the harbour; salt water\nin the basin",
]


def test_weights_are_tf_idf_of_words_and_pairs_of_neighbours() -> None:
    """Two records: `oak` once and twice, `ash` in one alone, which only makes its record longer."""
    features = TextFeatures.of(["oak ash", "oak oak", "elm", "elm"])
    rare = 1 + log(5 / 2)  # of a term in one record of four
    usual = 1 + log(5 / 3)  # of one in two
    first = usual / sqrt(usual**2 + 2 * rare**2)  # oak, ash, oak ash
    second = (1 + log(2)) * usual / sqrt(((1 + log(2)) * usual) ** 2 + rare**2)  # oak twice, oak oak
    assert features.matrix.toarray() == pytest.approx(np.array([[first, 0], [second, 0], [0, 1], [0, 1]]))


def test_they_are_those_of_scikit_learn() -> None:
    """Terms of one record are left out of ours, and were there when the rows got their length."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes two seconds: not for whoever only collects

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_df=0.95)
    theirs = vectorizer.fit_transform(TEXTS).toarray()
    theirs = theirs[:, (theirs > 0).sum(axis=0) > 1]
    ours = TextFeatures.of(TEXTS).matrix.toarray()
    assert ours.shape == theirs.shape
    assert ours @ ours.T == pytest.approx(theirs @ theirs.T, abs=1e-6)  # whatever the order of the columns


def test_a_pair_does_not_reach_from_one_record_into_the_next() -> None:
    features = TextFeatures.of(["oak ash", "elm oak", "ash elm", "", "oak", "ash", "elm"])
    assert features.matrix.shape == (7, 3)  # no pair stands in two records


def test_words_that_nearly_every_record_has_are_left_out() -> None:
    texts = [f"patients {name}" for name in ("oak", "ash", "elm") for _ in range(10)]
    assert TextFeatures.of(texts).matrix.shape == (30, 3 + 3)  # three words and their pairs with `patients`


@pytest.mark.parametrize("texts", [[], [""], ["", "a"], ["oak", "ash"]])
def test_texts_without_a_term_that_two_share_have_no_features(texts: list[str]) -> None:
    features = TextFeatures.of(texts)
    assert (len(features), features.matrix.nnz) == (len(texts), 0)
