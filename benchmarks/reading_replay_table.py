"""The results of readings over their seeds, as Markdown tables."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, TypeAlias

from .reading_curve import RECALLS

Runs: TypeAlias = Mapping[str, Mapping[str, Any]]  # seed -> figures

SETS = {
    "kwok_2020_gpt4omini": "Kwok 2020",
    "cdss_ro": "Radiation oncology",
    "ptsd_van_de_schoot_2017": "PTSD trajectories",
    "synergy_Donners_2021": "Donners 2021",
}
SIMULATED = "Simulated review"
READ = [f"read_{recall * 100:.0f}" for recall in RECALLS]


def to_markdown(found: Mapping[str, Runs], asreview: Mapping[str, Runs]) -> str:
    """Return both tables, in Markdown. docs/quality.md has some of their columns."""
    return "\n".join([*orders(found, asreview), "", *rules(found), ""])


def orders(found: Mapping[str, Runs], asreview: Mapping[str, Runs]) -> Iterator[str]:
    """Yield the table of records read for each recall, and by ASReview: medians over the seeds, with the range."""
    yield "| review | model | readings | 95 % found | 98 % | 100 % | WSS@95 | ASReview, 95 % | ratio |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, runs in found.items():
        key, _, judge = name.partition(", ")
        read = [_spread([one[figure] for one in runs.values()]) for figure in READ]
        saved = median(one["wss_95"] for one in runs.values())
        beside, ratio = "", ""
        if key in asreview:
            theirs = [one["read_95"] for one in asreview[key].values()]
            beside = _spread(theirs)
            ratio = f"{median(one['read_95'] for one in runs.values()) / median(theirs):.2f}"
        shares = " | ".join([*read, f"{saved * 100:.1f} %", beside, ratio])
        yield f"| {_review(key, runs)} | {judge} | {len(runs)} | {shares} |"


def rules(found: Mapping[str, Runs]) -> Iterator[str]:
    """Yield the table of where each rule stops, and the recall there."""
    yield "| review | model | rule | read | recall | lowest | 95 % reached |"
    yield "|---|---|---|---:|---:|---:|---:|"
    for name, runs in found.items():
        key, _, judge = name.partition(", ")
        first = next(iter(runs.values()))
        for place, rule in enumerate(one["rule"] for one in first["stops"]):
            stops = [one["stops"][place] for one in runs.values()]
            recalls = [one["recall"] for one in stops]
            reached = sum(recall >= 0.95 for recall in recalls)
            yield (
                f"| {name_of(key)} | {judge} | {rule} | {_spread([one['read'] for one in stops])} | "
                f"{median(recalls) * 100:.1f} % | {min(recalls) * 100:.1f} % | {reached} of {len(stops)} |"
            )


def name_of(key: str) -> str:
    """Return the name of a set for people."""
    return SETS.get(key, SIMULATED)


def _review(key: str, runs: Runs) -> str:
    first = next(iter(runs.values()))
    return f"{name_of(key)}: {first['includes']:,} of {first['n']:,}"


def _spread(shares: Sequence[float]) -> str:
    """Return the median, with the smallest and largest value if the values differ."""
    middle, low, high = (f"{share * 100:.1f}" for share in (median(shares), min(shares), max(shares)))
    return f"{middle} %" if low == high else f"{middle} % ({low} to {high})"
