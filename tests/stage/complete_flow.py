"""The flow of a finished review, from three sources to the studies that are included; every number adds up."""

from datetime import date
from typing import Any

from tamis_review.report.figures import Figures
from tamis_schemas import Source, SourceFile, SourceKind
from tamis_schemas.batches.flow import Flow, FlowSource, FlowStage, ReportFlow, Tally

from .reported import batch, figures


def tallies(**counts: int) -> tuple[Tally, ...]:
    """Numbers by name, `_` for a space."""
    return tuple(Tally(name=name.replace("_", " "), n=n) for name, n in counts.items())


# 100 = 20 duplicates + 5 ineligible + 75 screened; 75 = 12 passed + 63 excluded (40 by the model alone, 13 by both,
# 10 by people alone); 12 sought = 2 not retrieved + 10 assessed; 10 = 6 excluded + 4 included, of 3 studies
SEARCHED = Flow(
    identified=tallies(MEDLINE=70, Registry=30),
    sources=(
        FlowSource(name="MEDLINE", kind=SourceKind.DATABASE, identified=70, duplicates=5, screened=61),
        FlowSource(name="Registry", kind=SourceKind.REGISTER, identified=30, duplicates=15, screened=14),
    ),
    duplicates=20,
    ineligible=tallies(title_pattern=5),
    stages=(
        FlowStage(
            operation="inclusion",
            entered=75,
            passed=12,
            passed_by_human=3,
            excluded=tallies(Wrong_population=43, Animals=10),
            excluded_confirmed=13,
            excluded_by_human=23,
        ),
    ),
    reports=ReportFlow(
        sought=12,
        not_retrieved=tallies(No_copy_to_be_had=2),
        excluded=tallies(Wrong_outcome=4, Wrong_age=2),
        included=4,
        studies=3,
    ),
)
# 9 = 1 duplicate + 8 screened; 8 = 3 passed + 5 excluded; 3 sought = 3 assessed; 3 = 1 excluded + 2 included
OTHERS = Flow(
    identified=tallies(Citation_searching=9),
    sources=(FlowSource(name="Citation searching", kind=SourceKind.OTHER, identified=9, duplicates=1, screened=8),),
    duplicates=1,
    stages=(FlowStage(operation="inclusion", entered=8, passed=3, excluded=tallies(Animals=5)),),
    reports=ReportFlow(sought=3, excluded=tallies(Wrong_age=1), included=2, studies=2),
)
# The sums of both, but for the studies: one has a report in each column.
COMPLETE = Flow(
    identified=(*SEARCHED.identified, *OTHERS.identified),
    sources=(*SEARCHED.sources, *OTHERS.sources),
    duplicates=21,
    ineligible=tallies(title_pattern=5),
    stages=(
        FlowStage(
            operation="inclusion",
            entered=83,
            passed=15,
            passed_by_human=3,
            excluded=tallies(Wrong_population=43, Animals=15),
            excluded_confirmed=13,
            excluded_by_human=23,
        ),
    ),
    reports=ReportFlow(
        sought=15,
        not_retrieved=tallies(No_copy_to_be_had=2),
        excluded=tallies(Wrong_outcome=4, Wrong_age=3),
        included=6,
        studies=4,
    ),
    columns=(SEARCHED, OTHERS),
)
FILE = {"format": "RIS", "encoding": "utf-8", "sha256": "5f" * 32}
SOURCES = (
    Source(
        name="MEDLINE",
        kind=SourceKind.DATABASE,
        file="medline.csv",
        searched=date(2026, 3, 1),
        query='"hip replacement" AND exercise',
        more_files=(SourceFile(file="abstracts.txt", **FILE),),
        **FILE,
    ),
    Source(name="Registry", kind=SourceKind.REGISTER, file="registry.ris", searched=date(2026, 3, 5), **FILE),
    Source(name="Citation searching", kind=SourceKind.OTHER, file="cited.ris", **FILE),
)


def complete_figures(**changes: Any) -> Figures:
    """The figures of that review; what is given stands instead."""
    given = {"flow": COMPLETE, "batches": (batch(sources=SOURCES),), "report_reviewers": ("Reviewer A", "Reviewer B")}
    return figures(**given | changes)
