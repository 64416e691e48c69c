"""The tables of scores and of parameters of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from wordorder.comparison.levels import NOT_EXACT, Level, level_of
from wordorder.config.models import Report
from wordorder.metrics.base import metric
from wordorder.results.blocks import blocked
from wordorder.results.frames import CELL, groups
from wordorder.statistics.blocked import score_floor
from wordorder.statistics.letters import score_groups
from wordorder.tables.table import Block, Cell, Row, Table, mean_and_sd, missing, number, text


def scores_table(
    scores: pd.DataFrame,
    report: Report,
    unscored: Sequence[dict[str, Any]] = (),
    margins: Mapping[tuple[str, str, str, str], float] = MappingProxyType({}),
    *,
    exact: bool = True,
) -> Table:
    """Make the table of scores, with one row per size and encoding and one column per test set and metric.

    Encodings that are not significantly different within one size, test set and metric share a letter; no maximum is
    marked.

    Args:
        scores: From :func:`.results.frames.load_scores`.
        report: The study.
        unscored: From :func:`.results.frames.load_not_scored`.
        margins: From :func:`.results.frames.margins_of`. A column without a score above its margin has no letters.
        exact: Whether no undeclared look preceded the tests of the study.
    """
    letters, levels = _letters(scores, report, margins)
    keys = ["dataset", "size", "encoding", "test", "metric"]
    rows: list[dict[str, Any]] = []
    for key, group in groups(scores, keys):
        kept = group["score"].dropna()
        rows.append(
            dict(zip(keys, key, strict=True))
            | {"mean": kept.mean(), "sd": kept.std(), "n": len(kept), "seeds": len(group)}
            | {"group": letters.get(key, "")}
            | {f"seed {row.seed}": row.score for row in group.itertuples()}
            | {"signature": next(iter(group["signature"].dropna()), None)}
        )
    blocks: list[Block] = []
    for dataset in report.datasets:
        part = scores[scores["dataset"] == dataset.name]
        shown: list[Row] = []
        for (size, encoding), group in groups(part, ["size", "encoding"]):
            cells = {
                heading(test, name): _score_cell(
                    found, name, report, letters.get((dataset.name, size, encoding, test, name), "")
                )
                for (test, name), found in groups(group, ["test", "metric"])
            }
            shown.append({"Size": text(size), "Encoding": text(encoding)} | cells)
        blocks.append(Block(f"{dataset.title}: mean ± standard deviation over n seeds.", shown))
    used = sorted({f"{100 * level.level:.3g}" for level in levels})
    notes = [_LETTERS.format(alpha=" or ".join(used))] if levels else []
    notes += [NOT_EXACT] if levels and not (exact and all(level.exact for level in levels)) else []
    asked = [metric(name) for name in report.metrics]
    notes += [f"{each.label}: {each.legacy}" for each in asked if each.legacy]
    signed = groups(scores.dropna(subset="signature"), ["metric"])
    notes += [f"{metric(name).label}: {' and '.join(found['signature'].unique())}" for (name,), found in signed]
    return Table("scores", pd.DataFrame(rows), blocks, notes + not_scored(unscored) + _unscored(scores))


def heading(test: str, name: str) -> str:
    """Return the heading of a column of the scores of a test set."""
    return f"{test} {metric(name).heading()}"


_LETTERS = (
    "Letters: encodings of one size that share a letter were not found to differ in the column (Tukey's test of all "
    "pairs at {alpha} %, on the seeds that all encodings share; it takes the residual spread to be the same for all "
    "that vary no more than the others); a is with the best. Encodings that diverged or have fewer than two seeds have "
    "no letter."
)


def _letters(
    scores: pd.DataFrame, report: Report, margins: Mapping[tuple[str, str, str, str], float]
) -> tuple[dict[tuple[str, ...], str], list[Level]]:
    """Return the letters by (dataset, size, encoding, test, metric), and the levels of the columns with letters."""
    found: dict[tuple[str, ...], str] = {}
    levels: list[Level] = []
    for (dataset, size, test, name), column in groups(scores, ["dataset", "size", "test", "metric"]):
        lower = metric(name).lower_is_better
        floor = score_floor(margins.get((dataset, size, test, name)), lower_is_better=lower)
        model = blocked(column, report.seeds, floor=floor)
        level = level_of(report.alpha, model.seeds or report.seeds, report.looks)
        letters = score_groups(model, alpha=level.level, lower_is_better=lower)
        found |= {(dataset, size, encoding, test, name): text for encoding, text in letters.items()}
        levels += [level] if any(letters.values()) else []
    return found, levels


def _score_cell(found: pd.DataFrame, name: str, report: Report, letters: str) -> Cell:
    if found["score"].isna().all() and "not scored" in set(found["status"]):
        return missing("not scored")
    return mean_and_sd(list(found["score"]), len(report.seeds), metric(name).digits, letters)


def not_scored(files: Sequence[dict[str, Any]]) -> list[str]:
    """Return why metrics with separate environments have no scores, and the remedy."""
    return list(
        dict.fromkeys(f"{metric(file['metric']).label}: not scored. {file['reason']} {file['how']}" for file in files)
    )


def _unscored(scores: pd.DataFrame) -> list[str]:
    lost = scores[scores["score"].isna() & (scores["status"] != "not scored")].drop_duplicates([*CELL, "test"])
    cells = [f"{r.dataset}/{r.encoding}/{r.size} seed {r.seed} on {r.test} ({r.status})" for r in lost.itertuples()]
    return [f"Without a score: {'; '.join(cells)}."] if cells else []


def parameters_table(records: pd.DataFrame, report: Report) -> Table:
    """Make the table of parameters and of training costs, which are means over the trainings that did not diverge.

    Args:
        records: From :func:`.results.frames.load_records`.
        report: The study.
    """
    blocks: list[Block] = []
    for dataset in report.datasets:
        part = records[records["dataset"] == dataset.name]
        shown: list[Row] = []
        for (size, encoding), group in groups(part, ["size", "encoding"]):
            numbers = group.drop(columns=CELL).apply(pd.to_numeric, errors="coerce")
            means, costs = numbers.mean(), numbers[group["status"] != "diverged"].mean()
            without = part[(part["size"] == size) & (part["encoding"] == "none")]["parameters"].astype(float).mean()
            statuses = group["status"].value_counts(sort=False)
            runs = ", ".join(f"{count} {status}" for status, count in statuses.items())
            shown.append(
                {"Size": text(size), "Encoding": text(encoding)}
                | {"Parameters (M)": number(means["parameters"] / 1e6, 3)}
                | {"Encoding's (M)": number(means["encoding_parameters"] / 1e6, 3)}
                | {"Over none (M)": number((means["parameters"] - without) / 1e6, 3, sign="+")}
                | {"Target tokens/s": number(costs["target_tokens_per_second"])}
                | {"Minutes": number(costs["seconds"] / 60, 1)}
                | {"Memory (GB)": number(costs["memory_bytes"] / 1e9, 2)}
                | {"Epochs": number(costs["epochs"], 2), "Updates": number(costs["updates"])}
                | {"Best valid. perplexity": number(costs["best_valid_perplexity"], 2)}
                | {"Runs": text(runs, key=float(statuses.iloc[0]))}
            )
        caption = f"{dataset.title}: parameters in millions and cost of the training, means over the seeds."
        blocks.append(Block(caption, shown))
    diverged = [_DIVERGED] if (records["status"] == "diverged").any() else []
    return Table("parameters", records, blocks, [_MEMORY, *diverged])


_DIVERGED = "Costs and perplexity are means over the trainings that did not diverge."
_MEMORY = "Memory: the most that a training took, of the GPU where it had one, else of the machine's."
