"""The figures of an evaluation and a threshold in words and lines, for the terminal and the page."""

from dataclasses import dataclass

from .agreement import Agreement
from .figure import Figure
from .gold_evaluation import GoldEvaluation, Stands
from .inclusion_score import ScoreBasis, ScoreScale
from .matching import Matching
from .pilot import Calibration
from .sampling import Lie, Sampling
from .score_calibration import CalibratedScore, Method

REFERRED = (
    "What the system does not decide (uncertain, failed, cancelled, not asked yet) is referred to a human: it counts "
    "as kept under `screening`, and is left out under `decided`. What the initial filter rejects is excluded by the "
    "system."
)
# Name, whether it is in percent, its meaning, and the source of its interval.
RATES = (
    ("sensitivity", True, "of the human's includes, kept (recall); Wilson interval"),
    ("specificity", True, "of the human's excludes, excluded; Wilson interval"),
    ("precision", True, "of what is kept, included by the human; Wilson interval"),
    ("F1", False, "of precision and sensitivity; interval: Wilson's, of F* = F1 / (2 - F1)"),
    ("MCC", False, "Matthews' correlation, -1 to 1; interval: delta method on Fisher's z"),
)
_SAME = "answered by the same model to the same criteria."
_DRAWN = f"The labelled records were drawn by `tamis pilot`: it holds for records of this batch, {_SAME}"
_HOLDS = {
    Lie.CENSUS: f"Every record of the batch has a label: it holds for other records of their kind, {_SAME}",
    Lie.RANDOM: "It holds where the labelled records are a random sample of those that the threshold is used for, "
    f"{_SAME} Where they lie in the batch, their scores and their databases say nothing against it.",
    Lie.BLOCKS: "It holds where the blocks of labelled records are a random sample of the batch's, "
    f"{_SAME} Where they lie, their scores and their databases say nothing against it.",
}


@dataclass(frozen=True)
class FigureRow:
    """A row of a table of figures."""

    name: str
    values: tuple[str, ...]
    about: str = ""


def shown(figure: Figure, *, percent: bool = False) -> str:
    """Return a figure as text: `31 of 36 = 86.1% (71.3% to 93.9%)`, `0.552 (0.442 to 0.646)`, or why there is none."""
    if figure.value is None:
        return f"none: {figure.reason}"

    def number(value: float) -> str:
        return f"{value:.1%}" if percent else f"{value:.3f}"

    of = "" if figure.total is None else f"{figure.count:,} of {figure.total:,} = "
    around = ""
    if figure.low is not None and figure.high is not None:
        around = f" ({number(figure.low)} to {number(figure.high)})"
    return f"{of}{number(figure.value)}{around}"


def stands(evaluation: GoldEvaluation) -> list[tuple[str, Stands]]:
    """Return the two rows of the matrix: the human's includes and excludes, with the system's decisions on them."""
    return [("included by the human", evaluation.included), ("excluded by the human", evaluation.excluded)]


def rates(evaluation: GoldEvaluation) -> list[FigureRow]:
    """Return a row for each figure of the two matrices."""
    pair = (evaluation.screening, evaluation.decided)
    return [
        FigureRow(name, tuple(shown(getattr(group, name.lower()), percent=percent) for group in pair), about)
        for name, percent, about in RATES
    ]


def more(evaluation: GoldEvaluation) -> list[FigureRow]:
    """Return a row for each figure outside the two matrices.

    Probability and calibrated score have rows only if the batch has them.
    """
    calibration = evaluation.calibration
    figures = [
        ("read by nobody", shown(evaluation.unread, percent=True), "excluded by the system; Wilson interval"),
        ("WSS@95", shown(evaluation.wss_95), "work saved over sampling, reading by score to 95% recall"),
        ("AUC", shown(evaluation.auc), "of the score for inclusion, over the model's decisions; DeLong interval"),
        ("ECE", shown(evaluation.reliability.ece), "expected calibration error, ten bins; 0 is best"),
    ]
    if evaluation.probability is not None:
        about = "the same of the probability of inclusion, from the answers' tokens"
        figures.append(("ECE, probability", shown(evaluation.probability.ece), about))
    if calibration.after is not None:
        before = shown(calibration.before.ece)
        about = f"of the score for inclusion ({before}) once the labels calibrate it, each record by the others' labels"
        figures.append(("ECE, calibrated", shown(calibration.after.ece), about))
    figures += [
        ("Cohen's kappa", _agreed(evaluation.agreement, "kappa"), "with the human, where the system decided"),
        ("Gwet's AC1", _agreed(evaluation.agreement, "ac1"), "the same, hardly moved by how rare includes are"),
    ]
    return [FigureRow(name, (value,), about) for name, value, about in figures]


