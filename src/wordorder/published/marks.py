"""Significance marks after our scores, at the levels of the marks in published tables.

The papers test one run of each system on the sentences of the test set: PosNet by bootstrap resampling, the
cross-lingual paper by the sign test of Collins et al. (2005). This module uses one test for all marks: sacreBLEU's
paired bootstrap for one seed, and randomisation over seeds and sentences for several. As in the papers, the p-values
are not corrected for multiple comparisons and do not generalise to other seeds. The verdicts of a study do both and do
not depend on this module. As there, a system has no mark if one of its trainings, or of its baseline's, diverged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordorder.metrics.base import metric

TEST = "approximate randomisation over seeds and sentences (of one seed the paired bootstrap), not corrected"


class OurMarks:
    """Looks up significance marks for the comparisons of a study.

    Args:
        files: The contents of the files of significance tests, from ``results.frames.load_significance``.
    """

    def __init__(self, files: Sequence[dict[str, Any]]) -> None:
        self._entries = {
            (file["dataset"], file["size"], file["test"], name, entry["system"], entry["baseline"]): entry
            for file in files
            for name, tested in file["metrics"].items()
            for entry in tested["comparisons"]
        }

    def mark(
        self, place: tuple[str, str, str], name: str, system: str, baseline: str, marks: Mapping[str, float]
    ) -> str:
        """Return the mark of a system.

        Args:
            place: The dataset, test set and model size.
            name: The metric.
            system: The system.
            baseline: The baseline.
            marks: For each mark the level below which the p-value must be.

        Returns:
            The mark with the smallest level that the p-value satisfies; empty if the system is not better, is not
            significantly better, or was not compared.
        """
        dataset, test, size = place
        entry = self._entries.get((dataset, size, test, name, system, baseline))
        change = entry and entry["t_test"]["mean_difference"]
        if entry is None or change is None or (change > 0) == metric(name).lower_is_better:
            return ""
        p = _p(entry)
        earned = [(level, mark) for mark, level in marks.items() if p is not None and p < level]
        return min(earned)[1] if earned else ""


def _p(entry: dict[str, Any]) -> float | None:
    tested = [seed for seed in entry["seeds"] if seed["bootstrap"] is not None]
    found: float | None = tested[0]["bootstrap"]["p"] if len(tested) == 1 else (entry["stratified"] or {}).get("p")
    return found
