"""The README.md of a bundle: ten lines about a reference run, of which a person writes those that need judgement."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from wordorder.config.models import Report
from wordorder.files import read_object
from wordorder.metrics.base import metric
from wordorder.report.build import build_table
from wordorder.results.bundle import Bundled
from wordorder.results.frames import cell_folders, groups, load_significance
from wordorder.wording import count_of

README = "README.md"
LINES = (
    *("Question", "Published", "Data", "Setup", "Command"),
    *("Result", "Test", "Other evidence", "Conclusion", "Caveat"),
)
TO_WRITE = "(to be written)"
_FOREST = "figures/forest"
_WIDTH = 120
_Records = Sequence[tuple[dict[str, Any], dict[str, Any]]]


def read_lines(text: str) -> dict[str, str]:
    """Return the lines of a README.md by name, without line breaks."""
    items = re.findall(r"^- \*\*([\w ]+):\*\* (.*(?:\n +.*)*)", text, re.MULTILINE)
    return {name: " ".join(content.split()) for name, content in items}


def inline_html(text: str) -> Markup:
    """Return a line as HTML: code as such, and the words of links, whose targets are files beside the bundle."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(words))))


def skeleton(study: Bundled, results: Path, pictures: Sequence[str], *, listed: bool) -> str:
    """Write the README.md of a bundle as far as the results determine it.

    Args:
        study: The study's tables and comparisons.
        results: The folder of the study's results.
        pictures: Names of the figures and analyses of the bundle, such as 'figures/scores'. The page shows the forest,
            or else the first one.
        listed: Whether ``../../README.md`` lists the bundle.

    Returns:
        Markdown, in which ``TO_WRITE`` marks what a person adds.
    """
    report = study.report
    records = [(cell, read_object(files.record, "status")) for cell, files in cell_folders(report, results)]
    known = {
        "Data": _data(report, results, records),
        "Setup": _setup(report, records),
        "Command": _command(report, records),
        "Result": _result(study, results),
    }
    lines = [_wrapped(f"- **{name}:** {known.get(name, TO_WRITE)}", indent="  ") for name in LINES]
    parts = [f"# {report.study}: {report.title}"]
    if listed:
        parts.append("[Results](../../README.md) lists all reference runs and explains how to read these lines.")
    parts.append("\n".join(lines))
    if pictures:
        shown = _FOREST if _FOREST in pictures else pictures[0]
        parts += [f"![{TO_WRITE}]({shown}.svg)", f"*{TO_WRITE}*"]
    tables = ", ".join(f"[{name}](tables/{name}.md)" for name in sorted(study.tables))
    return "\n\n".join([*parts, _wrapped(f"Tables: {tables}.")]) + "\n"


def _data(report: Report, results: Path, records: _Records) -> str:
    """Describe each dataset by its training pairs and the sentences of its test sets."""
    sentences = {(each["dataset"], each["test"]): each["segments"] for each in load_significance(report, results)}
    described = []
    for dataset in report.datasets:
        own = [record for cell, record in records if cell["dataset"] == dataset.name]
        pairs = _range(record.get("data", {}).get("train_pairs") for record in own)
        tests = ", ".join(f"{test} of {sentences[dataset.name, test]:,} sentences" for test in dataset.tests)
        described.append(f"{dataset.title}, {pairs} training pairs; {tests}.")
    return " ".join(described)


def _setup(report: Report, records: _Records) -> str:
    """Describe each model size with its training, as the records name it, and the number of seeds."""
    described = []
    for size in report.sizes:
        own = [record for cell, record in records if cell["size"] == size]
        configuration = own[0].get("cell", {})
        shape = dict(configuration.get("size", {}))
        if (rate := configuration.get("recipe", {}).get("dropout")) is not None:  # It replaces that of the size.
            shape["dropout"] = rate
        keys = ", ".join(f"{key} {value}" for key, value in shape.items())
        updates, epochs = (_range(record.get(key) for record in own) for key in ("updates", "epochs"))
        described.append(f"`{size}` ({keys}), {updates} updates ({epochs} epochs)")
    return f"{'; '.join(described)}; {count_of(len(report.seeds), 'seed')}."


def _command(report: Report, records: _Records) -> str:
    """Name the command, and what the records know of its run."""
    commits = dict.fromkeys(str(record.get("git_commit") or "unknown").rstrip("+")[:7] for _, record in records)
    devices = dict.fromkeys(str(record.get("device", "unknown")) for _, record in records)
    minutes = sum(record.get("seconds") or 0 for _, record in records) / 60
    return (
        f"`snakemake {report.study}`; commit {' and '.join(commits)}; {minutes:,.0f} minutes of training "
        f"({' and '.join(devices)})."
    )


def _result(study: Bundled, results: Path) -> str:
    """Name the scores by the first metric: mean and standard deviation over the seeds."""
    name = study.report.metrics[0]
    digits = metric(name).digits
    scores = build_table("scores", study.report, results, study.published).data
    described = []
    for (dataset, size, test), rows in groups(scores[scores["metric"] == name], ["dataset", "size", "test"]):
        numbers = [f"`{row['encoding']}` {_number(row, digits)}" for row in rows.to_dict("records")]
        described.append(f"{dataset}, {size}, {test}: {', '.join(numbers)}.")
    return " ".join(described)


def _number(row: dict[Any, Any], digits: int) -> str:
    """Give a mean with its standard deviation, and count the seeds if some have no score."""
    if not row["n"]:
        return "without a score"
    spread = " ± ".join(f"{row[key]:.{digits}f}" for key in ("mean", "sd") if pd.notna(row[key]))
    return spread if row["n"] == row["seeds"] else f"{spread} ({row['n']} of {row['seeds']} seeds)"


def _range(values: Iterable[float | None]) -> str:
    """Name the lowest and the highest number, or the only one."""
    found = sorted({round(value, 2) for value in values if value is not None})
    ends = [f"{value:,.10g}" for value in (found[:1] + found[-1:] if len(found) > 1 else found)]
    return " to ".join(ends) or "unknown"


def _wrapped(text: str, indent: str = "") -> str:
    """Break a paragraph into lines, none of which starts with a sign that would begin a list."""
    fixed = re.sub(r" ([-+*]) ", "\u00a0\\1\u00a0", text)
    lines = textwrap.fill(fixed, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\u00a0", " ")
