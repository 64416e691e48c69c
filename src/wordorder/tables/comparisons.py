"""The tables of comparisons: verdicts with their evidence, other tests of the same differences, and variances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from wordorder.comparison.levels import NOT_EXACT, level_of
from wordorder.comparison.paired import KINDS
from wordorder.comparison.verdicts import baseline_varies, unstable
from wordorder.config.models import Report
from wordorder.metrics.base import metric
from wordorder.statistics.power import sigma_range
from wordorder.tables.study import not_scored
from wordorder.tables.summary import VERDICTS
from wordorder.tables.table import MISSING, Block, Cell, Row, Table, interval, number, p_values, text
from wordorder.wording import listed


def significance_table(files: list[dict[str, Any]], report: Report) -> Table:
    """Make the table of comparisons.

    Each dataset has three blocks: the verdict on each declared comparison; the families, within which p-values and
    intervals are adjusted; and other tests of the same differences.

    Args:
        files: From :func:`.results.frames.load_significance`.
        report: The study.
    """
    rows = [
        _where(file) | _data_row(name, tested, entry)
        for file, name, tested in _families(files)
        for entry in tested["comparisons"]
    ]
    # Keep the heading even without comparisons, so that readers find the columns.
    data = pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(VERDICTS))
    blocks = [block for dataset in report.datasets for block in _blocks(files, dataset.name, dataset.title)]
    kinds = dict.fromkeys(file["settings"]["paired_test"] for file in files)
    kind, confidence = " or ".join(_KINDS[kind] for kind in kinds), _equivalence_confidence(files, report)
    notes = [note.format(kind=kind, confidence=confidence) for note in _NOTES]
    return Table("significance", data, blocks, [*notes, *result_notes(files)])


def result_notes(files: list[dict[str, Any]]) -> list[str]:
    """Return the notes on these results: warnings, signatures, and what has no scores or translations.

    Args:
        files: From :func:`.results.frames.load_significance`.
    """
    signatures: dict[str, dict[str, None]] = {}  # in order; languages may have signatures of their own
    for _, name, tested in _families(files):
        if tested["signature"]:
            signatures.setdefault(name, {})[tested["signature"]] = None
    lost = dict.fromkeys(
        f"{file['dataset']}/{cell['encoding']}/{file['size']} seed {cell['seed']} on {file['test']} ({cell['status']})"
        for file in files
        for cell in file["cells"]
        if cell["status"] != "translated"
    )
    more = ", and false findings are more frequent than it says."
    notes = [] if all_exact(files) else [NOT_EXACT.removesuffix(".") + more]
    notes += [_CHECKED] if any(baseline_varies(family) for family in _tested(files)) else []
    notes += [_UNSTABLE] if any(unstable(family) for family in _tested(files)) else []
    notes += [_SMALL] if any(is_small(family) for family in _tested(files)) else []
    notes += [f"{metric(name).label}: {' and '.join(found)}" for name, found in signatures.items()]
    notes += not_scored([lacking for file in files for lacking in file["not_scored"]])
    notes += [f"Without translations: {'; '.join(lost)}."] if lost else []
    return notes


def variance_table(files: list[dict[str, Any]], report: Report) -> Table:
    """Make the table of variance components, as standard deviations in units of each metric.

    Args:
        files: From :func:`.results.frames.load_significance`.
        report: The study.
    """
    data = variance_frame(files)
    blocks, notes = [], [_VARIANCE]
    for dataset in report.datasets:
        own = data[data["dataset"] == dataset.name]
        shown: list[Row] = [
            {"Size": text(row["size"]), "Test": text(row["test"]), "Metric": text(metric(row["metric"]).label)}
            | {heading: number(row[name], metric(row["metric"]).digits) for name, heading in COMPONENTS.items()}
            for row in own.to_dict("records")
        ]
        caption = f"{dataset.title}: standard deviation of a score, by its cause."
        lost = [f"{each[0].upper()}{each[1:]}." for each in unestimated(_of_dataset(files, dataset.name))]
        notes += lost if shown else []
        blocks.append(Block(caption, shown or [{"Metric": text(" ".join(lost))}]))
    return Table("variance", data, blocks, notes)


COMPONENTS = {
    "seed": "Seed",
    "system_seed": "System × seed",
    "sentence": "Sentence",
    "system_sentence": "System × sentence",
    "seed_sentence": "Seed × sentence",
}
"""The components of variance, with their headings."""


def variance_frame(files: list[dict[str, Any]]) -> pd.DataFrame:
    """Return one row per test set and metric: dataset, size, test, metric and each of :data:`COMPONENTS`."""
    rows = [
        _where(file) | {"metric": name} | tested["family"]["components"]
        for file, name, tested in _families(files)
        if tested["family"] and tested["family"]["components"]
    ]
    return pd.DataFrame(rows, columns=["dataset", "size", "test", "metric", *COMPONENTS])


def unestimated(files: list[dict[str, Any]]) -> list[str]:
    """Say which test sets and metrics were compared but have no components of variance, and why."""
    lost: dict[str, list[str]] = {}
    for file, name, tested in _families(files):
        if tested["family"] and not tested["family"]["components"]:
            problem = tested["family"]["problem"] or "no statistics of sentences"
            lost.setdefault(problem, []).append(place_of(file | {"metric": name}))
    some = any(family["components"] for family in _tested(files))
    if not some and lost.keys() <= {"fewer than two systems", "fewer than two seeds"}:
        return ["fewer than two systems with two seeds were compared"]
    if not some and len(lost) == 1:
        return [f"not estimated: {problem}" for problem in lost]
    return [f"not estimated ({problem}): {'; '.join(where)}" for problem, where in lost.items()]


def comparisons_frame(files: list[dict[str, Any]]) -> pd.DataFrame:
    """Return one row per comparison, with the evidence of its verdict."""
    rows = [
        _where(file) | {"metric": name} | _verdict_row(tested["family"], entry)
        for file, name, tested in _families(files)
        for entry in tested["comparisons"]
    ]
    return pd.DataFrame(rows)


def all_exact(files: list[dict[str, Any]]) -> bool:
    """Return whether the levels of all comparisons are exact: no undeclared look preceded them."""
    return all(family["level"]["exact"] for family in _tested(files))


def is_small(family: dict[str, Any]) -> bool:
    """Return whether the seeds of a family vary less than the sentences on which they differ explain."""
    return bool((family.get("spread_check") or {}).get("small"))  # Older bundles lack the check.


def small_families(files: list[dict[str, Any]]) -> set[tuple[str, str, str, str]]:
    """Return the dataset, size, test set and metric of each family that :func:`is_small`."""
    return {
        (file["dataset"], file["size"], file["test"], name)
        for file, name, tested in _families(files)
        if is_small(tested["family"] or {})
    }


def _equivalence_confidence(files: list[dict[str, Any]], report: Report) -> str:
    """Return the confidence of the intervals that decide equivalence, in per cent, such as "90" or "90 or 98.5"."""
    usual = level_of(report.alpha, report.seeds, report.looks).level
    levels = dict.fromkeys(family["level"]["level"] for family in _tested(files)) or [usual]
    return " or ".join(f"{100 * (1 - 2 * level):.3g}" for level in levels)


def place_of(names: Mapping[str, Any]) -> str:
    """Return the words for a dataset, size, test set and metric in notes."""
    return f"{names['dataset']}/{names['size']} on {names['test']}, {metric(names['metric']).label}"


def unused_notes(unused: Mapping[str, Sequence[str]]) -> list[str]:
    """Say which systems and seeds the tests of each place do not use, from :func:`untested`."""
    places: dict[str, list[str]] = {}
    for place, why in unused.items():
        places.setdefault("; ".join(why), []).append(place)
    return [f"Not used in the tests ({why}): {'; '.join(where)}." for why, where in places.items() if why]


def _of_dataset(files: list[dict[str, Any]], dataset: str) -> list[dict[str, Any]]:
    return [file for file in files if file["dataset"] == dataset]


def _where(file: dict[str, Any]) -> dict[str, Any]:
    return {key: file[key] for key in ("dataset", "size", "test")}


def _families(files: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    """Yield each file, metric and its tests."""
    return ((file, name, tested) for file in files for name, tested in file["metrics"].items())


def _tested(files: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (tested["family"] for _, _, tested in _families(files) if tested["family"])


# Names of paired tests of single seeds. sacreBLEU's bootstrap counts the resamples that deviate upwards.
_KINDS = {
    "bootstrap": "bootstrap (sacreBLEU's, which counts one tail: about half of a two-sided p)",
    "randomisation": "randomisation",
}
_NOTES = (
    "Verdict: better or worse if p is below the level of the family; equivalent if the simultaneous {confidence} % "
    "interval is within the margin; otherwise undecided, which does not mean equal. It applies to other seeds on this "
    "test set, and to other sentences only if it says so: then the interval over seeds and sentences excludes 0.",
    "p, interval: of all comparisons with one baseline by a step-down Dunnett test, of other declared pairs by t-tests "
    "with Holm's correction; both estimate the residual spread over the seeds from all systems at once. Intervals hold "
    "for all comparisons of a family together, and belong to single-step p-values: one may include 0 although p is "
    "below the level. Detectable: the true difference that these seeds find with 80 % probability (95 % range, because "
    "σ is an estimate); seeds for the margin: how many would find a difference as large as the margin.",
    "Baseline check: p of the test that the baseline varies no more over the seeds than the other systems.",
    "No verdict depends on the other tests. t CI, t p: paired t-test over the seeds that both systems have, before and "
    "after Holm's correction. SAR p: stratified approximate randomisation over seeds and sentences, after Holm's "
    "correction; it applies to these seeds only. SD: of the difference, over the seeds, and of its mean when the test "
    "set is resampled. p of each seed: {kind} of the two translations, in the order of the seeds, not corrected.",
    "Expected human agreement: the expected share of pairs of systems this far apart of which people prefer the same "
    "one as the metric; 50 % is a coin toss (Kocmi et al. 2024).",
)
_CHECKED = (
    "Where the baseline check has p below 0.05, the standard error uses the baseline's own spread. This reduces false "
    "findings but does not prevent them: such verdicts need more seeds. The significance letters of the "
    "scores do not use this check."
)
_UNSTABLE = (
    "Where a note names a system that varies more, its seeds vary more than those of the other systems (p: of that "
    "check). The standard errors of its differences then use its own spread instead of σ."
)
_SMALL = (
    "Where a note says that σ is too small, the seeds vary less than the sentences on which their translations differ "
    "explain (p: the probability that chance makes σ this small). Then the intervals and the detectable difference are "
    "probably too small, and false findings are more frequent than the level says. Rely only on verdicts that also "
    "speak of other sentences."
)
_VARIANCE = (
    "Seed: what a seed adds to all systems alike, which cancels in differences. System × seed: what it adds to one "
    "system, against which verdicts test. Sentence: what the choice of test sentences adds to all systems alike; "
    "system × sentence: what it adds to one system with all its seeds; seed × sentence: what it adds to single "
    "trainings. Estimates below 0 are printed as 0. Two or three seeds estimate the first two poorly."
)


def _data_row(name: str, tested: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    test, stratified = entry["t_test"], entry["stratified"]
    low, high = test["confidence_interval"] or (None, None)
    row = {"metric": name} | _verdict_row(tested["family"], entry) | {"n": test["n"]}
    row |= {"mean_difference": test["mean_difference"], "ci_low": low, "ci_high": high}
    row |= {"t_test_p": test["p"], "holm_p": test["p_holm"], "human_agreement": _agreement(entry)}
    if stratified is not None:
        spread = stratified["spread"]["difference"]
        row |= {"stratified_p": stratified["p"], "stratified_holm_p": stratified["p_holm"]}
        row |= {"optimiser_sd": spread["optimiser_sd"], "test_set_sd": spread["test_set_sd"]}
    for seed in entry["seeds"]:
        label, (low, high) = f"seed {seed['seed']}", seed["confidence_interval"] or (None, None)
        row |= {f"difference {label}": seed["difference"], f"ci_low {label}": low, f"ci_high {label}": high}
        for what in (*KINDS, "sign"):
            row |= {f"{what} {p} {label}": seed[what] and seed[what][p] for p in ("p", "p_holm")}
        row |= {f"sign {count} {label}": seed["sign"] and seed["sign"][count] for count in ("better", "worse")}
        if seed["segments"]:
            row |= {f"segments {kind} p {label}": seed["segments"][kind]["p"] for kind in KINDS}
    # Sentences come after the numbers.
    row |= {key: row.pop(key) for key in ("outcome", "reach", "verdict")}
    return row | {"note": test["note"], "signature": tested["signature"]}


def _verdict_row(family: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Return the evidence of a verdict, from one comparison and its family."""
    test, both, level = entry["test"] or {}, entry["both"] or {}, family["level"]
    low, high = test.get("interval", (None, None))
    inner_low, inner_high = test.get("equivalence_interval", (None, None))
    both_low, both_high = both.get("interval", (None, None))
    detectable = _detectable(family, entry)
    detectable_low, detectable_high = (
        sigma_range(detectable, test["nu"]) if test and detectable is not None else (None, None)
    )
    return {
        **{key: entry[key] for key in ("system", "baseline", "outcome", "reach", "verdict")},
        "difference": test.get("value"),
        "standard_error": test.get("standard_error"),
        "nu": test.get("nu"),
        "p": test.get("p"),
        "p_single_step": test.get("p_single_step"),
        "low": low,
        "high": high,
        "equivalence_low": inner_low,
        "equivalence_high": inner_high,
        "margin": family["margin"],
        "sentences_low": both_low,
        "sentences_high": both_high,
        "procedure": family["procedure"],
        "comparisons": family["comparisons"],
        "seeds": len(family["seeds"]),
        "level": level["level"],
        "exact": level["exact"],
        "sigma": family["sigma"],
        "residual_nu": family["nu"],
        "detectable": detectable,
        "detectable_low": detectable_low,
        "detectable_high": detectable_high,
        "seeds_for_margin": family["seeds_needed"],
        "baseline_check_p": (family["baseline_check"] or {}).get("p"),
    }


