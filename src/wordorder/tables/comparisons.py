"""The table of comparisons: each declared difference with its interval, its tests, its spread, and what it is worth."""

from __future__ import annotations

from typing import Any

import pandas as pd

from wordorder.comparison.paired import KINDS
from wordorder.config.models import Report
from wordorder.metrics.base import metric
from wordorder.tables.study import not_scored
from wordorder.tables.table import MISSING, Block, Cell, Row, Table, number, p_values, text


def significance_table(files: list[dict[str, Any]], report: Report) -> Table:
    """From ``results.load_significance``: a row for each declared comparison."""
    rows = [
        {key: file[key] for key in ("dataset", "size", "test")} | _data_row(name, tested["signature"], entry)
        for file in files
        for name, tested in file["metrics"].items()
        for entry in tested["comparisons"]
    ]
    # With its heading even where nothing was compared, so that whoever reads it finds the columns.
    data = pd.DataFrame(rows) if rows else pd.DataFrame(columns=["dataset", "size", "test", "metric", "verdict"])
    blocks = [
        Block(f"{dataset.title}: differences from the baseline.", _shown_comparisons(files, dataset.name))
        for dataset in report.datasets
    ]
    signatures = {m: t["signature"] for file in files for m, t in file["metrics"].items() if t["signature"]}
    lost = dict.fromkeys(
        f"{file['dataset']}/{cell['encoding']}/{file['size']} seed {cell['seed']} on {file['test']} ({cell['status']})"
        for file in files
        for cell in file["cells"]
        if cell["status"] != "translated"
    )
    kinds = dict.fromkeys(file["settings"]["paired_test"] for file in files)
    notes = [note.format(kind=" or ".join(_KINDS[kind] for kind in kinds)) for note in _NOTES]
    notes += [f"{metric(name).label}: {signature}" for name, signature in signatures.items()]
    notes += not_scored([lacking for file in files for lacking in file["not_scored"]])
    notes += [f"Without translations: {'; '.join(lost)}."] if lost else []
    return Table("significance", data, blocks, notes)


# What a paired test of single seeds is called. sacreBLEU's bootstrap counts the resamples that deviate upwards.
_KINDS = {
    "bootstrap": "bootstrap (sacreBLEU's, which counts one tail: about half of a two-sided p)",
    "randomisation": "randomisation",
}
_NOTES = (
    "CI: 95 % confidence interval of the mean difference over seeds. p: paired t-test over seeds, before and after "
    "Holm's correction within the comparisons of one test set and metric. The verdict is this test's.",
    "SAR p: stratified approximate randomisation over seeds and sentences, after Holm's correction; it speaks of these "
    "seeds alone. SD: of the difference, over the seeds, and of its mean when the test set is resampled.",
    "People agree: the expected share of pairs of systems this far apart of which people prefer the same one as the "
    "metric; 50 % is a coin toss (Kocmi et al. 2024).",
    "p of each seed: {kind} of the two translations alone, in the order of the seeds, not corrected.",
)


def _data_row(metric_name: str, signature: str | None, entry: dict[str, Any]) -> dict[str, Any]:
    test, stratified = entry["t_test"], entry["stratified"]
    low, high = test["confidence_interval"] or (None, None)
    row = {"metric": metric_name, "system": entry["system"], "baseline": entry["baseline"], "n": test["n"]}
    row |= {"mean_difference": test["mean_difference"], "ci_low": low, "ci_high": high}
    row |= {"t_test_p": test["p"], "holm_p": test["p_holm"], "human_agreement": entry["agreement"]}
    if stratified is not None:
        spread = stratified["spread"]["difference"]
        row |= {"stratified_p": stratified["p"], "stratified_holm_p": stratified["p_holm"]}
        row |= {"optimiser_sd": spread["optimiser_sd"], "test_set_sd": spread["test_set_sd"]}
    for seed in entry["seeds"]:
        name, (low, high) = f"seed {seed['seed']}", seed["confidence_interval"] or (None, None)
        row |= {f"difference {name}": seed["difference"], f"ci_low {name}": low, f"ci_high {name}": high}
        for what in (*KINDS, "sign"):
            row |= {f"{what} {p} {name}": seed[what] and seed[what][p] for p in ("p", "p_holm")}
        row |= {f"sign {count} {name}": seed["sign"] and seed["sign"][count] for count in ("better", "worse")}
        if seed["segments"]:
            row |= {f"segments {kind} p {name}": seed["segments"][kind]["p"] for kind in KINDS}
    return row | {"verdict": entry["verdict"], "note": test["note"], "signature": signature}


def _shown_comparisons(files: list[dict[str, Any]], dataset: str) -> list[Row]:
    shown = [
        {"Size": text(file["size"]), "Test": text(file["test"])} | _shown_row(name, entry)
        for file in files
        if file["dataset"] == dataset
        for name, tested in file["metrics"].items()
        for entry in tested["comparisons"]
    ]
    return shown or [{"Verdict": text("No comparisons were declared.")}]


def _shown_row(name: str, entry: dict[str, Any]) -> Row:
    test, stratified, places = entry["t_test"], entry["stratified"], metric(name).digits
    spread = stratified["spread"]["difference"] if stratified else {"optimiser_sd": None, "test_set_sd": None}
    agreement = entry["agreement"]
    return {
        "Metric": text(metric(name).label),
        "System": text(entry["system"]),
        "Baseline": text(entry["baseline"]),
        "Difference": number(test["mean_difference"], places, sign="+"),
        "95 % CI": _interval(test["confidence_interval"], places),
        "p": p_values(test["p"]),
        "p (Holm)": p_values(test["p_holm"]),
        "SAR p (Holm)": p_values(stratified["p_holm"] if stratified else None),
        "SD over seeds": number(spread["optimiser_sd"], places),
        "SD over test sets": number(spread["test_set_sd"], places),
        "People agree": number(None if agreement is None else 100 * agreement, unit=" %"),
        "p of each seed": p_values(*(row["p"] for row in entry["seeds"])),
        "Verdict": text(entry["verdict"]),
    }


def _interval(bounds: list[float] | None, places: int) -> Cell:
    if bounds is None:
        return MISSING
    low, high = bounds
    return Cell(f"[{low:+.{places}f}, {high:+.{places}f}]", low)
