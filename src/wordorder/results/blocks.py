"""Rows of a study's results arranged for the seed-blocked model.

This is a module of its own because the model needs SciPy, and commands that only read results start without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from wordorder.statistics.blocked import Blocked, block


def blocked(rows: pd.DataFrame, seeds: Sequence[int], value: str = "score", *, floor: float = -math.inf) -> Blocked:
    """Arrange the values of one size, test set and metric by encoding and seed.

    Args:
        rows: One row per cell, with its status.
        seeds: The declared seeds.
        value: The column of the values; NaN if a cell has none.
        floor: As in :class:`.Blocked`.
    """
    values: dict[str, dict[int, float]] = {name: {} for name in rows["encoding"].unique()}
    for row in rows.dropna(subset=value).to_dict("records"):
        values[row["encoding"]][int(row["seed"])] = float(row[value])
    # A model that gives no number has no translations, whether or not its training noticed.
    diverged = set(rows.loc[rows["status"].isin(["diverged", "no hypotheses"]), "encoding"])
    return block(values, seeds=seeds, diverged=diverged, floor=floor)
