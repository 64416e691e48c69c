"""The number of seeds that a study needs to detect a difference, and their cost, before and after it runs."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate

from wordorder.comparison.levels import level_of
from wordorder.comparison.power import FamilyPower
from wordorder.comparison.verdicts import common_test
from wordorder.config.models import Comparison, Report, Study, metric_name
from wordorder.errors import WordorderError
from wordorder.metrics.base import metric
from wordorder.results.bundle import STUDY, read_study, unpack_data
from wordorder.results.frames import load_significance
from wordorder.statistics.power import Procedure, critical, detectable_of, power_of, sigma_range
from wordorder.status.estimate import estimate
from wordorder.status.plan import hours_text
from wordorder.tables.comparisons import is_small
from wordorder.wording import count_of
from wordorder.workflow.configuration import Configuration
from wordorder.workflow.resources import TrainingTable
from wordorder.workflow.study import comparisons
from wordorder.workflow.study_slices import report_slice


@dataclass(frozen=True, kw_only=True)
class Spread(FamilyPower):
    """The residual standard deviation over seeds in one family of comparisons.

    Attributes:
        place: The dataset, size and test set, or the source of the standard deviation.
        metric: The metric.
        nu: The degrees of freedom of the estimate; infinite if the user stated the standard deviation.
        level: The significance level of the comparisons.
        small: Whether the seeds vary less than the sentences on which they differ explain.
    """

    place: str
    metric: str
    nu: float
    level: float
    small: bool = False

    @property
    def range(self) -> tuple[float, float]:
        """The 95 % interval of the standard deviation."""
        return (self.sigma, self.sigma) if math.isinf(self.nu) else sigma_range(self.sigma, self.nu)

    def detectable(self) -> float:
        """Return the difference that the current seeds detect with 80 % probability."""
        return detectable_of(self._error, self.nu_now, self._critical)

    def power(self, difference: float) -> float:
        """Return the probability with which the current seeds detect a difference."""
        return power_of(difference, self._error, self.nu_now, self._critical)

    @property
    def _error(self) -> float:
        return self.sigma * math.sqrt(2 / self.seeds)

    @property
    def _critical(self) -> float:
        return critical(
            self.systems,
            self.seeds,
            alpha=self.level,
            procedure=self.procedure,
            m=self.comparisons,
            nu=self.nu_now,
        )


def spreads(
    study: Study,
    configuration: Configuration,
    results: Path,
    *,
    metric: str,
    sigma: float | None = None,
    like: Study | None = None,
) -> list[Spread]:
    """Return the standard deviation over seeds for each family of comparisons of a study.

    Args:
        study: The study.
        configuration: The configuration folder.
        results: The folder of all results.
        metric: The metric of the comparisons.
        sigma: A standard deviation to assume instead of a measured one.
        like: A finished study; its largest standard deviation is assumed.

    Raises:
        WordorderError: The study does not have the metric, or no standard deviation is measured or assumed.
    """
    names = [metric_name(entry) for entry in study.metrics]
    if metric not in names:
        raise WordorderError(
            f"The study '{study.name}' does not have the metric '{metric}'. Choose one of its metrics: "
            f"{', '.join(names)}.",
            code="unknown-metric",
            key="--metric",
            found=metric,
            expected=names,
        )
    if sigma is not None:
        return [_assumed(study, metric, sigma, math.inf, "stated")]
    found = _measured(like or study, configuration, results, metric)
    if not found:
        whose = (like or study).name
        raise WordorderError(
            f"The standard deviation over seeds is unknown, because the study '{whose}' has no comparisons by "
            f"'{metric}' that could be tested in {results / whose} and no reference run. A test needs at least two "
            "seeds and a system that has learned to translate. Run the study first, state a standard deviation with "
            "--sigma, or name a finished study with --like.",
            code="no-spread",
            path=results / whose,
        )
    if like is None:
        return found
    largest = max(found, key=lambda spread: spread.sigma)
    place = f"{like.name}: {largest.place}"
    return [_assumed(study, metric, largest.sigma, largest.nu, place, small=largest.small)]


def _assumed(study: Study, name: str, sigma: float, nu: float, place: str, *, small: bool = False) -> Spread:
    names, family = _largest_family(study)
    procedure: Procedure = "baseline" if len({c.baseline for c in family}) == 1 else "declared pairs"
    seeds = len(study.seed_numbers)
    level = level_of(study.significance.alpha, study.seed_numbers, study.looks)
    return Spread(
        place=place,
        metric=name,
        sigma=sigma,
        nu=nu,
        nu_now=(len(names) - 1) * (seeds - 1),
        systems=len(names),
        comparisons=len(family),
        procedure=procedure,
        seeds=seeds,
        level=level.level,
        last_level=level.last,
        small=small,
    )


def _largest_family(study: Study) -> tuple[list[str], list[Comparison]]:
    """Return the encodings and the comparisons of the model size that has the most comparisons."""
    families = []
    for size in study.sizes:
        names = study.encodings_of(size)
        families.append((names, [each for each in comparisons(study) if {each.system, each.baseline} <= set(names)]))
    return max(families, key=lambda found: (len(found[1]), len(found[0])))


def _measured(study: Study, configuration: Configuration, results: Path, name: str) -> list[Spread]:
    """Return the standard deviation of each family of a finished study or its reference run; none if there is none."""
    report = Report.model_validate(json.loads(report_slice(study, configuration)))
    try:
        files, run = load_significance(report, results / study.name), ""
    except WordorderError as error:
        if error.code != "missing-file":
            raise
        files, run = _of_reference(results / "reference" / study.name), " (reference run)"
    return [
        _of_family(f"{file['dataset']}, {file['size']}, {file['test']}{run}", name, file["metrics"][name])
        for file in files
        if name in file["metrics"] and (file["metrics"][name].get("family") or {}).get("sigma")
    ]


def _of_reference(bundle: Path) -> list[dict[str, Any]]:
    """Return the significance tests of a bundle; none if it does not exist."""
    if not (bundle / STUDY).is_file():
        return []
    with tempfile.TemporaryDirectory() as scratch:
        unpack_data(bundle, Path(scratch))
        return load_significance(read_study(bundle).report, scratch)


def _of_family(place: str, name: str, tested: dict[str, Any]) -> Spread:
    family = tested["family"]
    power = FamilyPower.of(family, common_test(tested["comparisons"], family))
    return Spread(
        **asdict(power),
        place=place,
        metric=name,
        nu=power.nu_now,
        level=family["level"]["level"],
        small=is_small(family),
    )


def power_text(
    study: Study,
    configuration: Configuration,
    results: Path,
    difference: float,
    found: Sequence[Spread],
    table: TrainingTable | None = None,
) -> str:
    """Describe the number of seeds that detect a difference in each family, its uncertainty and the cost.

    Args:
        study: The study.
        configuration: The configuration folder.
        results: The folder of all results.
        difference: The true difference to detect, in points of the metric.
        found: The standard deviations of all families, at least one.
        table: The resources that training runs request from a cluster.
    """
    label, places = metric(found[0].metric).label, metric(found[0].metric).digits
    rows, counts = [], []
    for spread in found:
        low, high = spread.range
        needed = [spread.needed(difference, sigma) for sigma in (spread.sigma, low, high)]
        counts.append(needed[0])
        rows.append(
            {
                "standard deviation of": spread.place,
                f"σ ({label})": f"{spread.sigma:.{places}f}" + _between(f"{low:.{places}f}", f"{high:.{places}f}"),
                "seeds now": spread.seeds,
                "power now": f"{100 * spread.power(difference):.0f} %" if spread.seeds > 1 else "none",
                "they find": f"{spread.detectable():.{places}f}" if spread.seeds > 1 else "nothing",
                "seeds needed": _count(needed[0]) + _between(_count(needed[1]), _count(needed[2])),
            }
        )
    text = str(tabulate(rows, headers="keys", tablefmt="simple", disable_numparse=True))
    notes = [
        f"The seeds needed detect a true difference of {difference:g} {label} with 80 % probability, in a family of "
        f"{_families(found)}. In parentheses: 95 % interval, because σ is an estimate. σ is the standard deviation of "
        "a score over seeds, after the effect that a seed has on all systems is removed.",
        *[
            f"The seeds of {spread.place} vary less than the sentences on which they differ explain: this σ is "
            "probably too small, and so is the number of seeds."
            for spread in found
            if spread.small
        ],
        _cost_of(study, configuration, results, counts, table),
    ]
    return "\n\n".join([text, *notes])


def _families(found: Sequence[Spread]) -> str:
    """Name the comparisons and systems of the families, with their places if they differ."""
    places: dict[str, list[str]] = {}
    for spread in found:
        family = f"{count_of(spread.comparisons, 'comparison')} of {count_of(spread.systems, 'system')}"
        places.setdefault(family, []).append(spread.place)
    if len(places) == 1:
        return next(iter(places))
    return " or ".join(f"{family} ({'; '.join(own)})" for family, own in places.items())


def _cost_of(
    study: Study,
    configuration: Configuration,
    results: Path,
    needed: Sequence[int | None],
    table: TrainingTable | None,
) -> str:
    """Describe the cost of the seeds that all families need; None means more than 10,000."""
    known = [count for count in needed if count is not None]
    if len(known) == len(needed):
        return _cost(study, configuration, results, max(known), table)
    families = f" in {len(needed) - len(known)} of {len(needed)} families" if known else ""
    return f"More than 10,000 seeds would be needed{families}."


def power_json(difference: float, found: Sequence[Spread]) -> str:
    """Return the numbers of :func:`power_text` as JSON: one record per family of comparisons.

    Args:
        difference: The true difference to detect, in points of the metric.
        found: The standard deviations of all families.

    Returns:
        Records with the keys ``family``, ``metric``, ``sigma``, ``sigma_interval`` (95 %), ``small_sigma`` (whether the
        seeds vary less than the sentences on which they differ explain), ``comparisons``, ``systems``, ``level``,
        ``seeds``, ``power`` and ``detectable`` (of these seeds; None with one seed), ``seeds_needed`` and
        ``seeds_needed_interval`` (None above 10,000).
    """
    records = [
        {
            "family": spread.place,
            "metric": spread.metric,
            "difference": difference,
            "sigma": spread.sigma,
            "sigma_interval": spread.range,
            "small_sigma": spread.small,
            "comparisons": spread.comparisons,
            "systems": spread.systems,
            "level": spread.level,
            "seeds": spread.seeds,
            "power": spread.power(difference) if spread.seeds > 1 else None,
            "detectable": spread.detectable() if spread.seeds > 1 else None,
            "seeds_needed": spread.needed(difference, spread.sigma),
            "seeds_needed_interval": [spread.needed(difference, sigma) for sigma in spread.range],
        }
        for spread in found
    ]
    return json.dumps(records, ensure_ascii=False, indent=1)


def _between(low: str, high: str) -> str:
    return "" if low == high else f" ({low} to {high})"


def _count(seeds: int | None) -> str:
    return "over 10,000" if seeds is None else str(seeds)


def _cost(study: Study, configuration: Configuration, results: Path, seeds: int, table: TrainingTable | None) -> str:
    """Describe the cost of a number of seeds for every system."""
    parts = estimate(study, configuration, results, table=table)
    wanted = [seeds * len(study.encodings_of(part.size)) for part in parts]
    left = [sum(max(0, seeds - (len(study.seed_numbers) - left)) for left in part.left.values()) for part in parts]
    runs = f"With {seeds} seeds the study has {sum(wanted)} training runs; {sum(left)} remain"
    if any(part.hours_each is None for part in parts):
        return f"{runs}. Their hours are unknown until the data are prepared."
    hours = [number * (part.hours_each or 0.0) for number, part in zip(left, parts, strict=True)]
    speeds = "; ".join(dict.fromkeys(f"{part.size}: {part.speed}" for part in parts))
    return f"{runs}: {hours_text(parts, hours)} ({speeds})."
