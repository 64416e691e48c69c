"""The results of finished studies, as data frames."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from wordorder.errors import WordorderError, unknown_name
from wordorder.tables.summary import read_table

_CELL = ["dataset", "test", "size", "encoding"]


def load_table(study: str | Path, name: str = "scores", *, results: str | Path = "results") -> pd.DataFrame:
    """Read a table of a study.

    Args:
        study: The name of a study, or the folder of its results or of a bundle, such as results/reference/demo.
        name: Any table of the study, such as scores, significance, variance, parameters, retention or published.
        results: The folder to which runs write.

    Raises:
        WordorderError: The study has no results, or no such table.
    """
    tables = study_folder(study, results) / "tables"
    known = [path.stem for path in tables.glob("*.csv")]
    if name not in known:
        raise unknown_name(f"{tables} has no table", name, known, "tables", path=tables)
    return read_table(tables / f"{name}.csv")


def load_results(study: str | Path, *, results: str | Path = "results") -> pd.DataFrame:
    """Read the scores of a study in tidy form.

    Args:
        study: The name of a study, or the folder of its results or of a bundle, such as results/reference/demo.
        results: The folder to which runs write.

    Returns:
        One row per dataset, test set, size, encoding, metric and seed, with ``score`` (NaN if a training diverged or
        is not finished) and the metric's ``signature``.

    Raises:
        WordorderError: The study has no results.
    """
    table = load_table(study, "scores", results=results)
    seeds = [column for column in table.columns if str(column).startswith("seed ")]
    tidy = table.melt([*_CELL, "metric", "signature"], seeds, var_name="seed", value_name="score")
    tidy["seed"] = tidy["seed"].str.removeprefix("seed ").astype(int)
    return tidy[[*_CELL, "metric", "seed", "score", "signature"]]


def study_folder(study: str | Path, results: str | Path = "results") -> Path:
    """Return the folder of a study's results, by its name or as the folder itself.

    Raises:
        WordorderError: There is no such folder.
    """
    named = Path(results, study)
    found = named if named.is_dir() else Path(study)
    if not (found / "tables").is_dir():
        raise WordorderError(
            f"There are no results of '{study}': neither {named} nor {Path(study)} has a folder 'tables'. Run the "
            "study first, or name the folder of its results.",
            code="no-results",
            path=named,
        )
    return found
