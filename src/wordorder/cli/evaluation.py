"""The commands ``wordorder results`` and ``compare``, and the stage that makes the tables of a study."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from wordorder.cli import options
from wordorder.cli.app import STUDY, command, stage
from wordorder.cli.options import complete_study, flag

if TYPE_CHECKING:
    import pandas as pd

TableName = Literal[
    "scores",
    "significance",
    "retention",
    "variance",
    "parameters",
    "controls",
    "credibility",
    "published",
    "orderings",
    "paper",
    "claims",
    "contradictions",
]


@stage("table scores --config SLICE --results results/demo --output-prefix results/demo/tables/scores")
def table(
    name: Annotated[TableName, Argument(help="name of the table")],
    *,
    config: Annotated[str, Option(metavar="SLICE", help="contents of the study, as JSON or @FILE.yaml")],
    results: options.StudyResults,
    output_prefix: Annotated[str, Option(metavar="PREFIX", help="files to write: PREFIX.csv, .md, .tex and .html")],
) -> None:
    """Make a table of a study as CSV, Markdown, LaTeX (booktabs) and HTML.

    The tables 'paper', 'claims' and 'contradictions' also read the results of companion studies, in the neighbouring
    folders. 'credibility' is the checklist of a credible comparison; the exit status is 1 if the study lacks an item.
    """
    from wordorder.config.claims import PAPER_TABLES
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Report
    from wordorder.config.pages import Controls, Paper, PublishedReport
    from wordorder.config.published_scores import PUBLISHED_TABLES
    from wordorder.report.build import build_controls_table, build_paper_table, build_table
    from wordorder.tables.table import write_table

    if name in PAPER_TABLES:
        built = build_paper_table(name, slice_argument(config, Paper), results.parent)
    elif name in PUBLISHED_TABLES:
        content = slice_argument(config, PublishedReport)
        built = build_table(name, content.report, results, content.published)
    elif name == "controls":
        built = build_controls_table(slice_argument(config, Controls), results)
    else:
        built = build_table(name, slice_argument(config, Report), results)
    write_table(built, output_prefix)


Where = Annotated[str, Argument(metavar="STUDY", help="name of a study, or folder of its results or of a bundle")]


@command(STUDY, "results demo", "results demo --table significance", "results results/reference/demo --json")
def results(
    study: Where,
    *,
    table: Annotated[str | None, Option(help="table of the study, such as 'parameters'")] = None,
    json: Annotated[bool, flag("json", "print JSON: one object per row of the table")] = False,
    results: options.Results = Path("results"),
) -> None:
    """Print the results of a finished study.

    Print the scores (mean ± standard deviation over seeds) and the verdicts, or one table of the study.
    """
    from wordorder.api.results import load_table, study_folder
    from wordorder.files import read_text
    from wordorder.tables.summary import summary

    folder = study_folder(study, results)
    if json:
        print(_rows_json(load_table(folder, table or "scores")))
    elif table is None:
        print(summary(folder))
    else:
        load_table(folder, table)
        print(read_text(folder / "tables" / f"{table}.md"))


@command(STUDY, "compare opr sinusoidal --study demo", "compare rope alibi --study arena_mini --figure rope_alibi")
def compare(
    system: Annotated[str, Argument(metavar="SYSTEM", help="encoding of the study")],
    baseline: Annotated[str, Argument(metavar="BASELINE", help="encoding with which to compare it")],
    *,
    study: Annotated[str, Option(metavar="STUDY", help="name of a finished study", autocompletion=complete_study)],
    figure: Annotated[
        Path | None, Option(metavar="PREFIX", help="files to write: PREFIX.svg, .pdf, .png and .csv")
    ] = None,
    json: Annotated[bool, flag("json", "print JSON: one object per test set and metric")] = False,
    results: options.Results = Path("results"),
    root: options.Root = Path("config"),
) -> None:
    """Compare two encodings of a finished study.

    For each test set and metric, print the difference of the scores, its interval and p-value, and the verdict.
    The p-value is not corrected for multiple comparisons. Use the command to explore results; to report a comparison,
    declare it in the study before the run.
    """
    from wordorder.api.comparisons import compare_encodings, comparison_text, draw_comparison

    found = compare_encodings(system, baseline, study, results=results, root=root)
    print(_rows_json(found) if json else comparison_text(found))
    if figure is not None:
        draw_comparison(found, figure, study, root=root)


def _rows_json(frame: pd.DataFrame) -> str:
    """Return the rows of a table as JSON, with all digits, which pandas would round."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return json_module.dumps(rows, ensure_ascii=False)
