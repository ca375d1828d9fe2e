"""The methods of a review from its searches to its full texts, as an author would write them."""

import io
from html import unescape
from pathlib import Path

from stage.complete_flow import COMPLETE, SEARCHED, SOURCES, complete_figures, tallies
from stage.reported import batch, figures
from tamis_review.decisions.human_agreement import AgreementFigures, PairAgreement
from tamis_review.quality.agreement import agreement
from tamis_review.report.figures import Figures, HumanFigures, ReportRow, ReportWay
from tamis_review.report.flow_svg import draw
from tamis_review.report.form import write_markdown
from tamis_review.report.methods import methods, warnings
from tamis_review.report.page import write_page
from tamis_schemas import HumanStage, Source
from tamis_schemas.batches.flow import BY_HUMAN


def text_of(given: Figures, heading: str) -> str:
    return next(part.text for part in methods(given) if part.heading == heading)


def listed(given: Figures, heading: str) -> tuple[str, ...]:
    return next(part.listed for part in methods(given) if part.heading == heading)


def searched(*sources: Source) -> Figures:
    """The figures without other methods, of these two sources."""
    return complete_figures(flow=SEARCHED, batches=(batch(sources=sources),))


def test_sources_are_told_by_kind_with_what_each_gave() -> None:
    said = text_of(complete_figures(), "Records")
    assert said.startswith(
        "109 records were identified from one database (MEDLINE, n = 70), one register (Registry, n = 30) and one "
        "other source (Citation searching, n = 9)."
    )
    first, second, third = listed(complete_figures(), "Records")
    assert first.startswith(
        "MEDLINE (database, searched on 1 March 2026): 70 records, 5 of them removed as duplicates; "
    )
    assert "read from “medline.csv” (RIS, read as utf-8; SHA-256 of the file 5f5f" in first
    assert ") and “abstracts.txt” (RIS" in first
    assert second.startswith(
        "Registry (register, searched on 5 March 2026): 30 records, 15 of them removed as duplicates"
    )
    assert third.startswith("Citation searching (other source): 9 records, 1 of them removed as duplicates")


def test_dates_of_the_searches_are_told_and_those_that_nobody_gave_are_missed() -> None:
    said = text_of(complete_figures(), "Records")
    assert ("They were searched from 1 March 2026 to 5 March 2026 (date not recorded for Citation searching).") in said
    same = [one.model_copy(update={"searched": SOURCES[0].searched}) for one in SOURCES[:2]]
    assert "They were searched on 1 March 2026." in text_of(searched(*same), "Records")
    none = [one.model_copy(update={"searched": None}) for one in SOURCES[:2]]
    assert "The search dates are not recorded." in text_of(searched(*none), "Records")


def test_queries_stand_in_an_appendix_and_missing_ones_are_named() -> None:
    said = text_of(complete_figures(), "Records")
    assert "listed under “Search strategies” (not recorded for Registry and Citation searching)." in said
    assert methods(complete_figures())[-1].heading == "Search strategies"
    assert listed(complete_figures(), "Search strategies") == ('MEDLINE: "hip replacement" AND exercise',)
    none = [one.model_copy(update={"query": None}) for one in SOURCES[:2]]
    assert "The search strategies are not recorded." in text_of(searched(*none), "Records")
    assert all(part.heading != "Search strategies" for part in methods(searched(*none)))


def test_deduplication_is_told_with_its_rule_where_the_software_did_it() -> None:
    said = text_of(complete_figures(), "Before screening")
    assert "21 duplicate records were removed; one copy of each record was kept. Two records were treated as" in said
    assert "The most complete copy was kept; its missing fields were filled from the others." in said
    assert "most complete copy" not in text_of(figures(), "Before screening")  # one file
    assert "treated as duplicates" not in text_of(figures(batches=(batch(sources=()),)), "Before screening")


