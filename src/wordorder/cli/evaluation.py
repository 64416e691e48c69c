"""``wordorder summary``, and the stage that makes the tables of a study."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from typer import Argument, Option

from wordorder.cli import options
from wordorder.cli.app import STUDY, command, stage

TableName = Literal[
    "scores",
    "significance",
    "variance",
    "parameters",
    "credibility",
    "published",
    "orderings",
    "paper",
    "claims",
    "contradictions",
]
TABLES: tuple[str, ...] = get_args(TableName)


@stage("table scores --config SLICE --results results/demo --output-prefix results/demo/tables/scores")
def table(
    name: Annotated[TableName, Argument(help="the table")],
    *,
    config: Annotated[str, Option(metavar="SLICE", help="contents of the study, as JSON or @FILE.yaml")],
    results: options.StudyResults,
    output_prefix: Annotated[str, Option(metavar="PREFIX", help="writes PREFIX.csv, .md, .tex and .html")],
) -> None:
    """Make a table of a study as CSV, Markdown, LaTeX (booktabs) and HTML.

    Those of a paper ('paper', 'claims', 'contradictions') also read the results of companions, in the folders beside.
    'credibility' lists what makes a comparison credible; the exit status is 1 if the study lacks an item.
    """
    from wordorder.config.claims import PAPER_TABLES
    from wordorder.config.load import slice_argument
    from wordorder.config.models import Paper, PublishedReport, Report
    from wordorder.config.published_scores import PUBLISHED_TABLES
    from wordorder.report.build import build_paper_table, build_table
    from wordorder.tables.table import write_table

    if name in PAPER_TABLES:
        built = build_paper_table(name, slice_argument(config, Paper), results.parent)
    elif name in PUBLISHED_TABLES:
        asked = slice_argument(config, PublishedReport)
        built = build_table(name, asked.report, results, asked.published)
    else:
        built = build_table(name, slice_argument(config, Report), results)
    write_table(built, output_prefix)


@command(STUDY, "summary --results results/demo")
def summary(*, results: options.StudyResults) -> None:
    """Print the results of a finished study.

    Print its scores (mean ± standard deviation over seeds) and its verdicts.
    """
    from wordorder.tables.summary import summary

    print(summary(results))