def _blocks(files: list[dict[str, Any]], dataset: str, title: str) -> list[Block]:
    own = _of_dataset(files, dataset)
    if not any(tested["comparisons"] for _, _, tested in _families(own)):
        return [Block(f"{title}: differences.", [{"Verdict": text("No comparisons were declared.")}])]
    return [
        Block(f"{title}: differences and verdicts.", _shown(own, _shown_verdict)),
        Block(
            f"{title}: families of comparisons.",
            [
                _place(file, name) | _shown_family(name, tested["family"])
                for file, name, tested in _families(own)
                if tested["family"]
            ],
        ),
        Block(f"{title}: other tests of the same differences.", _shown(own, _shown_others)),
    ]


def _shown(files: list[dict[str, Any]], show: Callable[[str, dict[str, Any], dict[str, Any]], Row]) -> list[Row]:
    return [
        _place(file, name)
        | {"System": text(entry["system"]), "Baseline": text(entry["baseline"])}
        | show(name, tested["family"], entry)
        for file, name, tested in _families(files)
        for entry in tested["comparisons"]
    ]


def _place(file: dict[str, Any], name: str) -> Row:
    return {"Size": text(file["size"]), "Test": text(file["test"]), "Metric": text(metric(name).label)}


def _shown_verdict(name: str, family: dict[str, Any], entry: dict[str, Any]) -> Row:
    places, test, both = metric(name).digits, entry["test"], entry["both"]
    reach = "" if entry["outcome"] in ("undecided", "untested") else f", {_REACHES[entry['reach']]}"
    return {
        "Difference": number(test and test["value"], places, sign="+"),
        "Interval": interval(test and test["interval"], places),
        "p": p_values(test and test["p"]),
        "Interval, seeds and sentences": interval(both and both["interval"], places),
        "Detectable": number(_detectable(family, entry), places),
        "Verdict": text(f"{entry['outcome']}{reach}"),
    }


