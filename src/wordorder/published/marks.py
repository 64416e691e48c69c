"""The marks that papers put after significantly better scores, put after ours by the same levels.

The papers test one run each on the sentences of the test set: PosNet by bootstrap resampling, the cross-lingual paper
by the sign test of Collins et al. (2005). Ours have one test for all marks: of one seed sacreBLEU's paired bootstrap;
of several, randomisation over seeds and sentences. Like the papers', neither is corrected or knows how far other seeds
would be; the verdicts of a study, which do, are not taken from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordorder.metrics.base import metric

TEST = "approximate randomisation over seeds and sentences (of one seed the paired bootstrap), not corrected"


class OurMarks:
    """What ``results.load_significance`` says was compared, by place, metric, system and baseline."""

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
        """The mark of the smallest p that ``system`` is better by; empty if it is not, or was not compared.

        place: dataset, test set and size; ``marks`` has for each mark the p that it needs to be below.
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
