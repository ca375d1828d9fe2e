"""The words of records as numbers, and a text model of them.

The numbers are TF-IDF of words and of pairs of neighbouring words. The text model measures how much a record's title
and abstract resemble people's includes. It has two support vector machines, whose best records alternate in the order.
The broad machine finds records that resemble the includes as a whole. The sharp machine fits the decisions closely, and
finds what distinguishes single includes from excludes.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from tamis_schemas.extras import needs

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

EXTRA = "order"  # installs scikit-learn, with numpy and scipy
WORD = re.compile(r"\w\w+")
MOST = 0.95  # of the records: a more frequent term does not distinguish records
TOLERANCE = 1e-3
LATE = 0.25  # of a place: less than the smallest difference of midranks


# How closely each machine fits the decided records: C of a mean record, and the weight of all includes against all
# excludes.
BROAD, SHARP = (0.03, 9.8), (1.0, 1.0)


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """The words and word pairs of each record, weighted by TF-IDF."""

    matrix: "csr_array"  # a row per record, of Euclidean length 1 or less, float32

    @classmethod
    def of(cls, texts: Iterable[str]) -> "TextFeatures":
        """Return the features of texts, such as title and abstract joined by a line break.

        Terms are lower-case words of two characters or more, and pairs of neighbouring words. Terms that occur in more
        than the share `MOST` of the records, or in a single record, are dropped. The weight of a term is

            (1 + ln f) * (1 + ln((1 + n) / (1 + d))) / length

        f is the term's frequency in the record, n the number of records, and d the number of records with the term.
        `length` is the record's Euclidean length, which also counts the terms that no other record has.

        Raises:
            ConfigurationError: the extra `order` is not installed.
        """
        with needs(EXTRA):
            import numpy as np
            from scipy.sparse import csr_array, hstack
        words, ends = _words(texts)
        pairs, pair_ends = _pairs(words, ends)
        parts = [_weighted(words, ends), _weighted(pairs, pair_ends)]
        length = np.sqrt(np.maximum(sum(square for _, square in parts), np.finfo(np.float32).tiny))
        matrix = csr_array(hstack([part for part, _ in parts], format="csr"))
        matrix.data /= np.repeat(length, np.diff(matrix.indptr)).astype(np.float32)
        return cls(matrix)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])


def _words(texts: Iterable[str]) -> "tuple[np.ndarray, np.ndarray]":
    """Return the words of all texts as numbers, and `ends`. The words of text i are words[ends[i]:ends[i + 1]]."""
    import numpy as np

    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    words, ends = array("i"), array("i", [0])
    for text in texts:
        words.extend(map(numbers.__getitem__, WORD.findall(text.lower())))
        ends.append(len(words))
    return np.asarray(words, dtype=np.int32), np.asarray(ends, dtype=np.int32)


def _pairs(words: "np.ndarray", ends: "np.ndarray") -> "tuple[np.ndarray, np.ndarray]":
    """Return the pairs of neighbouring words as numbers, and `ends`. Text i has pairs[ends[i]:ends[i + 1]]."""
    import numpy as np

    followed = np.ones(len(words), dtype=bool)
    followed[ends[1:][np.diff(ends) > 0] - 1] = False  # the last word of its text
    first = np.flatnonzero(followed)
    keys = words[first].astype(np.int64)
    keys *= int(words.max(initial=0)) + 1
    keys += words[first + 1]
    del first
    # The pairs get the numbers of `np.unique`, in half of the memory: 50,000 abstracts have twelve million pairs.
    order = np.argsort(keys)
    keys = keys[order]
    pairs = np.empty(len(keys), dtype=np.int32)
    pairs[order] = np.cumsum(np.concatenate(([False], keys[1:] != keys[:-1]))[: len(keys)], dtype=np.int32)
    return pairs, np.concatenate(([0], np.cumsum(followed)))[ends].astype(np.int32)


def _weighted(terms: "np.ndarray", ends: "np.ndarray") -> "tuple[csr_array, np.ndarray]":
    """Return the weights of the terms that two or more records have, and each record's sum of squared weights.

    The sum is over all terms of the record. The terms of record i are terms[ends[i]:ends[i + 1]].
    """
    import numpy as np
    from scipy.sparse import csr_array

    of, width = len(ends) - 1, int(terms.max(initial=-1)) + 1
    counts = csr_array((np.ones(len(terms), dtype=np.float32), terms, ends.copy()), shape=(of, width))
    counts.sum_duplicates()
    records = np.bincount(counts.indices, minlength=width)
    rarity = np.where(records <= max(MOST * of, 1), 1 + np.log((1 + of) / (1 + records)), 0).astype(np.float32)
    data = (1 + np.log(counts.data)) * rarity[counts.indices]
    sums = np.concatenate(([0.0], np.cumsum(np.square(data, dtype=np.float64))))
    squares = np.diff(sums[counts.indptr])
    kept = (records > 1) & (rarity > 0)
    stays = kept[counts.indices]
    columns = (np.cumsum(kept, dtype=np.int32) - 1)[counts.indices[stays]]
    new_ends = np.concatenate(([0], np.cumsum(stays)))[counts.indptr].astype(np.int32)
    return csr_array((data[stays], columns, new_ends), shape=(of, int(kept.sum()))), squares


@dataclass(frozen=True, eq=False)
class Margins:
    """Each record's distances from the borders of two support vector machines. A positive distance means an include."""

    broad: "np.ndarray"
    sharp: "np.ndarray"

    def places(self, rows: "np.ndarray", turn: int) -> "np.ndarray":
        """Return the rank of each row among `rows`, from 1, by the better of the row's ranks by the two machines.

        If the better ranks of two rows are equal, but from different machines, the preferred machine's row comes first.
        Rows that are still equal share a mean rank.

        Args:
            rows: rows that had no label in the training, because a machine ranks training rows by their labels.
            turn: the number of decided records. The broad machine is preferred at even numbers, the sharp machine at
                odd numbers.
        """
        import numpy as np
        from scipy.stats import rankdata

        broad, sharp = (rankdata(-values[rows]) for values in (self.broad, self.sharp))
        first, second = (broad, sharp) if turn % 2 == 0 else (sharp, broad)
        return np.asarray(rankdata(np.minimum(first, second + LATE)))


def train(features: TextFeatures, labels: Mapping[int, bool]) -> Margins:
    """Train two linear support vector machines on the labelled records. Return all records' distances from the borders.

    `labels`: row -> people's decision, True for included. Both decisions must occur.
    """
    with needs(EXTRA):
        import numpy as np
        from sklearn.svm import LinearSVC
    if not features.matrix.shape[1]:  # no term is in two records
        return Margins(np.zeros(len(features)), np.zeros(len(features)))
    rows = np.asarray(sorted(labels), dtype=np.int64)
    included = np.asarray([labels[row] for row in rows.tolist()])
    labelled = features.matrix[rows]
    machines = []
    for cost, ratio in (BROAD, SHARP):
        weights = np.where(included, ratio / included.sum(), 1 / (~included).sum())
        machine = LinearSVC(C=cost, tol=TOLERANCE, random_state=0)
        machines.append(machine.fit(labelled, included, sample_weight=weights * (len(rows) / weights.sum())))
    directions = np.column_stack([machine.coef_[0] for machine in machines]).astype(np.float32)
    broad, sharp = (features.matrix @ directions).T.astype(np.float64)
    return Margins(broad + machines[0].intercept_[0], sharp + machines[1].intercept_[0])
