"""An evaluation as one self-contained HTML file, in the report's style."""

from datetime import datetime
from typing import Self, TextIO

from markupsafe import Markup
from pydantic import Field

from tamis_schemas.values.frozen import Frozen

from ..quality import words
from ..quality.gold_evaluation import GoldEvaluation
from ..quality.words import FigureRow
from .charts import OF_PROBABILITY, draw_reliability
from .page import ASSETS, policy_hash, template
from .sections import MEMBERS, PAIRS, panel_part


class EvaluationWords(Frozen):
    """The table rows and sentences of an evaluation's page."""

    rates: tuple[FigureRow, ...] = Field(description="Two values each: referred counts as kept; referred is omitted.")
    more: tuple[FigureRow, ...]
    remarks: tuple[str, ...] = Field(description="Records without a label, labels without a record, and copies.")
    sampling: str | None = Field(description="Limits of the figures for the batch; null: none known.")
    score: str
    calibration: tuple[str, ...]

    @classmethod
    def of(cls, found: GoldEvaluation) -> Self:
        """Return the table rows and sentences for an evaluation."""
        return cls(
            rates=tuple(words.rates(found)),
            more=tuple(words.more(found)),
            remarks=tuple(words.remarks(found.matching)),
            sampling=words.sampling_remark(found.sampling),
            score=words.score_remark(found.score),
            calibration=tuple(words.calibration_sentences(found.calibration)),
        )


def write_gold_page(
    evaluation: GoldEvaluation, stream: TextIO, *, name: str, batch_id: str, labels: str, written: datetime
) -> None:
    """Write the evaluation of a batch as an HTML page.

    Args:
        evaluation: the figures.
        stream: the stream that receives the page.
        name: the batch's name, for people.
        batch_id: the batch's id.
        labels: the origin of the labels, as text for people.
        written: the time when the batch was read.
    """
    weighed = evaluation.probability
    css = (ASSETS / "page.css").read_text("utf-8") + (ASSETS / "gold.css").read_text("utf-8")
    page = template(ASSETS / "gold.html.jinja").render(
        found=evaluation,
        name=name,
        batch_id=batch_id,
        labels=labels,
        written=f"{written:%Y-%m-%d %H:%M %Z}",
        stands=words.stands(evaluation),
        **dict(EvaluationWords.of(evaluation)),
        sampled_by=None if evaluation.sampling.promises else words.proper_sample(batch_id),
        referred=words.REFERRED,
        panels=() if evaluation.panel is None else (panel_part(evaluation.panel),),
        panel_heads=(MEMBERS, PAIRS),
        # Safe: our own drawing, which escapes every text, and files of this package.
        picture=Markup(draw_reliability(evaluation.reliability, standalone=False)),  # noqa: S704
        picture_of_probability=weighed and Markup(draw_reliability(weighed, OF_PROBABILITY, standalone=False)),  # noqa: S704
        css=Markup(css),  # noqa: S704
        css_hash=policy_hash(css),
    )
    stream.write(page)
