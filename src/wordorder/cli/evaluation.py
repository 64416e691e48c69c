"""``wordorder results`` and ``compare``, and the stage that makes the tables of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

from typer import Argument, Option

from wordorder.cli import options
from wordorder.cli.app import STUDY, command, stage
from wordorder.cli.options import complete_study, flag

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


Where = Annotated[str, Argument(metavar="STUDY", help="name, or the folder of its results or of a bundle")]


@command(STUDY, "results demo", "results demo --table significance", "results results/reference/demo --json")
def results(
    study: Where,
    *,
    table: Annotated[str | None, Option(help="a table of the study, such as 'parameters'")] = None,
    json: Annotated[bool, flag("json", "print JSON: one object per row of the table")] = False,
    results: options.Results = Path("results"),
) -> None:
    """Print the results of a finished study.

    Print its scores (mean ± standard deviation over seeds) and its verdicts, or one of its tables.
    """
    from wordorder.api.results import load_table, study_folder
    from wordorder.files import read_text
    from wordorder.tables.summary import summary

    folder = study_folder(study, results)
    if json:
        print(load_table(folder, table or "scores").to_json(orient="records", force_ascii=False))
    elif table is None:
        print(summary(folder))
    else:
        load_table(folder, table)
        print(read_text(folder / "tables" / f"{table}.md"))


@command(STUDY, "compare opr sinusoidal --study demo", "compare rope alibi --study arena_mini --figure rope_alibi")
def compare(
    system: Annotated[str, Argument(metavar="SYSTEM", help="an encoding of the study")],
    baseline: Annotated[str, Argument(metavar="BASELINE", help="the encoding with which to compare it")],
    *,
    study: Annotated[str, Option(metavar="STUDY", help="name of a finished study", autocompletion=complete_study)],
    figure: Annotated[Path | None, Option(metavar="PREFIX", help="writes PREFIX.svg, .pdf, .png and .csv")] = None,
    json: Annotated[bool, flag("json", "print JSON: one object per test set and metric")] = False,
    results: options.Results = Path("results"),
    root: options.Root = Path("config"),
) -> None:
    """Compare two encodings of a finished study.

    Print both scores, the difference with its interval and p, and the verdict, for each test set and metric. The
    comparison is not corrected for others: use it to look, and declare comparisons in the study before you report them.
    """
    from wordorder.api.comparisons import compare_encodings, comparison_text, draw_comparison

    found = compare_encodings(system, baseline, study, results=results, root=root)
    print(found.to_json(orient="records", force_ascii=False) if json else comparison_text(found))
    if figure is not None:
        draw_comparison(found, figure, study, root=root)
