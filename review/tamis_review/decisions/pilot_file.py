"""The file of a pilot: a row for each record that was drawn, in which a human says whether it belongs in the review.

It shows nothing that the model decided: who knows it is led by it. `tamis calibrate` and `tamis evaluate` read it back.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TextIO

from tamis_schemas import ItemResult
from tamis_schemas.records.random_order import check_draw, sample

from .fill_in_sheet import write_sheet


@dataclass(frozen=True)
class Pilot:
    """The records that a seed draws."""

    seed: int
    population: int  # records of the batch, copies of others left out
    places: tuple[int, ...]  # in the order in which they were drawn


def draw_pilot(population: Collection[int], n: int, *, seed: int) -> Pilot:
    """A simple random sample, without replacement, of `n` records of a batch; all where there are fewer.

    `population`: the places of the records that are no copies of others. Each can be drawn, whoever decided about it: a
    rule, the model, or nobody yet. The records of a smaller `n` are the first of a larger one with the same seed.

    Raises `InvalidParameters` for an `n` below 1, or a seed that is none.
    """
    check_draw(n, seed)
    return Pilot(seed, len(population), tuple(sample(population, n, seed=seed)))


def write_pilot(pilot: Pilot, rows: Sequence[ItemResult], stream: TextIO) -> None:
    """The file, in the order in which the records were drawn, so that its first rows are a random sample as well.

    `rows`: those of the places, in any order.
    """
    write_sheet(stream, rows, dict.fromkeys(pilot.places, ("", "")), ("include", "note"), seed=pilot.seed)
