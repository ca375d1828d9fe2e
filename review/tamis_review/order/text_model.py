"""A text model: how much a record's title and abstract read as those of the records that people included.

Two support vector machines of the same words take turns. The broad one hardly fits: it finds what resembles the
includes as a whole. The sharp one fits: it finds what sets single includes apart from what was excluded. An include
that one of them puts far behind is mostly seen by the other one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tamis_schemas.extras import needs

from .text_features import EXTRA
from .text_features import TextFeatures as TextFeatures

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Fit:
    """How closely a support vector machine fits the decided records."""

    cost: float  # C, of a mean record
    ratio: float  # the weight of all includes together beside that of all excludes


BROAD = Fit(cost=0.03, ratio=9.8)
SHARP = Fit(cost=1.0, ratio=1.0)
TOLERANCE = 1e-3
LATE = 0.25  # of a place: less than two midranks differ by


@dataclass(frozen=True, eq=False)
class Margins:
    """How far each record lies on the includes' side, by two machines that were trained on the same labels."""

    broad: "np.ndarray"
    sharp: "np.ndarray"

    def places(self, rows: "np.ndarray", turn: int) -> "np.ndarray":
        """Return the place of each of the rows among them, from 1: the better one of its two places.

        Of two rows with the same place the one comes first whose machine has the turn; of equal ones each has the mean.

        Args:
            rows: which were not trained on: a machine puts those that were where their labels are.
            turn: a number that grows by one with each record that is read: even numbers are the broad one's.
        """
        import numpy as np
        from scipy.stats import rankdata

        broad, sharp = (rankdata(-values[rows]) for values in (self.broad, self.sharp))
        first, second = (broad, sharp) if turn % 2 == 0 else (sharp, broad)
        return np.asarray(rankdata(np.minimum(first, second + LATE)))


def train(features: TextFeatures, labels: Mapping[int, bool]) -> Margins:
    """Return the margins of all records by the labelled ones, of which at least one is of each kind.

    Linear support vector machines with squared hinge loss; the weights of all labelled records add up to their number.
    """
    with needs(EXTRA):
        import numpy as np
        from sklearn.svm import LinearSVC
    if not features.matrix.shape[1]:  # no term stands in two records
        return Margins(np.zeros(len(features)), np.zeros(len(features)))
    rows = np.asarray(sorted(labels), dtype=np.int64)
    included = np.asarray([labels[row] for row in rows.tolist()])
    known = features.matrix[rows]
    machines = []
    for fit in (BROAD, SHARP):
        weights = np.where(included, fit.ratio / included.sum(), 1 / (~included).sum())
        machine = LinearSVC(C=fit.cost, tol=TOLERANCE, random_state=0)
        machines.append(machine.fit(known, included, sample_weight=weights * (len(rows) / weights.sum())))
    directions = np.column_stack([machine.coef_[0] for machine in machines]).astype(np.float32)
    broad, sharp = (features.matrix @ directions).T.astype(np.float64)
    return Margins(broad + machines[0].intercept_[0], sharp + machines[1].intercept_[0])
