"""Sentences and table rows about an evaluation and a score threshold, for the terminal and the page."""

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
    "Records that the system did not decide (uncertain, failed, cancelled, not asked yet) are referred to a human. "
    "They count as kept under `screening` and are omitted under `decided`. Records rejected by the initial filter "
    "count as excluded by the system."
)
# Name, whether it is in percent, its meaning, and the source of its interval.
RATES = (
    ("sensitivity", True, "share of the human's includes that the system kept (recall); Wilson interval"),
    ("specificity", True, "share of the human's excludes that the system excluded; Wilson interval"),
    ("precision", True, "share of the kept records that the human included; Wilson interval"),
    ("F1", False, "harmonic mean of precision and sensitivity; Wilson interval of F* = F1 / (2 - F1)"),
    ("MCC", False, "Matthews correlation, -1 to 1; delta-method interval on Fisher's z"),
)
_SAME = "with the same model and the same criteria."
_DRAWN = f"The labelled records were drawn by `tamis pilot`: the guarantee holds for records of this batch, {_SAME}"
_HOLDS = {
    Lie.CENSUS: f"Every record of the batch has a label: the guarantee holds for other records like these, {_SAME}",
    Lie.RANDOM: "The guarantee holds if the labelled records are a random sample of the records that the threshold is "
    f"used for, {_SAME} Their places in the batch, scores and databases do not contradict this.",
    Lie.BLOCKS: "The guarantee holds if the blocks of labelled records are a random sample of the batch's blocks, "
    f"{_SAME} Their places, scores and databases do not contradict this.",
}


@dataclass(frozen=True)
class FigureRow:
    """A row of a table of figures."""

    name: str
    values: tuple[str, ...]
    about: str = ""


def shown(figure: Figure, *, percent: bool = False) -> str:
    """Return a figure as text, such as `31 of 36 = 86.1% (71.3% to 93.9%)` or `0.552 (0.442 to 0.646)`.

    If there is no figure, return the reason, such as `none: no record has a label`.
    """
    if figure.value is None:
        return f"none: {figure.reason}"

    def number(value: float) -> str:
        return f"{value:.1%}" if percent else f"{value:.3f}"

    of = "" if figure.total is None else f"{figure.count:,} of {figure.total:,} = "
    around = "" if figure.low is None or figure.high is None else f" ({number(figure.low)} to {number(figure.high)})"
    return f"{of}{number(figure.value)}{around}"


def stands(evaluation: GoldEvaluation) -> list[tuple[str, Stands]]:
    """Return the two rows of the confusion matrix: the human's includes and excludes, with the system's decisions."""
    return [("included by the human", evaluation.included), ("excluded by the human", evaluation.excluded)]


def rates(evaluation: GoldEvaluation) -> list[FigureRow]:
    """Return a row for each figure of a confusion matrix.

    Each row has two values. For the first, records that the system did not decide count as kept; for the second, they
    are omitted.
    """
    pair = (evaluation.screening, evaluation.decided)
    return [
        FigureRow(name, tuple(shown(getattr(group, name.lower()), percent=percent) for group in pair), about)
        for name, percent, about in RATES
    ]


def more(evaluation: GoldEvaluation) -> list[FigureRow]:
    """Return a row for each figure that does not come from a confusion matrix.

    The rows on the probability of inclusion and on the calibrated score are left out if the batch has no such values.
    """
    calibration = evaluation.calibration
    figures = [
        ("unread", shown(evaluation.unread, percent=True), "share that the system excluded; Wilson interval"),
        ("WSS@95", shown(evaluation.wss_95), "work saved over sampling, if read by score to 95% recall"),
        (
            "AUC",
            shown(evaluation.auc),
            "of the score for inclusion, on records that the model decided; DeLong interval",
        ),
        ("ECE", shown(evaluation.reliability.ece), "expected calibration error, ten bins; 0 is best"),
    ]
    if evaluation.probability is not None:
        about = "of the probability of inclusion from the answers' tokens"
        figures.append(("ECE, probability", shown(evaluation.probability.ece), about))
    if calibration.after is not None:
        before = shown(calibration.before.ece)
        about = f"of the score for inclusion ({before}) after calibration, each record by the labels of the others"
        figures.append(("ECE, calibrated", shown(calibration.after.ece), about))
    figures += [
        ("Cohen's kappa", _agreed(evaluation.agreement, "kappa"), "with the human, on records that the system decided"),
        ("Gwet's AC1", _agreed(evaluation.agreement, "ac1"), "the same, less affected if includes are rare"),
    ]
    return [FigureRow(name, (value,), about) for name, value, about in figures]


