"""The results of a study as plain text for a terminal."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from tabulate import tabulate

from wordorder.comparison.levels import NOT_EXACT
from wordorder.errors import WordorderError
from wordorder.files import demand, read_bytes
from wordorder.metrics.base import metric
from wordorder.results.frames import groups
from wordorder.tables.table import NOTHING

_SCORES = ("dataset", "test", "size", "encoding", "metric", "mean", "sd", "n", "seeds", "signature", "group")
# columns of the comparisons that the summary reads
VERDICTS = ("dataset", "size", "test", "metric", "verdict", "exact", "detectable", "margin", "seeds_for_margin")

# columns with names, which may look like numbers or truth values
_NAMES = (
    *("dataset", "size", "test", "encoding", "metric", "system", "control", "baseline"),
    *("better_encoding", "worse_encoding", "better_size", "worse_size"),
)


def summary(results: str | Path) -> str:
    """Format scores (mean ± sd, n), signatures and verdicts from the tables in ``results/tables``."""
    scores = read_table(Path(results) / "tables" / "scores.csv", _SCORES, numbers=("mean", "sd", "n", "seeds"))
    parts: list[str] = []
    for (dataset, test), group in groups(scores, ["dataset", "test"]):
        rows: list[dict[str, str]] = []
        for (size, encoding), cells in groups(group, ["size", "encoding"]):
            found = {metric(row["metric"]).heading(): _cell(row) for row in cells.to_dict("records")}
            scored = cells.loc[cells["n"] > 0, "n"]  # by the metrics that scored anything
            n = f"{scored.min() if len(scored) else 0} of {cells['seeds'].max()}"
            rows.append({"size": size, "encoding": encoding} | found | {"seeds": n})
        table = tabulate(rows, headers="keys", tablefmt="simple", disable_numparse=True)
        parts.append(f"{dataset}, {test}: mean ± standard deviation over seeds\n\n{table}")
    signatures = scores.dropna(subset=["signature"]).drop_duplicates(["metric", "signature"])
    if not signatures.empty:
        parts.append(
            "\n".join(f"{metric(row['metric']).label}: {row['signature']}" for row in signatures.to_dict("records"))
        )
    path = Path(results) / "tables" / "significance.csv"
    if path.is_file():
        verdicts = read_table(path, VERDICTS, numbers=("detectable", "margin", "seeds_for_margin"))
        for (dataset, size, test), group in groups(verdicts, ["dataset", "size", "test"]):
            lines = [f"- {verdict}" for verdict in group["verdict"]]
            lines += [_power(family) for _, family in groups(group, ["metric"])]
            parts.append("\n".join([f"{dataset}, {size}, {test}: comparisons\n", *filter(None, lines)]))
    return "\n\n".join(parts)


def _power(comparisons: pd.DataFrame) -> str:
    """Describe the detectable differences of one metric, and whether its level is exact."""
    if comparisons["detectable"].isna().all():
        return ""
    first, least, most = comparisons.iloc[0], comparisons["detectable"].min(), comparisons["detectable"].max()
    label, places = metric(first["metric"]).label, metric(first["metric"]).digits
    low, high = f"{least:.{places}f}", f"{most:.{places}f}"
    between = low if low == high else f"{low} to {high}, depending on how much a system varies over the seeds,"
    said = f"  {label}: these seeds find a difference of {between} with 80 % probability"
    if not pd.isna(first["margin"]):
        needed = first["seeds_for_margin"]
        said += f"; one of {first['margin']:.{places}f}, the margin, needs "
        said += "more than 10,000 seeds" if pd.isna(needed) else f"{needed:,.0f} seeds"
    return said + ("." if first["exact"] else f". {NOT_EXACT}")


def _cell(row: dict[Hashable, Any]) -> str:
    if pd.isna(row["mean"]):
        return NOTHING
    places = metric(str(row["metric"])).digits
    spread = "" if pd.isna(row["sd"]) else f" ± {row['sd']:.{places}f}"
    return f"{row['mean']:.{places}f}{spread} {'' if pd.isna(row['group']) else row['group']}".strip()


def read_table(path: Path, columns: Iterable[str] = (), *, numbers: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table of a study from its CSV file.

    Args:
        path: The file.
        columns: Columns that it must have.
        numbers: Those of them that hold numbers.

    Raises:
        WordorderError: There is no such file, or it is not such a table.
    """
    if not path.exists():
        raise WordorderError(
            f"{path} does not exist. 'wordorder stage table' writes it; run the study (its table 'scores') first.",
            code="missing-file",
            path=path,
        )
    try:
        # An encoding may have the name "null" or "NA", which pandas would read as a missing value, or "05".
        content, kinds = io.BytesIO(read_bytes(path)), dict.fromkeys(_NAMES, str)
        frame = pd.read_csv(content, keep_default_na=False, na_values=[""], dtype=kinds)
        demand(path, dict.fromkeys(frame.columns), *columns)
        frame = frame.assign(**{name: pd.to_numeric(frame[name]) for name in numbers})
    except pd.errors.EmptyDataError as error:
        raise WordorderError(
            f"{path} is empty. Delete it and make the table again.", code="empty-file", path=path
        ) from error
    except ValueError as error:
        raise WordorderError(
            f"{path} is not a table: {error}. Delete it and make the table again.", code="damaged-file", path=path
        ) from error
    return frame