def _detectable(family: dict[str, Any], entry: dict[str, Any]) -> float | None:
    """Return the detectable difference of a comparison; files of earlier versions have only that of its family."""
    found: float | None = entry.get("detectable", family["detectable"])
    return found


_REACHES = {"on this test set": "on this test set", "and on other sentences": "on this test set and on other sentences"}


def _shown_family(name: str, family: dict[str, Any]) -> Row:
    places, level = metric(name).digits, family["level"]
    low, high = family["detectable_range"] or (None, None)
    notes = untested(family["excluded"], family["dropped_seeds"], family["problem"])
    looks = f"looks at {', '.join(map(str, level['looks']))} seeds"
    notes += [looks] if len(level["looks"]) > 1 and level["exact"] else []
    changed = [f"{system} and {baseline}" for system, baseline in family.get("changed", [])]
    notes += [f"{listed(changed)} changed after the scores were known: no level is exact"] if changed else []
    notes += [f"{looks}, not declared: no level is exact"] if not level["exact"] and not changed else []
    notes += [f"{name} varies more (p = {p:.2g})" for name, p in unstable(family).items()]
    notes += [f"σ is too small (p = {family['spread_check']['p']:.3f})"] if is_small(family) else []
    spread = "" if low is None or high is None else f"({low:.{places}f} to {high:.{places}f})"
    detectable = number(family["detectable"], places)
    return {
        "Procedure": text({"dunnett": "Dunnett, step-down", "declared pairs": "t, Holm"}[family["procedure"]]),
        "Comparisons": number(family["comparisons"]),
        "Seeds": number(len(family["seeds"])),
        "σ": number(family["sigma"], places),
        "ν": number(family["nu"]),
        "Baseline check": p_values((family["baseline_check"] or {}).get("p")),
        "Level": Cell(f"{level['level']:.4g}", level["level"], is_number=True),
        "Margin": number(family["margin"], places),
        "Detectable": detectable if detectable is MISSING else Cell(detectable.main, detectable.key, spread),
        "Seeds for the margin": number(family["seeds_needed"]),
        "Notes": text("; ".join(notes)),
    }