def score_remark(score: ScoreBasis) -> str:
    """Return text on the origin of the score for inclusion.

    The text also gives the number of records that have no score, or that also have a score of another kind.
    """
    lacking = f"; {score.without:,} of {score.decided:,} decided records have none"
    others = f"{lacking}, and a person reads them in any case" if score.without else ""
    match score.scale:
        case ScoreScale.PROBABILITY:
            return f"the score for inclusion is the probability from the answers' tokens{others}"
        case ScoreScale.RELEVANCE:
            return f"the score for inclusion is the model's grade of relevance{others}"
    words = "the score for inclusion comes from the model's stated confidence"
    for n, name in ((score.with_probability, "a probability"), (score.with_relevance, "a grade of relevance")):
        if n:
            return f"{words}: only {n:,} of {score.decided:,} decided records have {name}, and scales are never mixed"
    return words


def calibration_sentences(calibration: CalibratedScore) -> list[str]:
    """Return sentences on the calibration of the score by the labels."""
    if calibration.after is None:
        return [f"the labels cannot calibrate the score: {calibration.reason}"]
    fitted = "Platt's sigmoid" if calibration.method is Method.PLATT else "isotonic regression"
    decided = calibration.includes + calibration.excludes
    before, after = shown(calibration.before.ece), shown(calibration.after.ece)
    return [
        f"the labels calibrate the score by {fitted}, on {decided:,} records ({calibration.includes:,} included), to "
        "the share of records with this score that a human includes",
        f"its expected calibration error is {before} before and {after} after calibration, each record by the labels "
        f"of the other {calibration.folds - 1} of {calibration.folds} parts",
    ]


def remarks(matching: Matching) -> list[str]:
    """Return sentences on labels without a record, records without a label, and duplicates."""
    sentences = []
    if matching.without_record:
        ids = _ids(matching.without_record_ids)
        sentences.append(f"labels without a record in the batch: {matching.without_record:,}{ids}")
    if matching.unlabelled:
        sentences.append(f"records without a label, omitted: {matching.unlabelled:,}{_ids(matching.unlabelled_ids)}")
    if matching.copies:
        sentences.append(f"copies, each evaluated with its original: {matching.copies:,}")
        if matching.labelled_by_copy:
            sentences[-1] += f"; originals included only by a copy's label: {matching.labelled_by_copy:,}"
    return sentences


def sampling_remark(sampling: Sampling) -> str | None:
    """Return a sentence on how the labelled records' position limits the figures, or None if there is no limit."""
    match sampling.lie:
        case Lie.SELECTED:
            return (
                f"the labelled records are not a random sample of the batch: {sampling.why_not}. The figures describe "
                "only these records and have no intervals"
            )
        case Lie.BLOCKS:
            return (
                f"the labels form {sampling.blocks:,} blocks of neighbouring records, which are similar: the design "
                "effect widens the intervals"
            )
    return None


def proper_sample(batch_id: str) -> str:
    """Return the command that draws a random sample from a batch."""
    return f"tamis pilot {batch_id} --n 200 --seed 1"


def threshold_rows(calibration: Calibration) -> list[FigureRow]:
    """Return a row for each figure of a threshold. Without a threshold there are no rows."""
    threshold = calibration.threshold
    if threshold.value is None or threshold.bound is None:
        return []
    pilot = f"{threshold.includes:,} labelled includes, {threshold.missed:,} of them below; "
    pilot += f"recall is above {threshold.bound:.4f}"
    if threshold.weight > 1:
        pilot += f"; in blocks, so that {threshold.weight:.2f} includes count as one"
    return [
        FigureRow("threshold", (str(threshold.value),), "keep every record with at least this score for inclusion"),
        FigureRow(
            "guarantee",
            (f"recall is at least {threshold.recall:g} with probability {1 - threshold.delta:g}",),
            "over random samples of this size",
        ),
        FigureRow("pilot", (pilot,)),
        FigureRow("saves", (shown(calibration.saved, percent=True),), "of the labelled records are below it"),
        FigureRow("below", (f"{calibration.below:,} of the batch's {calibration.of:,} records",)),
    ]


def holds_for(sampling: Sampling) -> str | None:
    """Return a sentence that says for which records the threshold's guarantee holds.

    Return None if the labelled records are not a random sample.
    """
    return _DRAWN if sampling.seed is not None else _HOLDS.get(sampling.lie)


def _ids(ids: tuple[str, ...]) -> str:
    return f" (first: {', '.join(ids)})" if ids else ""


def _agreed(figures: Agreement, name: str) -> str:
    value, low, high, why = (getattr(figures, key) for key in (name, f"{name}_low", f"{name}_high", f"no_{name}"))
    return shown(Figure(value=value, low=low, high=high, reason=why))