def test_retrieval_and_full_texts_are_told_with_reasons_and_by_whom() -> None:
    assert text_of(complete_figures(), "Retrieval and full texts") == (
        "15 reports were sought for retrieval. Retrieval and full texts were assessed by Reviewer A and Reviewer B, "
        "without a language model. 2 reports were not retrieved (No copy to be had (2)). 13 reports were assessed for "
        "eligibility. 7 reports were excluded: Wrong outcome (4), Wrong age (3). Four studies with six reports were "
        "included."
    )
    assert all(part.heading != "Retrieval and full texts" for part in methods(figures()))


def test_agreement_of_people_is_told_by_stage_and_how_conflicts_were_settled() -> None:
    # of 100: both include 14, both exclude 80, 6 differ; po = 0.94
    said = [("include", "include")] * 14 + [("exclude", "exclude")] * 80 + [("include", "exclude")] * 6
    none = agreement([], categories=("include", "exclude"))
    pairs = tuple(
        PairAgreement(stage=stage, first="Reviewer A", second="Reviewer B", agreement=agreement(rows))
        for stage, rows in ((HumanStage.OWN, said), (HumanStage.FULL_TEXT, said[:10]))
    )
    people = AgreementFigures(overrides=none, audits=none, together=none, people=pairs)
    reviewers = ("Reviewer A", "Reviewer B", "Reviewer C")
    humans = HumanFigures(
        decided=98,
        confirmed=98,
        conflicts=2,
        resolved=4,
        resolvers=("Reviewer C",),
        reviewers=reviewers,
        agreement=people,
    )
    given = complete_figures(batches=(batch(sources=SOURCES, humans=humans),))
    told = text_of(given, "Use of AI and automation")
    # pe = 0.20 x 0.14 + 0.80 x 0.86 = 0.716; kappa = (0.94 - 0.716) / (1 - 0.716) = 0.789
    assert "Reviewer A and Reviewer B both decided 100 records and agreed on 94 (Cohen's kappa 0.79, 95% " in told
    assert "For 4 records, the decision of Reviewer C overrode those of other reviewers." in told
    assert "Reviewers disagreed on 2 records; these conflicts are not resolved yet." in told
    assert told.count("both decided") == 1
    said_of_reports = text_of(given, "Retrieval and full texts")
    assert "both decided 10 records and agreed on 10." in said_of_reports
    page, markdown = written(given), write_markdown(given)
    assert "<h3>Agreement of software and humans, and of humans</h3>" in page
    for name, n in (("Reviewer A and Reviewer B", 100), ("Reviewer A and Reviewer B (full text)", 10)):
        assert f'<th scope="row">{name}</th><td class="number" data-name="n">{n}</td>' in page
        assert f"| {name} | {n} |" in markdown


def test_a_conflict_is_a_reason_of_records_without_a_decision_and_no_human_decision_that_counts() -> None:
    stage = COMPLETE.stages[0].model_copy(
        update={"uncertain": 0, "failed": (), "conflicts": 1, "excluded_by_human": 22}
    )
    flow = COMPLETE.model_copy(update={"stages": (stage,), "columns": ()})
    humans = HumanFigures(conflicts=1, reviewers=("Reviewer A", "Reviewer B"))
    said = text_of(
        complete_figures(flow=flow, batches=(batch(sources=SOURCES, humans=humans),)), "Use of AI and automation"
    )
    assert "No human decision counts yet, so the number of records excluded by a human is 0." in said
    assert "1 record was neither included nor excluded, because reviewers disagreed: a human must decide." in said


def test_by_a_human_means_the_same_in_glossary_legend_and_methods() -> None:
    glossary = (Path(__file__).parents[4] / "docs" / "glossary.md").read_text("utf-8")
    term, meaning = BY_HUMAN.split(": ")
    assert f"| {term.lower()} | {meaning.capitalize()}" in glossary
    humans = HumanFigures(decided=26, confirmed=13, reversed=13, reviewers=("Reviewer A",))
    given = complete_figures(batches=(batch(sources=SOURCES, humans=humans),))
    assert BY_HUMAN in text_of(given, "Use of AI and automation")
    assert BY_HUMAN in unescape(written(given).partition("<figcaption>")[2].partition("</figcaption>")[0])
    for drawn in (write_markdown(given), unescape(draw(given.flow))):
        assert BY_HUMAN in drawn


