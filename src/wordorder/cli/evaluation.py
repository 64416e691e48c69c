"""``wordorder summary``, and the stages that compare systems, make tables and the page of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from typer import Argument, Option

from wordorder.cli import options
from wordorder.cli.app import STUDY, command, stage
from wordorder.cli.options import Data, JSONOut, StudyResults, slice_of

TableName = Literal["scores", "significance", "variance", "parameters", "credibility", "published", "orderings"]
TABLES: tuple[str, ...] = get_args(TableName)

References = Annotated[Path, Option(help="detokenised references, one line per sentence")]


@stage("compare --config SLICE --size micro --test test --references test.target --output significance.json a b c")
def compare(
    hypotheses: Annotated[
        list[Path] | None,
        Argument(metavar="[FILE]...", help="translations: of each encoding of the family, one per seed"),
    ] = None,
    *,
    config: Annotated[Any, slice_of("models.Family", "family of comparisons")],
    size: Annotated[str, Option(help="size of the models to compare")],
    test: Annotated[str, Option(help="test set")],
    references: References,
    systems: Annotated[
        list[Path] | None, options.many("outputs of 'wordorder stage score-systems' for these translations")
    ] = None,
    output: JSONOut,
) -> None:
    """Test whether systems differ from their baseline.

    Give a verdict on every declared comparison on one test set, and make other tests of it: for each seed sacreBLEU's
    paired tests and the sign test, over the seeds a paired t-test and stratified randomisation, with Holm's correction.
    Seeds without translations are listed. A file OUTPUT with the suffix .looks remembers the seeds of earlier
    comparisons. docs/statistics.md explains each test.
    """
    from wordorder.comparison.levels import looks_file, read_looks, remember_look
    from wordorder.comparison.significance import compare, of_cells
    from wordorder.files import write_json

    translations = of_cells(config, hypotheses or [])
    looks = looks_file(output)
    result = compare(config, translations, size, test, references, systems or [], read_looks(looks))
    remember_look(looks, config.seeds)
    write_json(output, result)


@stage("table scores --config SLICE --results results/demo --output-prefix results/demo/tables/scores")
def table(
    name: Annotated[TableName, Argument(help="the table")],
    *,
    config: Annotated[str, Option(metavar="SLICE", help="contents of the study, as JSON or @FILE.yaml")],
    results: options.StudyResults,
    output_prefix: Annotated[str, Option(metavar="PREFIX", help="writes PREFIX.csv, .md, .tex and .html")],
) -> None:
    """Make a table of a study as CSV, Markdown, LaTeX (booktabs) and HTML.

    'credibility' lists what makes a comparison credible; the exit status is 1 if the study lacks an item.
    """
    from wordorder.config.load import slice_argument
    from wordorder.config.models import PublishedReport, Report
    from wordorder.config.published_scores import PUBLISHED_TABLES
    from wordorder.report.build import build_table
    from wordorder.tables.table import write_table

    if name in PUBLISHED_TABLES:
        asked = slice_argument(config, PublishedReport)
        built = build_table(name, asked.report, results, asked.published)
    else:
        built = build_table(name, slice_argument(config, Report), results)
    write_table(built, output_prefix)


@stage("page --config SLICE --results results/demo --data results/data --output results/demo/index.html")
def page(
    *,
    config: Annotated[Any, slice_of("models.Page", "contents of the study")],
    results: StudyResults,
    data: Data,
    output: Annotated[Path, Option(help="HTML")],
) -> None:
    """Make the page of a study.

    Make one HTML page of the results of a study: overview, tables, figures, translations side by side, records and the
    credibility list. The page contains everything itself and needs no network.
    """
    from wordorder.files import write_text
    from wordorder.report.page import build_page

    write_text(output, build_page(config, results, data))


@command(STUDY, "summary --results results/demo")
def summary(*, results: options.StudyResults) -> None:
    """Print the results of a finished study.

    Print its scores (mean ± standard deviation over seeds) and its verdicts.
    """
    from wordorder.tables.summary import summary

    print(summary(results))
