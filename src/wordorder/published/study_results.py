"""The results of a study that decides claims of a paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from wordorder.comparison.levels import level_of
from wordorder.config.pages import PublishedReport
from wordorder.published.quantities import load_printed
from wordorder.results.frames import (
    cell_folders,
    load_metrics,
    load_records,
    load_significance,
    margins_of,
    training_status,
)
from wordorder.tables.comparisons import all_exact, small_families
from wordorder.tables.summary import read_table


@dataclass(frozen=True)
class StudyResults:
    """A study that decides claims, with its results.

    Attributes:
        config: The reported part of the study's configuration, with its published tables.
        folder: The folder of the study's results.
    """

    config: PublishedReport
    folder: Path

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.config.report.study

    @property
    def level(self) -> float:
        """The significance level of the study."""
        report = self.config.report
        return level_of(report.alpha, report.seeds, report.looks).level

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The scores and other quantities, in the units of the papers."""
        printed = [(each.shown, each.printed) for each in self.config.published]
        return load_printed(self.config.report, self.folder, printed)

    @cached_property
    def margins(self) -> dict[tuple[str, str, str, str], float]:
        """The equivalence margins of the study, by dataset, size, test set and metric."""
        return margins_of(self._tested)

    @cached_property
    def doubtful(self) -> set[tuple[str, str, str, str]]:
        """The dataset, size, test set and metric of each family in which the seeds vary suspiciously little."""
        return small_families(self._tested)

    @cached_property
    def exact(self) -> bool:
        """Whether the levels of the study's comparisons are exact: no undeclared look preceded them."""
        return all_exact(self._tested)

    @cached_property
    def _tested(self) -> list[dict[str, Any]]:
        return load_significance(self.config.report, self.folder)

    @cached_property
    def _diverged(self) -> set[tuple[str, str, str]]:
        cells = cell_folders(self.config.report, self.folder)
        return {
            (cell["dataset"], cell["size"], cell["encoding"])
            for cell, files in cells
            if training_status(files) == "diverged"
        }

    def diverged(self, rows: pd.DataFrame) -> pd.Series:
        """Return which rows of the data of an analysis are of a system of which a training diverged.

        A system is an encoding with all its seeds. Rows without a seed, such as measured times, do not depend on it.
        """
        columns = ["dataset", "size", "encoding"]
        if not {*columns, "seed"} <= set(rows):
            return pd.Series(False, index=rows.index)
        systems = zip(*(rows[column].astype(str) for column in columns), strict=True)
        return pd.Series([system in self._diverged for system in systems], index=rows.index, dtype=bool)

    @property
    def _trained(self) -> bool:
        return any(files.metrics.is_file() for _, files in cell_folders(self.config.report, self.folder))

    @cached_property
    def _records(self) -> pd.DataFrame:
        records, keys = load_records(self.config.report, self.folder), ["dataset", "size"]
        speed = "target_tokens_per_second"
        baseline = records["encoding"] == self.config.report.baseline
        of_baseline = records[speed].where(baseline).groupby([records[key] for key in keys]).transform("mean")
        return records.assign(relative_speed=records[speed] / of_baseline)

    def data(self, analysis: str) -> pd.DataFrame | None:
        """Load the data of an analysis.

        Args:
            analysis: The name of an analysis, or 'scores', 'training' (perplexity on the training and validation sets
                by update) or 'records'. In 'records', 'relative_speed' is the speed relative to the baseline's.

        Returns:
            The data; None if the study does not have the analysis or has not been run.
        """
        if analysis == "scores":
            return self.scores
        if analysis == "records":
            return self._records
        if analysis == "training":
            return load_metrics(self.config.report, self.folder) if self._trained else None
        path = self.folder / "analyses" / f"{analysis}.csv"
        if analysis not in self.config.analyses or not path.is_file():
            return None
        return read_table(path)