def score_remark(score: ScoreBasis) -> str:
    """Return the source of the batch's score for inclusion, and its limits."""
    lacking = f"; {score.without:,} of {score.decided:,} decided records have none"
    others = f"{lacking}, and are read by a person whatever the score of the others" if score.without else ""
    match score.scale:
        case ScoreScale.PROBABILITY:
            return f"the score for inclusion is the probability from the answers' tokens{others}"
        case ScoreScale.RELEVANCE:
            return f"the score for inclusion is the model's grade of relevance{others}"
    words = "the score for inclusion is taken from the stated confidence"
    for n, name in ((score.with_probability, "a probability"), (score.with_relevance, "a grade of relevance")):
        if n:
            return f"{words}: only {n:,} of {score.decided:,} decided records have {name}, and two scales are not mixed"
    return words


def calibration_sentences(calibration: CalibratedScore) -> list[str]:
    """Return sentences on the calibration of the score by the labels."""
    if calibration.after is None:
        return [f"the labels do not calibrate it: {calibration.reason}"]
    fitted = "Platt's sigmoid" if calibration.method is Method.PLATT else "isotonic regression"
    decided = calibration.includes + calibration.excludes
    before, after = shown(calibration.before.ece), shown(calibration.after.ece)
    return [
        f"the labels calibrate it by {fitted}, over {decided:,} records, {calibration.includes:,} of them included: "
        "the share of records with such a score that a human includes",
        f"its expected calibration error is {before} as it is, and {after} calibrated, each record by the labels of "
        f"the other {calibration.folds - 1} of {calibration.folds} parts",
    ]


def remarks(matching: Matching) -> list[str]:
    """Return sentences on labels without a record, records without a label, and duplicates."""
    sentences = []
    if matching.without_record:
        sentences.append(
            f"labels of no record in the batch: {matching.without_record:,}{_ids(matching.without_record_ids)}"
        )
    if matching.unlabelled:
        sentences.append(f"records without a label, left out: {matching.unlabelled:,}{_ids(matching.unlabelled_ids)}")
    if matching.copies:
        sentences.append(f"copies, each judged with the record that it copies: {matching.copies:,}")
        if matching.labelled_by_copy:
            sentences[-1] += f"; of these records, included by a copy's label alone: {matching.labelled_by_copy:,}"
    return sentences


def sampling_remark(sampling: Sampling) -> str | None:
    """Return a sentence on how the labels' position limits the figures, or None if there is no limit."""
    match sampling.lie:
        case Lie.SELECTED:
            return (
                f"the labelled records are no random sample of the batch: {sampling.why_not}. The figures speak of "
                "these records alone and have no intervals"
            )
        case Lie.BLOCKS:
            return (
                f"the labels lie in {sampling.blocks:,} blocks of neighbouring records, which are alike: intervals are "
                "widened by the design effect"
            )
    return None


def proper_sample(batch_id: str) -> str:
    """Return the command that draws a random sample."""
    return f"tamis pilot {batch_id} --n 200 --seed 1"


def threshold_rows(calibration: Calibration) -> list[FigureRow]:
    """Return a row for each figure of a threshold. Without a threshold there are no rows."""
    threshold = calibration.threshold
    if threshold.value is None or threshold.bound is None:
        return []
    pilot = f"{threshold.includes:,} labelled includes, {threshold.missed:,} of them below; "
    pilot += f"recall is above {threshold.bound:.4f}"
    if threshold.weight > 1:
        pilot += f"; in blocks, of which {threshold.weight:.2f} includes say as much as one"
    return [
        FigureRow("threshold", (str(threshold.value),), "keep every record whose score for inclusion is at least that"),
        FigureRow(
            "guarantee",
            (f"recall is at least {threshold.recall:g} with probability {1 - threshold.delta:g}",),
            "over random samples of this size",
        ),
        FigureRow("pilot", (pilot,)),
        FigureRow("saves", (shown(calibration.saved, percent=True),), "of the labelled records lie below"),
        FigureRow("below", (f"{calibration.below:,} of the batch's {calibration.of:,} records",)),
    ]


def holds_for(sampling: Sampling) -> str | None:
    """Return a sentence on the records that a threshold is valid for. Return None for selected labels."""
    return _DRAWN if sampling.seed is not None else _HOLDS.get(sampling.lie)


def _ids(ids: tuple[str, ...]) -> str:
    return f" (first: {', '.join(ids)})" if ids else ""


def _agreed(figures: Agreement, name: str) -> str:
    value, low, high, why = (getattr(figures, key) for key in (name, f"{name}_low", f"{name}_high", f"no_{name}"))
    return shown(Figure(value=value, low=low, high=high, reason=why))