def untested(excluded: Mapping[str, str], dropped_seeds: Sequence[int], problem: str | None) -> list[str]:
    """Say which systems and seeds a family of comparisons does not use, and why nothing is tested, if nothing is."""
    notes = [f"{system}: {why}" for system, why in excluded.items()]
    notes += [f"dropped seeds: {', '.join(map(str, dropped_seeds))}"] if dropped_seeds else []
    return [*notes, f"no test: {problem}"] if problem else notes


def _shown_others(name: str, family: dict[str, Any], entry: dict[str, Any]) -> Row:
    test, stratified, places = entry["t_test"], entry["stratified"], metric(name).digits
    spread = stratified["spread"]["difference"] if stratified else {"optimiser_sd": None, "test_set_sd": None}
    agreement = _agreement(entry)
    return {
        "t CI": interval(test["confidence_interval"], places),
        "t p": p_values(test["p"]),
        "t p (Holm)": p_values(test["p_holm"]),
        "SAR p (Holm)": p_values(stratified["p_holm"] if stratified else None),
        "SD over seeds": number(spread["optimiser_sd"], places),
        "SD over test sets": number(spread["test_set_sd"], places),
        "Expected human agreement": number(None if agreement is None else 100 * agreement, unit=" %"),
        "p of each seed": p_values(*(row["p"] for row in entry["seeds"])),
    }


def _agreement(entry: dict[str, Any]) -> float | None:
    """Return the expected human agreement with a difference; None if the difference could not be tested."""
    found: float | None = None if entry["outcome"] == "untested" else entry["agreement"]
    return found
