"""An evaluation as one HTML file that holds everything it shows and loads nothing; it looks like the report."""

from datetime import datetime
from typing import TextIO

from markupsafe import Markup

from ..quality import words
from ..quality.gold_evaluation import GoldEvaluation
from .page import ASSETS
from .panels import MEMBERS, PAIRS, panel_part
from .reliability_svg import OF_PROBABILITY, draw_reliability
from .templates import policy_hash, template


def write_gold_page(
    evaluation: GoldEvaluation, stream: TextIO, *, name: str, batch_id: str, labels: str, written: datetime
) -> None:
    """Write the page of a batch's evaluation.

    Args:
        found: the evaluation.
        stream: takes the page.
        name: of the batch, for people.
        batch_id: its id.
        labels: where the labels are from.
        written: when the batch was read.
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
        rates=words.rates(evaluation),
        more=words.more(evaluation),
        remarks=words.remarks(evaluation.matching),
        sampling=words.sampling_remark(evaluation.sampling),
        sampled_by=None if evaluation.sampling.promises else words.proper_sample(batch_id),
        referred=words.REFERRED,
        panels=() if evaluation.panel is None else (panel_part(evaluation.panel),),
        panel_heads=(MEMBERS, PAIRS),
        # Safe as they stand: a drawing of our own, which escapes every text, and files of this package.
        picture=Markup(draw_reliability(evaluation.reliability, standalone=False)),  # noqa: S704
        picture_of_probability=None
        if weighed is None
        else Markup(draw_reliability(weighed, OF_PROBABILITY, standalone=False)),  # noqa: S704
        score=words.score_remark(evaluation.score),
        calibration=words.calibration_sentences(evaluation.calibration),
        css=Markup(css),  # noqa: S704
        css_hash=policy_hash(css),
    )
    stream.write(page)