def test_the_model_alone_is_what_no_person_decided() -> None:
    stage = COMPLETE.stages[0].model_copy(update={"passed_by_human": 8, "passed_confirmed": 5})
    flow = COMPLETE.model_copy(update={"stages": (stage,), "columns": ()})
    said = text_of(complete_figures(flow=flow), "Use of AI and automation")
    # 58 excluded by the model - 13 by a person too; 15 passed - 8 by a person, 5 of them by the model too
    assert "A language model alone excluded 45 records and included 7 records." in said


def test_what_people_have_not_decided_yet_is_told_and_warned_of() -> None:
    reports = COMPLETE.reports
    assert reports is not None
    change = {"awaited": 2, "unassessed": 1, "conflicts": 1, "uncertain": 1, "included": 1, "studies": 1}
    flow = SEARCHED.model_copy(
        update={"reports": reports.model_copy(update=change | {"sought": 12, "excluded": tallies(Wrong_age=4)})}
    )
    given = complete_figures(flow=flow, batches=(batch(sources=SOURCES[:2]),))
    said = text_of(given, "Retrieval and full texts")
    assert "One study with one report was included." in said
    assert said.endswith(
        "5 reports are not decided yet: 2 without a retrieval decision, 1 retrieved but not assessed, 1 with a "
        "conflict between reviewers and 1 left uncertain by a reviewer."
    )
    assert "5 reports are not decided yet: the numbers from retrieval onwards will change." in warnings(given)
    assert not given.finished
    assert warnings(complete_figures()) == ()


def test_the_page_says_how_far_the_figure_goes_and_lists_the_sources() -> None:
    page = written(complete_figures())
    assert "It covers the review from the searches to the included studies." in page
    assert "are not included" not in page
    assert '<th scope="row">Citation searching</th><td data-name="Kind">other</td>' in page
    assert "<h3>Sources</h3>" not in written(figures())
    assert "Human decisions and full-text assessment are not included" in written(figures())


def test_every_report_is_listed_with_its_reason_in_page_and_markdown() -> None:
    rows = (
        ReportRow(
            index=4,
            item_id="r4",
            title="Hips | knees",
            way=ReportWay.EXCLUDED,
            reason="Wrong <age>",
            doi="10.1000/<x>",
            pmid="77",
            full_text="a|b.pdf",
        ),
        ReportRow(
            index=7, item_id="r7", title=None, way=ReportWay.INCLUDED, study="One cohort", reviewers=("Reviewer A",)
        ),
    )
    given = complete_figures(reports=rows)
    page, text = written(given), write_markdown(given)
    assert "Wrong &lt;age&gt;" in page
    assert '>One cohort</td><td data-name="Decided by">Reviewer A</td>' in page
    assert "studies included in review" in page
    linked = r"[DOI 10.1000/\<x\>](<https://doi.org/10.1000/%3Cx%3E>), [PMID 77](<https://pubmed.ncbi.nlm.nih.gov/77/>)"
    assert rf"| 5 | Hips \| knees (id r4, {linked}, full text: a\|b.pdf) | excluded | Wrong \<age\> |" in text
    assert "| 8 | (no title) (id r7) | included | One cohort |" in text
    assert '<a href="https://doi.org/10.1000/%3Cx%3E">DOI 10.1000/&lt;x&gt;</a>' in page
    assert 'id="reports"' not in written(figures())
    assert "## Reports" not in write_markdown(figures())


def written(given: Figures) -> str:
    stream = io.StringIO()
    write_page(given, [], stream)
    return stream.getvalue()
