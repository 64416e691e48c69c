"""The tables of a study. Each is data (CSV, everything) and blocks to read (Markdown and LaTeX, one a dataset)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from wordorder.config.models import Report
from wordorder.files import write_text
from wordorder.metrics.scores import LABELS, LEGACY, LOWER_IS_BETTER, digits
from wordorder.results.frames import CELL, groups
from wordorder.statistics.letters import score_groups
from wordorder.tables.html import to_html

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """``data`` is what the CSV holds; ``blocks`` are (caption, frame of strings); ``notes`` stand below all blocks."""

    name: str
    data: pd.DataFrame
    blocks: list[tuple[str, pd.DataFrame]]
    notes: list[str]


def mean_and_sd(values: Sequence[float], wanted: int, digits: int = 2) -> str:
    """ "35.21 ± 0.34 (n = 3)": mean, standard deviation (n - 1) and count; values that are missing are counted out."""
    series = pd.Series(values, dtype=float).dropna()
    of = f" of {wanted}" if len(series) < wanted else ""
    if series.empty:
        return f"{NOTHING} (n = 0{of})"
    spread = f" ± {series.std():.{digits}f}" if len(series) > 1 else ""
    return f"{series.mean():.{digits}f}{spread} (n = {len(series)}{of})"


def scores_table(scores: pd.DataFrame, report: Report, comet: Sequence[dict[str, Any]] = ()) -> Table:
    """From ``results.load_scores`` and ``load_comet``: a row for each size x encoding, a column for each test x metric.

    What cannot be told apart within one size, test set and metric shares a letter; no maximum is marked.
    """
    letters = _letters(scores, report.alpha)
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
    blocks: list[tuple[str, pd.DataFrame]] = []
    for dataset in report.datasets:
        part = scores[scores["dataset"] == dataset.name]
        shown: list[dict[str, str]] = []
        for (size, encoding), group in groups(part, ["size", "encoding"]):
            cells = {
                f"{test} {LABELS[metric]}": _score_cell(
                    found, metric, report, letters.get((dataset.name, size, encoding, test, metric), "")
                )
                for (test, metric), found in groups(group, ["test", "metric"])
            }
            shown.append({"Size": size, "Encoding": encoding} | cells)
        caption = f"{dataset.title}: mean ± standard deviation over n seeds."
        blocks.append((caption, pd.DataFrame(shown)))
    notes = [_LETTERS.format(alpha=f"{100 * report.alpha:g}")] if any(letters.values()) else []
    notes += [f"{LABELS[metric]}: {_LEGACY}" for metric in LEGACY if metric in report.metrics]
    signed = groups(scores.dropna(subset="signature"), ["metric"])
    notes += [f"{LABELS[metric]}: {' and '.join(found['signature'].unique())}" for (metric,), found in signed]
    return Table("scores", pd.DataFrame(rows), blocks, notes + not_scored(comet) + _unscored(scores))


_LETTERS = (
    "Letters: encodings of one size that share a letter cannot be told apart by the column (Tukey's test of all pairs "
    "over the seeds, at {alpha} %, which takes the spread over the seeds to be the same for all); a is with the best. "
    "With fewer than two seeds there is no letter."
)
_LEGACY = (
    "legacy, to be read beside papers that print tokenised BLEU with compounds split, and beside nothing else; "
    "its tokens usually make it higher than sacreBLEU's."
)


def _letters(scores: pd.DataFrame, alpha: float) -> dict[tuple[str, ...], str]:
    """(dataset, size, encoding, test, metric) -> letters."""
    found: dict[tuple[str, ...], str] = {}
    for (dataset, size, test, metric), column in groups(scores, ["dataset", "size", "test", "metric"]):
        kept = column.dropna(subset="score")
        of = {name: dict(zip(rows["seed"], rows["score"], strict=True)) for (name,), rows in groups(kept, ["encoding"])}
        letters = score_groups(of, alpha=alpha, lower_is_better=metric in LOWER_IS_BETTER)
        found |= {(dataset, size, encoding, test, metric): text for encoding, text in letters.items()}
    return found


def _score_cell(found: pd.DataFrame, metric: str, report: Report, letters: str) -> str:
    if found["score"].isna().all() and "not scored" in set(found["status"]):
        return "not scored"
    return f"{mean_and_sd(list(found['score']), len(report.seeds), digits(metric))} {letters}".strip()


def not_scored(comet: Sequence[dict[str, Any]]) -> list[str]:
    """Why there are no COMET scores, and how to get them."""
    missing = [file for file in comet if file["status"] != "scored"]
    return list(dict.fromkeys(f"COMET: not scored. {file['reason']} {file['how']}" for file in missing))


def _unscored(scores: pd.DataFrame) -> list[str]:
    lost = scores[scores["score"].isna() & (scores["status"] != "not scored")].drop_duplicates([*CELL, "test"])
    cells = [f"{r.dataset}/{r.encoding}/{r.size} seed {r.seed} on {r.test} ({r.status})" for r in lost.itertuples()]
    return [f"Without a score: {'; '.join(cells)}."] if cells else []


def parameters_table(records: pd.DataFrame, report: Report) -> Table:
    """From ``results.load_records``: size and cost of each encoding, means over its seeds."""
    blocks: list[tuple[str, pd.DataFrame]] = []
    for dataset in report.datasets:
        part = records[records["dataset"] == dataset.name]
        shown: list[dict[str, str]] = []
        for (size, encoding), group in groups(part, ["size", "encoding"]):
            means = group.drop(columns=[*CELL]).apply(pd.to_numeric, errors="coerce").mean()
            without = part[(part["size"] == size) & (part["encoding"] == "none")]["parameters"].astype(float).mean()
            sound = group.loc[group["status"] != "diverged", "best_valid_perplexity"].astype(float)
            statuses = group["status"].value_counts(sort=False)
            shown.append(
                {"Size": size, "Encoding": encoding}
                | {"Parameters (M)": _number(means["parameters"] / 1e6, 3)}
                | {"Encoding's (M)": _number(means["encoding_parameters"] / 1e6, 3)}
                | {"Over none (M)": _number((means["parameters"] - without) / 1e6, 3, sign="+")}
                | {"Target tokens/s": _number(means["target_tokens_per_second"], 0)}
                | {"Minutes": _number(means["seconds"] / 60, 1)}
                | {"Memory (GB)": _number(means["memory_bytes"] / 1e9, 2)}
                | {"Epochs": _number(means["epochs"], 2), "Updates": _number(means["updates"], 0)}
                | {"Best valid. perplexity": _number(sound.mean(), 2)}
                | {"Runs": ", ".join(f"{count} {status}" for status, count in statuses.items())}
            )
        caption = f"{dataset.title}: parameters in millions and cost of the training, means over the seeds."
        blocks.append((caption, pd.DataFrame(shown)))
    return Table("parameters", records, blocks, [_MEMORY])


_MEMORY = "Memory: the most that a training took, of the GPU where it had one, else of the machine's."


def _number(value: float, digits: int, sign: str = "") -> str:
    return NOTHING if pd.isna(value) else f"{value:{sign},.{digits}f}"


def write_table(table: Table, prefix: str | Path) -> None:
    """Write ``prefix`` + .csv, .md, .tex (booktabs) and .html."""
    write_text(f"{prefix}.csv", table.data.to_csv(index=False, lineterminator="\n"))
    write_text(f"{prefix}.md", to_markdown(table))
    write_text(f"{prefix}.tex", to_latex(table))
    write_text(f"{prefix}.html", to_html(table))


def to_markdown(table: Table) -> str:
    parts = [f"{caption}\n\n{frame.to_markdown(index=False, disable_numparse=True)}" for caption, frame in table.blocks]
    if table.notes:
        parts.append("\n".join(f"- {note}" for note in table.notes))
    return "\n\n".join(parts) + "\n"


def to_latex(table: Table) -> str:
    """A booktabs table for each block; the notes stand in the captions. Needs the packages booktabs and graphicx."""
    notes = " ".join(table.notes)
    return "\n".join(_latex_block(table, index, notes) for index in range(len(table.blocks)))


def _latex_block(table: Table, index: int, notes: str) -> str:
    caption, frame = table.blocks[index]
    text = (
        frame.rename(columns=_latex_escape)
        .map(_latex_escape)
        .to_latex(
            index=False,
            escape=False,
            caption=_latex_escape(f"{caption} {notes}".strip()),
            label=f"tab:{table.name}" + (f"-{index + 1}" if index else ""),
            position="tbp",
            column_format="".join("p{6cm}" if frame[name].str.len().max() > 40 else "l" for name in frame),
        )
    )
    # A table with many test sets is wider than a page: no table is set wider than the text.
    begin, end = r"\begin{tabular}", r"\end{tabular}"
    narrow = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    return text.replace(begin, f"{narrow}\n{begin}").replace(end, f"{end}}}")


def _latex_escape(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
    special |= {character: f"\\{character}" for character in "&%$#_{}"} | {"±": r"$\pm$", "–": "--"}
    special |= {"→": r"$\rightarrow$", "×": r"$\times$", "↑": r"$\uparrow$", "<": "$<$", ">": "$>$"}
    return "".join(special.get(character, character) for character in text)
